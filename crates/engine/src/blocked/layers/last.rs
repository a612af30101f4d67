//! The last position of a sequence.

use super::{BatchBack, BatchContext, BatchForth, BatchLayer};
use crate::network::layer::Last;

impl BatchLayer for Last {
    /// Copies the last position of `[T, B, channels]` to `outputs` `[B, channels]`.
    fn forward(&self, _: BatchContext<'_>, forth: BatchForth<'_>) {
        let outputs = forth.outputs;
        let first = (self.grid.width - 1) * outputs.len();
        outputs.copy_from_slice(&forth.entry.begin()[first..][..outputs.len()]);
    }

    /// Gives the gradient to the last position and none to the others.
    fn backward(&self, _: BatchContext<'_>, back: BatchBack<'_, '_>) {
        let d = back.memory.gradient(&back.io);
        if let Some(below) = back.io.below {
            let first = (self.grid.width - 1) * d.len();
            below[..first].fill(0.0);
            below[first..][..d.len()].copy_from_slice(d);
        }
    }
}
