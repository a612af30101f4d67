//! Models of a user's own that are not there, or do not do what they must.

use meshfold_data::{DataFolder, Input};
use meshfold_engine::burn::tensor::Tensor;
use meshfold_engine::{EngineError, Initial, OwnModel, OwnModels, Parameter, Parameters};
use meshfold_experiment::{Own, plan};

use crate::{Seen, expect, seen, with};

#[test]
fn a_model_that_the_program_lacks_is_told_with_where_such_models_are_explained() {
    let message = "this program has no model of its own named `mine`";
    let help = "it is given as a value in the Python program or the Rust program that makes it: see docs/own.md";
    expect(
        &with("model", "model: {own: mine}"),
        message,
        5,
        "mine",
        help,
    );
}

#[test]
fn a_model_of_ones_own_has_a_name() {
    let message = "model.own: found nothing, needed text";
    expect(&with("model", "model: own"), message, 5, "own", "");
}

/// A map that has lost its outputs, or its parameters.
#[derive(Debug)]
struct Broken;

impl OwnModel for Broken {
    fn parameters(&self, input: Input, _classes: usize) -> Result<Vec<Parameter>, EngineError> {
        let initial = Initial::of_inputs(input.features());
        Ok(vec![Parameter::new("w", [input.features(), 1], initial)])
    }

    fn forward(&self, parameters: &Parameters<'_>, x: Tensor<3>) -> Result<Tensor<3>, EngineError> {
        Ok(x.matmul(parameters.get("w")?))
    }
}

/// A map.
#[derive(Debug)]
struct Whole;

impl OwnModel for Whole {
    fn parameters(&self, input: Input, classes: usize) -> Result<Vec<Parameter>, EngineError> {
        let initial = Initial::of_inputs(input.features());
        let shape = [input.features(), classes];
        Ok(vec![Parameter::new("w", shape, initial)])
    }

    fn forward(&self, parameters: &Parameters<'_>, x: Tensor<3>) -> Result<Tensor<3>, EngineError> {
        Ok(x.matmul(parameters.get("w")?))
    }
}

fn refused_with(line: &str) -> Seen {
    let models = OwnModels::new().with("broken", Broken);
    let source = with("model", line).with_own(Own::new().models(models));
    seen(&plan(&source, &DataFolder::new("nowhere")).unwrap_err())
}

#[test]
fn the_nearest_name_is_suggested() {
    let refused = refused_with("model: {own: brokne}");
    assert_eq!(refused.help, "did you mean `broken`? models: broken");
    assert_eq!((refused.line, refused.marked.as_str()), (5, "brokne"));
}

#[test]
fn a_model_that_fails_its_trial_points_at_its_name() {
    let refused = refused_with("model: {own: broken}");
    assert_eq!(
        refused.message,
        "own model: its outputs are [2, 3, 1], but they must be [2, 3, 10]: rows, examples and classes"
    );
    assert_eq!((refused.line, refused.marked.as_str()), (5, "broken"));
}

#[test]
fn a_model_of_ones_own_has_the_precision_that_it_computes_in() {
    let models = OwnModels::new().with("whole", Whole);
    let lines = "model: {own: whole}\nprecision: bf16";
    let source = with("model", lines).with_own(Own::new().models(models));
    let refused = seen(&plan(&source, &DataFolder::new("nowhere")).unwrap_err());
    let said = "precision bf16: a model of the user's own computes its products itself; leave `precision` out";
    assert!(refused.message.contains(said), "{refused:?}");
    assert_eq!((refused.line, refused.marked.as_str()), (6, "bf16"));
}
