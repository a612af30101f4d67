//! The first product of the next step, taken piece by piece behind the update of its weights, while they are in cache.
//!
//! A wide first layer is larger than the second-level cache: read once for both, its weights cross the slower ones less often.

use super::passes::Passes;
use super::sink::{Product, Sink};
use crate::kernels::{Affine, Packing, Start};
use crate::layer::{Dense, Layer};

/// Floats of the weights of a piece: with as many of the velocity they take an eighth of a second-level cache of a MiB.
const PIECE: usize = 16 << 10;
/// Floats of weights from which on it pays.
const LARGE: usize = 64 << 10;

impl Passes<'_> {
    /// Whether what the first layer makes of the next batch is computed ahead.
    pub(super) fn steps_ahead(&self) -> bool {
        match self.network.nodes().first().map(|node| &node.layer) {
            Some(Layer::Dense(layer)) => {
                let fits = layer.places == 1 && self.stages.stages.len() > 1;
                fits && !self.share && layer.weight.len() >= LARGE
            }
            _ => false,
        }
    }

    /// Takes `product` as the gradient of the weights of the first layer, and leaves in `y` `[B, outputs]` what the layer then
    /// makes of the examples `next` `[B, inputs]`. Its bias has been updated.
    pub(super) fn step_ahead(
        &self,
        (layer, relu): (&Dense, bool),
        product: &Product<'_>,
        (next, y): (&[f32], &mut [f32]),
        sink: &mut Sink<'_>,
    ) {
        let rows = (PIECE / layer.outputs).max(1);
        for first in (0..layer.inputs).step_by(rows) {
            let inner = rows.min(layer.inputs - first);
            let from = layer.weight.start + first * layer.outputs;
            let range = from..from + inner * layer.outputs;
            let part = Product {
                x: &product.x[first..],
                inner,
                ..*product
            };
            sink.accept(self.cpu, &part, range.clone(), 1);
            let weights = sink.weights();
            self.cpu.instructions().run(Affine {
                x: &next[first..],
                x_stride: layer.inputs,
                w: &weights[range],
                packing: Packing::Rows,
                start: match first {
                    0 => Start::of(layer.bias_of(weights)),
                    _ => Start::Target,
                },
                rows: y.len() / layer.outputs,
                y,
                y_stride: layer.outputs,
                inner,
                columns: layer.outputs,
                relu: relu && first + inner == layer.inputs,
            });
        }
    }
}
