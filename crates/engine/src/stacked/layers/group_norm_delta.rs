//! The backward pass through group normalisation: with `x̂` the normalised input and `g = δ · w[c]`,
//! `δx = (g − mean(g) − x̂ · mean(g · x̂)) / √(variance + ε)`, `∂w[c] = Σ δ · x̂`, `∂b[c] = Σ δ`.

use super::group_norm::{NormAt, Norms, argument, vector_of};
use crate::network::layer::GroupNorm;
use crate::stacked::batches::part::{Part, Slot, examples_of, has};
use crate::stacked::device::launch::{CUBE, cubes, line};
use crate::stacked::device::trace::moves;
use crate::stacked::gradients::gradient_write::{GradientWrite, InputGradient, write_gradients};
use crate::stacked::gradients::sink::{
    GradientAction, GradientSink, StepAt, chain_start, store_or_step,
};
use crate::stacked::layers::stack_arena::StackArena;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Each cube computes the backward pass of one group of one example: `Σ δ` and `Σ δ · x̂` of each of its channels, from
/// them `mean(g)` and `mean(g · x̂)`, and the gradient with respect to each input. The sums of a vector of channels are
/// side by side.
#[cube(launch)]
fn delta_kernel<N: Size>(
    models: &[Vector<f32, N>],
    inputs: &[Vector<f32, N>],
    above: &[Vector<f32, N>],
    groups: &[f32],
    activations: &[Vector<f32, N>],
    counts: &[u32],
    sums: &mut [Vector<f32, N>],
    below: &mut [Vector<f32, N>],
    slot: Slot,
    norm: NormAt,
    slope: f32,
    #[comptime] write: GradientWrite,
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
    let mean = Vector::<f32, N>::new(groups[2 * CUBE_POS]);
    let inverse = Vector::<f32, N>::new(groups[2 * CUBE_POS + 1]);
    // Units share a channel's places if there are more units than vectors of channels.
    let lanes = select(size < units, size, units);
    let parts = units / lanes;
    let mut plain_of = Shared::<[Vector<f32, N>]>::new_slice(units);
    let mut weighted_of = Shared::<[Vector<f32, N>]>::new_slice(units);
    let first_sum = 2 * (example * norm.channels + first_channel);
    if unit < lanes * parts {
        let mut channel = unit % lanes;
        while channel < size {
            let mut plain = Vector::<f32, N>::new(0.0f32);
            let mut weighted = Vector::<f32, N>::new(0.0f32);
            let mut place = unit / lanes;
            while place < norm.places {
                let at = first + place * norm.channels + channel;
                let delta = above[at];
                plain += delta;
                weighted += delta * ((inputs[at] - mean) * inverse);
                place += parts;
            }
            plain_of[unit] = plain;
            weighted_of[unit] = weighted;
            if parts == 1 {
                sums[first_sum + 2 * channel] = plain;
                sums[first_sum + 2 * channel + 1] = weighted;
            }
            channel += lanes;
        }
    }
    sync_storage();
    if parts > 1 && unit < size {
        let mut plain = Vector::<f32, N>::new(0.0f32);
        let mut weighted = Vector::<f32, N>::new(0.0f32);
        for part in 0..parts {
            plain += plain_of[part * lanes + unit];
            weighted += weighted_of[part * lanes + unit];
        }
        sums[first_sum + 2 * unit] = plain;
        sums[first_sum + 2 * unit + 1] = weighted;
    }
    sync_storage();
    let model =
        (slot.first_row + example / slot.examples) * norm.width + norm.weight + first_channel;
    let mut plain_sum = 0.0f32;
    let mut weighted_sum = 0.0f32;
    for channel in 0..size {
        let weight = models[model + channel];
        let plain = sums[first_sum + 2 * channel] * weight;
        let weighted = sums[first_sum + 2 * channel + 1] * weight;
        #[unroll]
        for n in 0..N::value() {
            plain_sum += plain.extract(n);
            weighted_sum += weighted.extract(n);
        }
    }
    let vectors = norm.places * size;
    let count = f32::cast_from((vectors * N::value()) as u32);
    let plain = Vector::<f32, N>::new(plain_sum / count);
    let weighted = Vector::<f32, N>::new(weighted_sum / count);
    let mut at = unit;
    while at < vectors {
        let place = first + at / size * norm.channels + at % size;
        let normal = (inputs[place] - mean) * inverse;
        let gradient = above[place] * models[model + at % size];
        let values = (gradient - plain - normal * weighted) * inverse;
        write_gradients(below, activations, place, values, slope, write);
        at += units;
    }
}

