//! Models of a program's own that compute many rows at once, on arrays in host memory.

use super::parameter::{Parameter, arrange, draw};
use super::trial::{self, TRIED, TriedStep};
use super::{Body, Network};
use crate::error::EngineError;
use crate::network::layout::Layout;
use crate::processor::row_memory::RowMemory;
use meshfold_data::Input;
use std::fmt::Debug;
use std::sync::Arc;

/// A model that computes outputs and gradients of many rows in one call, with any tool: an array framework, or another
/// language. It runs on the processor.
///
/// The engine does all else: batches, learning rates, momentum, clipping, corrections, scores and mixing. Rows must be
/// independent: the results of a row depend on its own parameters and examples alone. Nothing may be random.
pub trait HostModel: Debug + Send + Sync {
    /// The parameters of one model, in the order of the rows of a stack.
    fn parameters(&self) -> Vec<Parameter>;

    /// The numbers that row `row` starts from, a list for each parameter; `None` draws them as the parameters say.
    ///
    /// # Errors
    /// [`EngineError::OwnModel`] if they cannot be had.
    fn initial(&self, seed: u64, row: u32) -> Result<Option<Vec<Vec<f32>>>, EngineError>;

    /// The outputs `[R, B, C]`, row-major, one per class before the softmax.
    ///
    /// # Errors
    /// [`EngineError::OwnModel`] if the model fails.
    fn outputs(&self, models: LentRows, examples: LentExamples) -> Result<Vec<f32>, EngineError>;

    /// Calls `take` once with the loss of every row (the mean over its examples) and the gradient of that loss with
    /// respect to the parameters. Drop `models` before that: the engine changes the rows in place, and copies them
    /// first if they are still held.
    ///
    /// # Errors
    /// [`EngineError::OwnModel`] if the model fails; those of `take`.
    fn gradients(
        &self,
        models: LentRows,
        examples: LentExamples,
        labels: &[u16],
        take: &mut TakeGradients<'_>,
    ) -> Result<(), EngineError>;

    /// As [`HostModel::gradients`], with a loss that is not the model's: calls `take` with the gradient of the sum of `slopes` times outputs,
    /// `[R, B, C]` each, with respect to the parameters. The losses that it gives do not count.
    ///
    /// # Errors
    /// As [`HostModel::gradients`]; [`EngineError::OwnModel`] by default, as of a model that cannot do so.
    fn pull_back(
        &self,
        models: LentRows,
        examples: LentExamples,
        slopes: &[f32],
        take: &mut TakeGradients<'_>,
    ) -> Result<(), EngineError> {
        let _ = (models, examples, slopes, take);
        refuse(
            "it takes no gradients of other losses than its own: a method that gives `slopes` needs `pull_back`".to_owned(),
        )
    }
}

