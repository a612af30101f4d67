//! Where kernels write the gradient with respect to a node's output: `δ = (δ + δ') ⊙ [y > 0] · slope`.

use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// How a reader of a node writes the gradient that it sends to the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct GradientWrite {
    /// Whether another reader has written before, so that this gradient is added.
    pub(crate) add: bool,
    /// Whether this is the last reader and the node has ReLU, which then masks the gradient.
    pub(crate) masked: bool,
}

/// A node's gradient and how a reader writes it.
#[derive(Clone, Copy)]
pub(crate) struct InputGradient<'a> {
    pub(crate) gradient: &'a CubeTensor,
    /// The output of the node.
    pub(crate) activations: &'a CubeTensor,
    /// Factor of the outputs that dropout kept. Dropped outputs are zero, and so have no gradient.
    pub(crate) slope: f32,
    pub(crate) write: GradientWrite,
}

impl InputGradient<'_> {
    /// How many numbers are read to write `count` numbers.
    pub(crate) fn reads(&self, count: usize) -> usize {
        count * (usize::from(self.write.add) + usize::from(self.write.masked))
    }
}

#[cfg(test)]
impl<'a> InputGradient<'a> {
    /// The gradient of a node that has ReLU and one reader.
    pub(crate) fn masked(
        gradient: &'a CubeTensor,
        activations: &'a CubeTensor,
        slope: f32,
    ) -> Self {
        let write = GradientWrite {
            add: false,
            masked: true,
        };
        Self {
            gradient,
            activations,
            slope,
            write,
        }
    }

    /// The gradient of a node without ReLU, to which another reader has written before.
    pub(crate) fn added(gradient: &'a CubeTensor, activations: &'a CubeTensor) -> Self {
        let write = GradientWrite {
            add: true,
            masked: false,
        };
        Self {
            gradient,
            activations,
            slope: 1.0,
            write,
        }
    }
}

/// Writes the vector `values` to `place` of the gradient.
#[cube]
pub(crate) fn write_gradients<N: Size>(
    gradient: &mut [Vector<f32, N>],
    activations: &[Vector<f32, N>],
    place: usize,
    values: Vector<f32, N>,
    slope: f32,
    #[comptime] write: GradientWrite,
) {
    let mut sums = values;
    if comptime!(write.add) {
        sums += gradient[place];
    }
    if comptime!(write.masked) {
        let given = activations[place];
        #[unroll]
        for n in 0..N::value() {
            let sum = sums.extract(n) * slope;
            sums.insert(n, select(given.extract(n) > 0.0f32, sum, 0.0f32));
        }
    }
    gradient[place] = sums;
}

/// Writes `value` to `place` of the gradient.
#[cube]
pub(crate) fn write_gradient(
    gradient: &mut [f32],
    activations: &[f32],
    place: usize,
    value: f32,
    slope: f32,
    #[comptime] write: GradientWrite,
) {
    let mut sum = value;
    if comptime!(write.add) {
        sum += gradient[place];
    }
    if comptime!(write.masked) {
        sum = select(activations[place] > 0.0f32, sum * slope, 0.0f32);
    }
    gradient[place] = sum;
}
