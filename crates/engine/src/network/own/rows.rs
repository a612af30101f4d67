//! A user's own model on the processor: burn goes forth and back, from numbers to numbers.

use super::body::FittedOwnModel;
use super::host::host;
use super::tape::Tape;
use crate::error::EngineError;
use crate::network::layout::{Block, Layout};
use crate::network::own_body::{OwnBody, OwnPass};
use crate::network::parameter::draw;
use burn::tensor::{Device, Tensor, TensorData};
use std::sync::Arc;

impl OwnBody for FittedOwnModel {
    fn initialise(&self, seed: u64, row: u32) -> Vec<f32> {
        draw(self.parameters(), &self.layout, seed, row)
    }

    fn outputs(&self, row: &[f32], x: &[f32], batch: usize) -> Result<Vec<f32>, EngineError> {
        let (views, x) = self.on_processor(row, x, [1, batch, x.len() / batch]);
        Ok(host(self.tape(views, x, false)?.outputs()))
    }

    fn pass(&self, row: &[f32], x: &[f32], batch: usize) -> Result<Box<dyn OwnPass>, EngineError> {
        let (views, x) = self.on_processor(row, x, [1, batch, x.len() / batch]);
        Ok(Box::new(Pass {
            layout: self.layout.clone(),
            tape: self.tape(views, x, true)?,
            shape: [1, batch, self.classes()],
        }))
    }
}

impl FittedOwnModel {
    /// The parameters of rows `[R, P_pad]`, `[R, size]` each, and examples of `shape` `[R, B, D]`, as tensors of the
    /// processor.
    pub(super) fn on_processor(
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
}

/// What burn remembers of one row.
struct Pass {
    layout: Arc<Layout>,
    tape: Tape,
    shape: [usize; 3],
}

impl OwnPass for Pass {
    fn outputs(&self) -> Vec<f32> {
        host(self.tape.outputs())
    }

    fn back(self: Box<Self>, slopes: Vec<f32>, gradient: &mut [f32]) {
        let slopes = TensorData::new(slopes, self.shape);
        let slopes = Tensor::from_data(slopes, &Device::flex());
        for (block, own) in self.layout.blocks().iter().zip(self.tape.back(slopes)) {
            let own = own.map(host).unwrap_or_default();
            for (sum, own) in gradient[block.range()].iter_mut().zip(own) {
                *sum += own;
            }
        }
    }
}
