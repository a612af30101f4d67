//! Outputs, and gradients on given examples, of rows on a GPU: the processor computes them, and the rows travel.

use super::Stacked;
use crate::backend::Backend;
use crate::backend::rows::{Rows, downcast_mut};
use crate::backend::trainer::{GradientRows, Trainer};
use crate::blocked::Blocked;
use crate::error::EngineError;
use crate::network::Network;
use crate::processor::Processor;
use crate::stacked::gpu_rows::GpuRows;
use crate::stacked::stack_ops::stack_rows::StackRows;
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

    /// As [`Trainer::outputs`].
    pub(super) fn outputs(
        &self,
        context: Context<'_>,
        models: &dyn Rows,
        seen: &SeenExamples<'_>,
    ) -> Result<Vec<Vec<f32>>, EngineError> {
        let Beside { processor, trainer } = self.beside(context.network)?;
        let width = context.network.layout().width();
        let models = processor.upload(models.to_host(), width)?;
        trainer.outputs(context, &*models, seen)
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
}
