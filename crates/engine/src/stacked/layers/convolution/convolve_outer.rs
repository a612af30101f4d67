//! A convolution's gradient: `∂w[q, c, o] = Σ_p x[q under p, c] · δ[p, o]` and `∂b = Σ δ`, written directly to the
//! sink.

use super::convolve::product;
use super::outer_tiles::Tiles;
use crate::network::layer::Convolution;
use crate::stacked::batches::part::{Part, Slot, examples_of};
use crate::stacked::device::launch::{line, vector_size};
use crate::stacked::device::trace::moves;
use crate::stacked::gradients::sink::{
    GradientAction, GradientSink, StepAt, chain_start, store_or_step,
};
use crate::stacked::layers::bias_gradient::bias_gradient;
use crate::stacked::layers::dense_view::{self, DenseView};
use crate::stacked::layers::product::add_outer_products;
use crate::stacked::layers::window::{self, WindowAt};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Positions that a unit loads at once.
const AHEAD: usize = 4;

/// The first of `positions` whose tap `tap` does not lie before the border.
#[cube]
fn first_inside(tap: usize, stride: usize, padding: usize, positions: usize) -> usize {
    let mut first = 0usize;
    if padding > tap {
        first = (padding - tap).div_ceil(stride);
    }
    select(first < positions, first, positions)
}

/// One more than the last of `positions` whose tap `tap` does not lie behind the border after `places` places.
#[cube]
fn end_inside(tap: usize, stride: usize, padding: usize, places: usize, positions: usize) -> usize {
    let mut end = 0usize;
    if places + padding > tap {
        end = (places + padding - tap).div_ceil(stride);
    }
    select(end < positions, end, positions)
}

/// Each unit holds one vector of channels under one tap by one vector of outputs; if the layer has a bias (`biases` is
/// one, not zero), the last unit of a column holds it. If the sink adds, the chain over examples and positions
/// continues from what is there.
#[cube(launch)]
fn convolve_outer_kernel<N: Size, M: Size>(
    inputs: &[Vector<f32, M>],
    deltas: &[Vector<f32, N>],
    counts: &[u32],
    gradients: &mut [Vector<f32, N>],
    models: &mut [Vector<f32, N>],
    velocities: &mut [Vector<f32, N>],
    rates: &[f32],
    slot: Slot,
    step: StepAt,
    layer: DenseView,
    window: WindowAt,
    #[comptime] action: GradientAction,
    #[comptime] biases: usize,
) {
    let inner = layer.inputs / M::value();
    let units = inner + biases;
    let column = ABSOLUTE_POS % layer.columns;
    let rest = ABSOLUTE_POS / layer.columns;
    let row = rest / units;
    let input = rest % units;
    if row >= slot.rows {
        terminate!();
    }
    let count = examples_of(&slot, counts, row);
    if count == 0 {
        terminate!();
    }
    let entry = slot.entry + row;
    let model = (slot.first_row + row) * layer.width;
    let source = row * slot.examples;
    if input == inner {
        bias_gradient(
            deltas,
            gradients,
            models,
            velocities,
            rates,
            &step,
            &layer,
            entry,
            model + layer.bias + column,
            column,
            source * layer.places,
            (source + count) * layer.places,
            action,
        );
    } else {
        let channels = inner / (window.size_y * window.size_x);
        let (tap, channel) = (input / channels, input % channels);
        let (tap_y, tap_x) = (tap / window.size_x, tap % window.size_x);
        let first_y = first_inside(tap_y, window.stride_y, window.padding_y, window.rows);
        let first_x = first_inside(tap_x, window.stride_x, window.padding_x, window.columns);
        let end_y = end_inside(
            tap_y,
            window.stride_y,
            window.padding_y,
            window.height,
            window.rows,
        );
        let end_x = end_inside(
            tap_x,
            window.stride_x,
            window.padding_x,
            window.width,
            window.columns,
        );
        let first = model + layer.weight + input * M::value() * layer.columns + column;
        let mut sums = Array::<Vector<f32, N>>::new(M::value());
        #[unroll]
        for m in 0..M::value() {
            sums[m] = chain_start(gradients, first + m * layer.columns, action);
        }
        let mut length = 0usize;
        if end_x > first_x {
            length = end_x - first_x;
        }
        for example in source..source + count {
            for row_y in first_y..end_y {
                let y = row_y * window.stride_y + tap_y - window.padding_y;
                let line = (example * window.height + y) * window.width;
                let place = line + first_x * window.stride_x + tap_x - window.padding_x;
                let position = example * layer.places + row_y * window.columns + first_x;
                add_outer_products(
                    inputs,
                    deltas,
                    &mut sums,
                    place * channels + channel,
                    window.stride_x * channels,
                    position * layer.columns + column,
                    layer.columns,
                    length,
                    AHEAD,
                );
            }
        }
        #[unroll]
        for m in 0..M::value() {
            store_or_step(
                gradients,
                models,
                velocities,
                rates,
                &step,
                entry,
                first + m * layer.columns,
                sums[m],
                action,
            );
        }
    }
}

