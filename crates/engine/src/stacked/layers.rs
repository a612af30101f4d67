//! The layers as kernels, each beside the plain loop that it must agree with.

pub(crate) mod add;
pub(crate) mod arena;
pub(crate) mod bias_gradient;
pub(crate) mod convolution;
pub(crate) mod dense;
pub(crate) mod dropout;
pub(crate) mod embedding;
pub(crate) mod embedding_gradient;
pub(crate) mod group_norm;
pub(crate) mod group_norm_delta;
pub(crate) mod layer;
pub(crate) mod lstm;
pub(crate) mod lstm_delta;
mod lstm_delta_staged;
mod lstm_staged;
pub(crate) mod max_pool;
pub(crate) mod over_places;
pub(crate) mod product;
pub(crate) mod relu;
pub(crate) mod staged;
pub(crate) mod transpose;
pub(crate) mod window;

use crate::network::layer::Layer;
use crate::stacked::batches::block_shape::BlockShape;
use crate::stacked::device::memory::Memory;
use crate::stacked::gradients::gradient_write::InputGradient;
use crate::stacked::gradients::sink::GradientSink;
use crate::stacked::passes::flow::Flow;
use burn_cubecl::tensor::CubeTensor;
use std::fmt::Debug;

/// A layer as a GPU computes it for all rows of a block. A [`StackedLayer`] is one that keeps nothing.
pub(crate) trait Stackable {
    /// Numbers per example of each buffer that it keeps for the backward pass.
    fn kept(&self) -> Vec<usize>;

    /// The layer with memory for a block of `shape`.
    fn stack(&self, memory: &Memory, shape: BlockShape) -> Box<dyn StackedLayer>;
}

impl<L: StackedLayer + Clone + 'static> Stackable for L {
    fn kept(&self) -> Vec<usize> {
        Vec::new()
    }

    fn stack(&self, _: &Memory, _: BlockShape) -> Box<dyn StackedLayer> {
        Box::new(self.clone())
    }
}

/// How a GPU computes `layer`.
pub(crate) fn stackable(layer: &Layer) -> &dyn Stackable {
    match layer {
        Layer::Dense(layer) => layer,
        Layer::Convolution(layer) => layer,
        Layer::GroupNorm(layer) => layer,
        Layer::MaxPool(layer) => layer,
        Layer::MeanPool(layer) => layer,
        Layer::Add(layer) => layer,
        Layer::Embedding(layer) => layer,
        Layer::Lstm(layer) => layer,
        Layer::Last(layer) => layer,
    }
}

/// A layer and what it keeps.
pub(crate) trait StackedLayer: Debug + Send {
    /// Writes what it makes of what its node reads, ReLU included. The pass applies dropout.
    fn forward(&self, forward: &Forward<'_>);

    /// Sends the gradient on: by what was read to where [`Backward::below`] says, by parameters to [`Backward::sink`] at last.
    fn backward(&self, backward: &Backward<'_>);
}

/// What a node reads, and where what it gives goes.
#[derive(Clone, Copy)]
pub(crate) struct Forward<'a> {
    pub(crate) flow: &'a Flow<'a>,
    /// `[rows, examples, places, channels]`, or without rows if they share it.
    pub(crate) inputs: &'a CubeTensor,
    pub(crate) shared: bool,
    /// What else a sum adds.
    pub(crate) added: Option<&'a CubeTensor>,
    /// Whether negative outputs become zero.
    pub(crate) relu: bool,
    /// `[rows, examples, places, channels]`.
    pub(crate) outputs: &'a CubeTensor,
}

impl<'a> Forward<'a> {
    /// What each row reads for itself.
    ///
    /// # Panics
    /// If the rows share it: only layers that multiply or look up can read examples.
    pub(crate) fn own_inputs(&self) -> &'a CubeTensor {
        assert!(!self.shared, "layers without products read no examples");
        self.inputs
    }
}

/// What comes back to a node.
#[derive(Clone, Copy)]
pub(crate) struct Backward<'a> {
    pub(crate) flow: &'a Flow<'a>,
    /// What the node read.
    pub(crate) inputs: &'a CubeTensor,
    /// What it gave; of the last node, the gradient by that.
    pub(crate) outputs: &'a CubeTensor,
    /// The gradient by what it gave.
    pub(crate) above: &'a CubeTensor,
    /// Where the gradient by what it read goes; nowhere if that was the example.
    pub(crate) below: Option<InputGradient<'a>>,
    /// Where the gradient by its parameters goes, the last thing of a node that reads them.
    pub(crate) sink: &'a GradientSink,
}
