//! Means over a grid, of one example.

use super::relu::rectify;
use super::{ExampleBackward, ExampleForward, ExampleGradient, ExampleLayer, RowContext};
use crate::blocked::pass::target::Target;
use crate::network::layer::MeanPool;

impl ExampleLayer for MeanPool {
    fn forward(&self, row: RowContext<'_>, forward: ExampleForward<'_>) {
        let out = forward.out;
        out.fill(0.0);
        for place in forward.x[..self.grid.size()].chunks_exact(self.grid.channels) {
            out.iter_mut().zip(place).for_each(|(out, x)| *out += x);
        }
        let share = 1.0 / self.grid.places() as f32;
        out.iter_mut().for_each(|out| *out *= share);
        if forward.relu {
            rectify(row.products.cpu, out);
        }
    }

    /// Every place has its share of the gradient by the mean.
    fn backward(&self, _: RowContext<'_>, backward: ExampleBackward<'_>) {
        let Target { gradient, add } = backward.below;
        let share = 1.0 / self.grid.places() as f32;
        for place in gradient.chunks_exact_mut(self.grid.channels) {
            for (below, d) in place.iter_mut().zip(backward.trace.d) {
                *below = if add { *below + d * share } else { d * share };
            }
        }
    }

    fn gradient(&self) -> Option<&dyn ExampleGradient> {
        None
    }
}
