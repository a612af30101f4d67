//! The backward pass of one row, each layer's gradient handed on while it is in registers.

use super::scratch::Scratch;
use crate::device::Cpu;
use crate::kernels::{Affine, HeavyBall, Outer, Plain, Store, Update, transpose};
use crate::model::Network;
use std::ops::Range;

/// Where the gradients of a batch go.
#[derive(Debug)]
pub(super) enum Sink<'a> {
    /// Straight into the weights, without momentum.
    Plain {
        weights: &'a mut [f32],
        rate: f32,
        decay: f32,
    },
    /// Straight into velocity and weights.
    HeavyBall {
        weights: &'a mut [f32],
        velocity: &'a mut [f32],
        rate: f32,
        momentum: f32,
        decay: f32,
        fresh: bool,
    },
    /// Into a buffer, added to what it holds if `add`.
    Gradient {
        weights: &'a [f32],
        gradient: &'a mut [f32],
        add: bool,
    },
}

/// One product of the backward pass, `xᵀ · d`.
struct Product<'a> {
    x: &'a [f32],
    inner: usize,
    d: &'a [f32],
    columns: usize,
    rows: usize,
}

impl Sink<'_> {
    fn weights(&self) -> &[f32] {
        match self {
            Self::Plain { weights, .. } | Self::HeavyBall { weights, .. } => weights,
            Self::Gradient { weights, .. } => weights,
        }
    }

    fn accept(&mut self, cpu: &Cpu, product: &Product<'_>, range: Range<usize>, pieces: usize) {
        match self {
            Self::Plain {
                weights,
                rate,
                decay,
            } => {
                let update = Plain {
                    weights: &mut weights[range],
                    rate: *rate,
                    decay: *decay,
                };
                run(cpu, product, 0..product.inner, update, pieces);
            }
            Self::HeavyBall {
                weights,
                velocity,
                rate,
                momentum,
                decay,
                fresh,
            } => {
                let update = HeavyBall {
                    weights: &mut weights[range.clone()],
                    velocity: &mut velocity[range],
                    rate: *rate,
                    momentum: *momentum,
                    decay: *decay,
                    fresh: *fresh,
                };
                run(cpu, product, 0..product.inner, update, pieces);
            }
            Self::Gradient { gradient, add, .. } => {
                let update = Store {
                    gradient: &mut gradient[range],
                    add: *add,
                };
                run(cpu, product, 0..product.inner, update, pieces);
            }
        }
    }
}

/// Computes rows `range` of the gradient, cut into `pieces` that threads share.
fn run<U: Update + Send>(
    cpu: &Cpu,
    product: &Product<'_>,
    range: Range<usize>,
    update: U,
    pieces: usize,
) {
    if pieces > 1 && range.len() > 1 {
        let middle = range.start + range.len() / 2;
        let (low, high) = update.split((middle - range.start) * product.columns);
        rayon::join(
            || run(cpu, product, range.start..middle, low, pieces / 2),
            || run(cpu, product, middle..range.end, high, pieces - pieces / 2),
        );
        return;
    }
    cpu.instructions().run(Outer {
        x: &product.x[range.start..],
        x_stride: product.inner,
        d: product.d,
        rows: product.rows,
        inner: range.len(),
        columns: product.columns,
        update,
    });
}

/// Carries the loss's gradient by the logits, in the last output, back through the network.
pub(super) fn backward(
    cpu: &Cpu,
    network: &Network,
    scratch: &mut Scratch,
    batch: usize,
    sink: &mut Sink<'_>,
    share: bool,
) {
    let pieces = if share { cpu.threads() } else { 1 };
    for (index, layer) in network.layers().iter().enumerate().rev() {
        let (below, above) = scratch.deltas.split_at_mut(index);
        let d = &above.first().unwrap_or(&scratch.outputs[index])[..batch * layer.outputs];
        let x = if index > 0 {
            &scratch.outputs[index - 1]
        } else {
            &scratch.input
        };
        let x = &x[..batch * layer.inputs];
        if index > 0 {
            let transposed = &mut scratch.transposed[..layer.inputs * layer.outputs];
            transpose(
                &sink.weights()[layer.weight.clone()],
                layer.inputs,
                layer.outputs,
                transposed,
            );
            let below = &mut below[index - 1][..batch * layer.inputs];
            cpu.instructions().run(Affine {
                x: d,
                x_stride: layer.outputs,
                w: transposed,
                bias: None,
                y: below,
                y_stride: layer.inputs,
                rows: batch,
                inner: layer.outputs,
                columns: layer.inputs,
                relu: false,
            });
            cpu.instructions().vectorize(|| {
                for (delta, activation) in below.iter_mut().zip(x) {
                    *delta = if *activation > 0.0 { *delta } else { 0.0 };
                }
            });
        }
        let weight = Product {
            x,
            inner: layer.inputs,
            d,
            columns: layer.outputs,
            rows: batch,
        };
        sink.accept(cpu, &weight, layer.weight.clone(), pieces);
        let bias = Product {
            x: &scratch.ones[..batch],
            inner: 1,
            d,
            columns: layer.outputs,
            rows: batch,
        };
        sink.accept(cpu, &bias, layer.bias.clone(), 1);
    }
}