/// Receives the losses `[R]`, and one gradient per parameter, from [`HostModel::gradients`].
pub type TakeGradients<'a> =
    dyn FnMut(&[f32], &[ReturnedGradient<'_>]) -> Result<(), EngineError> + Send + 'a;

/// Consecutive rows of models, in memory that is shared and does not change while anybody holds it.
#[derive(Debug, Clone)]
pub struct LentRows {
    /// Rows `[_, width]`, row-major; blocks of parameters lie in them as in the network's [`Layout`].
    pub values: Arc<RowMemory>,
    /// Floats of a row, padding included.
    pub width: usize,
    /// The first row.
    pub first: usize,
    /// How many rows follow from it on, `R`.
    pub rows: usize,
}

/// Examples of some rows, `[R, B, D]`, in memory that is shared; every example as it is stored, tokens as whole numbers.
#[derive(Debug, Clone)]
pub struct LentExamples {
    /// The numbers, row-major: `[R, B, D]`, or `[B, D]` where all rows see the same.
    pub values: Arc<Vec<f32>>,
    /// Whether all rows see the same.
    pub same: bool,
    /// Examples of each row, `B`.
    pub batch: usize,
    /// Numbers of an example, `D`.
    pub width: usize,
}

/// The gradient with respect to one parameter. That of row `i` begins at `first + i · stride`, row-major.
#[derive(Debug, Clone, Copy)]
pub struct ReturnedGradient<'a> {
    /// The numbers of all rows.
    pub values: &'a [f32],
    /// Where the gradient of the first row begins.
    pub first: usize,
    /// Floats from the gradient of one row to that of the next.
    pub stride: usize,
}

/// A [`HostModel`] with its parameters.
#[derive(Debug)]
pub(crate) struct HostBody {
    pub(crate) model: Arc<dyn HostModel>,
    parameters: Vec<Parameter>,
}

impl Network {
    /// Fits a model that computes rows in host memory to examples of `input` in `classes` classes. It is scored by the
    /// cross-entropy of one output per class.
    ///
    /// # Errors
    /// [`EngineError::OwnModel`] if the parameters are invalid, or if a trial with made-up examples fails: outputs that
    /// are not `[R, B, C]`, outputs, losses or gradients of a row that change with other rows, gradients that are not
    /// finite. Errors of the model itself.
    pub fn host(
        model: Arc<dyn HostModel>,
        input: Input,
        classes: usize,
    ) -> Result<Self, EngineError> {
        let parameters = model.parameters();
        let layout = Arc::new(arrange(&parameters)?);
        let body = Arc::new(HostBody { model, parameters });
        body.try_out(&layout, input, classes)?;
        Ok(Self::of_body(Body::Host(body), layout, input, classes))
    }
}

impl HostBody {
    /// One initial model, `[P_pad]`: what the model starts from, or drawn as its parameters say.
    ///
    /// # Errors
    /// Those of the model; [`EngineError::OwnModel`] if it starts from what does not fit its parameters.
    pub(crate) fn initialise(
        &self,
        layout: &Layout,
        seed: u64,
        row: u32,
    ) -> Result<Vec<f32>, EngineError> {
        let Some(given) = self.model.initial(seed, row)? else {
            return Ok(draw(&self.parameters, layout, seed, row));
        };
        let mut values = vec![0.0; layout.width()];
        if given.len() != self.parameters.len() {
            return refuse(format!(
                "it starts from {} parameters, but it has {}",
                given.len(),
                self.parameters.len()
            ));
        }
        for (block, given) in layout.blocks().iter().zip(given) {
            if given.len() != block.size() || given.iter().any(|value| !value.is_finite()) {
                return refuse(format!(
                    "the parameter `{}` must start from {} finite numbers",
                    block.name,
                    block.size()
                ));
            }
            values[block.range()].copy_from_slice(&given);
        }
        Ok(values)
    }

    /// Compares the outputs, the loss and the gradient of a row beside another with those of the row alone.
    fn try_out(&self, layout: &Layout, input: Input, classes: usize) -> Result<(), EngineError> {
        let (features, width) = (input.features(), layout.width());
        let models = [0, 1].map(|row| self.initialise(layout, 0, row));
        let [first, second] = models;
        let values: Arc<RowMemory> = Arc::new([first?, second?].concat().into());
        let x = trial::examples(input, classes);
        let of = |first: usize, rows: usize| {
            let models = LentRows {
                values: values.clone(),
                width,
                first,
                rows,
            };
            let x = &x[first * TRIED * features..][..rows * TRIED * features];
            let examples = LentExamples {
                values: Arc::new(x.to_vec()),
                same: false,
                batch: TRIED,
                width: features,
            };
            (models, examples)
        };
        let outputs = |first, rows| {
            let (models, examples) = of(first, rows);
            let outputs = self.model.outputs(models, examples)?;
            expect_outputs(&outputs, rows, TRIED, classes)?;
            Ok(outputs)
        };
        let (both, second) = (outputs(0, 2)?, outputs(1, 1)?);
        trial::expect_apart(&both, &second, "arrays")?;
        let labels: Vec<u16> = (0..2 * TRIED)
            .map(|at| (at % classes.max(1)) as u16)
            .collect();
        let step = |first: usize, rows: usize| {
            let (models, examples) = of(first, rows);
            let labels = &labels[first * TRIED..][..rows * TRIED];
            let mut last = TriedStep {
                loss: 0.0,
                gradient: vec![0.0; width],
            };
            let mut take = |losses: &[f32], gradients: &[ReturnedGradient<'_>]| {
                let taken = RowGradients::new(layout, rows, losses, gradients)?;
                last.loss = losses[rows - 1];
                (0..rows).try_for_each(|row| taken.read(row, first + row, &mut last.gradient))
            };
            self.model.gradients(models, examples, labels, &mut take)?;
            Ok(last)
        };
        let (beside, alone) = (step(0, 2)?, step(1, 1)?);
        trial::expect_same_step(&beside, &alone)
    }
}

/// Checks the number of outputs of `rows` rows for `batch` examples each.
///
/// # Errors
/// [`EngineError::OwnModel`] if there are more or fewer.
pub(crate) fn expect_outputs(
    outputs: &[f32],
    rows: usize,
    batch: usize,
    classes: usize,
) -> Result<(), EngineError> {
    match outputs.len() == rows * batch * classes {
        true => Ok(()),
        false => refuse(format!(
            "it gave {} outputs, but rows, examples and classes are [{rows}, {batch}, {classes}]",
            outputs.len()
        )),
    }
}

/// The losses and gradients of some rows, checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowGradients<'a> {
    layout: &'a Layout,
    pub(crate) losses: &'a [f32],
    gradients: &'a [ReturnedGradient<'a>],
}

