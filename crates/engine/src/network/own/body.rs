//! A user's own model, fitted to a dataset and checked.

use super::OwnModel;
use super::parameter::{Parameter, arrange};
use crate::error::EngineError;
use crate::network::layout::{Block, Layout};
use crate::stream::{Key, Purpose, stream};
use burn::tensor::{Device, Tensor, TensorData};
use meshfold_data::Input;
use std::sync::Arc;

/// Examples that a model is tried on.
const TRIED: usize = 3;
/// How far the outputs of a row may differ with what else is in the stack, relative to their size or one: products of
/// another shape are summed in another order.
const TOLERANCE: f32 = 1e-2;

/// A user's own model and the parameters that it has for a dataset.
#[derive(Debug, Clone)]
pub(crate) struct Own {
    model: Arc<dyn OwnModel>,
    parameters: Vec<Parameter>,
    layout: Arc<Layout>,
    classes: usize,
}

impl Own {
    /// Asks `model` for its parameters, and tries it on two rows with some made-up examples.
    ///
    /// # Errors
    /// [`EngineError::OwnModel`] if the parameters cannot be, the outputs are of another shape than they must be, or a
    /// row's outputs change with those beside it; whatever the model says itself.
    pub(crate) fn new(
        model: Arc<dyn OwnModel>,
        input: Input,
        classes: usize,
    ) -> Result<Self, EngineError> {
        let parameters = model.parameters(input, classes)?;
        let own = Self {
            layout: Arc::new(arrange(&parameters)?),
            parameters,
            model,
            classes,
        };
        own.try_out(input)?;
        Ok(own)
    }

    pub(super) fn model(&self) -> &dyn OwnModel {
        self.model.as_ref()
    }

    pub(super) fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    pub(super) fn classes(&self) -> usize {
        self.classes
    }

    /// How a row of the stack is laid out.
    pub(crate) fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// Draws one initial model, `[P_pad]`: a stream for every parameter.
    pub(crate) fn initialise(&self, seed: u64, row: u32) -> Vec<f32> {
        let mut values = vec![0.0; self.layout.width()];
        let blocks = self.layout.blocks().iter();
        for (layer, (block, parameter)) in (0..).zip(blocks.zip(&self.parameters)) {
            let key = Key {
                row,
                layer,
                ..Key::default()
            };
            let mut rng = stream(seed, Purpose::Initialisation, key);
            parameter.initial.draw(&mut values[block.range()], &mut rng);
        }
        values
    }

    /// Holds the outputs of a row beside another against its outputs alone, and looks whether they can be differentiated.
    fn try_out(&self, input: Input) -> Result<(), EngineError> {
        let width = input.features();
        let models = [self.initialise(1, 0), self.initialise(1, 1)].concat();
        let x: Vec<f32> = (0..2 * TRIED * width)
            .map(|at| self.made_up(input, at))
            .collect();
        let outputs = |rows: std::ops::Range<usize>| {
            let count = rows.len();
            let models = &models[rows.start * self.layout.width()..][..count * self.layout.width()];
            let x = &x[rows.start * TRIED * width..][..count * TRIED * width];
            let (views, x) = self.on_processor(models, x, [count, TRIED, width]);
            let tape = self.pass(views, x, true)?;
            Ok(host(tape.outputs()))
        };
        let (both, second) = (outputs(0..2)?, outputs(1..2)?);
        let beside = &both[TRIED * self.classes..];
        let differs = |(beside, alone): (&f32, &f32)| {
            (beside - alone).abs() > TOLERANCE * alone.abs().max(1.0)
        };
        match beside.iter().zip(&second).any(differs) {
            false => Ok(()),
            true => Err(EngineError::OwnModel {
                reason: "the outputs of a row change with the rows beside it: its tensors must keep the rows, their first \
                         dimension, apart"
                    .to_owned(),
            }),
        }
    }

    /// The parameters of rows `[R, P_pad]`, `[R, size]` each, and examples of `shape` `[R, B, D]`, as tensors of the
    /// processor.
    pub(crate) fn on_processor(
        &self,
        models: &[f32],
        x: &[f32],
        shape: [usize; 3],
    ) -> (Vec<Tensor<2>>, Tensor<3>) {
        let device = Device::flex();
        let view = |block: &Block| {
            let rows = models.chunks_exact(self.layout.width());
            let values = rows.flat_map(|row| &row[block.range()]).copied();
            let data = TensorData::new(values.collect::<Vec<f32>>(), [shape[0], block.size()]);
            Tensor::from_data(data, &device)
        };
        let views = self.layout.blocks().iter().map(view).collect();
        let x = TensorData::new(x.to_vec(), shape);
        (views, Tensor::from_data(x, &device))
    }

    /// Number `at` of an example that nobody has seen.
    fn made_up(&self, input: Input, at: usize) -> f32 {
        match input {
            Input::Numbers(_) => (at * 7919 % 101) as f32 / 101.0 - 0.5,
            Input::Tokens { .. } => (at * 7919 % self.classes.max(1)) as f32,
        }
    }
}

/// The numbers of a tensor of the processor, row-major.
pub(crate) fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor
        .into_data()
        .try_to_vec()
        .expect("what is computed from f32 is f32")
}
