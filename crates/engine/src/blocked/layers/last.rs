//! The last position of a sequence.

use super::{BatchBackward, BatchContext, BatchForward, BatchLayer};
use crate::network::layer::Last;

impl BatchLayer for Last {
    /// Copies the last position of `[T, B, channels]` to `outputs` `[B, channels]`.
    fn forward(&self, _: BatchContext<'_>, forward: BatchForward<'_>) {
        let outputs = forward.outputs;
        let first = (self.grid.width - 1) * outputs.len();
        outputs.copy_from_slice(&forward.entry.begin()[first..][..outputs.len()]);
    }

    /// Gives the gradient to the last position and none to the others.
    fn backward(&self, _: BatchContext<'_>, backward: BatchBackward<'_, '_>) {
        let d = backward.memory.gradient(&backward.io);
        if let Some(below) = backward.io.below {
            let first = (self.grid.width - 1) * d.len();
            below[..first].fill(0.0);
            below[first..][..d.len()].copy_from_slice(d);
        }
    }
}
