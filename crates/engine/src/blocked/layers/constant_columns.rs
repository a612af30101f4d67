//! Products of a first dense layer with numbers that all examples of a batch share.

use super::BatchContext;
use crate::blocked::pass::entry::Entry;
use crate::blocked::pass::sink::{Product, Sink};
use crate::kernels::{Affine, ColumnSubset, Packing, SumStart};
use crate::network::layer::Dense;
use crate::network::precision::Precision;
use std::ops::Range;

/// Numbers that all examples of a batch share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Constant<'a> {
    /// The first example.
    pub(crate) example: &'a [f32],
    /// Which of its numbers the others share.
    pub(crate) columns: ColumnSubset<'a>,
}

impl<'a> Constant<'a> {
    /// Those of `entry`, if it pays to tell.
    pub(crate) fn of(entry: &Entry<'a>) -> Option<Self> {
        let example = entry.begin();
        entry.parts.map(|parts| Self {
            example,
            columns: parts.constant,
        })
    }
}

/// The gradient of the weights of a first dense layer.
#[derive(Clone, Copy)]
pub(crate) struct PartedProduct<'a> {
    /// The rows for numbers in which the examples differ.
    pub(crate) varying: Product<'a>,
    /// Those for the others, if it pays to tell.
    pub(crate) constant: Option<ConstantProduct<'a>>,
}

/// The rows of a gradient for numbers that all examples share: the products of these with the sums over the examples.
#[derive(Clone, Copy)]
pub(crate) struct ConstantProduct<'a> {
    pub(crate) columns: ColumnSubset<'a>,
    /// Sums of the rows of `d`, `[outputs]`.
    pub(crate) sums: &'a [f32],
}

impl<'a> PartedProduct<'a> {
    /// The rows `inputs` of the gradient.
    pub(crate) fn part(&self, inputs: Range<usize>) -> Self {
        let constant = |constant: ConstantProduct<'a>| ConstantProduct {
            columns: constant.columns.part(inputs.clone()),
            ..constant
        };
        Self {
            varying: Product {
                x: &self.varying.x[inputs.start..],
                subset: self
                    .varying
                    .subset
                    .map(|subset| subset.part(inputs.clone())),
                inner: inputs.len(),
                ..self.varying
            },
            constant: self.constant.map(constant),
        }
    }
}

impl BatchContext<'_> {
    /// Adds to `shared` `[outputs]` what the numbers `constant` of rows `range` of the weights give to every example.
    /// The layer's first rows begin it with the bias.
    pub(crate) fn share_outputs(
        &self,
        layer: &Dense,
        weights: &[f32],
        constant: Constant<'_>,
        range: Range<usize>,
        shared: &mut [f32],
    ) {
        let from = layer.weight.start + range.start * layer.outputs;
        self.products.cpu.instructions().multiply(
            Precision::F32,
            Affine {
                x: &constant.example[range.clone()],
                x_stride: 0,
                subset: Some(constant.columns.part(range.clone())),
                w: &weights[from..][..range.len() * layer.outputs],
                packing: Packing::Rows,
                start: match range.start {
                    0 => SumStart::of(layer.bias_of(weights)),
                    _ => SumStart::Target,
                },
                rows: 1,
                y: shared,
                y_stride: layer.outputs,
                inner: range.len(),
                columns: layer.outputs,
                relu: false,
            },
        );
    }

    /// Adds `shared` to every row of `y`, then takes `max(0, ·)` if `relu`.
    pub(crate) fn add_shared(&self, y: &mut [f32], shared: &[f32], relu: bool) {
        self.products.cpu.instructions().vectorize(
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

    /// Takes `product` as the gradient of the parameters in `range`.
    pub(crate) fn accept_parted(
        &self,
        product: &PartedProduct<'_>,
        range: Range<usize>,
        sink: &mut Sink<'_>,
    ) {
        let (cpu, pieces) = (self.products.cpu, self.pieces());
        sink.accept(cpu, &product.varying, range.clone(), pieces);
        if let Some(constant) = product.constant {
            let once = Product {
                subset: Some(constant.columns),
                d: constant.sums,
                rows: 1,
                ..product.varying
            };
            sink.accept(cpu, &once, range, pieces);
        }
    }

    /// The sums of the rows of `d` `[B, outputs]`.
    pub(crate) fn row_sums(&self, d: &[f32], outputs: usize) -> Vec<f32> {
        let mut sums = vec![0.0; outputs];
        self.products.add_rows(d, &mut sums);
        sums
    }
}