/// Writes the gradient of `convolution` to `sink`, given its `inputs` `[rows, examples, places, channels]` and `deltas`
/// `[rows, examples, positions, outputs]`, the gradient with respect to its outputs.
pub(crate) fn convolve_outer(
    convolution: &Convolution,
    inputs: &CubeTensor,
    deltas: &CubeTensor,
    sink: &GradientSink,
    part: &Part<'_>,
) {
    let client = &inputs.client;
    let product = product(convolution);
    let (n, m) = (
        vector_size(product.outputs),
        vector_size(convolution.input.channels),
    );
    let (read, written) = sink.moves(part.rows * product.parameters());
    let numbers = part.places() * (convolution.input.size() + convolution.output.size());
    moves(numbers + read, written);
    if let Some(tiles) = Tiles::of(convolution, (n, m), client, part) {
        tiles.launch(convolution, &product, (n, m), [inputs, deltas], sink, part);
        return;
    }
    let biases = usize::from(product.bias.is_some());
    let (count, dim) = line(
        client,
        part.rows * (product.inputs / m + biases) * (product.outputs / n),
    );
    convolve_outer_kernel::launch(
        client,
        count,
        dim,
        n,
        m,
        inputs.clone().into_buffer_arg(),
        deltas.clone().into_buffer_arg(),
        part.counts.clone().into_buffer_arg(),
        sink.gradients.clone().into_buffer_arg(),
        sink.models.clone().into_buffer_arg(),
        sink.velocities.clone().into_buffer_arg(),
        sink.rates.clone().into_buffer_arg(),
        part.argument(),
        sink.step(),
        dense_view::argument(&product, sink.width, n),
        window::argument(&convolution.input, &convolution.output, &convolution.window),
        sink.action,
        biases,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::memory::{cube, download};
    use crate::stacked::device::test_device::{
        UnevenBatch, convolutions, expect_close, gpu, numbers, stacked,
    };
    use crate::stacked::layers::window::taps;

    /// Adds the gradient on one example to a row of the arena.
    fn add_example(layer: &Convolution, model: &mut [f32], x: &[f32], deltas: &[f32]) {
        let (channels, outputs) = (layer.input.channels, layer.output.channels);
        for (position, deltas) in deltas.chunks_exact(outputs).enumerate() {
            for (tap, place) in taps(&layer.input, &layer.output, &layer.window, position) {
                for c in 0..channels {
                    let at = layer.weight.start + (tap * channels + c) * outputs;
                    for (gradient, d) in model[at..].iter_mut().zip(deltas) {
                        *gradient += x[place * channels + c] * d;
                    }
                }
            }
            let bias = layer.bias.clone().unwrap_or_default();
            for (gradient, d) in model[bias].iter_mut().zip(deltas) {
                *gradient += d;
            }
        }
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn the_gradient_is_that_of_a_plain_loop() {
        let gpu = gpu();
        for (layer, width) in convolutions() {
            for (add, examples) in [(false, 3), (true, 9)] {
                let batch = UnevenBatch::uneven(examples, 1);
                let all = 1 + batch.rows();
                let before = numbers(all * width, 8);
                let x = numbers(batch.rows() * examples * layer.input.size(), 9);
                let deltas = numbers(batch.rows() * examples * layer.output.size(), 10);
                let mut oracle = before.clone();
                let busy = batch
                    .counts
                    .iter()
                    .enumerate()
                    .filter(|(_, count)| **count > 0);
                for (row, count) in busy {
                    let model = &mut oracle[(1 + row) * width..][..width];
                    if !add {
                        model[layer.weight.clone()].fill(0.0);
                        model[layer.bias.clone().unwrap_or_default()].fill(0.0);
                    }
                    for example in (0..*count as usize).map(|example| row * examples + example) {
                        let x = &x[example * layer.input.size()..][..layer.input.size()];
                        let deltas = &deltas[example * layer.output.size()..];
                        add_example(&layer, model, x, &deltas[..layer.output.size()]);
                    }
                }
                let memory = gpu.memory();
                let [x, deltas] = [x, deltas].map(|values| memory.upload_floats(&values));
                let counts = memory.upload_words(&batch.counts);
                let gradients = cube(stacked(&gpu, &before, all));
                convolve_outer(
                    &layer,
                    &x,
                    &deltas,
                    &GradientSink::writing(&gradients, width).piece(!add),
                    &batch.part(&counts),
                );
                expect_close(&download::<f32>(gradients), &oracle, 3e-5);
            }
        }
    }
}
