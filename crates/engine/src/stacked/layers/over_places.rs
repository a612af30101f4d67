//! Layers that reduce all places of an example to one vector, the mean over a grid or the last position of a sequence;
//! and their backward pass.

use super::relu::rectified_one;
use super::{Backward, Forward, StackedLayer};
use crate::network::layer::{Grid, Last, MeanPool};
use crate::stacked::batches::part::{Part, Slot, has};
use crate::stacked::device::launch::line;
use crate::stacked::device::trace::moves;
use crate::stacked::gradients::gradient_write::{GradientWrite, InputGradient, write_gradient};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// How places are reduced to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum OverPlaces {
    /// The mean of every channel.
    Mean,
    /// The last place.
    Last,
}

impl OverPlaces {
    /// Places of an example that are read.
    fn read(self, grid: &Grid) -> usize {
        match self {
            Self::Mean => grid.places(),
            Self::Last => 1,
        }
    }
}

impl StackedLayer for MeanPool {
    fn forward(&self, forward: &Forward<'_>) {
        OverPlaces::Mean.run(&self.grid, forward);
    }

    fn backward(&self, backward: &Backward<'_>) {
        OverPlaces::Mean.run_back(&self.grid, backward);
    }
}

impl StackedLayer for Last {
    fn forward(&self, forward: &Forward<'_>) {
        OverPlaces::Last.run(&self.grid, forward);
    }

    fn backward(&self, backward: &Backward<'_>) {
        OverPlaces::Last.run_back(&self.grid, backward);
    }
}

impl OverPlaces {
    fn run(self, grid: &Grid, forward: &Forward<'_>) {
        let inputs = forward.own_inputs();
        self.forward(
            grid,
            inputs,
            forward.outputs,
            forward.flow.part,
            forward.relu,
        );
    }

    fn run_back(self, grid: &Grid, backward: &Backward<'_>) {
        if let Some(below) = &backward.below {
            self.backward(grid, backward.above, below, backward.flow.part);
        }
    }
}

/// Each unit holds one channel of one example.
#[cube(launch)]
fn over_places_kernel(
    inputs: &[f32],
    counts: &[u32],
    outputs: &mut [f32],
    slot: Slot,
    places: usize,
    channels: usize,
    #[comptime] made: OverPlaces,
    #[comptime] relu: bool,
) {
    let example = ABSOLUTE_POS / channels;
    if !has(&slot, counts, example) {
        terminate!();
    }
    let first = example * places * channels + ABSOLUTE_POS % channels;
    let mut value = 0.0f32;
    if comptime!(made == OverPlaces::Mean) {
        for place in 0..places {
            value += inputs[first + place * channels];
        }
        value /= f32::cast_from(places as u32);
    } else {
        value = inputs[first + (places - 1) * channels];
    }
    outputs[ABSOLUTE_POS] = rectified_one(value, relu);
}

/// Each unit holds the gradient with respect to one input.
#[cube(launch)]
fn over_places_delta_kernel(
    above: &[f32],
    activations: &[f32],
    counts: &[u32],
    below: &mut [f32],
    slot: Slot,
    places: usize,
    channels: usize,
    slope: f32,
    #[comptime] made: OverPlaces,
    #[comptime] write: GradientWrite,
) {
    let example = ABSOLUTE_POS / (places * channels);
    if !has(&slot, counts, example) {
        terminate!();
    }
    let at = example * channels + ABSOLUTE_POS % channels;
    let mut value = 0.0f32;
    if comptime!(made == OverPlaces::Mean) {
        value = above[at] / f32::cast_from(places as u32);
    } else if ABSOLUTE_POS / channels % places == places - 1 {
        value = above[at];
    }
    write_gradient(below, activations, ABSOLUTE_POS, value, slope, write);
}

impl OverPlaces {
    /// Reads `inputs` `[rows, examples, places, channels]` and writes `outputs` `[rows, examples, channels]`, followed by
    /// ReLU if `relu`.
    pub(crate) fn forward(
        self,
        grid: &Grid,
        inputs: &CubeTensor,
        outputs: &CubeTensor,
        part: &Part<'_>,
        relu: bool,
    ) {
        let client = &inputs.client;
        let (count, dim) = line(client, part.rows * part.examples * grid.channels);
        moves(
            part.places() * self.read(grid) * grid.channels,
            part.places() * grid.channels,
        );
        over_places_kernel::launch(
            client,
            count,
            dim,
            inputs.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            outputs.clone().into_buffer_arg(),
            part.argument(),
            grid.places(),
            grid.channels,
            self,
            relu,
        );
    }

    /// Sends the gradient `above` `[rows, examples, channels]` to the places that were read.
    pub(crate) fn backward(
        self,
        grid: &Grid,
        above: &CubeTensor,
        below: &InputGradient<'_>,
        part: &Part<'_>,
    ) {
        let client = &above.client;
        let (count, dim) = line(client, part.rows * part.examples * grid.size());
        let sent = part.places() * grid.size();
        moves(part.places() * grid.channels + below.reads(sent), sent);
        over_places_delta_kernel::launch(
            client,
            count,
            dim,
            above.clone().into_buffer_arg(),
            below.activations.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            below.gradient.clone().into_buffer_arg(),
            part.argument(),
            grid.places(),
            grid.channels,
            below.slope,
            self,
            below.write,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::memory::download;
    use crate::stacked::device::test_device::{
        SentGradient, UnevenBatch, expect_close, gpu, numbers,
    };

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn means_and_the_way_back_are_those_of_a_plain_loop() {
        let gpu = gpu();
        for (height, width, channels) in [(3, 5, 7), (1, 1, 3), (4, 4, 1)] {
            let grid = Grid {
                height,
                width,
                channels,
            };
            let batch = UnevenBatch::uneven(3, 0);
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
            OverPlaces::Mean.forward(&grid, &x, &found, &batch.part(&counts), false);
            expect_close(&download::<f32>(found), &outputs, 1e-6);
            SentGradient::new(values.len()).check(&gpu, &batch, &values, |below| {
                OverPlaces::Mean.backward(&grid, &above, below, &batch.part(&counts));
            });
        }
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn the_last_position_is_taken_and_given_back() {
        let gpu = gpu();
        for (width, channels) in [(5, 7), (1, 3), (4, 1)] {
            let grid = Grid {
                height: 1,
                width,
                channels,
            };
            let batch = UnevenBatch::uneven(3, 0);
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
            OverPlaces::Last.forward(&grid, &x, &found, &batch.part(&counts), false);
            assert_eq!(download::<f32>(found), outputs);
            SentGradient::new(values.len()).check(&gpu, &batch, &values, |below| {
                OverPlaces::Last.backward(&grid, &above, below, &batch.part(&counts));
            });
        }
    }
}
