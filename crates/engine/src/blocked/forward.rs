//! The forward pass of one row.

use crate::device::Cpu;
use crate::kernels::Affine;
use crate::model::Network;
use rayon::prelude::*;

/// Runs the examples of `input` `[batch, D]` through the network; output `i` `[batch, outputs]` is that of layer `i`,
/// the last one the logits.
///
/// With `share` the threads divide the examples among them.
pub(super) fn forward(
    cpu: &Cpu,
    network: &Network,
    weights: &[f32],
    input: &[f32],
    outputs: &mut [Vec<f32>],
    share: bool,
) {
    let last = network.layers().len() - 1;
    let batch = input.len() / network.inputs();
    for (index, layer) in network.layers().iter().enumerate() {
        let (before, after) = outputs.split_at_mut(index);
        let x = before.last().map_or(input, |x| &x[..batch * layer.inputs]);
        let y = &mut after[0][..batch * layer.outputs];
        let product = |x: &[f32], y: &mut [f32]| {
            cpu.instructions().run(Affine {
                x,
                x_stride: layer.inputs,
                w: &weights[layer.weight.clone()],
                bias: Some(&weights[layer.bias.clone()]),
                rows: y.len() / layer.outputs,
                y,
                y_stride: layer.outputs,
                inner: layer.inputs,
                columns: layer.outputs,
                relu: index < last,
            });
        };
        if share {
            let part = batch.div_ceil(cpu.threads());
            x.par_chunks(part * layer.inputs)
                .zip(y.par_chunks_mut(part * layer.outputs))
                .for_each(|(x, y)| product(x, y));
        } else {
            product(x, y);
        }
    }
}
