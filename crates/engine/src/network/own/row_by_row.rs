//! An ordinary burn module as a model of a user's own.

use super::{OwnModel, Parameters};
use crate::error::EngineError;
use crate::network::initial::Initial;
use crate::network::parameter::Parameter;
use burn::module::{Flag, Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::{Bool, Int, Tensor};
use meshfold_data::Input;
use std::fmt;

/// A burn [`Module`] that knows of one model alone: its parameters are found in it, every row's are put in their place,
/// and what it gives for the rows, one after another, is stacked.
///
/// Parameters are named as the fields that they are found in, such as `hidden.weight`, and the module's own numbers are not
/// used: the first models come from the seed of a run.
///
/// # Interpretation
/// PyTorch's initial values: weights uniform in ±1/√inputs, where a matrix has its inputs first, `[inputs, outputs]`, and a
/// convolution its outputs, `[outputs, inputs, ..]`; a vector as the weight before it in the same module; embeddings
/// normal; `gamma` one, `beta` zero. [`RowByRow::starting_from`] says otherwise.
///
/// Whatever a module does in training alone is switched off, as with [`Module::freeze`]: nothing is drawn at random, so
/// that results do not depend on the order of work.
pub struct RowByRow<M, F> {
    module: M,
    forward: F,
    parameters: Vec<Parameter>,
}

impl<M, F> RowByRow<M, F>
where
    M: Module + Sync,
    F: Fn(&M, Tensor<2>) -> Tensor<2> + Send + Sync,
{
    /// `module`, whose `forward` makes outputs `[B, C]` of examples `[B, D]`.
    ///
    /// # Errors
    /// [`EngineError::OwnModel`] if the module has parameters that are no floats, uses one in two places, or keeps
    /// statistics of the batches that it has seen.
    pub fn new(module: M, forward: F) -> Result<Self, EngineError> {
        let mut finder = Finder::default();
        module.visit(&mut finder);
        match finder.refused {
            Some(reason) => Err(EngineError::OwnModel { reason }),
            None => Ok(Self {
                module,
                forward,
                parameters: finder.parameters,
            }),
        }
    }

    /// The same with other initial values, where `initial` gives some for a parameter's name and shape.
    pub fn starting_from(mut self, initial: impl Fn(&str, &[usize]) -> Option<Initial>) -> Self {
        for parameter in &mut self.parameters {
            if let Some(initial) = initial(&parameter.name, &parameter.shape) {
                parameter.initial = initial;
            }
        }
        self
    }

    /// The module with the parameters of row `row` in it.
    fn of_row(&self, parameters: &Parameters<'_>, row: usize) -> Result<M, EngineError> {
        let mut filler = Filler {
            parameters,
            row,
            path: Path::default(),
            failure: None,
        };
        let module = self.module.clone().map(&mut filler);
        match filler.failure {
            Some(error) => Err(error),
            None => Ok(module),
        }
    }
}

impl<M, F> OwnModel for RowByRow<M, F>
where
    M: Module + Sync,
    F: Fn(&M, Tensor<2>) -> Tensor<2> + Send + Sync,
{
    fn parameters(&self, _input: Input, _classes: usize) -> Result<Vec<Parameter>, EngineError> {
        Ok(self.parameters.clone())
    }

    fn forward(&self, parameters: &Parameters<'_>, x: Tensor<3>) -> Result<Tensor<3>, EngineError> {
        let [rows, batch, features] = x.dims();
        let outputs = (0..rows).map(|row| {
            let module = self.of_row(parameters, row)?;
            let x = x.clone().narrow(0, row, 1).reshape([batch, features]);
            Ok((self.forward)(&module, x))
        });
        let outputs = outputs.collect::<Result<Vec<_>, EngineError>>()?;
        let first = outputs.first().map_or([batch, 0], Tensor::dims);
        if outputs.iter().any(|output| output.dims() != first) {
            return Err(EngineError::OwnModel {
                reason: "its outputs are of another shape in another row".to_owned(),
            });
        }
        Ok(Tensor::stack(outputs, 0))
    }
}

impl<M: fmt::Debug, F> fmt::Debug for RowByRow<M, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowByRow")
            .field("module", &self.module)
            .field("parameters", &self.parameters)
            .finish_non_exhaustive()
    }
}

