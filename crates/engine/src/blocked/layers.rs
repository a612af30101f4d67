//! The layers of one row: each computes examples, or a batch, forth and back.

mod add;
pub(crate) mod constant_columns;
mod convolution;
pub(crate) mod dense;
mod embedding;
pub(crate) mod fused_next_forward;
mod group_norm;
mod last;
mod lstm;
mod max_pool;
mod mean_pool;
pub(crate) mod relu;

use super::pass::entry::Entry;
use super::pass::products::{Products, RowWeights};
use super::pass::scratch::{Buffers, Grids, StageMemory};
use super::pass::sink::Sink;
use super::pass::stage_io::StageIo;
use super::pass::target::Target;
use crate::network::dropout::Dropout;
use crate::network::layer::{Layer, Node};
use std::ops::Range;

/// How a layer is computed.
#[derive(Clone, Copy)]
pub(crate) enum Blocked<'a> {
    /// It goes over grids, example by example, so that an example's activations stay in cache from one layer to the next.
    ByExample(&'a dyn ExampleLayer),
    /// It takes a whole batch.
    Whole(&'a dyn BatchLayer),
}

impl<'a> Blocked<'a> {
    pub(crate) fn of(layer: &'a Layer) -> Self {
        match layer {
            Layer::Dense(layer) => Self::Whole(layer),
            Layer::Convolution(layer) => Self::ByExample(layer),
            Layer::GroupNorm(layer) => Self::ByExample(layer),
            Layer::MaxPool(layer) => Self::ByExample(layer),
            Layer::MeanPool(layer) => Self::ByExample(layer),
            Layer::Add(layer) => Self::ByExample(layer),
            Layer::Embedding(layer) => Self::Whole(layer),
            Layer::Lstm(layer) => Self::Whole(layer),
            Layer::Last(layer) => Self::Whole(layer),
        }
    }

    /// The layer, if it goes example by example.
    pub(crate) fn by_example(self) -> Option<&'a dyn ExampleLayer> {
        match self {
            Self::ByExample(layer) => Some(layer),
            Self::Whole(_) => None,
        }
    }

    /// Floats that it keeps of an example for the way back.
    pub(crate) fn kept(self) -> usize {
        match self {
            Self::ByExample(layer) => layer.kept(),
            Self::Whole(layer) => layer.kept(),
        }
    }
}

/// The parameters of a row, and how they are multiplied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowContext<'a> {
    pub(crate) products: Products<'a>,
    pub(crate) weights: RowWeights<'a>,
}

/// How a batch is multiplied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchContext<'a> {
    pub(crate) products: Products<'a>,
    /// Threads share the products of a row.
    pub(crate) share: bool,
}

impl BatchContext<'_> {
    /// Parts of a weight's gradient that threads share.
    pub(crate) fn pieces(&self) -> usize {
        if self.share {
            self.products.cpu.threads()
        } else {
            1
        }
    }
}

/// An example on its way forth through a layer.
#[derive(Debug)]
pub(crate) struct ExampleForth<'a> {
    /// What the node reads, and what may follow it.
    pub(crate) x: &'a [f32],
    /// What else a sum adds; nothing for other layers.
    pub(crate) added: &'a [f32],
    /// Whether negative outputs become zero.
    pub(crate) relu: bool,
    pub(crate) out: &'a mut [f32],
    /// What is kept for the way back, and what may follow it.
    pub(crate) kept: &'a mut [f32],
    pub(crate) grids: &'a mut Grids,
}

/// What an example left at a layer on its way forth and back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Left<'a> {
    /// What the node read.
    pub(crate) x: &'a [f32],
    /// The gradient by what it gave.
    pub(crate) d: &'a [f32],
    /// What it kept.
    pub(crate) kept: &'a [f32],
}

/// An example on its way back through a layer.
#[derive(Debug)]
pub(crate) struct ExampleBack<'a> {
    pub(crate) left: Left<'a>,
    /// What [`ExampleLayer::turn`] has made of the weight.
    pub(crate) turned: &'a [f32],
    /// Where the gradient by what was read goes.
    pub(crate) below: Target<'a>,
    pub(crate) grids: &'a mut Grids,
}

/// A layer over grids, which goes example by example.
pub(crate) trait ExampleLayer: Sync {
    /// Floats that it keeps of an example for the way back.
    fn kept(&self) -> usize {
        0
    }

    /// Writes what it makes of an example, ReLU included, and what it will need on the way back. The pass applies dropout.
    fn forward(&self, row: RowContext<'_>, forth: ExampleForth<'_>);

    /// Turns its weight for the way back, if it multiplies with it there.
    fn turn(&self, _: RowContext<'_>, _pairs: &mut Vec<f32>, _turned: &mut Vec<f32>) {}

    /// Sends the gradient on, which ReLU has masked.
    fn backward(&self, row: RowContext<'_>, back: ExampleBack<'_>);

    /// The gradient by its parameters, if it has any.
    fn gradient(&self) -> Option<&dyn ExampleGradient>;
}

/// The gradient by a layer's parameters.
pub(crate) trait ExampleGradient: Sync {
    /// Keeps what it needs of an example that read `x` and got `d` back, before [`ExampleLayer::backward`].
    fn keep(&self, _: RowContext<'_>, _x: &[f32], _d: &[f32], _kept: &mut [f32]) {}

    /// The floats of the row whose gradients are computed at once, in their order.
    fn pieces(&self) -> Vec<Range<usize>>;

    /// Adds an example's gradient by the parameters of piece `piece` to `sums`.
    fn add(&self, row: RowContext<'_>, piece: usize, left: Left<'_>, sums: GradientSums<'_>);
}

/// Where gradients of parameters are added up.
#[derive(Debug)]
pub(crate) struct GradientSums<'a> {
    pub(crate) sums: &'a mut [f32],
    pub(crate) grids: &'a mut Grids,
}

/// What a step leaves out of the examples that go through the network.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Masks<'a> {
    pub(crate) dropout: &'a Dropout,
    /// Where the first of the examples stands in its batch.
    pub(crate) first: usize,
}

/// A batch on its way forth through a layer.
#[derive(Debug)]
pub(crate) struct BatchForth<'a> {
    /// The node whose layer it is.
    pub(crate) node: &'a Node,
    pub(crate) weights: RowWeights<'a>,
    pub(crate) entry: Entry<'a>,
    pub(crate) masks: Option<Masks<'a>>,
    pub(crate) outputs: &'a mut [f32],
    pub(crate) kept: &'a mut [f32],
    pub(crate) buffers: &'a mut Buffers,
}

/// A batch on its way back through a layer.
#[derive(Debug)]
pub(crate) struct BatchBack<'a, 'b> {
    pub(crate) memory: &'a mut StageMemory,
    pub(crate) io: StageIo<'a>,
    pub(crate) buffers: &'a mut Buffers,
    /// Where the gradient by parameters goes.
    pub(crate) sink: &'a mut Sink<'b>,
}

/// A layer that takes a whole batch.
pub(crate) trait BatchLayer {
    /// Floats that it keeps of an example for the way back.
    fn kept(&self) -> usize {
        0
    }

    /// Writes what it makes of a batch, ReLU and dropout included where its node has them, and what it will need on the way back.
    fn forward(&self, on: BatchContext<'_>, forth: BatchForth<'_>);

    /// Sends the gradient on, which ReLU has masked: see [`StageMemory::gradient`].
    fn backward(&self, on: BatchContext<'_>, back: BatchBack<'_, '_>);
}