impl<'a> RowGradients<'a> {
    /// # Errors
    /// [`EngineError::OwnModel`] if they are not those of `rows` rows of `layout`.
    pub(crate) fn new(
        layout: &'a Layout,
        rows: usize,
        losses: &'a [f32],
        gradients: &'a [ReturnedGradient<'a>],
    ) -> Result<Self, EngineError> {
        let (blocks, found) = (layout.blocks(), gradients.len());
        if losses.len() != rows || found != blocks.len() {
            return refuse(format!(
                "it gave {} losses and {found} gradients, but there are {rows} rows of {} parameters",
                losses.len(),
                blocks.len()
            ));
        }
        for (block, gradient) in blocks.iter().zip(gradients) {
            let needed = gradient.first + (rows - 1) * gradient.stride + block.size();
            if gradient.values.len() < needed {
                return refuse(format!(
                    "the gradient of `{}` has {} numbers, but {needed} are needed",
                    block.name,
                    gradient.values.len()
                ));
            }
        }
        Ok(Self {
            layout,
            losses,
            gradients,
        })
    }

    /// Copies the gradient of row `place` of these into `to` `[P_pad]`, whose padding is zero; `row` is its number in the stack.
    ///
    /// # Errors
    /// [`EngineError::OwnModel`] if it is not finite.
    #[inline(always)]
    pub(crate) fn read(&self, place: usize, row: usize, to: &mut [f32]) -> Result<(), EngineError> {
        for (block, gradient) in self.layout.blocks().iter().zip(self.gradients) {
            let from = gradient.first + place * gradient.stride;
            let from = &gradient.values[from..][..block.size()];
            to[block.range()].copy_from_slice(from);
            let magnitudes = from.iter().map(|value| value.abs().to_bits());
            if magnitudes.fold(0, u32::max) >= f32::INFINITY.to_bits() {
                return refuse(format!(
                    "the gradient of `{}` of row {row} is not finite: either the model is wrong, or the learning rate is too large",
                    block.name
                ));
            }
        }
        Ok(())
    }
}

fn refuse<T>(reason: String) -> Result<T, EngineError> {
    Err(EngineError::OwnModel { reason })
}
