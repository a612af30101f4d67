//! Group normalisation of all rows: `y = (x − mean) / √(variance + ε) · w[c] + b[c]`, with the mean and variance of an
//! example's group of channels.
//!
//! A cube of units holds one group of one example: each unit sums a share of its numbers, and the shares are added in
//! order, so that sums depend on the shape alone.

use super::group_norm_delta::NormDelta;
use super::relu::rectified;
use super::{Backward, Forward, Stackable, StackedLayer};
use crate::network::layer::{GroupNorm, NORM_EPSILON};
use crate::stacked::batches::block_shape::BlockShape;
use crate::stacked::batches::part::{Part, Slot, has};
use crate::stacked::device::launch::{CUBE, cubes, vector_size};
use crate::stacked::device::memory::Memory;
use crate::stacked::device::trace::moves;
use crate::stacked::layers::stack_arena::StackArena;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// A group normalisation in the arena and its grid, in vectors of channels of one group.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct NormAt {
    /// Vectors per row of the arena.
    pub(crate) width: usize,
    /// First vector of factors.
    pub(crate) weight: usize,
    /// First vector of offsets.
    pub(crate) bias: usize,
    pub(crate) places: usize,
    /// Vectors of channels.
    pub(crate) channels: usize,
    pub(crate) groups: usize,
}

/// The argument of a launch over vectors of `vector` floats; `width` floats make a row of the arena.
pub(crate) fn argument(norm: &GroupNorm, width: usize, vector: usize) -> NormAtLaunch {
    NormAtLaunch::new(
        width / vector,
        norm.weight.start / vector,
        norm.bias.start / vector,
        norm.grid.places(),
        norm.grid.channels / vector,
        norm.groups,
    )
}

/// Floats of a group that a unit may move at once.
pub(crate) fn vector_of(norm: &GroupNorm) -> usize {
    vector_size(norm.grid.channels / norm.groups)
}

/// The sum of the lanes of a vector.
#[cube]
fn sum_of_lanes<N: Size>(values: Vector<f32, N>) -> f32 {
    let mut sum = 0.0f32;
    #[unroll]
    for n in 0..N::value() {
        sum += values.extract(n);
    }
    sum
}

/// The sum of `own` over the units of a cube; all units get it.
#[cube]
pub(crate) fn sum_of_cube(own: f32, shares: &mut Shared<[f32]>, #[comptime] units: usize) -> f32 {
    shares[UNIT_POS as usize] = own;
    sync_cube();
    let mut sum = 0.0f32;
    for unit in 0..units {
        sum += shares[unit];
    }
    sync_cube();
    sum
}

/// Each cube normalises one group of one example and keeps its mean and `1 / √(variance + epsilon)`.
#[cube(launch)]
fn group_norm_kernel<N: Size>(
    models: &[Vector<f32, N>],
    inputs: &[Vector<f32, N>],
    counts: &[u32],
    groups: &mut [f32],
    outputs: &mut [Vector<f32, N>],
    slot: Slot,
    norm: NormAt,
    epsilon: f32,
    #[comptime] relu: bool,
    #[comptime] units: usize,
) {
    let example = CUBE_POS / norm.groups;
    if !has(&slot, counts, example) {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let size = norm.channels / norm.groups;
    let first_channel = CUBE_POS % norm.groups * size;
    let first = example * norm.places * norm.channels + first_channel;
    let vectors = norm.places * size;
    let count = f32::cast_from((vectors * N::value()) as u32);
    let mut shares = Shared::<[f32]>::new_slice(units);
    let mut sums = Vector::<f32, N>::new(0.0f32);
    let mut at = unit;
    while at < vectors {
        sums += inputs[first + at / size * norm.channels + at % size];
        at += units;
    }
    let mean = sum_of_cube(sum_of_lanes(sums), &mut shares, units) / count;
    let mut squares = Vector::<f32, N>::new(0.0f32);
    at = unit;
    while at < vectors {
        let place = first + at / size * norm.channels + at % size;
        let deviations = inputs[place] - Vector::new(mean);
        squares += deviations * deviations;
        at += units;
    }
    let variance = sum_of_cube(sum_of_lanes(squares), &mut shares, units) / count;
    let inverse = 1.0f32 / (variance + epsilon).sqrt();
    if unit == 0 {
        groups[2 * CUBE_POS] = mean;
        groups[2 * CUBE_POS + 1] = inverse;
    }
    let model = (slot.first_row + example / slot.examples) * norm.width + first_channel;
    at = unit;
    while at < vectors {
        let place = first + at / size * norm.channels + at % size;
        let channel = model + at % size;
        let normal = (inputs[place] - Vector::new(mean)) * Vector::new(inverse);
        let values = normal * models[channel + norm.weight] + models[channel + norm.bias];
        outputs[place] = rectified(values, relu);
        at += units;
    }
}

impl Stackable for GroupNorm {
    fn kept(&self) -> Vec<usize> {
        vec![2 * self.grid.channels, 2 * self.groups]
    }

    fn stack(&self, memory: &Memory, shape: BlockShape) -> Box<dyn StackedLayer> {
        Box::new(StackedNorm {
            norm: self.clone(),
            norms: Norms::new(memory, self, shape),
        })
    }
}

/// A normalisation and what it keeps.
#[derive(Debug)]
struct StackedNorm {
    norm: GroupNorm,
    norms: Norms,
}

impl StackedLayer for StackedNorm {
    fn forward(&self, forward: &Forward<'_>) {
        let normalise = Normalise {
            arena: forward.flow.arena(),
            norm: &self.norm,
            inputs: forward.own_inputs(),
            relu: forward.relu,
        };
        normalise.launch(forward.flow.part, forward.outputs, &self.norms);
    }

    fn backward(&self, backward: &Backward<'_>) {
        let (arena, part) = (backward.flow.arena(), backward.flow.part);
        let delta = NormDelta {
            norm: &self.norm,
            inputs: backward.inputs,
            above: backward.above,
        };
        let below = backward.below.as_ref();
        let below = below.expect("layers without products read no examples");
        delta.send(&self.norms, arena, below, part);
        delta.outer(&self.norms, backward.sink, part);
    }
}

/// What a normalisation keeps for the backward pass.
#[derive(Debug)]
pub(crate) struct Norms {
    /// Two sums of gradients per channel on the backward pass, those of a vector of channels side by side: `[rows, examples, channels / vector, 2,
    /// vector]`.
    pub(crate) channels: CubeTensor,
    /// Mean and inverse deviation of every group, `[rows, examples, groups, 2]`.
    pub(crate) groups: CubeTensor,
}

impl Norms {
    /// Memory for a block of `shape`.
    pub(crate) fn new(memory: &Memory, norm: &GroupNorm, shape: BlockShape) -> Self {
        let BlockShape { rows, examples } = shape;
        Self {
            channels: memory.floats(&[rows, examples, norm.grid.channels, 2]),
            groups: memory.floats(&[rows, examples, norm.groups, 2]),
        }
    }
}

/// A normalisation to launch.
pub(crate) struct Normalise<'a> {
    pub(crate) arena: StackArena<'a>,
    pub(crate) norm: &'a GroupNorm,
    /// `[rows, examples, places, channels]`.
    pub(crate) inputs: &'a CubeTensor,
    /// Whether negative outputs become zero.
    pub(crate) relu: bool,
}

