//! The largest number of each window of all rows, and the backward pass to its place.

use super::relu::rectified;
use super::window::{self, WindowAt, place_at};
use super::{Backward, Forward, Stackable, StackedLayer};
use crate::network::layer::MaxPool;
use crate::stacked::batches::block_shape::BlockShape;
use crate::stacked::batches::part::{Part, Slot, has};
use crate::stacked::device::launch::{line, vector_size};
use crate::stacked::device::memory::Memory;
use crate::stacked::device::trace::moves;
use crate::stacked::gradients::gradient_write::{GradientWrite, InputGradient, write_gradients};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Each unit finds, for one window and one vector of channels, the first largest number of each channel and its place.
#[cube(launch)]
fn max_pool_kernel<N: Size>(
    inputs: &[Vector<f32, N>],
    counts: &[u32],
    outputs: &mut [Vector<f32, N>],
    chosen: &mut [Vector<u32, N>],
    slot: Slot,
    window: WindowAt,
    channels: usize,
    #[comptime] relu: bool,
) {
    let positions = window.rows * window.columns;
    let channel = ABSOLUTE_POS % channels;
    let example = ABSOLUTE_POS / channels / positions;
    if !has(&slot, counts, example) {
        terminate!();
    }
    let position = ABSOLUTE_POS / channels % positions;
    let first = example * window.height * window.width;
    let top = position / window.columns * window.stride_y;
    let left = position % window.columns * window.stride_x;
    let mut largest = Vector::<f32, N>::new(f32::min_value());
    let mut found = Vector::<u32, N>::new(0u32);
    for tap_y in 0..window.size_y {
        for tap_x in 0..window.size_x {
            let place = place_at(&window, top + tap_y, left + tap_x);
            if place > 0 {
                let values = inputs[(first + place - 1) * channels + channel];
                #[unroll]
                for n in 0..N::value() {
                    let value = values.extract(n);
                    let larger = found.extract(n) == 0u32 || value > largest.extract(n);
                    largest.insert(n, select(larger, value, largest.extract(n)));
                    found.insert(n, select(larger, place as u32, found.extract(n)));
                }
            }
        }
    }
    outputs[ABSOLUTE_POS] = rectified(largest, relu);
    chosen[ABSOLUTE_POS] = found;
}

/// The positions whose windows cover `at` of a line with its border: one more than the last, and the first.
#[cube]
fn over(at: usize, size: usize, stride: usize, positions: usize) -> (usize, usize) {
    let last = at / stride + 1;
    let end = select(last < positions, last, positions);
    let mut begin = 0usize;
    if at >= size {
        begin = (at - size) / stride + 1;
    }
    (end, select(begin < end, begin, end))
}

/// Each unit gathers the gradient of one place and one vector of channels from the windows over it, in descending
/// order. If the input comes from a ReLU and no other reader has written a gradient, a window whose largest number is
/// zero sends nothing: `given` is then the output, which is less to read than the input. Otherwise `given` is the
/// input.
#[cube(launch)]
fn max_pool_delta_kernel<N: Size>(
    above: &[Vector<f32, N>],
    chosen: &[Vector<u32, N>],
    given: &[Vector<f32, N>],
    counts: &[u32],
    below: &mut [Vector<f32, N>],
    slot: Slot,
    window: WindowAt,
    channels: usize,
    slope: f32,
    #[comptime] write: GradientWrite,
) {
    let places = window.height * window.width;
    let channel = ABSOLUTE_POS % channels;
    let example = ABSOLUTE_POS / channels / places;
    if !has(&slot, counts, example) {
        terminate!();
    }
    let place = ABSOLUTE_POS / channels % places;
    let first = example * window.rows * window.columns;
    let y = place / window.width + window.padding_y;
    let x = place % window.width + window.padding_x;
    let (end_y, begin_y) = over(y, window.size_y, window.stride_y, window.rows);
    let (end_x, begin_x) = over(x, window.size_x, window.stride_x, window.columns);
    let mut sum = Vector::<f32, N>::new(0.0f32);
    for back_y in 0..end_y - begin_y {
        let line = first + (end_y - 1 - back_y) * window.columns;
        for back_x in 0..end_x - begin_x {
            let at = (line + end_x - 1 - back_x) * channels + channel;
            let from = chosen[at];
            let values = above[at];
            if comptime!(write.masked && !write.add) {
                let outputs = given[at];
                #[unroll]
                for n in 0..N::value() {
                    let hit = from.extract(n) == place as u32 + 1 && outputs.extract(n) > 0.0f32;
                    sum.insert(n, sum.extract(n) + select(hit, values.extract(n), 0.0f32));
                }
            } else {
                #[unroll]
                for n in 0..N::value() {
                    let hit = from.extract(n) == place as u32 + 1;
                    sum.insert(n, sum.extract(n) + select(hit, values.extract(n), 0.0f32));
                }
            }
        }
    }
    if comptime!(write.masked && !write.add) {
        below[ABSOLUTE_POS] = sum * Vector::new(slope);
    } else {
        write_gradients(below, given, ABSOLUTE_POS, sum, slope, write);
    }
}

