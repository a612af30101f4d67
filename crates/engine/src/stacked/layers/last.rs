//! The last position of a sequence, and the way back to it.

use super::relu::rectified_one;
use crate::network::layer::Grid;
use crate::stacked::batches::part::{Part, Slot, has};
use crate::stacked::device::launch::line;
use crate::stacked::device::trace::moves;
use crate::stacked::gradients::gradient_write::{GradientWrite, InputGradient, write_gradient};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Each unit takes one number of the last position.
#[cube(launch)]
fn last_kernel(
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
    let place = example * places + places - 1;
    let value = inputs[place * channels + ABSOLUTE_POS % channels];
    outputs[ABSOLUTE_POS] = rectified_one(value, relu);
}

/// Each unit holds the gradient by one number, which is zero but for the last position.
#[cube(launch)]
fn last_delta_kernel(
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
    let mut value = 0.0f32;
    if ABSOLUTE_POS / channels % places == places - 1 {
        value = above[example * channels + ABSOLUTE_POS % channels];
    }
    write_gradient(below, activations, ABSOLUTE_POS, value, slope, write);
}

/// Writes the last position of `inputs` `[rows, examples, places, channels]` to `outputs` `[rows, examples, channels]`,
/// followed by ReLU if `relu`.
pub(crate) fn last(
    grid: &Grid,
    (inputs, outputs, counts): (&CubeTensor, &CubeTensor, &CubeTensor),
    part: &Part,
    relu: bool,
) {
    let client = &inputs.client;
    let (count, dim) = line(client, part.rows * part.examples * grid.channels);
    moves(part.places() * grid.channels, part.places() * grid.channels);
    last_kernel::launch(
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

/// Sends `above` `[rows, examples, channels]` to the last position.
pub(crate) fn last_delta(
    grid: &Grid,
    (above, counts): (&CubeTensor, &CubeTensor),
    below: &InputGradient<'_>,
    part: &Part,
) {
    let client = &above.client;
    let (count, dim) = line(client, part.rows * part.examples * grid.size());
    let sent = part.places() * grid.size();
    moves(part.places() * grid.channels + below.reads(sent), sent);
    last_delta_kernel::launch(
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
    use crate::stacked::device::test_device::{Batch, Sent, gpu, numbers};

    #[test]
    fn the_last_position_is_taken_and_given_back() {
        let Some(gpu) = gpu() else { return };
        for (width, channels) in [(5, 7), (1, 3), (4, 1)] {
            let grid = Grid {
                height: 1,
                width,
                channels,
            };
            let batch = Batch::uneven(3, 0);
            let x = numbers(9 * grid.size(), 2);
            let above = numbers(9 * channels, 3);
            let (mut outputs, mut values) = (vec![0.0; above.len()], vec![0.0; x.len()]);
            for (row, count) in batch.counts.iter().enumerate() {
                for example in (0..*count as usize).map(|example| row * 3 + example) {
                    for c in 0..channels {
                        let from = (example * width + width - 1) * channels + c;
                        outputs[example * channels + c] = x[from];
                        values[from] = above[example * channels + c];
                    }
                }
            }
            let memory = gpu.memory();
            let [x, above] = [&x, &above].map(|values| memory.upload_floats(values));
            let counts = memory.upload_words(&batch.counts);
            let found = memory.upload_floats(&vec![0.0; outputs.len()]);
            last(&grid, (&x, &found, &counts), &batch.part(), false);
            assert_eq!(download::<f32>(found), outputs);
            Sent::new(values.len()).check(&gpu, &batch, &values, |below| {
                last_delta(&grid, (&above, &counts), below, &batch.part());
            });
        }
    }
}
