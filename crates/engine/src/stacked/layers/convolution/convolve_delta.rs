//! The loss's gradient by what a convolution reads: `δx[q, c] = Σ_{windows p over q, o} δy[p, o] · w[q in p, c, o]`.

use super::convolve::product;
use crate::network::layer::Convolution;
use crate::stacked::batches::part::{Part, Slot, Tile, tile_at};
use crate::stacked::device::launch::{line, vector_size};
use crate::stacked::device::trace::moves;
use crate::stacked::gradients::gradient_write::{GradientWrite, InputGradient, write_gradient};
use crate::stacked::layers::arena::StackArena;
use crate::stacked::layers::layer::{self, LayerAt};
use crate::stacked::layers::window::{self, WindowAt, position_over};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Places whose sums a unit keeps in registers.
const TILE: usize = 4;

/// Each unit holds `tile` places of examples by one channel: it gathers from the windows over each, tap by tap, so that
/// no two units write to one place. Lanes of the vectors over the outputs are added in order at the end.
#[cube(launch)]
fn convolve_delta_kernel<N: Size>(
    models: &[Vector<f32, N>],
    above: &[Vector<f32, N>],
    activations: &[f32],
    counts: &[u32],
    below: &mut [f32],
    slot: Slot,
    layer: LayerAt,
    window: WindowAt,
    slope: f32,
    #[comptime] tile: usize,
    #[comptime] write: GradientWrite,
) {
    let taps = window.size_y * window.size_x;
    let channels = layer.inputs / taps;
    let places = window.height * window.width;
    let channel = ABSOLUTE_POS % channels;
    let Tile { row, first, count } = tile_at(&slot, counts, ABSOLUTE_POS / channels, places, tile);
    if first >= count {
        terminate!();
    }
    let slots = slot.examples * places;
    let model = (slot.first_row + row) * layer.width + layer.weight;
    let mut sums = Array::<Vector<f32, N>>::new(tile);
    #[unroll]
    for i in 0..tile {
        sums[i] = Vector::new(0.0f32);
    }
    for tap in 0..taps {
        let weights = model + (tap * channels + channel) * layer.columns;
        // Where the window's outputs begin, and one more; zero if there is none.
        let mut starts = Array::<usize>::new(tile);
        #[unroll]
        for i in 0..tile {
            let at = select(first + i < count, first + i, count - 1);
            let position = position_over(&window, at % places, tap);
            starts[i] = 0usize;
            if position > 0 {
                let example = row * slot.examples + at / places;
                starts[i] = (example * layer.places + position - 1) * layer.columns + 1;
            }
        }
        for j in 0..layer.columns {
            let w = models[weights + j];
            #[unroll]
            for i in 0..tile {
                if starts[i] > 0 {
                    sums[i] += above[starts[i] - 1 + j] * w;
                }
            }
        }
    }
    #[unroll]
    for i in 0..tile {
        if first + i < count {
            let mut sum = 0.0f32;
            #[unroll]
            for n in 0..N::value() {
                sum += sums[i].extract(n);
            }
            let place = (row * slots + first + i) * channels + channel;
            write_gradient(below, activations, place, sum, slope, write);
        }
    }
}

/// Sends `above` `[rows, examples, positions, outputs]` through the layer to `below`, which is
/// `[rows, examples, places, channels]`.
pub(crate) fn convolve_delta(
    StackArena { models, width }: StackArena<'_>,
    convolution: &Convolution,
    above: &CubeTensor,
    below: &InputGradient<'_>,
    part: &Part<'_>,
) {
    let (input, product) = (&convolution.input, product(convolution));
    let n = vector_size(product.outputs);
    let slots = part.examples * input.places();
    let tile = TILE.min(slots.next_power_of_two());
    let (count, dim) = line(
        &models.client,
        part.rows * slots.div_ceil(tile) * input.channels,
    );
    let sent = part.places() * input.size();
    moves(
        part.rows * product.weight.len()
            + part.places() * convolution.output.size()
            + below.reads(sent),
        sent,
    );
    convolve_delta_kernel::launch(
        &models.client,
        count,
        dim,
        n,
        models.clone().into_buffer_arg(),
        above.clone().into_buffer_arg(),
        below.activations.clone().into_buffer_arg(),
        part.counts.clone().into_buffer_arg(),
        below.gradient.clone().into_buffer_arg(),
        part.argument(),
        layer::argument(&product, width, n),
        window::argument(input, &convolution.output, &convolution.window),
        below.slope,
        tile,
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