impl Normalise<'_> {
    /// Writes `outputs` `[rows, examples, places, channels]`, and what is kept to `norms`.
    pub(crate) fn launch(&self, part: &Part<'_>, outputs: &CubeTensor, norms: &Norms) {
        let (norm, StackArena { models, width }) = (self.norm, self.arena);
        let (client, numbers) = (&models.client, part.places() * norm.grid.size());
        let (count, dim) = cubes(client, part.places() * norm.groups, CUBE);
        moves(
            numbers + 2 * part.rows * norm.grid.channels,
            numbers + 2 * part.places() * norm.groups,
        );
        group_norm_kernel::launch(
            client,
            count,
            dim,
            vector_of(norm),
            models.clone().into_buffer_arg(),
            self.inputs.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            norms.groups.clone().into_buffer_arg(),
            outputs.clone().into_buffer_arg(),
            part.argument(),
            argument(norm, width, vector_of(norm)),
            NORM_EPSILON as f32,
            self.relu,
            CUBE as usize,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::layer::Grid;
    use crate::stacked::device::memory::{cube, download};
    use crate::stacked::device::test_device::{
        UnevenBatch, expect_close, gpu, norms, numbers, stacked,
    };

    /// The plain loops over one example, in double precision.
    fn oracle(norm: &GroupNorm, model: &[f32], x: &[f32]) -> Vec<f32> {
        let Grid { channels, .. } = norm.grid;
        let size = channels / norm.groups;
        let mut out = vec![0.0; x.len()];
        for group in 0..norm.groups {
            let own: Vec<usize> = (0..x.len())
                .filter(|at| at % channels / size == group)
                .collect();
            let mean = own.iter().map(|at| f64::from(x[*at])).sum::<f64>() / own.len() as f64;
            let squares = own.iter().map(|at| (f64::from(x[*at]) - mean).powi(2));
            let deviation = (squares.sum::<f64>() / own.len() as f64 + NORM_EPSILON).sqrt();
            for at in own {
                let normal = (f64::from(x[at]) - mean) / deviation;
                let [weight, bias] = [&norm.weight, &norm.bias]
                    .map(|range| f64::from(model[range.start + at % channels]));
                out[at] = (normal * weight + bias).max(0.0) as f32;
            }
        }
        out
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn groups_are_normalised_as_by_a_plain_loop() {
        let gpu = gpu();
        for (norm, width) in norms() {
            let (batch, size) = (UnevenBatch::uneven(3, 1), norm.grid.size());
            let all = 1 + batch.rows();
            let models = numbers(all * width, 1);
            // A mean far from zero: a variance from sums of squares would lose the deviations.
            let x: Vec<f32> = numbers(batch.rows() * 3 * size, 2)
                .iter()
                .map(|value| value + 30.0)
                .collect();
            let mut host = vec![0.0; x.len()];
            for (row, count) in batch.counts.iter().enumerate() {
                let model = &models[(1 + row) * width..][..width];
                for example in (0..*count as usize).map(|example| row * 3 + example) {
                    let place = example * size..(example + 1) * size;
                    host[place.clone()].copy_from_slice(&oracle(&norm, model, &x[place]));
                }
            }
            let memory = gpu.memory();
            let (inputs, out) = (
                memory.upload_floats(&x),
                memory.upload_floats(&vec![0.0; x.len()]),
            );
            let (arena, counts) = (
                cube(stacked(&gpu, &models, all)),
                memory.upload_words(&batch.counts),
            );
            let normalise = Normalise {
                arena: StackArena {
                    models: &arena,
                    width,
                },
                norm: &norm,
                inputs: &inputs,
                relu: true,
            };
            let norms = Norms::new(memory, &norm, batch.shape());
            normalise.launch(&batch.part(&counts), &out, &norms);
            // Numbers near 30 have their last bit at 2e-6.
            expect_close(&download::<f32>(out), &host, 1e-4);
        }
    }
}
