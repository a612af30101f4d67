//! The gradient with respect to the input of a convolution: `δx[q, c] = Σ_{windows p over q, o} δy[p, o] · w[q in p, c,
//! o]`.

use super::convolve::product;
use super::convolve_lines::{Reading, convolve_delta_lines_kernel};
use crate::network::layer::{Convolution, Window};
use crate::stacked::batches::part::{Part, Slot, Tile, tile_at};
use crate::stacked::device::launch::{line, vector_size};
use crate::stacked::device::trace::moves;
use crate::stacked::gradients::gradient_write::{GradientWrite, InputGradient, write_gradients};
use crate::stacked::layers::product::add_products_inside;
use crate::stacked::layers::stack_arena::StackArena;
use crate::stacked::layers::transpose::Transpose;
use crate::stacked::layers::window::{self, WindowAt, position_over};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Places whose sums a unit keeps in registers.
const TILE: usize = 4;

/// Each unit holds `tile` places of examples by one vector of channels: it gathers from the windows over each, tap by tap,
/// so that no two units write to one place. Every sum is one chain over the taps and, in each, over the outputs.
#[cube(launch)]
fn convolve_delta_kernel<N: Size, M: Size>(
    transposed: &[Vector<f32, N>],
    above: &[Vector<f32, M>],
    activations: &[Vector<f32, N>],
    counts: &[u32],
    below: &mut [Vector<f32, N>],
    slot: Slot,
    outputs: usize,
    columns: usize,
    window: WindowAt,
    slope: f32,
    #[comptime] tile: usize,
    #[comptime] strided: bool,
    #[comptime] write: GradientWrite,
) {
    let taps = window.size_y * window.size_x;
    let places = window.height * window.width;
    let positions = window.rows * window.columns;
    let column = ABSOLUTE_POS % columns;
    let Tile { row, first, count } = tile_at(&slot, counts, ABSOLUTE_POS / columns, places, tile);
    if first >= count {
        terminate!();
    }
    let slots = slot.examples * places;
    let inner = outputs / M::value();
    let mut sums = Array::<Vector<f32, N>>::new(tile);
    let mut ys = Array::<usize>::new(tile);
    let mut xs = Array::<usize>::new(tile);
    let mut examples = Array::<usize>::new(tile);
    #[unroll]
    for i in 0..tile {
        sums[i] = Vector::new(0.0f32);
        let at = select(first + i < count, first + i, count - 1);
        let place = at % places;
        ys[i] = place / window.width + window.padding_y;
        xs[i] = place % window.width + window.padding_x;
        examples[i] = (row * slot.examples + at / places) * positions;
    }
    for tap in 0..taps {
        let weights = (row * taps + tap) * outputs * columns + column;
        let (tap_y, tap_x) = (tap / window.size_x, tap % window.size_x);
        // One more than where the window's outputs begin; zero if there is none.
        let mut starts = Array::<usize>::new(tile);
        #[unroll]
        for i in 0..tile {
            let position = position_over(&window, ys[i], xs[i], tap_y, tap_x, strided);
            starts[i] = 0usize;
            if position > 0 {
                starts[i] = (examples[i] + position - 1) * inner + 1;
            }
        }
        add_products_inside(
            transposed, above, &starts, &mut sums, weights, columns, inner, tile,
        );
    }
    #[unroll]
    for i in 0..tile {
        if first + i < count {
            let place = (row * slots + first + i) * columns + column;
            write_gradients(below, activations, place, sums[i], slope, write);
        }
    }
}

/// The window of the convolution that computes the backward pass of `window`, if there is one.
fn turned_round(window: &Window) -> Option<Window> {
    let border = |size: usize, padding: usize| (size - 1).checked_sub(padding);
    let padding = (
        border(window.size.0, window.padding.0)?,
        border(window.size.1, window.padding.1)?,
    );
    (window.stride == (1, 1)).then_some(Window { padding, ..*window })
}

