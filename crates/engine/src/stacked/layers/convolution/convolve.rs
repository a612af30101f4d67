//! A convolution of all rows: `y[p, o] = b[o] + Σ_{q in window, c} x[q, c] · w[q, c, o]`, with ReLU if asked for.
//!
//! Windows are read in place: unfolding them first would copy each place once for every window over it.

use super::convolve_lines::{Reading, convolve_lines_kernel};
use crate::network::layer::{Convolution, Dense};
use crate::stacked::batches::part::{Part, Slot, Tile, tile_at};
use crate::stacked::device::launch::{line, vector_size};
use crate::stacked::device::trace::moves;
use crate::stacked::layers::dense_view::{self, DenseView};
use crate::stacked::layers::product::add_products_inside;
use crate::stacked::layers::relu::rectified;
use crate::stacked::layers::window::{self, WindowAt, place_at};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Positions whose sums a unit keeps in registers.
const TILE: usize = 8;

/// Each unit holds `tile` positions of examples by one vector of outputs; every output is one chain over the taps of
/// the window and, in each, over the channels.
#[cube(launch)]
fn convolve_kernel<N: Size, M: Size>(
    models: &[Vector<f32, N>],
    inputs: &[Vector<f32, M>],
    counts: &[u32],
    outputs: &mut [Vector<f32, N>],
    slot: Slot,
    layer: DenseView,
    window: WindowAt,
    input_rows: usize,
    #[comptime] tile: usize,
    #[comptime] relu: bool,
    #[comptime] biased: bool,
) {
    let column = ABSOLUTE_POS % layer.columns;
    let Tile { row, first, count } = tile_at(
        &slot,
        counts,
        ABSOLUTE_POS / layer.columns,
        layer.places,
        tile,
    );
    if first >= count {
        terminate!();
    }
    let slots = slot.examples * layer.places;
    let model = (slot.first_row + row) * layer.width;
    let taps = window.size_y * window.size_x;
    let channels = layer.inputs / taps / M::value();
    let mut bias = Vector::new(0.0f32);
    if comptime!(biased) {
        bias = models[model + layer.bias + column];
    }
    let mut sums = Array::<Vector<f32, N>>::new(tile);
    let mut tops = Array::<usize>::new(tile);
    let mut lefts = Array::<usize>::new(tile);
    let mut examples = Array::<usize>::new(tile);
    #[unroll]
    for i in 0..tile {
        // Beyond the batch the last position is computed again, and not written.
        let at = select(first + i < count, first + i, count - 1);
        let example = row * input_rows * slot.examples + at / layer.places;
        sums[i] = bias;
        let position = at % layer.places;
        tops[i] = position / window.columns * window.stride_y;
        lefts[i] = position % window.columns * window.stride_x;
        examples[i] = example * window.height * window.width * channels;
    }
    for tap in 0..taps {
        let (tap_y, tap_x) = (tap / window.size_x, tap % window.size_x);
        // One more than where the channels begin; zero beyond the border.
        let mut starts = Array::<usize>::new(tile);
        #[unroll]
        for i in 0..tile {
            let place = place_at(&window, tops[i] + tap_y, lefts[i] + tap_x);
            starts[i] = 0usize;
            if place > 0 {
                starts[i] = examples[i] + (place - 1) * channels + 1;
            }
        }
        let weights = model + layer.weight + tap * channels * M::value() * layer.columns + column;
        add_products_inside(
            models,
            inputs,
            &starts,
            &mut sums,
            weights,
            layer.columns,
            channels,
            tile,
        );
    }
    #[unroll]
    for i in 0..tile {
        if first + i < count {
            let place = row * slots + first + i;
            outputs[place * layer.columns + column] = rectified(sums[i], relu);
        }
    }
}

/// A convolution as the dense layer that it applies to each window.
pub(crate) fn product(layer: &Convolution) -> Dense {
    Dense {
        inputs: layer.inner(),
        outputs: layer.output.channels,
        places: layer.output.places(),
        weight: layer.weight.clone(),
        bias: layer.bias.clone(),
    }
}

/// A convolution to launch.
pub(crate) struct Convolve<'a> {
    /// The arena, `[R, width]`.
    pub(crate) models: &'a CubeTensor,
    pub(crate) width: usize,
    pub(crate) layer: &'a Convolution,
    /// `[rows, examples, places, channels]`, or `[examples, places, channels]` if `shared`.
    pub(crate) inputs: &'a CubeTensor,
    pub(crate) shared: bool,
    pub(crate) relu: bool,
}

