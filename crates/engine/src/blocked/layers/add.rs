//! Sums of what two nodes give, of one example.

use super::relu::rectify;
use super::{ExampleBack, ExampleForth, ExampleGradient, ExampleLayer, RowContext};
use crate::network::layer::Add;

impl ExampleLayer for Add {
    fn forward(&self, row: RowContext<'_>, forth: ExampleForth<'_>) {
        let sums = forth.x.iter().zip(forth.added).map(|(x, other)| x + other);
        forth
            .out
            .iter_mut()
            .zip(sums)
            .for_each(|(out, sum)| *out = sum);
        if forth.relu {
            rectify(row.products.cpu, forth.out);
        }
    }

    /// Each summand has the gradient by the sum.
    fn backward(&self, _: RowContext<'_>, back: ExampleBack<'_>) {
        back.below.take(back.left.d);
    }

    fn gradient(&self) -> Option<&dyn ExampleGradient> {
        None
    }
}
