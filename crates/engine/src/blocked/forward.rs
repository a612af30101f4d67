//! The forward pass of one row.

use super::passes::Passes;
use crate::dropout::Dropout;
use crate::kernels::{Affine, Start};
use crate::layer::Dense;
use rayon::prelude::*;

/// What a step leaves out of the examples that go through the network.
#[derive(Debug, Clone, Copy)]
pub(super) struct Masks<'a> {
    pub(super) dropout: &'a Dropout,
    /// Where the first of the examples stands in its batch.
    pub(super) first: usize,
}

impl Passes<'_> {
    /// Runs the examples of `input` `[batch, D]` through the network; output `i` `[batch, outputs]` is that of layer
    /// `i`, the last one what the loss is taken of.
    pub(super) fn forward(
        &self,
        weights: &[f32],
        input: &[f32],
        outputs: &mut [Vec<f32>],
        masks: Option<Masks<'_>>,
    ) {
        let last = self.network.layers().len() - 1;
        let batch = input.len() / self.network.inputs();
        for (index, layer) in self.network.layers().iter().enumerate() {
            let (before, after) = outputs.split_at_mut(index);
            let x = before.last().map_or(input, |x| &x[..batch * layer.inputs]);
            let y = &mut after[0][..batch * layer.outputs];
            let relu = index < last;
            let masks = masks.filter(|_| relu);
            let part = if self.share {
                batch.div_ceil(self.cpu.threads())
            } else {
                batch
            };
            let product = |first: usize, x: &[f32], y: &mut [f32]| {
                self.affine(layer, weights, (x, y), relu);
                if let Some(Masks {
                    dropout,
                    first: start,
                }) = masks
                {
                    self.cpu.instructions().vectorize(
                        #[inline(always)]
                        || dropout.apply(index, (start + first) * layer.outputs, y),
                    );
                }
            };
            if self.share {
                x.par_chunks(part * layer.inputs)
                    .zip(y.par_chunks_mut(part * layer.outputs))
                    .enumerate()
                    .for_each(|(piece, (x, y))| product(piece * part, x, y));
            } else {
                product(0, x, y);
            }
        }
    }

    fn affine(&self, layer: &Dense, weights: &[f32], (x, y): (&[f32], &mut [f32]), relu: bool) {
        self.cpu.instructions().run(Affine {
            x,
            x_stride: layer.inputs,
            w: &weights[layer.weight.clone()],
            start: Start::of(layer.bias_of(weights)),
            rows: y.len() / layer.outputs,
            y,
            y_stride: layer.outputs,
            inner: layer.inputs,
            columns: layer.outputs,
            relu,
        });
    }
}