/// Each unit holds the gradients with respect to the factors and the offsets of a vector of channels. If the sink adds,
/// the chains over the examples continue from what is there.
#[cube(launch)]
fn gradient_kernel<N: Size>(
    sums: &[Vector<f32, N>],
    counts: &[u32],
    gradients: &mut [Vector<f32, N>],
    models: &mut [Vector<f32, N>],
    velocities: &mut [Vector<f32, N>],
    rates: &[f32],
    slot: Slot,
    step: StepAt,
    norm: NormAt,
    #[comptime] action: GradientAction,
) {
    let row = ABSOLUTE_POS / norm.channels;
    let channel = ABSOLUTE_POS % norm.channels;
    if row >= slot.rows {
        terminate!();
    }
    let count = examples_of(&slot, counts, row);
    if count == 0 {
        terminate!();
    }
    let entry = slot.entry + row;
    let model = (slot.first_row + row) * norm.width + channel;
    let mut weight = chain_start(gradients, model + norm.weight, action);
    let mut bias = chain_start(gradients, model + norm.bias, action);
    for example in row * slot.examples..row * slot.examples + count {
        let at = 2 * (example * norm.channels + channel);
        bias += sums[at];
        weight += sums[at + 1];
    }
    store_or_step(
        gradients,
        models,
        velocities,
        rates,
        &step,
        entry,
        model + norm.weight,
        weight,
        action,
    );
    store_or_step(
        gradients,
        models,
        velocities,
        rates,
        &step,
        entry,
        model + norm.bias,
        bias,
        action,
    );
}

/// The backward pass of a normalisation.
pub(crate) struct NormDelta<'a> {
    pub(crate) norm: &'a GroupNorm,
    /// Its inputs, `[rows, examples, places, channels]`.
    pub(crate) inputs: &'a CubeTensor,
    /// The gradient with respect to its outputs, of the same shape.
    pub(crate) above: &'a CubeTensor,
}

