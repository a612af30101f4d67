//! The mean of every channel over the places of a grid, and the way back.

use super::relu::rectified_one;
use crate::network::layer::Grid;
use crate::stacked::batches::part::{Part, Slot, has};
use crate::stacked::device::launch::line;
use crate::stacked::device::trace::moves;
use crate::stacked::gradients::gradient_write::{GradientWrite, InputGradient, write_gradient};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Each unit holds the mean of one channel of one example.
#[cube(launch)]
fn mean_pool_kernel(
    inputs: &[f32],
    counts: &[u32],
    outputs: &mut [f32],
    slot: Slot,
    places: usize,
    channels: usize,
    #[comptime] relu: bool,
) {
    let example = ABSOLUTE_POS / channels;
    if !has(&slot, counts, example) {
        terminate!();
    }
    let first = example * places * channels + ABSOLUTE_POS % channels;
    let mut sum = 0.0f32;
    for place in 0..places {
        sum += inputs[first + place * channels];
    }
    outputs[ABSOLUTE_POS] = rectified_one(sum / f32::cast_from(places as u32), relu);
}

/// Each unit holds the gradient by one number.
#[cube(launch)]
fn mean_pool_delta_kernel(
    above: &[f32],
    activations: &[f32],
    counts: &[u32],
    below: &mut [f32],
    slot: Slot,
    places: usize,
    channels: usize,
    slope: f32,
    #[comptime] write: GradientWrite,
) {
    let example = ABSOLUTE_POS / (places * channels);
    if !has(&slot, counts, example) {
        terminate!();
    }
    let at = example * channels + ABSOLUTE_POS % channels;
    let value = above[at] / f32::cast_from(places as u32);
    write_gradient(below, activations, ABSOLUTE_POS, value, slope, write);
}

/// Writes the means of `inputs` `[rows, examples, places, channels]` to `outputs` `[rows, examples, channels]`, followed
/// by ReLU if `relu`.
pub(crate) fn mean_pool(
    grid: &Grid,
    (inputs, outputs, counts): (&CubeTensor, &CubeTensor, &CubeTensor),
    part: &Part,
    relu: bool,
) {
    let client = &inputs.client;
    let (count, dim) = line(client, part.rows * part.examples * grid.channels);
    moves(part.places() * grid.size(), part.places() * grid.channels);
    mean_pool_kernel::launch(
        client,
        count,
        dim,
        inputs.clone().into_buffer_arg(),
        counts.clone().into_buffer_arg(),
        outputs.clone().into_buffer_arg(),
        part.argument(),
        grid.places(),
        grid.channels,
        relu,
    );
}

/// Sends `above` `[rows, examples, channels]` to all places.
pub(crate) fn mean_pool_delta(
    grid: &Grid,
    (above, counts): (&CubeTensor, &CubeTensor),
    below: &InputGradient<'_>,
    part: &Part,
) {
    let client = &above.client;
    let (count, dim) = line(client, part.rows * part.examples * grid.size());
    let sent = part.places() * grid.size();
    moves(part.places() * grid.channels + below.reads(sent), sent);
    mean_pool_delta_kernel::launch(
        client,
        count,
        dim,
        above.clone().into_buffer_arg(),
        below.activations.clone().into_buffer_arg(),
        counts.clone().into_buffer_arg(),
        below.gradient.clone().into_buffer_arg(),
        part.argument(),
        grid.places(),
        grid.channels,
        below.slope,
        below.write,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::memory::download;
    use crate::stacked::device::test_device::{Batch, Sent, expect_close, gpu, numbers};

    #[test]
    fn means_and_the_way_back_are_those_of_a_plain_loop() {
        let Some(gpu) = gpu() else { return };
        for (height, width, channels) in [(3, 5, 7), (1, 1, 3), (4, 4, 1)] {
            let grid = Grid {
                height,
                width,
                channels,
            };
            let batch = Batch::uneven(3, 0);
            let x = numbers(batch.rows() * 3 * grid.size(), 2);
            let above = numbers(batch.rows() * 3 * channels, 3);
            let share = 1.0 / grid.places() as f32;
            let (mut outputs, mut values) = (vec![0.0; above.len()], vec![0.0; x.len()]);
            for (row, count) in batch.counts.iter().enumerate() {
                let own = row * 3 * grid.size()..(row * 3 + *count as usize) * grid.size();
                for at in own {
                    let mean = at / grid.size() * channels + at % channels;
                    outputs[mean] += x[at] * share;
                    values[at] = above[mean] * share;
                }
            }
            let memory = gpu.memory();
            let [x, above] = [&x, &above].map(|values| memory.upload_floats(values));
            let counts = memory.upload_words(&batch.counts);
            let found = memory.upload_floats(&vec![0.0; outputs.len()]);
            mean_pool(&grid, (&x, &found, &counts), &batch.part(), false);
            expect_close(&download::<f32>(found), &outputs, 1e-6);
            Sent::new(values.len()).check(&gpu, &batch, &values, |below| {
                mean_pool_delta(&grid, (&above, &counts), below, &batch.part());
            });
        }
    }
}
