//! Models of a user's own: they go forth and back themselves, the loss between is that of all models.

use super::gradient::{BatchPiece, Gradients};
use crate::blocked::pass::scratch::Scratch;
use crate::blocked::pass::target::Target;
use crate::error::EngineError;
use crate::network::own_body::OwnBody;

impl Gradients<'_> {
    /// The gradient of a piece of a batch, `[P_pad]`, into `target`. Returns the sum of the examples' losses.
    ///
    /// # Errors
    /// Those of the model.
    pub(super) fn of_own(
        &self,
        own: &dyn OwnBody,
        weights: &[f32],
        scratch: &mut Scratch,
        piece: &BatchPiece<'_>,
        target: Target<'_>,
    ) -> Result<f64, EngineError> {
        self.read(scratch, piece);
        let (batch, width) = (piece.part.len(), self.passes.network.inputs());
        let pass = own.pass(weights, &scratch.input.x[..batch * width], batch)?;
        let mut outputs = pass.outputs();
        let loss = self.judge(&mut outputs, &scratch.labels, piece);
        if !target.add {
            target.gradient.fill(0.0);
        }
        pass.back(outputs, target.gradient);
        Ok(loss)
    }
}