impl Convolve<'_> {
    /// Writes `[rows, examples, positions, outputs]`; examples that a row does not have are left alone.
    pub(crate) fn launch(&self, part: &Part<'_>, outputs: &CubeTensor) {
        let (layer, product) = (self.layer, product(self.layer));
        let (n, m) = (
            vector_size(product.outputs),
            vector_size(layer.input.channels),
        );
        let inputs = if self.shared {
            part.examples
        } else {
            part.places()
        };
        moves(
            part.rows * product.parameters() + inputs * layer.input.size(),
            part.places() * layer.output.size(),
        );
        let reading = Reading {
            input: &layer.input,
            output: &layer.output,
            window: &layer.window,
            flipped: false,
        };
        if let Some(lines) = reading.lines((n, m), part) {
            let (count, dim) = line(&self.models.client, reading.units(lines, n, part));
            convolve_lines_kernel::launch(
                &self.models.client,
                count,
                dim,
                n,
                m,
                self.models.clone().into_buffer_arg(),
                self.inputs.clone().into_buffer_arg(),
                part.counts.clone().into_buffer_arg(),
                outputs.clone().into_buffer_arg(),
                part.argument(),
                dense_view::argument(&product, self.width, n),
                reading.argument(),
                usize::from(!self.shared),
                lines,
                self.relu,
                layer.bias.is_some(),
            );
            return;
        }
        let slots = part.examples * product.places;
        let tile = TILE.min(slots.next_power_of_two());
        let units = part.rows * slots.div_ceil(tile) * (product.outputs / n);
        let (count, dim) = line(&self.models.client, units);
        convolve_kernel::launch(
            &self.models.client,
            count,
            dim,
            n,
            m,
            self.models.clone().into_buffer_arg(),
            self.inputs.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            outputs.clone().into_buffer_arg(),
            part.argument(),
            dense_view::argument(&product, self.width, n),
            window::argument(&layer.input, &layer.output, &layer.window),
            usize::from(!self.shared),
            tile,
            self.relu,
            layer.bias.is_some(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::memory::{cube, download};
    use crate::stacked::device::test_device::{
        UnevenBatch, convolutions, expect_close, gpu, numbers, stacked,
    };
    use crate::stacked::layers::window::taps;

    /// The plain loop over the examples that each row has.
    fn oracle(
        batch: &UnevenBatch,
        layer: &Convolution,
        models: &[f32],
        x: &[f32],
        shared: bool,
    ) -> Vec<f32> {
        let (channels, outputs) = (layer.input.channels, layer.output.channels);
        let mut out = vec![0.0; batch.rows() * batch.examples * layer.output.size()];
        let width = models.len() / (batch.first_row + batch.rows());
        for (row, count) in batch.counts.iter().enumerate() {
            let model = &models[(batch.first_row + row) * width..][..width];
            for example in 0..*count as usize {
                let from = if shared { 0 } else { row * batch.examples };
                let x = &x[(from + example) * layer.input.size()..];
                let to = (row * batch.examples + example) * layer.output.size();
                for position in 0..layer.output.places() {
                    for output in 0..outputs {
                        let bias = layer.bias.clone().map_or(0.0, |bias| model[bias][output]);
                        let mut sum = bias;
                        for (tap, place) in
                            taps(&layer.input, &layer.output, &layer.window, position)
                        {
                            for c in 0..channels {
                                let weight = (tap * channels + c) * outputs + output;
                                sum += x[place * channels + c] * model[layer.weight.start + weight];
                            }
                        }
                        out[to + position * outputs + output] = sum.max(0.0);
                    }
                }
            }
        }
        out
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn a_convolution_is_that_of_a_plain_loop() {
        let gpu = gpu();
        for (layer, width) in convolutions() {
            for shared in [false, true] {
                let mut batch = UnevenBatch::uneven(3, 1);
                if shared {
                    batch.counts = vec![3; 3];
                }
                let all = 1 + batch.rows();
                let models = numbers(all * width, 1);
                let x = numbers(batch.rows() * 3 * layer.input.size(), 2);
                let (arena, inputs) = (
                    cube(stacked(&gpu, &models, all)),
                    gpu.memory().upload_floats(&x),
                );
                let counts = gpu.memory().upload_words(&batch.counts);
                let oracle = oracle(&batch, &layer, &models, &x, shared);
                let out = gpu.memory().upload_floats(&vec![0.0; oracle.len()]);
                let convolve = Convolve {
                    models: &arena,
                    width,
                    layer: &layer,
                    inputs: &inputs,
                    shared,
                    relu: true,
                };
                let own = !shared;
                let part = Part {
                    own,
                    ..batch.part(&counts)
                };
                convolve.launch(&part, &out);
                expect_close(&download::<f32>(out), &oracle, 3e-5);
            }
        }
    }
}
