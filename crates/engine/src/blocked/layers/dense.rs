//! Dense layers of a batch.

use super::constant_columns::{Constant, ConstantProduct, PartedProduct};
use super::{BatchBackward, BatchContext, BatchForward, BatchLayer, Masks};
use crate::blocked::pass::entry::Entry;
use crate::blocked::pass::products::RowWeights;
use crate::blocked::pass::scratch::{Buffers, reserve};
use crate::blocked::pass::sink::{Product, Sink};
use crate::blocked::pass::stage_io::StageIo;
use crate::kernels::{Affine, Packing, SumStart};
use crate::network::dropout::LeftOut;
use crate::network::layer::{Dense, Node};
use rayon::prelude::*;

impl BatchLayer for Dense {
    fn forward(&self, on: BatchContext<'_>, forward: BatchForward<'_>) {
        on.dense(DenseNode::of(self, forward.node), forward);
    }

    fn backward(&self, on: BatchContext<'_>, backward: BatchBackward<'_, '_>) {
        let d = backward.memory.gradient(&backward.io);
        on.dense_back(self, d, backward.io, backward.buffers, backward.sink);
    }
}

/// A dense layer and what follows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DenseNode<'a> {
    pub(crate) layer: &'a Dense,
    /// Whether negative outputs become zero.
    pub(crate) relu: bool,
    /// The outputs that a training step leaves out, if it does.
    pub(crate) dropout: Option<LeftOut>,
}

impl<'a> DenseNode<'a> {
    /// `layer`, which is that of `node`.
    pub(crate) fn of(layer: &'a Dense, node: &Node) -> Self {
        Self {
            layer,
            relu: node.relu,
            dropout: node.dropout,
        }
    }
}