/// Sends `above` `[rows, examples, positions, outputs]` through the layer to `below`, which is
/// `[rows, examples, places, channels]`.
pub(crate) fn convolve_delta(
    arena: StackArena<'_>,
    convolution: &Convolution,
    above: &CubeTensor,
    below: &InputGradient<'_>,
    part: &Part<'_>,
) {
    let client = &above.client;
    let (input, product) = (&convolution.input, product(convolution));
    let transpose = Transpose {
        first: product.weight.start,
        count: product.inputs / input.channels,
        height: input.channels,
        width: product.outputs,
    };
    let transposed = transpose.launch(arena, part);
    let (n, m) = (vector_size(input.channels), vector_size(product.outputs));
    let sent = part.places() * input.size();
    moves(
        part.rows * product.weight.len()
            + part.places() * convolution.output.size()
            + below.reads(sent),
        sent,
    );
    if let Some(turned) = turned_round(&convolution.window) {
        let reading = Reading {
            input: &convolution.output,
            output: input,
            window: &turned,
            flipped: true,
        };
        if let Some(lines) = reading.lines((n, m), part) {
            let (count, dim) = line(client, reading.units(lines, n, part));
            convolve_delta_lines_kernel::launch(
                client,
                count,
                dim,
                n,
                m,
                transposed.into_buffer_arg(),
                above.clone().into_buffer_arg(),
                below.activations.clone().into_buffer_arg(),
                part.counts.clone().into_buffer_arg(),
                below.gradient.clone().into_buffer_arg(),
                part.argument(),
                product.outputs,
                input.channels / n,
                reading.argument(),
                below.slope,
                lines,
                below.write,
            );
            return;
        }
    }
    let slots = part.examples * input.places();
    let tile = TILE.min(slots.next_power_of_two());
    let columns = input.channels / n;
    let (count, dim) = line(client, part.rows * slots.div_ceil(tile) * columns);
    convolve_delta_kernel::launch(
        client,
        count,
        dim,
        n,
        m,
        transposed.into_buffer_arg(),
        above.clone().into_buffer_arg(),
        below.activations.clone().into_buffer_arg(),
        part.counts.clone().into_buffer_arg(),
        below.gradient.clone().into_buffer_arg(),
        part.argument(),
        product.outputs,
        columns,
        window::argument(input, &convolution.output, &convolution.window),
        below.slope,
        tile,
        convolution.window.stride != (1, 1),
        below.write,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::memory::cube;
    use crate::stacked::device::test_device::{
        SentGradient, UnevenBatch, convolutions, gpu, numbers, stacked,
    };
    use crate::stacked::layers::window::taps;

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn the_gradient_by_the_input_is_that_of_a_plain_loop() {
        let gpu = gpu();
        for (layer, width) in convolutions() {
            let (batch, examples) = (UnevenBatch::uneven(3, 1), 3);
            let (channels, outputs) = (layer.input.channels, layer.output.channels);
            let all = 1 + batch.rows();
            let models = numbers(all * width, 5);
            let above = numbers(batch.rows() * examples * layer.output.size(), 6);
            let sent = SentGradient::new(batch.rows() * examples * layer.input.size());
            let mut values = vec![0.0; sent.len()];
            for (row, count) in batch.counts.iter().enumerate() {
                let weights = &models[(1 + row) * width + layer.weight.start..];
                for example in (0..*count as usize).map(|example| row * examples + example) {
                    for position in 0..layer.output.places() {
                        let above = &above[example * layer.output.size() + position * outputs..];
                        for (tap, place) in
                            taps(&layer.input, &layer.output, &layer.window, position)
                        {
                            for c in 0..channels {
                                let weights = &weights[(tap * channels + c) * outputs..];
                                let terms = weights[..outputs].iter().zip(above);
                                values[example * layer.input.size() + place * channels + c] +=
                                    terms.map(|(w, d)| w * d).sum::<f32>();
                            }
                        }
                    }
                }
            }
            let arena = cube(stacked(&gpu, &models, all));
            let above = gpu.memory().upload_floats(&above);
            let counts = gpu.memory().upload_words(&batch.counts);
            sent.check(&gpu, &batch, &values, |below| {
                convolve_delta(
                    StackArena {
                        models: &arena,
                        width,
                    },
                    &layer,
                    &above,
                    below,
                    &batch.part(&counts),
                );
            });
        }
    }
}
