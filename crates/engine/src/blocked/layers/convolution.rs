//! Convolutions of one example.

use super::{
    ExampleBackward, ExampleForward, ExampleGradient, ExampleLayer, ExampleTrace, GradientSums,
    RowContext,
};
use crate::blocked::pass::products::{Products, RowWeights};
use crate::blocked::pass::scratch::{Grids, reserve};
use crate::blocked::pass::target::Target;
use crate::kernels::{
    Convolve, Outer, OuterBlocks, PairAhead, PairColumns, PairRows, Store, SumStart,
};
use crate::network::layer::{Convolution, Grid};
use crate::network::precision::Precision;
use std::ops::Range;

impl ExampleLayer for Convolution {
    fn forward(&self, row: RowContext<'_>, forward: ExampleForward<'_>) {
        let ExampleForward {
            x,
            out,
            relu,
            grids,
            ..
        } = forward;
        self.on(row).forward(row.weights, x, out, relu, grids);
    }

    fn turn(&self, row: RowContext<'_>, pairs: &mut Vec<f32>, turned: &mut Vec<f32>) {
        let weight = &row.weights.values[self.weight.clone()];
        self.on(row).turn(weight, pairs, turned);
    }

    fn backward(&self, row: RowContext<'_>, backward: ExampleBackward<'_>) {
        let (d, below) = (backward.trace.d, backward.below);
        self.on(row)
            .backward(backward.turned, d, below, backward.grids);
    }

    fn gradient(&self) -> Option<&dyn ExampleGradient> {
        Some(self)
    }
}

impl ExampleGradient for Convolution {
    /// Every line of the window, then the bias.
    fn pieces(&self) -> Vec<Range<usize>> {
        let lines = self.window.size.0;
        let size = self.weight.len() / lines;
        let line = |line: usize| {
            let start = self.weight.start + line * size;
            start..start + size
        };
        (0..lines).map(line).chain(self.bias.clone()).collect()
    }

    fn add(
        &self,
        row: RowContext<'_>,
        piece: usize,
        trace: ExampleTrace<'_>,
        sums: GradientSums<'_>,
    ) {
        self.on(row).parameters(piece, trace, sums);
    }
}

impl Convolution {
    fn on<'a>(&'a self, row: RowContext<'a>) -> ConvolutionLayer<'a> {
        ConvolutionLayer {
            products: row.products,
            layer: self,
        }
    }
}

/// A convolution on a processor.
#[derive(Debug, Clone, Copy)]
struct ConvolutionLayer<'a> {
    products: Products<'a>,
    layer: &'a Convolution,
}

