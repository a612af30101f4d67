//! A convolution's gradient, by cubes whose units take parts of examples side by side.
//!
//! Each gradient is a chain over the parts of a row's examples, and each part's term is a chain over its positions. So
//! the bits depend neither on how many parts a cube takes at once, nor on whether a batch is cut into pieces.

use super::outer_tiles::Tiles;
use super::span::load_span;
use crate::network::layer::{Convolution, Dense};
use crate::stacked::batches::part::{Part, Slot, examples_of};
use crate::stacked::device::launch::cubes;
use crate::stacked::gradients::sink::{
    GradientAction, GradientSink, StepAt, chain_start, store_or_step,
};
use crate::stacked::layers::dense_view::{self, DenseView};
use crate::stacked::layers::window::{self, WindowAt};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Columns of a bias that a cube sums.
const BIAS_LANES: usize = 8;

/// Deltas of a bias that a unit loads at once.
const BIAS_AHEAD: usize = 8;

impl Tiles {
    /// Launches the kernel.
    pub(crate) fn launch(
        self,
        convolution: &Convolution,
        product: &Dense,
        (n, m): (usize, usize),
        [inputs, deltas]: [&CubeTensor; 2],
        sink: &GradientSink,
        part: &Part<'_>,
    ) {
        let client = &inputs.client;
        let columns = product.outputs / n;
        let vectors = convolution.input.channels / m;
        let blocks = columns * (vectors / self.depth) * self.runs * convolution.window.size.0;
        let of_bias = match self.biased {
            true => columns.div_ceil(BIAS_LANES),
            false => 0,
        };
        let (count, dim) = cubes(
            client,
            part.rows * (of_bias + blocks.div_ceil(self.lanes)),
            (self.lanes * self.at_once) as u32,
        );
        convolve_outer_by_example_kernel::launch(
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
            dense_view::argument(product, sink.width, n),
            window::argument(&convolution.input, &convolution.output, &convolution.window),
            sink.action,
            self,
        );
    }
}

/// What one unit sums.
#[derive(CubeType, Clone, Copy)]
struct Block {
    /// Vector of outputs.
    column: usize,
    /// First vector of channels.
    channel: usize,
    /// Row of the window.
    tap_y: usize,
    /// First tap in it.
    tap_x: usize,
    /// Whether the layer has such a block.
    exists: bool,
}

/// The block that lane `lane` of a row has: columns first, so that neighbours read and write side by side.
#[cube]
fn block_at(
    lane: usize,
    layer: &DenseView,
    window: &WindowAt,
    channels: usize,
    #[comptime] tiles: Tiles,
) -> Block {
    let parts = channels / comptime!(tiles.depth);
    let rest = lane / layer.columns;
    let run = rest / parts;
    let tap_y = run / comptime!(tiles.runs);
    Block {
        column: lane % layer.columns,
        channel: rest % parts * comptime!(tiles.depth),
        tap_y,
        tap_x: run % comptime!(tiles.runs) * comptime!(tiles.run),
        exists: tap_y < window.size_y,
    }
}

/// One more than where sum `sum` of the block of `lane` goes, counted within the weight; zero if there is no such sum.
#[cube]
fn weight_at(
    lane: usize,
    sum: usize,
    layer: &DenseView,
    window: &WindowAt,
    channels: usize,
    #[comptime] vector: usize,
    #[comptime] tiles: Tiles,
) -> usize {
    let block = block_at(lane, layer, window, channels, tiles);
    let of_tap = comptime!(tiles.depth * vector);
    let tap_x = block.tap_x + sum / of_tap;
    let mut at = 0usize;
    if block.exists && tap_x < window.size_x {
        let tap = block.tap_y * window.size_x + tap_x;
        let input = (tap * channels + block.channel) * vector + sum % of_tap;
        at = input * layer.columns + block.column + 1;
    }
    at
}

