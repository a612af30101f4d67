//! The backward pass of one row, each layer's gradient handed on while it is in registers.

use super::passes::Passes;
use super::scratch::Scratch;
use crate::device::Cpu;
use crate::dropout::Dropout;
use crate::kernels::{Affine, HeavyBall, Outer, Plain, Start, Store, Update, transpose};
use crate::layer::Dense;
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
#[derive(Clone, Copy)]
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
        line: product.rows,
        line_stride: 0,
        d: product.d,
        rows: product.rows,
        inner: range.len(),
        columns: product.columns,
        update,
    });
}

impl Passes<'_> {
    /// Carries the loss's gradient by the outputs, in the last output, back through the network, which left out what
    /// `dropout` says.
    pub(super) fn backward(
        &self,
        scratch: &mut Scratch,
        batch: usize,
        sink: &mut Sink<'_>,
        dropout: Option<&Dropout>,
    ) {
        let cpu = self.cpu;
        let pieces = if self.share { cpu.threads() } else { 1 };
        let slope = dropout.map_or(1.0, Dropout::scale);
        for (index, layer) in self.network.layers().iter().enumerate().rev() {
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
                self.delta(layer, (d, transposed), below, (x, slope));
            }
            let weight = Product {
                x,
                inner: layer.inputs,
                d,
                columns: layer.outputs,
                rows: batch,
            };
            sink.accept(cpu, &weight, layer.weight.clone(), pieces);
            if let Some(bias) = layer.bias.clone() {
                let product = Product {
                    x: &scratch.ones[..batch],
                    inner: 1,
                    ..weight
                };
                sink.accept(cpu, &product, bias, 1);
            }
        }
    }

    /// The loss's gradient by a layer's input, `below = (d · Wᵀ) ⊙ [x > 0] · slope`.
    ///
    /// A unit that was left out has an output of zero, and so no gradient.
    fn delta(
        &self,
        layer: &Dense,
        (d, transposed): (&[f32], &[f32]),
        below: &mut [f32],
        (x, slope): (&[f32], f32),
    ) {
        self.cpu.instructions().run(Affine {
            x: d,
            x_stride: layer.outputs,
            w: transposed,
            start: Start::Zero,
            rows: below.len() / layer.inputs,
            y: below,
            y_stride: layer.inputs,
            inner: layer.outputs,
            columns: layer.inputs,
            relu: false,
        });
        self.cpu.instructions().vectorize(|| {
            for (delta, activation) in below.iter_mut().zip(x) {
                *delta = if *activation > 0.0 {
                    *delta * slope
                } else {
                    0.0
                };
            }
        });
    }
}
