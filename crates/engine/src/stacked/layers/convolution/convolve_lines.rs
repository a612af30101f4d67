//! A convolution, and the gradient with respect to its input, by units that take neighbouring positions of a line: the
//! inputs under them are loaded once for all taps of a row of the window.

use super::span::{Span, load_span};
use crate::network::layer::{Grid, Window};
use crate::stacked::batches::part::{Part, Slot, examples_of};
use crate::stacked::device::tuning::tuned;
use crate::stacked::gradients::gradient_write::{GradientWrite, write_gradients};
use crate::stacked::layers::dense_view::DenseView;
use crate::stacked::layers::relu::rectified;
use crate::stacked::layers::window::{WindowAt, WindowAtLaunch, argument};
use cubecl::prelude::*;

/// Positions whose sums a unit keeps in registers.
const TILE: usize = 8;

/// Units that keep a large GPU busy; fewer in tests, so that these reach broad tiles.
const BUSY: usize = if cfg!(test) { 64 } else { 1 << 16 };

/// How units share the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Lines {
    /// Positions of a unit, side by side.
    tile: usize,
    /// Vectors of outputs of a unit.
    breadth: usize,
    /// Taps of a row of the window.
    taps: usize,
    /// Vectors of channels that a unit loads at once.
    depth: usize,
    /// Places from a position to the next.
    stride: usize,
    /// Whether windows may extend beyond the border of a line, or a unit's positions beyond its end.
    beyond: bool,
    /// Whether the last tap's weights come first.
    flipped: bool,
}

/// A convolution of a grid, in numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) input: &'a Grid,
    pub(crate) output: &'a Grid,
    pub(crate) window: &'a Window,
    pub(crate) flipped: bool,
}

impl Reading<'_> {
    /// How units share the work, with vectors of `n` outputs and of `m` channels. `None` if it does not pay because
    /// lines are too short or windows too narrow, or if windows are too wide for a unit's registers.
    pub(crate) fn lines(&self, (n, m): (usize, usize), part: &Part<'_>) -> Option<Lines> {
        let (output, window) = (self.output, self.window);
        let taps = window.size.1;
        let tile = tuned("LINES_TILE", TILE);
        // Units compute positions that a line does not have: at most a third of those that it has.
        let wasted = output.width.next_multiple_of(tile) - output.width;
        if taps < 2 || 3 * wasted > output.width || tuned("LINES", 1) == 0 {
            return None;
        }
        let places = (tile - 1) * window.stride.1 + taps;
        if places > 2 * tile {
            return None;
        }
        let vectors = self.input.channels / m;
        let columns = output.channels / n;
        // As many channels at once as fill a vector.
        let depth = if vectors * m <= 4 { vectors } else { 1 };
        let units = part.places() * output.height * output.width.div_ceil(tile) * columns;
        let breadth = match tuned("LINES_BREADTH", 2) {
            2 if columns.is_multiple_of(2) && units >= 2 * BUSY => 2,
            _ => 1,
        };
        Some(Lines {
            tile,
            breadth,
            taps,
            depth,
            stride: window.stride.1,
            beyond: window.padding.1 > 0 || wasted > 0,
            flipped: self.flipped,
        })
    }

    /// Units of all rows with vectors of `n` outputs.
    pub(crate) fn units(&self, lines: Lines, n: usize, part: &Part<'_>) -> usize {
        let tiles = self.output.height * self.output.width.div_ceil(lines.tile);
        part.places() * tiles * (self.output.channels / n / lines.breadth)
    }

    /// The argument of a launch.
    pub(crate) fn argument(&self) -> WindowAtLaunch {
        argument(self.input, self.output, self.window)
    }
}

/// What one unit computes.
#[derive(CubeType, Clone, Copy)]
struct TileOfLine {
    /// First vector of outputs; the others follow `apart` vectors apart.
    column: usize,
    apart: usize,
    /// Row of the block, and its example among those of all rows; whether it has that example.
    row: usize,
    example: usize,
    exists: bool,
    /// Line of positions, and the first position in it.
    line: usize,
    first: usize,
}

/// The tile of unit `at`: columns first, so that neighbours read and write side by side.
#[cube]
fn tile_of_line(
    slot: &Slot,
    counts: &[u32],
    at: usize,
    columns: usize,
    window: &WindowAt,
    #[comptime] lines: Lines,
) -> TileOfLine {
    let apart = columns / comptime!(lines.breadth);
    let tiles = window.columns.div_ceil(comptime!(lines.tile));
    let rest = at / apart;
    let line = rest / tiles;
    let example = line / window.rows;
    let row = example / slot.examples;
    let mut exists = false;
    if row < slot.rows {
        exists = example % slot.examples < examples_of(slot, counts, row);
    }
    TileOfLine {
        column: at % apart,
        apart,
        row,
        example,
        exists,
        line: line % window.rows,
        first: rest % tiles * comptime!(lines.tile),
    }
}

