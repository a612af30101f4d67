//! The layers that networks are made of, and where their parameters lie in a row.

use super::dropout::LeftOut;
use std::ops::Range;

/// What a node gives of one example: `height × width` places of `channels` numbers each, the channels innermost. A
/// sequence has height one and a place per position; what a dense layer gives is one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) channels: usize,
}

impl Grid {
    /// One place of `channels` numbers.
    pub(crate) fn flat(channels: usize) -> Self {
        Self {
            height: 1,
            width: 1,
            channels,
        }
    }

    /// Number of places.
    pub(crate) fn places(&self) -> usize {
        self.height * self.width
    }

    /// Numbers of one example.
    pub(crate) fn size(&self) -> usize {
        self.places() * self.channels
    }
}

/// A dense layer, applied to every one of `places` places of an example alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dense {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) places: usize,
    /// `[inputs, outputs]`, row-major.
    pub(crate) weight: Range<usize>,
    /// `[outputs]`, if the layer has one.
    pub(crate) bias: Option<Range<usize>>,
}

impl Dense {
    /// The floats of the layer's bias in `row`.
    pub(crate) fn bias_of<'a, T>(&self, row: &'a [T]) -> Option<&'a [T]> {
        self.bias.clone().map(|bias| &row[bias])
    }
}

/// How a window moves over a grid: along its rows (`height`) and along its columns (`width`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// Places of the window, `(height, width)`.
    pub(crate) size: (usize, usize),
    /// Places from one window to the next.
    pub(crate) stride: (usize, usize),
    /// Places that are added on every side: zeros for a convolution, nothing for a maximum.
    pub(crate) padding: (usize, usize),
}

impl Window {
    /// Windows over a grid of `grid`, `(height, width)`; zero where the window does not fit.
    pub(crate) fn over(&self, grid: &Grid) -> (usize, usize) {
        let count = |places: usize, size: usize, stride: usize, padding: usize| {
            (places + 2 * padding)
                .checked_sub(size)
                .map_or(0, |room| room / stride + 1)
        };
        (
            count(grid.height, self.size.0, self.stride.0, self.padding.0),
            count(grid.width, self.size.1, self.stride.1, self.padding.1),
        )
    }
}

/// A convolution: `y[p, o] = b[o] + Σ_{q in window, c} x[q, c] · w[q, c, o]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Convolution {
    pub(crate) input: Grid,
    pub(crate) output: Grid,
    pub(crate) window: Window,
    /// `[window height · window width · input channels, output channels]`, row-major.
    pub(crate) weight: Range<usize>,
    /// `[output channels]`, if the layer has one.
    pub(crate) bias: Option<Range<usize>>,
}

impl Convolution {
    /// Rows of the weight: the numbers that a window covers.
    pub(crate) fn inner(&self) -> usize {
        self.window.size.0 * self.window.size.1 * self.input.channels
    }
}

/// Group normalisation: in each example and each group of channels, mean 0 and variance 1, then a factor and an offset
/// per channel.
///
/// # Source
/// Wu and He, Group normalization (2018), (1)-(2) and (6); the variance is the biased one and has 1e-5 added to it, as in
/// PyTorch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupNorm {
    pub(crate) grid: Grid,
    pub(crate) groups: usize,
    /// Factors, `[channels]`.
    pub(crate) weight: Range<usize>,
    /// Offsets, `[channels]`.
    pub(crate) bias: Range<usize>,
}

/// What is added to the variance of a group.
pub(crate) const NORM_EPSILON: f64 = 1e-5;

/// The largest number of each window, channel by channel; the first in row-major order where several are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MaxPool {
    pub(crate) input: Grid,
    pub(crate) output: Grid,
    pub(crate) window: Window,
}

/// A vector for every token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Embedding {
    pub(crate) symbols: usize,
    pub(crate) width: usize,
    pub(crate) positions: usize,
    /// `[symbols, width]`, row-major.
    pub(crate) weight: Range<usize>,
}

/// A layer of long short-term memory over the positions of a sequence, from a state of zeros:
/// `(i, f, g, o) = x_t · W + h_{t−1} · U + b`, `c_t = σ(f) c_{t−1} + σ(i) tanh(g)`, `h_t = σ(o) tanh(c_t)`.
///
/// # Source
/// Hochreiter and Schmidhuber (1997) with forget gates (Gers et al., 2000); gates in PyTorch's order, one bias for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lstm {
    pub(crate) inputs: usize,
    pub(crate) hidden: usize,
    pub(crate) positions: usize,
    /// `W`, `[inputs, 4 hidden]`, row-major.
    pub(crate) input_weight: Range<usize>,
    /// `U`, `[hidden, 4 hidden]`, row-major.
    pub(crate) hidden_weight: Range<usize>,
    /// `b`, `[4 hidden]`.
    pub(crate) bias: Range<usize>,
}

/// What a node does with what it reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Layer {
    /// See [`Dense`].
    Dense(Dense),
    /// See [`Convolution`].
    Convolution(Convolution),
    /// See [`GroupNorm`].
    GroupNorm(GroupNorm),
    /// See [`MaxPool`].
    MaxPool(MaxPool),
    /// The mean of every channel over all places of the grid.
    MeanPool(Grid),
    /// The sum of what the node reads and of what another gives, of the same grid.
    Add(Source),
    /// See [`Embedding`].
    Embedding(Embedding),
    /// See [`Lstm`].
    Lstm(Lstm),
    /// The last position of a sequence of such a grid.
    Last(Grid),
}

/// What a node reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The example.
    Example,
    /// What an earlier node gives.
    Node(usize),
}

/// One layer of a network and what it reads.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) layer: Layer,
    pub(crate) source: Source,
    /// What it gives of one example.
    pub(crate) output: Grid,
    /// Whether negative outputs become zero.
    pub(crate) relu: bool,
    /// The outputs that a training step leaves out, if it does.
    pub(crate) dropout: Option<LeftOut>,
}

impl Node {
    /// What a gradient by an output that is kept is multiplied by on its way back, where the step `drops_out` some.
    pub(crate) fn slope(&self, drops_out: bool) -> f32 {
        let left_out = self.dropout.filter(|_| drops_out);
        left_out.map_or(1.0, |left_out| left_out.scale())
    }
}