impl NormDelta<'_> {
    /// Sends the gradient to `below`, given the `norms` of the forward pass, and stores the sums for the layer's own
    /// gradient.
    pub(crate) fn send(
        &self,
        norms: &Norms,
        StackArena { models, width }: StackArena<'_>,
        below: &InputGradient<'_>,
        part: &Part<'_>,
    ) {
        let (client, norm) = (&models.client, self.norm);
        let (count, dim) = cubes(client, part.places() * norm.groups, CUBE);
        let sent = part.places() * norm.grid.size();
        moves(
            2 * sent + below.reads(sent),
            sent + 2 * part.places() * norm.grid.channels,
        );
        delta_kernel::launch(
            client,
            count,
            dim,
            vector_of(norm),
            models.clone().into_buffer_arg(),
            self.inputs.clone().into_buffer_arg(),
            self.above.clone().into_buffer_arg(),
            norms.groups.clone().into_buffer_arg(),
            below.activations.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            norms.channels.clone().into_buffer_arg(),
            below.gradient.clone().into_buffer_arg(),
            part.argument(),
            argument(norm, width, vector_of(norm)),
            below.slope,
            below.write,
            CUBE as usize,
        );
    }

    /// Writes the gradients of the layer to `sink`, after [`NormDelta::send`].
    pub(crate) fn outer(&self, norms: &Norms, sink: &GradientSink, part: &Part<'_>) {
        let (client, channels) = (&norms.channels.client, self.norm.grid.channels);
        let n = vector_of(self.norm);
        let (count, dim) = line(client, part.rows * channels / n);
        let (read, written) = sink.moves(2 * part.rows * channels);
        moves(2 * part.places() * channels + read, written);
        gradient_kernel::launch(
            client,
            count,
            dim,
            n,
            norms.channels.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            sink.gradients.clone().into_buffer_arg(),
            sink.models.clone().into_buffer_arg(),
            sink.velocities.clone().into_buffer_arg(),
            sink.rates.clone().into_buffer_arg(),
            part.argument(),
            sink.step(),
            argument(self.norm, sink.width, n),
            sink.action,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::layer::NORM_EPSILON;
    use crate::stacked::device::memory::{cube, download};
    use crate::stacked::device::test_device::{
        SentGradient, UnevenBatch, expect_close, gpu, norms, numbers, stacked,
    };
    use crate::stacked::layers::group_norm::Normalise;

    /// For one example, the gradient with respect to the input, and for every number its term of the gradient with
    /// respect to its channel's factor; in double precision.
    fn oracle(norm: &GroupNorm, model: &[f32], x: &[f32], above: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let channels = norm.grid.channels;
        let (mut delta, mut weighted) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        for group in 0..norm.groups {
            let in_group = |at: &usize| at % channels / (channels / norm.groups) == group;
            let own: Vec<usize> = (0..x.len()).filter(in_group).collect();
            let mean_of = |value: &dyn Fn(usize) -> f64| {
                own.iter().map(|at| value(*at)).sum::<f64>() / own.len() as f64
            };
            let mean = mean_of(&|at| f64::from(x[at]));
            let variance = mean_of(&|at| (f64::from(x[at]) - mean).powi(2));
            let inverse = 1.0 / (variance + NORM_EPSILON).sqrt();
            let normal = |at: usize| (f64::from(x[at]) - mean) * inverse;
            let weight = |at: usize| f64::from(model[norm.weight.start + at % channels]);
            let gradient = |at: usize| f64::from(above[at]) * weight(at);
            let plain = mean_of(&gradient);
            let product = mean_of(&|at| gradient(at) * normal(at));
            for at in own.iter().copied() {
                delta[at] = ((gradient(at) - plain - normal(at) * product) * inverse) as f32;
                weighted[at] = (f64::from(above[at]) * normal(at)) as f32;
            }
        }
        (delta, weighted)
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn gradients_are_those_of_a_plain_loop() {
        let gpu = gpu();
        for ((norm, width), add) in norms().into_iter().zip([true, false, true, false]) {
            let (batch, size) = (UnevenBatch::uneven(3, 1), norm.grid.size());
            let all = 1 + batch.rows();
            let [models, before] = [1, 8].map(|seed| numbers(all * width, seed));
            let [x, above] = [2, 3].map(|seed| numbers(batch.rows() * 3 * size, seed));
            let (mut values, mut gradients) = (vec![0.0; x.len()], before.clone());
            let busy = batch
                .counts
                .iter()
                .enumerate()
                .filter(|(_, count)| **count > 0);
            for (row, count) in busy {
                let gradient = &mut gradients[(1 + row) * width..][..width];
                if !add {
                    gradient[norm.weight.clone()].fill(0.0);
                    gradient[norm.bias.clone()].fill(0.0);
                }
                for example in (0..*count as usize).map(|example| row * 3 + example) {
                    let place = example * size..(example + 1) * size;
                    let model = &models[(1 + row) * width..][..width];
                    let above = &above[place.clone()];
                    let (delta, weighted) = oracle(&norm, model, &x[place.clone()], above);
                    values[place].copy_from_slice(&delta);
                    for (at, (plain, weighted)) in above.iter().zip(weighted).enumerate() {
                        gradient[norm.weight.start + at % norm.grid.channels] += weighted;
                        gradient[norm.bias.start + at % norm.grid.channels] += plain;
                    }
                }
            }
            let memory = gpu.memory();
            let [inputs, above] = [&x, &above].map(|values| memory.upload_floats(values));
            let outputs = memory.floats(&[x.len()]);
            let counts = memory.upload_words(&batch.counts);
            let [models, found] = [models, before].map(|values| cube(stacked(&gpu, &values, all)));
            let kept = Norms::new(memory, &norm, batch.shape());
            let (arena, part) = (
                StackArena {
                    models: &models,
                    width,
                },
                batch.part(&counts),
            );
            let normalise = Normalise {
                arena,
                norm: &norm,
                inputs: &inputs,
                relu: false,
            };
            normalise.launch(&part, &outputs, &kept);
            let delta = NormDelta {
                norm: &norm,
                inputs: &inputs,
                above: &above,
            };
            SentGradient::new(x.len()).check(&gpu, &batch, &values, |below| {
                delta.send(&kept, arena, below, &part);
            });
            let sink = GradientSink::writing(&found, width);
            delta.outer(&kept, &sink.piece(!add), &part);
            expect_close(&download::<f32>(found), &gradients, 1e-4);
        }
    }
}
