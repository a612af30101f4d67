//! Convolutions of one example.

use crate::blocked::pass::target::Target;
use crate::cpu::Cpu;
use crate::kernels::{Convolve, Outer, OuterBlocks, Start, Store};
use crate::network::layer::{Convolution, Grid};
use std::ops::Range;

/// A convolution on a processor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct With<'a> {
    cpu: &'a Cpu,
    layer: &'a Convolution,
}

/// The parameters that a gradient is computed in: every line of the window, then the bias.
pub(crate) fn pieces(layer: &Convolution) -> Vec<Range<usize>> {
    let lines = layer.window.size.0;
    let size = layer.weight.len() / lines;
    let line = |line: usize| {
        let start = layer.weight.start + line * size;
        start..start + size
    };
    (0..lines).map(line).chain(layer.bias.clone()).collect()
}

/// The weight `[height, width, in, out]` turned by half a turn and transposed: `[height, width, out, in]`.
#[inline(always)]
pub(crate) fn turn(layer: &Convolution, weight: &[f32], turned: &mut Vec<f32>) {
    let (inputs, outputs) = (layer.input.channels, layer.output.channels);
    let places = layer.window.size.0 * layer.window.size.1;
    turned.resize(weight.len(), 0.0);
    let matrices = turned.chunks_exact_mut(inputs * outputs);
    for (place, turned) in matrices.enumerate() {
        let from = &weight[(places - 1 - place) * inputs * outputs..][..inputs * outputs];
        crate::kernels::transpose(from, inputs, outputs, turned);
    }
}

impl<'a> With<'a> {
    pub(crate) fn new(cpu: &'a Cpu, layer: &'a Convolution) -> Self {
        Self { cpu, layer }
    }

    /// Lines and places of the input with its padding.
    fn padded_shape(&self) -> (usize, usize) {
        let (grid, padding) = (&self.layer.input, self.layer.window.padding);
        (grid.height + 2 * padding.0, grid.width + 2 * padding.1)
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

    /// Writes the output of one example.
    pub(crate) fn forward(
        &self,
        weights: &[f32],
        x: &[f32],
        y: &mut [f32],
        relu: bool,
        padded: &mut Vec<f32>,
    ) {
        let (layer, window) = (self.layer, &self.layer.window);
        self.cpu.instructions().run(Convolve {
            x: self.pad(x, padded),
            x_line: (self.padded_shape().1, layer.input.channels),
            window: window.size,
            stride: window.stride,
            w: &weights[layer.weight.clone()],
            start: Start::of(layer.bias.clone().map(|bias| &weights[bias])),
            y,
            output: (layer.output.height, layer.output.width),
            columns: layer.output.channels,
            relu,
        });
    }

    /// The gradient by the input: the convolution of the output's gradient, its places as far apart as the windows were,
    /// with the turned weight.
    pub(crate) fn backward(
        &self,
        turned: &[f32],
        d: &[f32],
        below: Target<'_>,
        padded: &mut Vec<f32>,
    ) {
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
        spread.write(d, output, padded);
        self.cpu.instructions().run(Convolve {
            x: padded,
            x_line: (spread.shape.1, output.channels),
            window: window.size,
            stride: (1, 1),
            w: turned,
            start: match below.add {
                true => Start::Target,
                false => Start::Zero,
            },
            y: below.gradient,
            output: (input.height, input.width),
            columns: input.channels,
            relu: false,
        });
    }

    /// Adds the gradient of line `part` of the window, or of the bias after the last line, to `sums`.
    pub(crate) fn parameters(
        &self,
        part: usize,
        x: &[f32],
        d: &[f32],
        sums: &mut [f32],
        padded: &mut Vec<f32>,
    ) {
        let (layer, window) = (self.layer, &self.layer.window);
        let columns = layer.output.channels;
        if part == window.size.0 {
            return self.cpu.instructions().vectorize(
                #[inline(always)]
                || add_columns(d, sums),
            );
        }
        let channels = layer.input.channels;
        let line = self.padded_shape().1 * channels;
        // The lines of the window follow each other: what the first padded is there for the others.
        let x = match part {
            0 => self.pad(x, padded),
            _ if window.padding == (0, 0) => x,
            _ if padded.len() == self.padded_shape().0 * line => padded,
            _ => self.pad(x, padded),
        };
        self.cpu.instructions().run(OuterBlocks(Outer {
            x: &x[part * line..],
            x_stride: window.stride.1 * channels,
            line: layer.output.width,
            line_stride: window.stride.0 * line,
            subset: None,
            d,
            rows: layer.output.places(),
            inner: window.size.1 * channels,
            columns,
            update: Store {
                gradient: sums,
                add: true,
            },
        }));
    }
}

/// `sums[j] += Σ_i d[i, j]`.
#[inline(always)]
fn add_columns(d: &[f32], sums: &mut [f32]) {
    for row in d.chunks_exact(sums.len()) {
        for (sum, d) in sums.iter_mut().zip(row) {
            *sum += d;
        }
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
