//! Group normalisation of all rows: `y = (x − mean) / √(variance + ε) · w[c] + b[c]`, mean and variance being those of
//! an example's group of channels.
//!
//! Units sum over the places of one channel, then over the channels of one group: no unit waits for another, and sums do
//! not depend on how units are dealt.

use super::launch::line;
use super::memory::Memory;
use super::part::{Part, Slot, has};
use super::relu::rectified_one;
use super::trace::moves;
use crate::layer::{GroupNorm, NORM_EPSILON};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// A group normalisation in the arena and its grid.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(super) struct NormAt {
    /// Floats per row of the arena.
    pub(super) width: usize,
    /// First factor.
    pub(super) weight: usize,
    /// First offset.
    pub(super) bias: usize,
    pub(super) places: usize,
    pub(super) channels: usize,
    pub(super) groups: usize,
}

/// The argument of a launch; `width` floats make a row of the arena.
pub(super) fn argument(norm: &GroupNorm, width: usize) -> NormAtLaunch {
    NormAtLaunch::new(
        width,
        norm.weight.start,
        norm.bias.start,
        norm.grid.places(),
        norm.grid.channels,
        norm.groups,
    )
}

/// Each unit holds the mean of one channel of one example and the sum of squared deviations from it.
#[cube(launch)]
fn channels_kernel(inputs: &[f32], counts: &[u32], moments: &mut [f32], slot: Slot, norm: NormAt) {
    let example = ABSOLUTE_POS / norm.channels;
    if !has(&slot, counts, example) {
        terminate!();
    }
    let first = example * norm.places * norm.channels + ABSOLUTE_POS % norm.channels;
    let mut sum = 0.0f32;
    for place in 0..norm.places {
        sum += inputs[first + place * norm.channels];
    }
    let mean = sum / f32::cast_from(norm.places as u32);
    let mut squares = 0.0f32;
    for place in 0..norm.places {
        let deviation = inputs[first + place * norm.channels] - mean;
        squares += deviation * deviation;
    }
    moments[2 * ABSOLUTE_POS] = mean;
    moments[2 * ABSOLUTE_POS + 1] = squares;
}

/// Each unit holds mean and `1 / √(variance + epsilon)` of one group of one example, the first two of its four numbers.
#[cube(launch)]
fn groups_kernel(
    moments: &[f32],
    counts: &[u32],
    groups: &mut [f32],
    slot: Slot,
    norm: NormAt,
    epsilon: f32,
) {
    let example = ABSOLUTE_POS / norm.groups;
    if !has(&slot, counts, example) {
        terminate!();
    }
    let size = norm.channels / norm.groups;
    let first = example * norm.channels + ABSOLUTE_POS % norm.groups * size;
    let mut sum = 0.0f32;
    for channel in first..first + size {
        sum += moments[2 * channel];
    }
    let mean = sum / f32::cast_from(size as u32);
    let mut squares = 0.0f32;
    for channel in first..first + size {
        let deviation = moments[2 * channel] - mean;
        squares +=
            moments[2 * channel + 1] + deviation * deviation * f32::cast_from(norm.places as u32);
    }
    let variance = squares / f32::cast_from((norm.places * size) as u32);
    groups[4 * ABSOLUTE_POS] = mean;
    groups[4 * ABSOLUTE_POS + 1] = 1.0f32 / (variance + epsilon).sqrt();
}

/// Each unit normalises one number.
#[cube(launch)]
fn normalise_kernel(
    models: &[f32],
    inputs: &[f32],
    groups: &[f32],
    counts: &[u32],
    outputs: &mut [f32],
    slot: Slot,
    norm: NormAt,
    #[comptime] relu: bool,
) {
    let example = ABSOLUTE_POS / (norm.places * norm.channels);
    if !has(&slot, counts, example) {
        terminate!();
    }
    let channel = ABSOLUTE_POS % norm.channels;
    let group = 4 * (example * norm.groups + channel / (norm.channels / norm.groups));
    let model = (slot.first_row + example / slot.examples) * norm.width + channel;
    let normal = (inputs[ABSOLUTE_POS] - groups[group]) * groups[group + 1];
    let value = normal * models[model + norm.weight] + models[model + norm.bias];
    outputs[ABSOLUTE_POS] = rectified_one(value, relu);
}