impl Stackable for MaxPool {
    fn kept(&self) -> Vec<usize> {
        vec![self.output.size()]
    }

    fn stack(&self, memory: &Memory, shape: BlockShape) -> Box<dyn StackedLayer> {
        Box::new(StackedPool {
            pool: self.clone(),
            chosen: memory.words(&[shape.rows, shape.examples, self.output.size()]),
        })
    }
}

/// Maxima, and the places that they came from, in the shape of the output.
#[derive(Debug)]
struct StackedPool {
    pool: MaxPool,
    chosen: CubeTensor,
}

impl StackedLayer for StackedPool {
    fn forward(&self, forward: &Forward<'_>) {
        let maxima = Maxima {
            pool: &self.pool,
            inputs: forward.own_inputs(),
            relu: forward.relu,
        };
        maxima.launch(forward.flow.part, forward.outputs, &self.chosen);
    }

    fn backward(&self, backward: &Backward<'_>) {
        if let Some(below) = &backward.below {
            let delta = MaximaDelta {
                pool: &self.pool,
                above: backward.above,
                chosen: &self.chosen,
                outputs: backward.outputs,
            };
            delta.send(below, backward.flow.part);
        }
    }
}

/// Maxima to launch.
pub(crate) struct Maxima<'a> {
    pub(crate) pool: &'a MaxPool,
    /// `[rows, examples, places, channels]`.
    pub(crate) inputs: &'a CubeTensor,
    /// Whether negative maxima become zero.
    pub(crate) relu: bool,
}

impl Maxima<'_> {
    /// Writes the largest numbers to `outputs` `[rows, examples, positions, channels]`, and one more than the place of
    /// each to `chosen`, of the same shape; zero for a window that lies beyond the border.
    pub(crate) fn launch(&self, part: &Part<'_>, outputs: &CubeTensor, chosen: &CubeTensor) {
        let (pool, client) = (self.pool, &self.inputs.client);
        let n = vector_size(pool.output.channels);
        let (count, dim) = line(client, part.places() * pool.output.size() / n);
        moves(
            part.places() * pool.input.size(),
            2 * part.places() * pool.output.size(),
        );
        max_pool_kernel::launch(
            client,
            count,
            dim,
            n,
            self.inputs.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            outputs.clone().into_buffer_arg(),
            chosen.clone().into_buffer_arg(),
            part.argument(),
            window::argument(&pool.input, &pool.output, &pool.window),
            pool.input.channels / n,
            self.relu,
        );
    }
}

/// The backward pass of maxima.
pub(crate) struct MaximaDelta<'a> {
    pub(crate) pool: &'a MaxPool,
    /// The gradient with respect to their outputs, `[rows, examples, positions, channels]`.
    pub(crate) above: &'a CubeTensor,
    /// What [`Maxima::launch`] wrote.
    pub(crate) chosen: &'a CubeTensor,
    pub(crate) outputs: &'a CubeTensor,
}

