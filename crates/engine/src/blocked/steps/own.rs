//! Models of a user's own, a row at a time: burn goes forth and back, the loss between is that of all models.

use super::gradient::{Gradients, Piece};
use crate::blocked::pass::scratch::Scratch;
use crate::error::EngineError;
use crate::network::own::{Own, host};
use burn::tensor::{Device, Tensor, TensorData};

impl Own {
    /// The outputs `[B, C]` of the model `row` for the examples `x` `[B, D]`.
    ///
    /// # Errors
    /// Those of the model.
    pub(crate) fn outputs(
        &self,
        row: &[f32],
        x: &[f32],
        batch: usize,
    ) -> Result<Vec<f32>, EngineError> {
        let (views, x) = self.on_processor(row, x, [1, batch, x.len() / batch]);
        Ok(host(self.pass(views, x, false)?.outputs()))
    }
}

impl Gradients<'_> {
    /// The gradient of a piece of a batch into `gradient` `[P_pad]`, added to what is there if `add`. Returns the sum of the
    /// examples' losses.
    ///
    /// # Errors
    /// Those of the model.
    pub(crate) fn by_tape(
        &self,
        own: &Own,
        weights: &[f32],
        scratch: &mut Scratch,
        piece: &Piece<'_>,
        (gradient, add): (&mut [f32], bool),
    ) -> Result<f64, EngineError> {
        self.read(scratch, piece);
        let (batch, width) = (piece.part.len(), self.passes.network.inputs());
        let x = &scratch.input.x[..batch * width];
        let (views, x) = own.on_processor(weights, x, [1, batch, width]);
        let tape = own.pass(views, x, true)?;
        let mut outputs = host(tape.outputs());
        let loss = self.judge(&mut outputs, &scratch.labels, piece.count);
        let shape = [1, batch, self.passes.network.outputs()];
        let slopes = Tensor::from_data(TensorData::new(outputs, shape), &Device::flex());
        if !add {
            gradient.fill(0.0);
        }
        for (block, own) in own.layout().blocks().iter().zip(tape.back(slopes)) {
            let own = own.map(host).unwrap_or_default();
            for (sum, own) in gradient[block.range()].iter_mut().zip(own) {
                *sum += own;
            }
        }
        Ok(loss)
    }
}
