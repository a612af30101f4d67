//! Outputs, gradients and steps on given examples, of rows on a GPU: the processor computes them, and the rows travel.

use super::Stacked;
use crate::backend::Backend;
use crate::backend::rows::{Rows, downcast_mut};
use crate::backend::trainer::{AnchorRows, GradientRows, StepRule, TrainedRows, Trainer};
use crate::blocked::Blocked;
use crate::error::EngineError;
use crate::network::Network;
use crate::processor::Processor;
use crate::stacked::gpu_rows::GpuRows;
use crate::stacked::stack_ops::stack_rows::StackRows;
use crate::training::activations::Activations;
use crate::training::context::Context;
use crate::training::row_examples::SeenExamples;
use crate::training::tally::LossSum;
use crate::training::work::Sgd;
use burn::tensor::{Tensor, TensorData};
use std::sync::OnceLock;

/// The processor beside a GPU, once it was asked for.
#[derive(Debug, Default)]
pub(crate) struct OnProcessor(OnceLock<Beside>);

#[derive(Debug)]
struct Beside {
    processor: Processor,
    trainer: Blocked,
}

impl OnProcessor {
    fn beside(&self, network: &Network) -> Result<&Beside, EngineError> {
        if let Some(beside) = self.0.get() {
            return Ok(beside);
        }
        let processor = Processor::open(None, None)?;
        let trainer = processor.blocked(network)?;
        Ok(self.0.get_or_init(|| Beside { processor, trainer }))
    }

    /// As [`Trainer::activations`].
    pub(super) fn activations(
        &self,
        context: Context<'_>,
        models: &dyn Rows,
        of: Activations,
        seen: &SeenExamples<'_>,
    ) -> Result<Vec<Vec<f32>>, EngineError> {
        let Beside { processor, trainer } = self.beside(context.network)?;
        let width = context.network.layout().width();
        let models = processor.upload(models.to_host(), width)?;
        trainer.activations(context, &*models, of, seen)
    }
}

impl Stacked {
    /// As [`Trainer::gradients_on`].
    pub(super) fn gradients_by_processor(
        &self,
        context: Context<'_>,
        rows: GradientRows<'_>,
        seen: &SeenExamples<'_>,
        sgd: &Sgd,
    ) -> Result<Vec<LossSum>, EngineError> {
        let Beside { processor, trainer } = self.on_processor.beside(context.network)?;
        let (count, width) = (seen.rows.len(), context.network.layout().width());
        let models = processor.upload(rows.models.to_host(), width)?;
        let mut gradients = processor.zeros(count, width);
        let of_host = GradientRows {
            models: &*models,
            gradients: &mut *gradients,
        };
        let losses = trainer.gradients_on(context, of_host, seen, sgd)?;
        let found = TensorData::new(gradients.to_host(), [count, width]);
        let out: &mut GpuRows = downcast_mut("gradients", rows.gradients)?;
        *out.rows() = StackRows::new(Tensor::from_data(found, self.gpu.device()));
        Ok(losses)
    }

    /// As [`Trainer::step_on`].
    pub(super) fn step_by_processor(
        &mut self,
        context: Context<'_>,
        rows: TrainedRows<'_>,
        seen: &SeenExamples<'_>,
        step: &StepRule<'_>,
    ) -> Result<Vec<LossSum>, EngineError> {
        self.on_processor.beside(context.network)?;
        let beside = self.on_processor.0.get_mut();
        let Beside { processor, trainer } = beside.expect("it was opened");
        let width = context.network.layout().width();
        let copy = |rows: &dyn Rows| processor.upload(rows.to_host(), width);
        let mut models = copy(rows.models)?;
        let velocity = rows.velocity.as_deref().map(copy);
        let mut velocity = velocity.transpose()?;
        let correction = rows.correction.map(copy).transpose()?;
        let anchor = rows
            .anchor
            .map(|anchor| Ok((copy(anchor.rows)?, anchor.mu)));
        let anchor = anchor.transpose()?;
        let of_host = TrainedRows {
            models: &mut *models,
            velocity: velocity.as_deref_mut(),
            correction: correction.as_deref(),
            anchor: anchor.as_ref().map(|(rows, mu)| AnchorRows {
                rows: &**rows,
                mu: *mu,
            }),
        };
        let losses = trainer.step_on(context, of_host, seen, step)?;
        let moved = [(Some(rows.models), Some(models)), (rows.velocity, velocity)];
        for (to, from) in moved {
            if let Some((to, from)) = to.zip(from) {
                let found = TensorData::new(from.to_host(), [seen.rows.len(), width]);
                let to: &mut GpuRows = downcast_mut("train", to)?;
                *to.rows() = StackRows::new(Tensor::from_data(found, self.gpu.device()));
            }
        }
        Ok(losses)
    }
}
