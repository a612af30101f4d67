//! Maxima over windows, of one example.

use super::relu::rectify;
use super::{ExampleBackward, ExampleForward, ExampleGradient, ExampleLayer, RowContext};
use crate::blocked::pass::target::Target;
use crate::kernels::{Maximum, MaximumBack};
use crate::network::layer::MaxPool;

impl ExampleLayer for MaxPool {
    /// Which place of its window each maximum came from.
    fn kept(&self) -> usize {
        self.output.size()
    }

    fn forward(&self, row: RowContext<'_>, forward: ExampleForward<'_>) {
        let cpu = row.products.cpu;
        cpu.instructions().run(Maximum {
            layer: self,
            x: &forward.x[..self.input.size()],
            y: &mut *forward.out,
            kept: &mut forward.kept[..self.output.size()],
        });
        if forward.relu {
            rectify(cpu, forward.out);
        }
    }

    fn backward(&self, row: RowContext<'_>, backward: ExampleBackward<'_>) {
        let Target { gradient, add } = backward.below;
        if !add {
            gradient.fill(0.0);
        }
        row.products.cpu.instructions().run(MaximumBack {
            layer: self,
            kept: backward.trace.kept,
            d: backward.trace.d,
            below: gradient,
        });
    }

    fn gradient(&self) -> Option<&dyn ExampleGradient> {
        None
    }
}
