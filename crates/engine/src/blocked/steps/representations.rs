//! The representations of examples, which the last layer reads, and gradients by them.

use super::gradient::BatchPiece;
use crate::blocked::pass::passes::Passes;
use std::ops::Range;

impl Passes<'_> {
    /// Where the representation of each judged position of `batch` examples lies among the outputs of the stage before the last, `[B, T]`.
    pub(super) fn representations(&self, batch: usize) -> impl Iterator<Item = Range<usize>> {
        let (positions, width) = (self.network.positions(), self.network.representation());
        let hidden = self.stages.stages.last_chunk().map(|[hidden, _]| hidden);
        let both = hidden.zip(width).into_iter();
        both.flat_map(move |(hidden, width)| {
            (0..batch * positions).map(move |index| {
                let (example, position) = (index / positions, index % positions);
                let first = match positions {
                    1 => hidden.exit() + example * hidden.width,
                    _ => (position * batch + example) * width,
                };
                first..first + width
            })
        })
    }

    /// Adds what the slopes of `piece` say of representations to `deltas`, the gradient by the outputs of the stage before the last.
    pub(super) fn add_slopes_of_representations(&self, piece: &BatchPiece<'_>, deltas: &mut [f32]) {
        let Some((slopes, width)) = piece
            .slopes
            .representations
            .zip(self.network.representation())
        else {
            return;
        };
        let own = piece.own(slopes, self.network.positions() * width);
        let places = self.representations(piece.part.len());
        for (place, slopes) in places.zip(own.chunks_exact(width)) {
            for (delta, slope) in deltas[place].iter_mut().zip(slopes) {
                *delta += slope;
            }
        }
    }
}
