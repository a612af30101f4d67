//! The layers of one row, each with a forward and a backward pass over one example or over a whole batch.

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

    /// Floats that it keeps of an example for the backward pass.
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

/// The forward pass of one example through a layer.
#[derive(Debug)]
pub(crate) struct ExampleForward<'a> {
    /// The input of the node; other floats may follow it.
    pub(crate) x: &'a [f32],
    /// The second summand of a sum; empty for other layers.
    pub(crate) added: &'a [f32],
    /// Whether negative outputs become zero.
    pub(crate) relu: bool,
    pub(crate) out: &'a mut [f32],
    /// What the layer keeps for the backward pass; other floats may follow it.
    pub(crate) kept: &'a mut [f32],
    pub(crate) grids: &'a mut Grids,
}

/// What the forward and backward pass of one example left at a layer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExampleTrace<'a> {
    /// The input of the node.
    pub(crate) x: &'a [f32],
    /// The gradient of the loss with respect to the node's output.
    pub(crate) d: &'a [f32],
    /// What the forward pass kept.
    pub(crate) kept: &'a [f32],
}

/// The backward pass of one example through a layer.
#[derive(Debug)]
pub(crate) struct ExampleBackward<'a> {
    pub(crate) trace: ExampleTrace<'a>,
    /// The weight as [`ExampleLayer::turn`] rearranged it.
    pub(crate) turned: &'a [f32],
    /// Where the gradient with respect to the input goes.
    pub(crate) below: Target<'a>,
    pub(crate) grids: &'a mut Grids,
}

/// A layer over grids, which goes example by example.
pub(crate) trait ExampleLayer: Sync {
    /// Floats that it keeps of an example for the backward pass.
    fn kept(&self) -> usize {
        0
    }

    /// Computes the output for one example, ReLU included, and keeps what the backward pass needs. The pass applies
    /// dropout.
    fn forward(&self, row: RowContext<'_>, forward: ExampleForward<'_>);

    /// Rearranges the weight for the backward pass, if the layer multiplies by it there.
    fn turn(&self, _: RowContext<'_>, _pairs: &mut Vec<f32>, _turned: &mut Vec<f32>) {}

    /// Passes the gradient, masked by ReLU, on to the input.
    fn backward(&self, row: RowContext<'_>, backward: ExampleBackward<'_>);

    /// The gradient with respect to its parameters, if it has any.
    fn gradient(&self) -> Option<&dyn ExampleGradient>;
}

/// Computes the gradient with respect to a layer's parameters.
pub(crate) trait ExampleGradient: Sync {
    /// Keeps what the gradient needs of an example with input `x` and output gradient `d`, before
    /// [`ExampleLayer::backward`].
    fn keep(&self, _: RowContext<'_>, _x: &[f32], _d: &[f32], _kept: &mut [f32]) {}

    /// Ranges of floats in the row, in order. The gradient of each range is computed at once.
    fn pieces(&self) -> Vec<Range<usize>>;

    /// Adds one example's gradient with respect to the parameters of piece `piece` to `sums`.
    fn add(
        &self,
        row: RowContext<'_>,
        piece: usize,
        trace: ExampleTrace<'_>,
        sums: GradientSums<'_>,
    );
}

/// The buffers in which gradients of parameters are summed.
#[derive(Debug)]
pub(crate) struct GradientSums<'a> {
    pub(crate) sums: &'a mut [f32],
    pub(crate) grids: &'a mut Grids,
}

/// The dropout of a step for the examples that go through the network.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Masks<'a> {
    pub(crate) dropout: &'a Dropout,
    /// The position of the first of these examples in its batch.
    pub(crate) first: usize,
}

/// The forward pass of a batch through a layer.
#[derive(Debug)]
pub(crate) struct BatchForward<'a> {
    /// The node whose layer it is.
    pub(crate) node: &'a Node,
    pub(crate) weights: RowWeights<'a>,
    pub(crate) entry: Entry<'a>,
    pub(crate) masks: Option<Masks<'a>>,
    pub(crate) outputs: &'a mut [f32],
    pub(crate) kept: &'a mut [f32],
    pub(crate) buffers: &'a mut Buffers,
}

/// The backward pass of a batch through a layer.
#[derive(Debug)]
pub(crate) struct BatchBackward<'a, 'b> {
    pub(crate) memory: &'a mut StageMemory,
    pub(crate) io: StageIo<'a>,
    pub(crate) buffers: &'a mut Buffers,
    /// Where the gradient with respect to the parameters goes.
    pub(crate) sink: &'a mut Sink<'b>,
}

/// A layer that takes a whole batch.
pub(crate) trait BatchLayer {
    /// Floats that it keeps of an example for the backward pass.
    fn kept(&self) -> usize {
        0
    }

    /// Computes the output for a batch, with ReLU and dropout where the node has them; keeps what the backward pass
    /// needs.
    fn forward(&self, on: BatchContext<'_>, forward: BatchForward<'_>);

    /// Passes the gradient, masked by ReLU, on to the input: see [`StageMemory::gradient`].
    fn backward(&self, on: BatchContext<'_>, backward: BatchBackward<'_, '_>);
}