impl MaximaDelta<'_> {
    /// Sends the gradient to the places that were chosen.
    pub(crate) fn send(&self, below: &InputGradient<'_>, part: &Part<'_>) {
        let (pool, client) = (self.pool, &self.above.client);
        let n = vector_size(pool.input.channels);
        let (count, dim) = line(client, part.places() * pool.input.size() / n);
        let (sent, came) = (
            part.places() * pool.input.size(),
            part.places() * pool.output.size(),
        );
        let of_windows = below.write.masked && !below.write.add;
        let (given, read) = match of_windows {
            true => (self.outputs, came),
            false => (below.activations, below.reads(sent)),
        };
        moves(2 * came + read, sent);
        max_pool_delta_kernel::launch(
            client,
            count,
            dim,
            n,
            self.above.clone().into_buffer_arg(),
            self.chosen.clone().into_buffer_arg(),
            given.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            below.gradient.clone().into_buffer_arg(),
            part.argument(),
            window::argument(&pool.input, &pool.output, &pool.window),
            pool.input.channels / n,
            below.slope,
            below.write,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::layer::{Grid, Window};
    use crate::stacked::device::memory::download;
    use crate::stacked::device::test_device::{SentGradient, UnevenBatch, gpu, numbers};
    use crate::stacked::layers::window::taps;

    /// Square maxima over odd grids, with padding and without, and one along a signal.
    fn pools() -> [MaxPool; 4] {
        [
            ((7, 6, 3), (3, 3), (2, 2), (0, 0)),
            ((7, 6, 4), (3, 3), (2, 2), (1, 1)),
            ((4, 5, 1), (2, 2), (2, 2), (0, 0)),
            ((1, 9, 2), (1, 4), (1, 3), (0, 1)),
        ]
        .map(|((height, width, channels), size, stride, padding)| {
            let input = Grid {
                height,
                width,
                channels,
            };
            let window = Window {
                size,
                stride,
                padding,
            };
            let (height, width) = window.over(&input);
            let output = Grid {
                height,
                width,
                ..input
            };
            MaxPool {
                input,
                output,
                window,
            }
        })
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn largest_numbers_and_the_way_back_are_those_of_a_plain_loop() {
        let gpu = gpu();
        for pool in pools() {
            let (batch, channels) = (UnevenBatch::uneven(3, 0), pool.input.channels);
            let (from, to) = (pool.input.size(), pool.output.size());
            // Few values, so that several of a window are the largest and the first must win.
            let x: Vec<f32> = numbers(batch.rows() * 3 * from, 2)
                .iter()
                .map(|value| (2.0 * value).round())
                .collect();
            let above = numbers(batch.rows() * 3 * to, 3);
            let (mut outputs, mut values) = (vec![0.0; above.len()], vec![0.0; x.len()]);
            for (row, count) in batch.counts.iter().enumerate() {
                for example in (0..*count as usize).map(|example| row * 3 + example) {
                    for at in 0..to {
                        let (position, c) = (at / channels, at % channels);
                        let mut best = None;
                        for (_, place) in taps(&pool.input, &pool.output, &pool.window, position) {
                            let value = x[example * from + place * channels + c];
                            if best.is_none_or(|(largest, _)| value > largest) {
                                best = Some((value, place));
                            }
                        }
                        let (largest, place) = best.unwrap();
                        outputs[example * to + at] = f32::max(largest, 0.0);
                        values[example * from + place * channels + c] += above[example * to + at];
                    }
                }
            }
            let memory = gpu.memory();
            let sent = SentGradient::of(x.clone());
            let [x, above] = [&x, &above].map(|values| memory.upload_floats(values));
            let counts = memory.upload_words(&batch.counts);
            let found = memory.upload_floats(&vec![0.0; outputs.len()]);
            let chosen = memory.words(&[outputs.len()]);
            let maxima = Maxima {
                pool: &pool,
                inputs: &x,
                relu: true,
            };
            maxima.launch(&batch.part(&counts), &found, &chosen);
            assert_eq!(download::<f32>(found.clone()), outputs);
            sent.check(&gpu, &batch, &values, |below| {
                let delta = MaximaDelta {
                    pool: &pool,
                    above: &above,
                    chosen: &chosen,
                    outputs: &found,
                };
                delta.send(below, &batch.part(&counts));
            });
        }
    }
}
