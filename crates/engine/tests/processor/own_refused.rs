//! Invalid models of a user's own: each is refused with a reason before anything is trained.

use crate::support::*;
use meshfold_data::Input;
use meshfold_engine::burn;
use meshfold_engine::burn::module::{Module, Param, ParamId};
use meshfold_engine::burn::nn::{BatchNorm, BatchNormConfig, Linear, LinearConfig};
use meshfold_engine::burn::tensor::{Device as BurnDevice, Int, Tensor};
use meshfold_engine::{EngineError, Initial, Network, OwnModel, Parameter, Parameters, RowByRow};
use std::sync::Arc;

/// A map whose parameters and outputs are those of a test.
#[derive(Debug)]
struct Faulty {
    parameters: Vec<Parameter>,
    forward: fn(&Parameters<'_>, Tensor<3>) -> Result<Tensor<3>, EngineError>,
}

impl OwnModel for Faulty {
    fn parameters(&self, _: Input, _: usize) -> Result<Vec<Parameter>, EngineError> {
        Ok(self.parameters.clone())
    }

    fn forward(&self, parameters: &Parameters<'_>, x: Tensor<3>) -> Result<Tensor<3>, EngineError> {
        (self.forward)(parameters, x)
    }
}

fn map() -> Parameter {
    Parameter::new("w", [FEATURES, CLASSES], Initial::of_inputs(FEATURES))
}

fn apply(parameters: &Parameters<'_>, x: Tensor<3>) -> Result<Tensor<3>, EngineError> {
    Ok(x.matmul(parameters.get("w")?))
}

fn refused(faulty: Faulty) -> String {
    let error = Network::own(Arc::new(faulty), image(1, 3, FEATURES / 3), CLASSES).unwrap_err();
    assert!(matches!(error, EngineError::OwnModel { .. }), "{error:?}");
    error.to_string()
}

#[test]
fn parameters_that_cannot_be_are_refused() {
    let named = |name: &str, shape: &[usize], initial| Parameter::new(name, shape, initial);
    let one = Initial::Constant(1.0);
    for (parameters, words) in [
        (vec![], "it has no parameters"),
        (vec![map(), map()], "two parameters are named `w`"),
        (
            vec![map(), named("b", &[2, 0], one)],
            "the parameter `b` is of shape [2, 0]",
        ),
        (
            vec![map(), named("b", &[1 << 40, 1 << 40], one)],
            "the parameter `b` is of shape [1099511627776, 1099511627776]",
        ),
        (
            vec![map(), named("b", &[], one)],
            "the parameter `b` has no dimensions",
        ),
        (
            vec![named("w", &[3], Initial::Uniform { bound: 0.0 })],
            "the parameter `w` cannot start from Uniform { bound: 0.0 }",
        ),
        (
            vec![named("w", &[3], Initial::Normal { deviation: -1.0 })],
            "cannot start from Normal",
        ),
        (
            vec![named("w", &[3], Initial::Constant(f32::NAN))],
            "cannot start from Constant(NaN)",
        ),
    ] {
        let forward = apply;
        let found = refused(Faulty {
            parameters,
            forward,
        });
        assert!(found.contains(words), "{found}");
    }
}

#[test]
fn outputs_that_cannot_be_judged_are_refused() {
    type Forward = fn(&Parameters<'_>, Tensor<3>) -> Result<Tensor<3>, EngineError>;
    let cases: [(Forward, &str); 7] = [
        (
            |parameters, x| Ok(apply(parameters, x)?.narrow(2, 0, 2)),
            "its outputs are [2, 3, 2], but they must be [2, 3, 3]: rows, examples and classes",
        ),
        (
            |parameters, x| Ok(apply(parameters, x)?.narrow(1, 0, 1)),
            "its outputs are [2, 1, 3]",
        ),
        (
            |_, x| Ok(x.narrow(2, 0, CLASSES)),
            "its outputs do not depend on its parameters",
        ),
        (
            |parameters, x| Ok(x.matmul(parameters.get("v")?)),
            "it asks for the parameter `v`, but it names `w`",
        ),
        (
            |parameters, x| {
                let w: Tensor<2> = parameters.get("w")?;
                Ok(x.matmul(w.unsqueeze()))
            },
            "it asks for the parameter `w` in 2 dimensions, but its rows give the shape [2, 21, 3]",
        ),
        (
            |parameters, x| {
                let w: Tensor<2> = parameters.of_row("w", 2)?;
                Ok(x.matmul(w.unsqueeze()))
            },
            "row 2 is asked for where there are 2",
        ),
        (
            |parameters, x| {
                let outputs = apply(parameters, x)?;
                Ok(outputs.clone() - outputs.mean_dim(0))
            },
            "the outputs of a row change with the rows beside it",
        ),
    ];
    for (forward, words) in cases {
        let parameters = vec![map()];
        let found = refused(Faulty {
            parameters,
            forward,
        });
        assert!(found.contains(words), "{found}");
    }
}

#[derive(Module, Debug)]
struct Normalised {
    norm: BatchNorm,
    output: Linear,
}

#[derive(Module, Debug)]
struct Counting {
    counter: Param<Tensor<1, Int>>,
}

#[derive(Module, Debug)]
struct Tied {
    first: Param<Tensor<2>>,
    second: Param<Tensor<2>>,
}

fn reason<M: Module + Sync>(module: M) -> String {
    let made = RowByRow::new(module, |_: &M, x: Tensor<2>| x);
    made.map(|_| ()).unwrap_err().to_string()
}

#[test]
fn modules_whose_state_is_no_parameter_are_refused() {
    let device = BurnDevice::flex();
    let normalised = reason(Normalised {
        norm: BatchNormConfig::new(3).init(&device),
        output: LinearConfig::new(3, 3).init(&device),
    });
    assert!(
        normalised.contains("`norm.gamma` belongs to a batch normalisation"),
        "{normalised}"
    );
    let values = Tensor::<1, Int>::from_ints([1, 2], &device);
    let counting = reason(Counting {
        counter: Param::initialized(ParamId::new(), values),
    });
    assert!(
        counting.contains("`counter` holds whole numbers"),
        "{counting}"
    );
    let first = Param::from_tensor(Tensor::<2>::ones([2, 2], &device));
    let second = first.clone();
    let tied = reason(Tied { first, second });
    assert!(tied.contains("`second` is used in two places"), "{tied}");
}
