//! The layers that networks are made of: what holds of each on every backend, and where its parameters lie in a row.

mod add;
mod convolution;
mod dense;
mod embedding;
mod group_norm;
mod last;
mod lstm;
mod max_pool;
mod mean_pool;

use super::dropout::LeftOut;
use super::initial::Initial;
use crate::error::EngineError;
pub(crate) use add::Add;
pub(crate) use convolution::Convolution;
pub(crate) use dense::Dense;
pub(crate) use embedding::Embedding;
pub(crate) use group_norm::{GroupNorm, NORM_EPSILON};
pub(crate) use last::Last;
pub(crate) use lstm::Lstm;
pub(crate) use max_pool::MaxPool;
pub(crate) use mean_pool::MeanPool;
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
    /// A square of `size` places along each side.
    pub(crate) fn square(size: usize, stride: usize, padding: usize) -> Self {
        Self {
            size: (size, size),
            stride: (stride, stride),
            padding: (padding, padding),
        }
    }

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

/// A weight that a layer multiplies with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WeightAt {
    /// Its floats in a row.
    pub(crate) range: Range<usize>,
    /// How many matrices it is, one after the other.
    pub(crate) matrices: usize,
    /// Columns of each.
    pub(crate) columns: usize,
}

impl WeightAt {
    /// One matrix.
    fn matrix(range: &Range<usize>, columns: usize) -> Self {
        Self {
            range: range.clone(),
            matrices: 1,
            columns,
        }
    }
}

/// Properties of a layer that are the same on every backend.
pub(crate) trait LayerFacts {
    /// How many inputs each output sums over; 1 for layers that have inputs whatever the settings are.
    fn inputs(&self) -> usize {
        1
    }

    /// What it is called, its window, and the grid that this moves over, if it has one.
    fn window_over(&self) -> Option<(&'static str, Window, Grid)> {
        None
    }

    /// The setting that its width comes from. `dense_before` dense layers come before it.
    fn width_setting(&self, _dense_before: usize) -> String {
        "width".to_owned()
    }

    /// Whether ReLU, and dropout after it, may follow. The code that computes the layer then applies them.
    fn takes_relu(&self) -> bool {
        true
    }

    /// Checks the sizes that only this kind of layer has.
    ///
    /// # Errors
    /// [`EngineError::ModelSetting`] that names the setting.
    fn check(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// The weights that it multiplies by once per place. They are operands, rounded to the network's precision.
    fn weights(&self) -> Vec<WeightAt>;

    /// How its parameters start, block by block in the order in which they are drawn; empty if it has none.
    fn initial(&self) -> Vec<(Initial, Range<usize>)>;
}

/// What a node computes.
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
    /// See [`MeanPool`].
    MeanPool(MeanPool),
    /// See [`Add`].
    Add(Add),
    /// See [`Embedding`].
    Embedding(Embedding),
    /// See [`Lstm`].
    Lstm(Lstm),
    /// See [`Last`].
    Last(Last),
}

impl Layer {
    /// The properties that are the same on every backend.
    pub(crate) fn facts(&self) -> &dyn LayerFacts {
        match self {
            Self::Dense(layer) => layer,
            Self::Convolution(layer) => layer,
            Self::GroupNorm(layer) => layer,
            Self::MaxPool(layer) => layer,
            Self::MeanPool(layer) => layer,
            Self::Add(layer) => layer,
            Self::Embedding(layer) => layer,
            Self::Lstm(layer) => layer,
            Self::Last(layer) => layer,
        }
    }

    /// The second node that a sum reads, if it is one.
    pub(crate) fn added(&self) -> Option<Source> {
        match self {
            Self::Add(add) => Some(add.other),
            _ => None,
        }
    }
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
    /// Floating-point operations of both passes on one example: two per multiplication by a weight, in the forward
    /// pass, for the gradient of the weight, and for that of the input unless it is the example.
    pub(crate) fn operations(&self) -> usize {
        let passes = match self.source {
            Source::Example => 2,
            Source::Node(_) => 3,
        };
        passes * self.forward_operations()
    }

    /// Those of the forward pass.
    pub(crate) fn forward_operations(&self) -> usize {
        let weights = self.layer.facts().weights();
        let weights: usize = weights.iter().map(|weight| weight.range.len()).sum();
        2 * self.output.places() * weights
    }

    /// Factor for the gradient of a kept output in the backward pass, if the step `drops_out` some.
    pub(crate) fn slope(&self, drops_out: bool) -> f32 {
        let left_out = self.dropout.filter(|_| drops_out);
        left_out.map_or(1.0, |left_out| left_out.scale())
    }
}