/// Adds the terms of a line of positions of one example to the sums of `block`: `line` is the first place of the line
/// under its taps, `position` the first position.
#[cube]
#[allow(clippy::too_many_arguments)]
fn add_line<N: Size, M: Size>(
    inputs: &[Vector<f32, M>],
    deltas: &[Vector<f32, N>],
    sums: &mut Array<Vector<f32, N>>,
    block: &Block,
    line: usize,
    position: usize,
    channels: usize,
    layer: &DenseView,
    window: &WindowAt,
    #[comptime] tiles: Tiles,
) {
    let ahead = comptime!(tiles.ahead);
    let stride = comptime!(tiles.stride);
    let depth = comptime!(tiles.depth);
    for chunk in 0..window.columns.div_ceil(ahead) {
        let first = chunk * ahead;
        // Counted with the border.
        let left = first * stride + block.tap_x;
        let mut x = Array::<Vector<f32, M>>::new(comptime!(tiles.span().places * tiles.depth));
        let mut d = Array::<Vector<f32, N>>::new(ahead);
        load_span(
            inputs,
            &mut x,
            line,
            left,
            block.channel,
            channels,
            window,
            comptime!(tiles.span()),
        );
        let at = (position + first) * layer.columns + block.column;
        #[unroll]
        for a in 0..ahead {
            if comptime!(tiles.ragged) {
                d[a] = Vector::new(0.0f32);
                if first + a < window.columns {
                    d[a] = deltas[at + a * layer.columns];
                }
            } else {
                d[a] = deltas[at + a * layer.columns];
            }
        }
        #[unroll]
        for a in 0..ahead {
            #[unroll]
            for t in 0..comptime!(tiles.run) {
                #[unroll]
                for c in 0..depth {
                    #[unroll]
                    for m in 0..M::value() {
                        let value = x[(a * stride + t) * depth + c].extract(m);
                        sums[(t * depth + c) * M::value() + m] += Vector::new(value) * d[a];
                    }
                }
            }
        }
    }
}

/// The sum of `count` deltas, `step` apart from `first` on, in several interleaved chains, so that the unit does not
/// wait for each addition.
#[cube]
fn sum_of<N: Size>(
    deltas: &[Vector<f32, N>],
    first: usize,
    step: usize,
    count: usize,
) -> Vector<f32, N> {
    let mut sums = Array::<Vector<f32, N>>::new(BIAS_AHEAD);
    #[unroll]
    for a in 0..BIAS_AHEAD {
        sums[a] = Vector::new(0.0f32);
    }
    let mut at = first;
    for _ in 0..count / BIAS_AHEAD {
        #[unroll]
        for a in 0..BIAS_AHEAD {
            sums[a] += deltas[at + a * step];
        }
        at += BIAS_AHEAD * step;
    }
    for _ in 0..count % BIAS_AHEAD {
        sums[0] += deltas[at];
        at += step;
    }
    let mut sum = Vector::new(0.0f32);
    #[unroll]
    for a in 0..BIAS_AHEAD {
        sum += sums[a];
    }
    sum
}