/// Adds to the sums of a tile the products of its inputs, from example `example` of `inputs`, with the weights, which
/// begin at `weights_at` and have `columns` vectors per row. Every sum is one chain over rows of taps, blocks of
/// channels, taps of the row and channels of the block.
#[cube]
#[allow(clippy::too_many_arguments)]
fn add_windows<N: Size, M: Size>(
    weights: &[Vector<f32, N>],
    inputs: &[Vector<f32, M>],
    sums: &mut Array<Vector<f32, N>>,
    tile: &TileOfLine,
    example: usize,
    weights_at: usize,
    columns: usize,
    channels: usize,
    window: &WindowAt,
    #[comptime] lines: Lines,
) {
    let count = comptime!(lines.tile);
    let breadth = comptime!(lines.breadth);
    let depth = comptime!(lines.depth);
    let taps = comptime!(lines.taps);
    let stride = comptime!(lines.stride);
    let span = comptime!(Span {
        places: (lines.tile - 1) * lines.stride + lines.taps,
        depth: lines.depth,
        beyond: lines.beyond,
    });
    // Vectors of weights of one tap.
    let of_tap = channels * M::value() * columns;
    for tap_y in 0..window.size_y {
        let y = tile.line * window.stride_y + tap_y;
        if y >= window.padding_y && y < window.padding_y + window.height {
            let line = (example * window.height + y - window.padding_y) * window.width;
            let mut row_of_taps = tap_y * taps;
            if comptime!(lines.flipped) {
                row_of_taps = (window.size_y - 1 - tap_y) * taps;
            }
            let weights_at = weights_at + row_of_taps * of_tap + tile.column;
            for block in 0..channels / depth {
                let mut x = Array::<Vector<f32, M>>::new(comptime!(span.places * depth));
                load_span(
                    inputs,
                    &mut x,
                    line,
                    tile.first * stride,
                    block * depth,
                    channels,
                    window,
                    span,
                );
                let weights_at = weights_at + block * depth * M::value() * columns;
                #[unroll]
                for t in 0..taps {
                    let tap_x = comptime!(if lines.flipped { taps - 1 - t } else { t });
                    let weights_at = weights_at + tap_x * of_tap;
                    #[unroll]
                    for c in 0..depth {
                        #[unroll]
                        for m in 0..M::value() {
                            #[unroll]
                            for b in 0..breadth {
                                let at = weights_at + (c * M::value() + m) * columns;
                                let w = weights[at + b * tile.apart];
                                #[unroll]
                                for i in 0..count {
                                    let value = x[(i * stride + t) * depth + c].extract(m);
                                    sums[i * breadth + b] += Vector::new(value) * w;
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The forward product: each unit holds some neighbouring positions by some vectors of outputs.
#[cube(launch)]
pub(crate) fn convolve_lines_kernel<N: Size, M: Size>(
    models: &[Vector<f32, N>],
    inputs: &[Vector<f32, M>],
    counts: &[u32],
    outputs: &mut [Vector<f32, N>],
    slot: Slot,
    layer: DenseView,
    window: WindowAt,
    input_rows: usize,
    #[comptime] lines: Lines,
    #[comptime] relu: bool,
    #[comptime] biased: bool,
) {
    let tile = tile_of_line(&slot, counts, ABSOLUTE_POS, layer.columns, &window, lines);
    if !tile.exists {
        terminate!();
    }
    let count = comptime!(lines.tile);
    let breadth = comptime!(lines.breadth);
    let model = (slot.first_row + tile.row) * layer.width;
    let channels = layer.inputs / (window.size_y * window.size_x) / M::value();
    let mut sums = Array::<Vector<f32, N>>::new(comptime!(lines.tile * lines.breadth));
    #[unroll]
    for b in 0..breadth {
        let mut bias = Vector::new(0.0f32);
        if comptime!(biased) {
            bias = models[model + layer.bias + tile.column + b * tile.apart];
        }
        #[unroll]
        for i in 0..count {
            sums[i * breadth + b] = bias;
        }
    }
    // All rows may read the same examples.
    let example = tile.row * input_rows * slot.examples + tile.example % slot.examples;
    add_windows(
        models,
        inputs,
        &mut sums,
        &tile,
        example,
        model + layer.weight,
        layer.columns,
        channels,
        &window,
        lines,
    );
    let first = tile.example * layer.places + tile.line * window.columns + tile.first;
    #[unroll]
    for i in 0..count {
        if tile.first + i < window.columns {
            #[unroll]
            for b in 0..breadth {
                let at = (first + i) * layer.columns + tile.column + b * tile.apart;
                outputs[at] = rectified(sums[i * breadth + b], relu);
            }
        }
    }
}

/// The backward pass for windows that move by one place, which is a convolution of the output gradient with the flipped
/// window: each unit holds some neighbouring places by some vectors of channels.
#[cube(launch)]
pub(crate) fn convolve_delta_lines_kernel<N: Size, M: Size>(
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
    #[comptime] lines: Lines,
    #[comptime] write: GradientWrite,
) {
    let tile = tile_of_line(&slot, counts, ABSOLUTE_POS, columns, &window, lines);
    if !tile.exists {
        terminate!();
    }
    let count = comptime!(lines.tile);
    let breadth = comptime!(lines.breadth);
    let mut sums = Array::<Vector<f32, N>>::new(comptime!(lines.tile * lines.breadth));
    #[unroll]
    for i in 0..comptime!(lines.tile * lines.breadth) {
        sums[i] = Vector::new(0.0f32);
    }
    add_windows(
        transposed,
        above,
        &mut sums,
        &tile,
        tile.example,
        tile.row * window.size_y * window.size_x * outputs * columns,
        columns,
        outputs / M::value(),
        &window,
        lines,
    );
    let first = (tile.example * window.rows + tile.line) * window.columns + tile.first;
    #[unroll]
    for i in 0..count {
        if tile.first + i < window.columns {
            #[unroll]
            for b in 0..breadth {
                let at = (first + i) * columns + tile.column + b * tile.apart;
                write_gradients(below, activations, at, sums[i * breadth + b], slope, write);
            }
        }
    }
}
