//! Maxima over windows, of one example.

use super::relu::rectify;
use super::{ExampleBack, ExampleForth, ExampleGradient, ExampleLayer, RowContext};
use crate::blocked::pass::target::Target;
use crate::kernels::{Maximum, MaximumBack};
use crate::network::layer::MaxPool;

impl ExampleLayer for MaxPool {
    /// Which place of its window each maximum came from.
    fn kept(&self) -> usize {
        self.output.size()
    }

    fn forward(&self, row: RowContext<'_>, forth: ExampleForth<'_>) {
        let cpu = row.products.cpu;
        cpu.instructions().run(Maximum {
            layer: self,
            x: &forth.x[..self.input.size()],
            y: &mut *forth.out,
            kept: &mut forth.kept[..self.output.size()],
        });
        if forth.relu {
            rectify(cpu, forth.out);
        }
    }

    fn backward(&self, row: RowContext<'_>, back: ExampleBack<'_>) {
        let Target { gradient, add } = back.below;
        if !add {
            gradient.fill(0.0);
        }
        row.products.cpu.instructions().run(MaximumBack {
            layer: self,
            kept: back.left.kept,
            d: back.left.d,
            below: gradient,
        });
    }

    fn gradient(&self) -> Option<&dyn ExampleGradient> {
        None
    }
}