/// Each cube holds some blocks of the weight of a row, or some columns of its bias, with several units for each. A unit
/// takes an example or a part of one; the results are added in the order of the examples. The cubes of biases, which
/// wait for memory, come first.
#[cube(launch)]
fn convolve_outer_by_example_kernel<N: Size, M: Size>(
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
    #[comptime] tiles: Tiles,
) {
    let vector = M::value();
    let lanes = comptime!(tiles.lanes);
    let at_once = comptime!(tiles.at_once);
    let units = comptime!(tiles.lanes * tiles.at_once);
    let together = comptime!(tiles.together);
    let rounds = comptime!(tiles.sums / tiles.together);
    // Sums of a round that a unit adds up over the examples.
    let own = comptime!(tiles.together.div_ceil(tiles.at_once));
    let taps = window.size_y * window.size_x;
    let channels = layer.inputs / taps / vector;
    let blocks = layer.columns
        * (channels / comptime!(tiles.depth))
        * (window.size_y * comptime!(tiles.runs));
    let cubes = blocks.div_ceil(lanes);
    let of_bias = layer.columns.div_ceil(BIAS_LANES);
    let mut biases = 0usize;
    if comptime!(tiles.biased) {
        biases = slot.rows * of_bias;
    }
    let is_bias = CUBE_POS < biases;
    let of_row = select(is_bias, of_bias, cubes);
    let at = select(is_bias, CUBE_POS, CUBE_POS - biases);
    let (row, cube) = (at / of_row, at % of_row);
    if row >= slot.rows {
        terminate!();
    }
    let count = examples_of(&slot, counts, row);
    if count == 0 {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let entry = slot.entry + row;
    let model = (slot.first_row + row) * layer.width;
    let source = row * slot.examples;
    let mut shares = Shared::<[Vector<f32, N>]>::new_slice(comptime!(units * together));
    if is_bias {
        let bias_examples = comptime!(units / BIAS_LANES);
        let column = cube * BIAS_LANES + unit % BIAS_LANES;
        let share = unit / BIAS_LANES;
        let sums_up = unit < BIAS_LANES && column < layer.columns;
        let place = model + layer.bias + column;
        let mut total = Vector::new(0.0f32);
        if sums_up {
            total = chain_start(gradients, place, action);
        }
        for turn in 0..count.div_ceil(bias_examples) {
            let example = turn * bias_examples + share;
            let mut sum = Vector::new(0.0f32);
            if example < count && column < layer.columns {
                let first = (source + example) * layer.places;
                let first = first * layer.columns + column;
                sum = sum_of(deltas, first, layer.columns, layer.places);
            }
            shares[unit] = sum;
            sync_cube();
            if sums_up {
                #[unroll]
                for s in 0..bias_examples {
                    total += shares[s * BIAS_LANES + unit];
                }
            }
            sync_cube();
        }
        if sums_up {
            store_or_step(
                gradients, models, velocities, rates, &step, entry, place, total, action,
            );
        }
    } else {
        let lane = unit % lanes;
        let share = unit / lanes;
        let block = block_at(cube * lanes + lane, &layer, &window, channels, tiles);
        let weight = model + layer.weight;
        let mut totals = Array::<Vector<f32, N>>::new(comptime!(rounds * own));
        #[unroll]
        for r in 0..rounds {
            #[unroll]
            for j in 0..own {
                totals[r * own + j] = Vector::new(0.0f32);
                if comptime!(action == GradientAction::Add) {
                    let at = unit + j * units;
                    if at < lanes * together {
                        let sum = r * together + at / lanes;
                        let lane = cube * lanes + at % lanes;
                        let place = weight_at(lane, sum, &layer, &window, channels, vector, tiles);
                        if place > 0 {
                            totals[r * own + j] = gradients[weight + place - 1];
                        }
                    }
                }
            }
        }
        let mut sums = Array::<Vector<f32, N>>::new(comptime!(tiles.sums));
        let parts = comptime!(tiles.parts);
        for turn in 0..(count * parts).div_ceil(at_once) {
            #[unroll]
            for i in 0..comptime!(tiles.sums) {
                sums[i] = Vector::new(0.0f32);
            }
            let item = turn * at_once + share;
            let (example, part) = (source + item / parts, item % parts);
            if item < count * parts && block.exists {
                let first_y = part * window.rows / parts;
                for row_y in first_y..(part + 1) * window.rows / parts {
                    let y = row_y * window.stride_y + block.tap_y;
                    if y >= window.padding_y && y < window.padding_y + window.height {
                        let line = example * window.height + y - window.padding_y;
                        add_line(
                            inputs,
                            deltas,
                            &mut sums,
                            &block,
                            line * window.width,
                            example * layer.places + row_y * window.columns,
                            channels,
                            &layer,
                            &window,
                            tiles,
                        );
                    }
                }
            }
            // Examples that the row does not have add zero.
            #[unroll]
            for r in 0..rounds {
                #[unroll]
                for i in 0..together {
                    shares[(share * together + i) * lanes + lane] = sums[r * together + i];
                }
                sync_cube();
                #[unroll]
                for j in 0..own {
                    let at = unit + j * units;
                    if at < lanes * together {
                        let mut total = totals[r * own + j];
                        #[unroll]
                        for s in 0..at_once {
                            total += shares[s * (lanes * together) + at];
                        }
                        totals[r * own + j] = total;
                    }
                }
                sync_cube();
            }
        }
        #[unroll]
        for r in 0..rounds {
            #[unroll]
            for j in 0..own {
                let at = unit + j * units;
                if at < lanes * together {
                    let sum = r * together + at / lanes;
                    let lane = cube * lanes + at % lanes;
                    let place = weight_at(lane, sum, &layer, &window, channels, vector, tiles);
                    if place > 0 {
                        store_or_step(
                            gradients,
                            models,
                            velocities,
                            rates,
                            &step,
                            entry,
                            weight + place - 1,
                            totals[r * own + j],
                            action,
                        );
                    }
                }
            }
        }
    }
}