/// The way to a parameter: the fields, and the kind of what holds the last of them.
#[derive(Debug, Default)]
struct Path(Vec<(String, String)>);

impl Path {
    fn enter(&mut self, name: &str, container: &str) {
        self.0.push((name.to_owned(), container.to_owned()));
    }

    fn exit(&mut self) {
        self.0.pop();
    }

    fn name(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        names.join(".")
    }

    /// The way to what holds the parameter.
    fn holder(&self) -> String {
        let name = self.name();
        name.rsplit_once('.')
            .map_or(String::new(), |(holder, _)| holder.to_owned())
    }

    fn field(&self) -> &str {
        self.0.last().map_or("", |(name, _)| name)
    }

    fn container(&self) -> &str {
        self.0.last().map_or("", |(_, container)| container)
    }
}

/// Collects the parameters of a module.
#[derive(Debug, Default)]
struct Finder {
    path: Path,
    ids: Vec<ParamId>,
    parameters: Vec<Parameter>,
    /// What holds the last weight, and its inputs.
    weight: Option<(String, usize)>,
    refused: Option<String>,
}

impl Finder {
    fn refuse(&mut self, why: &str) {
        let name = self.path.name();
        self.refused
            .get_or_insert_with(|| format!("the parameter `{name}` {why}"));
    }

    fn initial(&mut self, shape: &[usize]) -> Initial {
        let holder = self.path.holder();
        let inputs = match shape {
            [] | [_] => match &self.weight {
                Some((owner, inputs)) if *owner == holder => *inputs,
                _ => shape.iter().product(),
            },
            [inputs, _] => *inputs,
            [_, window @ ..] => window.iter().product(),
        };
        if shape.len() > 1 {
            self.weight = Some((holder, inputs));
        }
        match (self.path.field(), self.path.container()) {
            (_, "Struct:Embedding") => Initial::Normal { deviation: 1.0 },
            ("gamma", _) => Initial::Constant(1.0),
            ("beta", _) => Initial::Constant(0.0),
            _ => Initial::of_inputs(inputs),
        }
    }
}

impl ModuleVisitor for Finder {
    fn enter_module(&mut self, name: &str, container_type: &str) {
        self.path.enter(name, container_type);
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if self.ids.contains(&param.id) {
            self.refuse("is used in two places, which a row has room for twice");
        }
        if self.path.container() == "Struct:BatchNorm" {
            self.refuse(
                "belongs to a batch normalisation, which keeps statistics besides; take a group normalisation",
            );
        }
        self.ids.push(param.id);
        let shape = param.lazy_shape().as_slice().to_vec();
        let initial = self.initial(&shape);
        let name = self.path.name();
        self.parameters.push(Parameter::new(name, shape, initial));
    }

    fn visit_int<const D: usize>(&mut self, _param: &Param<Tensor<D, Int>>) {
        self.refuse("holds whole numbers, which cannot be trained");
    }

    fn visit_bool<const D: usize>(&mut self, _param: &Param<Tensor<D, Bool>>) {
        self.refuse("holds truth values, which cannot be trained");
    }
}

/// Puts the parameters of a row in their place.
struct Filler<'a> {
    parameters: &'a Parameters<'a>,
    row: usize,
    path: Path,
    failure: Option<EngineError>,
}

impl ModuleMapper for Filler<'_> {
    fn enter_module(&mut self, name: &str, container_type: &str) {
        self.path.enter(name, container_type);
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.exit();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        match self.parameters.of_row(&self.path.name(), self.row) {
            Ok(view) => Param::initialized(param.id, view),
            Err(error) => {
                self.failure.get_or_insert(error);
                param
            }
        }
    }

    fn map_flag(&mut self, flag: Param<Flag>) -> Param<Flag> {
        flag.with_value(false)
    }
}
