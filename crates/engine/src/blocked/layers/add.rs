//! Sums of what two nodes give, of one example.

use super::relu::rectify;
use super::{ExampleBackward, ExampleForward, ExampleGradient, ExampleLayer, RowContext};
use crate::network::layer::Add;

impl ExampleLayer for Add {
    fn forward(&self, row: RowContext<'_>, forward: ExampleForward<'_>) {
        let sums = forward
            .x
            .iter()
            .zip(forward.added)
            .map(|(x, other)| x + other);
        forward
            .out
            .iter_mut()
            .zip(sums)
            .for_each(|(out, sum)| *out = sum);
        if forward.relu {
            rectify(row.products.cpu, forward.out);
        }
    }

    /// Each summand has the gradient by the sum.
    fn backward(&self, _: RowContext<'_>, backward: ExampleBackward<'_>) {
        backward.below.take(backward.trace.d);
    }

    fn gradient(&self) -> Option<&dyn ExampleGradient> {
        None
    }
}