impl ConvolutionLayer<'_> {
    /// Lines and places of the input with its padding.
    fn padded_shape(&self) -> (usize, usize) {
        let (grid, padding) = (&self.layer.input, self.layer.window.padding);
        (grid.height + 2 * padding.0, grid.width + 2 * padding.1)
    }

    /// Writes the weight `[height, width, in, out]` turned by half a turn and transposed, `[height, width, out, in]`, as an operand.
    fn turn(&self, weight: &[f32], pairs: &mut Vec<f32>, turned: &mut Vec<f32>) {
        let layer = self.layer;
        let (inputs, outputs) = (layer.input.channels, layer.output.channels);
        let size = self.products.places(outputs) * inputs;
        let places = layer.window.size.0 * layer.window.size.1;
        turned.resize(places * size, 0.0);
        let matrices = weight.chunks_exact(inputs * outputs).rev();
        for (from, to) in matrices.zip(turned.chunks_exact_mut(size)) {
            let shape = [inputs, outputs];
            self.products.transpose(from, shape, pairs, to);
        }
    }

    /// The input with zeros around it.
    fn pad<'b>(&self, x: &'b [f32], padded: &'b mut Vec<f32>) -> &'b [f32] {
        let (grid, padding) = (&self.layer.input, self.layer.window.padding);
        let x = &x[..grid.size()];
        if padding == (0, 0) {
            return x;
        }
        let spread = Spread {
            shape: self.padded_shape(),
            first: padding,
            apart: (1, 1),
        };
        spread.write(x, grid, padded);
        padded
    }

    /// A grid as an operand of sums over the channels of its places.
    fn along_channels<'b>(
        &self,
        grid: &'b [f32],
        channels: usize,
        pairs: &'b mut Vec<f32>,
    ) -> &'b [f32] {
        if self.products.precision == Precision::F32 {
            return grid;
        }
        let size = grid.len() / channels * channels.div_ceil(2);
        reserve(pairs, size);
        let pairs = &mut pairs[..size];
        // Places of an even number of channels are one.
        let row = if channels.is_multiple_of(2) {
            grid.len()
        } else {
            channels
        };
        self.products.cpu.instructions().pair(PairColumns {
            x: grid,
            stride: row,
            columns: row,
            to: &mut *pairs,
        });
        pairs
    }

    /// Writes the output of one example.
    fn forward(
        &self,
        weights: RowWeights<'_>,
        x: &[f32],
        y: &mut [f32],
        relu: bool,
        grids: &mut Grids,
    ) {
        let (layer, window, products) = (self.layer, &self.layer.window, self.products);
        let channels = layer.input.channels;
        let padded = self.pad(x, &mut grids.padded);
        products.multiply(Convolve {
            x: self.along_channels(padded, channels, &mut grids.pairs),
            x_line: (self.padded_shape().1, products.places(channels)),
            window: window.size,
            stride: window.stride,
            w: weights.operand(layer.weight.clone()),
            start: SumStart::of(layer.bias.clone().map(|bias| &weights.values[bias])),
            y,
            output: (layer.output.height, layer.output.width),
            columns: layer.output.channels,
            relu,
        });
    }

    /// The gradient by the input: the convolution of the output's gradient, its places as far apart as the windows were,
    /// with the turned weight.
    fn backward(&self, turned: &[f32], d: &[f32], below: Target<'_>, grids: &mut Grids) {
        let (layer, window) = (self.layer, &self.layer.window);
        let (input, output) = (&layer.input, &layer.output);
        let spread = Spread {
            shape: (
                input.height + window.size.0 - 1,
                input.width + window.size.1 - 1,
            ),
            first: (
                window.size.0 - 1 - window.padding.0,
                window.size.1 - 1 - window.padding.1,
            ),
            apart: window.stride,
        };
        spread.write(d, output, &mut grids.padded);
        self.products.multiply(Convolve {
            x: self.along_channels(&grids.padded, output.channels, &mut grids.pairs),
            x_line: (spread.shape.1, self.products.places(output.channels)),
            window: window.size,
            stride: (1, 1),
            w: turned,
            start: match below.add {
                true => SumStart::Target,
                false => SumStart::Zero,
            },
            y: below.gradient,
            output: (input.height, input.width),
            columns: input.channels,
            relu: false,
        });
    }

    /// Adds the gradient of line `part` of the window, or of the bias after the last line, to `sums`.
    fn parameters(&self, part: usize, trace: ExampleTrace<'_>, sums: GradientSums<'_>) {
        let (ExampleTrace { x, d, .. }, GradientSums { sums, grids }) = (trace, sums);
        let (layer, window) = (self.layer, &self.layer.window);
        let columns = layer.output.channels;
        if part == window.size.0 {
            return self.products.add_rows(d, sums);
        }
        let channels = layer.input.channels;
        let line = self.padded_shape().1 * channels;
        let stride = window.stride.1 * channels;
        // The lines of the window follow each other: what the first wrote is there for the others.
        let (x, d) = self.along_places(x, d, part == 0, grids);
        let places = self.products.places(layer.output.width);
        self.products.multiply(OuterBlocks(Outer {
            x: &x[part * line..],
            x_stride: self.products.precision.numbers() * stride,
            line: places,
            line_stride: window.stride.0 * line,
            subset: None,
            d,
            rows: layer.output.height * places,
            inner: window.size.1 * channels,
            columns,
            update: Store {
                gradient: sums,
                add: true,
            },
        }));
    }

    /// What an example gave and got back as operands of sums over the places of a line: of the padded input, each number with that
    /// of the next window. They are there already unless they are to be written `anew`, or nothing is.
    fn along_places<'b>(
        &self,
        x: &'b [f32],
        d: &'b [f32],
        anew: bool,
        grids: &'b mut Grids,
    ) -> (&'b [f32], &'b [f32]) {
        let (layer, window) = (self.layer, &self.layer.window);
        let (height, width) = self.padded_shape();
        let size = height * width * layer.input.channels;
        let Grids {
            padded,
            windows,
            deltas,
            written,
            ..
        } = grids;
        let there = !anew && padded.len() == size;
        let x = match (there, window.padding) {
            (_, (0, 0)) => &x[..size],
            (true, _) => &padded[..],
            (false, _) => self.pad(x, padded),
        };
        if self.products.precision == Precision::F32 {
            return (x, d);
        }
        let (across, columns) = (layer.output.width, layer.output.channels);
        let line = across.div_ceil(2) * columns;
        reserve(windows, size);
        reserve(deltas, layer.output.height * line);
        let (windows, deltas) = (&mut windows[..size], &mut deltas[..]);
        if anew || !*written {
            *written = true;
            let apart = window.stride.1 * layer.input.channels;
            let instructions = self.products.cpu.instructions();
            instructions.pair(PairAhead {
                x,
                apart,
                to: &mut *windows,
            });
            let lines = deltas.chunks_exact_mut(line);
            for (d, to) in d.chunks_exact(across * columns).zip(lines) {
                instructions.pair(PairRows {
                    x: d,
                    stride: columns,
                    rows: across,
                    columns,
                    to,
                });
            }
        }
        (windows, deltas)
    }
}

/// How the places of a grid lie in a larger one that is zero elsewhere, along its height and along its width.
struct Spread {
    /// Places of the larger grid.
    shape: (usize, usize),
    /// Where the first place lies.
    first: (usize, usize),
    /// Places from one to the next.
    apart: (usize, usize),
}

impl Spread {
    /// Writes the larger grid to `to`, its channels innermost as those of `from`.
    fn write(&self, from: &[f32], grid: &Grid, to: &mut Vec<f32>) {
        let Self {
            shape,
            first,
            apart,
        } = self;
        let channels = grid.channels;
        to.clear();
        to.resize(shape.0 * shape.1 * channels, 0.0);
        for (line, from) in from.chunks_exact(grid.width * channels).enumerate() {
            let start = (first.0 + line * apart.0) * shape.1 + first.1;
            let to = &mut to[start * channels..];
            if apart.1 == 1 {
                to[..from.len()].copy_from_slice(from);
                continue;
            }
            for (place, from) in from.chunks_exact(channels).enumerate() {
                to[place * apart.1 * channels..][..channels].copy_from_slice(from);
            }
        }
    }
}
