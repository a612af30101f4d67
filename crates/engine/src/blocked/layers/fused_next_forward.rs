//! The first product of the next step, taken piece by piece behind the update of its weights, while they are in cache.
//!
//! A wide first layer is larger than the second-level cache: read once for both, its weights cross the slower ones less often.

use super::BatchContext;
use super::constant_columns::{Constant, PartedProduct};
use super::dense::DenseNode;
use crate::blocked::pass::entry::Entry;
use crate::blocked::pass::sink::Sink;
use crate::kernels::{Affine, NextProduct, Packing, SumStart};
use crate::network::layer::Dense;

/// Floats of the weights of a piece: with as many of the velocity they take an eighth of a second-level cache of a MiB.
const PIECE: usize = 16 << 10;
/// Floats of weights from which on it pays.
const LARGE: usize = 64 << 10;

/// Whether it pays for a first layer `layer`.
pub(crate) fn pays(layer: &Dense) -> bool {
    layer.places == 1 && layer.weight.len() >= LARGE
}

impl BatchContext<'_> {
    /// Takes `product` as the gradient of the weights of the first layer, and leaves in `y` `[B, outputs]` what the layer then
    /// makes of the examples `next`. Its bias has been updated.
    pub(crate) fn step_ahead(
        &self,
        node: DenseNode<'_>,
        product: &PartedProduct<'_>,
        next: Entry<'_>,
        y: &mut [f32],
        sink: &mut Sink<'_>,
    ) {
        let DenseNode { layer, relu, .. } = node;
        let products = self.products;
        // What is summed up at once lies in one piece.
        let together = products.precision.summed_together();
        let rows = (PIECE / layer.outputs).max(1).next_multiple_of(together);
        let (mut pairs, mut weight_pairs) = (Vec::new(), Vec::new());
        let shape = [y.len() / layer.outputs, layer.inputs];
        let next = products.along_columns(next, shape, &mut pairs);
        if self
            .products
            .cpu
            .instructions()
            .in_tiles(products.precision)
        {
            let bias = layer.bias_of(sink.weights()).unwrap_or_default().to_vec();
            let next = NextProduct {
                x: next.begin(),
                x_stride: next.stride,
                rows: shape[0],
                start: &bias,
                y,
                relu,
            };
            return sink.accept_before(
                self.products.cpu,
                &product.varying,
                layer.weight.clone(),
                next,
            );
        }
        let (varying, constant) = (next.parts.map(|parts| parts.varying), Constant::of(&next));
        let mut shared_outputs = vec![0.0; constant.map_or(0, |_| layer.outputs)];
        for first in (0..layer.inputs).step_by(rows) {
            let inputs = first..(first + rows).min(layer.inputs);
            let from = layer.weight.start + first * layer.outputs;
            let range = from..from + inputs.len() * layer.outputs;
            self.accept_parted(&product.part(inputs.clone()), range.clone(), sink);
            let weights = sink.weights();
            let piece = Entry::of(&weights[range], layer.outputs);
            let w = products.along_rows(piece, [inputs.len(), layer.outputs], &mut weight_pairs);
            products.multiply(Affine {
                x: &next.begin()[products.places(first)..],
                x_stride: next.stride,
                subset: varying.map(|varying| varying.part(inputs.clone())),
                w: w.values,
                packing: Packing::Rows,
                start: match (first, constant) {
                    (0, None) => SumStart::of(layer.bias_of(weights)),
                    (0, Some(_)) => SumStart::Zero,
                    _ => SumStart::Target,
                },
                rows: shape[0],
                y,
                y_stride: layer.outputs,
                inner: products.places(inputs.len()),
                columns: layer.outputs,
                relu: relu && constant.is_none() && inputs.end == layer.inputs,
            });
            if let Some(constant) = constant {
                self.share_outputs(layer, weights, constant, inputs, &mut shared_outputs);
            }
        }
        if constant.is_some() {
            self.add_shared(y, &shared_outputs, relu);
        }
    }
}