impl BatchContext<'_> {
    fn dense(&self, node: DenseNode<'_>, forward: BatchForward<'_>) {
        let (layer, weights, masks) = (node.layer, forward.weights, forward.masks);
        let y = forward.outputs;
        let shape = [y.len() / layer.outputs, layer.inputs];
        let [pairs, _] = &mut forward.buffers.pairs;
        let entry = self
            .products
            .along_columns(forward.entry.of_places(layer), shape, pairs);
        let product = |first: usize, y: &mut [f32]| {
            let entry = Entry {
                offset: entry.offset + first * entry.stride,
                ..entry
            };
            self.product(node, weights, entry, y);
            self.leave_out(node, first, y, masks);
        };
        if !self.share {
            product(0, y);
            return;
        }
        let part = (y.len() / layer.outputs).div_ceil(self.products.cpu.threads());
        y.par_chunks_mut(part * layer.outputs)
            .enumerate()
            .for_each(|(piece, y)| product(piece * part, y));
    }

    /// Drops what the step leaves out of the outputs `y` of a layer for the examples from `first` on.
    pub(crate) fn leave_out(
        &self,
        node: DenseNode<'_>,
        first: usize,
        y: &mut [f32],
        masks: Option<Masks<'_>>,
    ) {
        if let Some((masks, left_out)) = masks.zip(node.dropout) {
            let first = (masks.first + first) * node.layer.outputs;
            self.products.cpu.instructions().vectorize(
                #[inline(always)]
                || masks.dropout.apply(left_out, first, y),
            );
        }
    }

    /// The outputs `y` of a layer for the rows of the operand `entry`.
    pub(crate) fn product(
        &self,
        node: DenseNode<'_>,
        weights: RowWeights<'_>,
        entry: Entry<'_>,
        y: &mut [f32],
    ) {
        let DenseNode { layer, relu, .. } = node;
        let varying = entry.parts.map(|parts| parts.varying);
        let products = self.products;
        products.multiply(Affine {
            x: entry.begin(),
            x_stride: entry.stride,
            subset: varying,
            w: weights.operand(layer.weight.clone()),
            packing: Packing::Rows,
            start: match varying {
                None => SumStart::of(layer.bias_of(weights.values)),
                Some(_) => SumStart::Zero,
            },
            rows: y.len() / layer.outputs,
            y: &mut *y,
            y_stride: layer.outputs,
            inner: products.places(layer.inputs),
            columns: layer.outputs,
            relu: relu && varying.is_none(),
        });
        if let Some(constant) = Constant::of(&entry) {
            let mut shared = vec![0.0; layer.outputs];
            self.share_outputs(
                layer,
                weights.values,
                constant,
                0..layer.inputs,
                &mut shared,
            );
            self.add_shared(y, &shared, relu);
        }
    }

    fn dense_back(
        &self,
        layer: &Dense,
        d: &[f32],
        io: StageIo<'_>,
        buffers: &mut Buffers,
        sink: &mut Sink<'_>,
    ) {
        let (entry, rows) = (io.entry.of_places(layer), io.batch * layer.places);
        if let Some(below) = io.below {
            let (products, [x, weight_pairs]) = (self.products, &mut buffers.pairs);
            let weight = &sink.weights()[layer.weight.clone()];
            let shape = [layer.inputs, layer.outputs];
            let size = layer.inputs * products.places(layer.outputs);
            reserve(&mut buffers.transposed, size);
            let w = &mut buffers.transposed[..size];
            products.transpose(weight, shape, weight_pairs, w);
            let d = Entry::of(d, layer.outputs);
            let d = products.along_columns(d, [rows, layer.outputs], x);
            products.multiply(Affine {
                x: d.begin(),
                x_stride: d.stride,
                subset: None,
                w,
                packing: Packing::Rows,
                start: SumStart::Zero,
                rows,
                y: &mut below[entry.offset..],
                y_stride: entry.stride,
                inner: products.places(layer.outputs),
                columns: layer.inputs,
                relu: false,
            });
        }
        let sums = self.constant_sums(layer, &entry, d);
        let weight = self.parted(layer, entry, d, sums.as_deref(), &mut buffers.pairs);
        self.accept_parted(&weight, layer.weight.clone(), sink);
        self.bias_back(layer, d, &buffers.ones, sink);
    }

    /// The sums over the examples of `d` `[B, outputs]`, if they share numbers.
    pub(crate) fn constant_sums(
        &self,
        layer: &Dense,
        entry: &Entry<'_>,
        d: &[f32],
    ) -> Option<Vec<f32>> {
        let sums = |_| self.row_sums(d, layer.outputs);
        entry.parts.map(sums)
    }

    /// The gradient of the bias of a layer that got `d` back: its sum over the rows, each times one of `ones`.
    pub(crate) fn bias_back(&self, layer: &Dense, d: &[f32], ones: &[f32], sink: &mut Sink<'_>) {
        if let Some(bias) = layer.bias.clone() {
            let sum = Product::sum_of_rows(d, layer.outputs, ones);
            sink.accept(self.products.cpu, &sum, bias, 1);
        }
    }

    /// The gradient of the weights of `layer`, which read `entry` and got `d` back; `sums` over the examples go with the numbers
    /// that they share. Operands in pairs are written to `pairs`.
    pub(crate) fn parted<'a>(
        &self,
        layer: &Dense,
        entry: Entry<'a>,
        d: &'a [f32],
        sums: Option<&'a [f32]>,
        [x_pairs, d_pairs]: &'a mut [Vec<f32>; 2],
    ) -> PartedProduct<'a> {
        let constant = entry.parts.map(|parts| parts.constant).zip(sums);
        let (products, rows) = (self.products, d.len() / layer.outputs);
        let x = products.along_rows(entry, [rows, layer.inputs], x_pairs);
        let d = Entry::of(d, layer.outputs);
        let d = products.along_rows(d, [rows, layer.outputs], d_pairs);
        PartedProduct {
            varying: Product {
                precision: products.precision,
                x: x.begin(),
                x_stride: x.stride,
                subset: x.parts.map(|parts| parts.varying),
                inner: layer.inputs,
                d: d.values,
                columns: layer.outputs,
                rows: products.places(rows),
            },
            constant: constant.map(|(columns, sums)| ConstantProduct { columns, sums }),
        }
    }
}
