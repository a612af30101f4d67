//! Products of a first dense layer with numbers that all examples of a batch share.

use crate::blocked::pass::passes::{Entry, Passes};
use crate::blocked::pass::sink::{Product, Sink};
use crate::kernels::{Affine, ColumnSubset, Packing, Start};
use crate::network::layer::Dense;
use std::ops::Range;

impl Passes<'_> {
    /// Adds to `shared` `[outputs]` what the numbers `constant` of rows `range` of the weights give to every example of `entry`.
    /// The layer's first rows begin it with the bias.
    pub(crate) fn share_outputs(
        &self,
        layer: &Dense,
        weights: &[f32],
        (entry, constant): (Entry<'_>, ColumnSubset<'_>),
        range: Range<usize>,
        shared: &mut [f32],
    ) {
        let from = layer.weight.start + range.start * layer.outputs;
        self.cpu.instructions().run(Affine {
            x: &entry.begin()[range.clone()],
            x_stride: 0,
            subset: Some(constant.part(range.clone())),
            w: &weights[from..][..range.len() * layer.outputs],
            packing: Packing::Rows,
            start: match range.start {
                0 => Start::of(layer.bias_of(weights)),
                _ => Start::Target,
            },
            rows: 1,
            y: shared,
            y_stride: layer.outputs,
            inner: range.len(),
            columns: layer.outputs,
            relu: false,
        });
    }

    /// Adds `shared` to every row of `y`, then takes `max(0, ·)` if `relu`.
    pub(crate) fn add_shared(&self, y: &mut [f32], shared: &[f32], relu: bool) {
        self.cpu.instructions().vectorize(
            #[inline(always)]
            || {
                for row in y.chunks_exact_mut(shared.len()) {
                    for (y, shared) in row.iter_mut().zip(shared) {
                        *y += shared;
                    }
                    if relu {
                        row.iter_mut().for_each(|y| *y = y.max(0.0));
                    }
                }
            },
        );
    }

    /// Takes `product` as the gradient of the parameters in `range`; the rows for numbers that all examples share, of which it
    /// knows nothing, are their products with the sum of the rows of `d`.
    pub(crate) fn accept_parted(
        &self,
        product: &Product<'_>,
        shared: Option<(ColumnSubset<'_>, &[f32])>,
        range: Range<usize>,
        sink: &mut Sink<'_>,
    ) {
        let pieces = if self.share { self.cpu.threads() } else { 1 };
        sink.accept(self.cpu, product, range.clone(), pieces);
        if let Some((constant, sums)) = shared {
            let once = Product {
                subset: Some(constant),
                d: sums,
                rows: 1,
                ..*product
            };
            sink.accept(self.cpu, &once, range, pieces);
        }
    }

    /// The sums of the rows of `d` `[B, outputs]`.
    pub(crate) fn row_sums(&self, d: &[f32], outputs: usize) -> Vec<f32> {
        let mut sums = vec![0.0; outputs];
        self.cpu.instructions().vectorize(
            #[inline(always)]
            || {
                for row in d.chunks_exact(outputs) {
                    sums.iter_mut().zip(row).for_each(|(sum, d)| *sum += d);
                }
            },
        );
        sums
    }
}