/// What a normalisation keeps of a pass for the way back.
#[derive(Debug)]
pub(super) struct Norms {
    /// Two numbers per channel, `[rows, examples, channels, 2]`.
    pub(super) channels: CubeTensor,
    /// Mean and inverse deviation of every group, and on the way back two means of gradients,
    /// `[rows, examples, groups, 4]`.
    pub(super) groups: CubeTensor,
}

impl Norms {
    /// Memory for `examples` examples of each of `rows` rows.
    pub(super) fn new(memory: &Memory, norm: &GroupNorm, (rows, examples): (usize, usize)) -> Self {
        Self {
            channels: memory.floats(&[rows, examples, norm.grid.channels, 2]),
            groups: memory.floats(&[rows, examples, norm.groups, 4]),
        }
    }

    /// Normalises `inputs` to `outputs`, both `[rows, examples, places, channels]`, followed by ReLU if `relu`.
    pub(super) fn forward(
        &self,
        (models, width): (&CubeTensor, usize),
        norm: &GroupNorm,
        (inputs, outputs, counts): (&CubeTensor, &CubeTensor, &CubeTensor),
        part: &Part,
        relu: bool,
    ) {
        let (client, examples) = (&models.client, part.rows * part.examples);
        let (count, dim) = line(client, examples * norm.grid.channels);
        moves(
            examples * norm.grid.size(),
            2 * examples * norm.grid.channels,
        );
        channels_kernel::launch(
            client,
            count,
            dim,
            inputs.clone().into_buffer_arg(),
            counts.clone().into_buffer_arg(),
            self.channels.clone().into_buffer_arg(),
            part.argument(),
            argument(norm, width),
        );
        let (count, dim) = line(client, examples * norm.groups);
        moves(
            2 * examples * norm.grid.channels,
            2 * examples * norm.groups,
        );
        groups_kernel::launch(
            client,
            count,
            dim,
            self.channels.clone().into_buffer_arg(),
            counts.clone().into_buffer_arg(),
            self.groups.clone().into_buffer_arg(),
            part.argument(),
            argument(norm, width),
            NORM_EPSILON as f32,
        );
        let (count, dim) = line(client, examples * norm.grid.size());
        moves(
            examples * norm.grid.size() + 2 * part.rows * norm.grid.channels,
            examples * norm.grid.size(),
        );
        normalise_kernel::launch(
            client,
            count,
            dim,
            models.clone().into_buffer_arg(),
            inputs.clone().into_buffer_arg(),
            self.groups.clone().into_buffer_arg(),
            counts.clone().into_buffer_arg(),
            outputs.clone().into_buffer_arg(),
            part.argument(),
            argument(norm, width),
            relu,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::Grid;
    use crate::stacked::memory::{cube, download};
    use crate::stacked::test_device::{Batch, expect_close, gpu, norms, numbers, stacked};

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
    fn groups_are_normalised_as_by_a_plain_loop() {
        let Some(gpu) = gpu() else { return };
        for (norm, width) in norms() {
            let (batch, size) = (Batch::uneven(3, 1), norm.grid.size());
            let all = 1 + batch.rows();
            let models = numbers(all * width, 1);
            // A mean far from zero, which squares alone would lose the deviations of.
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
            Norms::new(memory, &norm, (batch.rows(), 3)).forward(
                (&arena, width),
                &norm,
                (&inputs, &out, &counts),
                &batch.part(),
                true,
            );
            // Numbers near 30 have their last bit at 2e-6.
            expect_close(&download::<f32>(out), &host, 1e-4);
        }
    }
}
