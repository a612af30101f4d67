//! The layers as kernels, each beside the plain loop that it must agree with.

pub(crate) mod add;
pub(crate) mod bias_gradient;
pub(crate) mod convolution;
pub(crate) mod dense;
pub(crate) mod dense_view;
pub(crate) mod dropout;
pub(crate) mod embedding;
pub(crate) mod embedding_gradient;
pub(crate) mod group_norm;
pub(crate) mod group_norm_delta;
pub(crate) mod lstm;
pub(crate) mod lstm_delta;
mod lstm_delta_staged;
mod lstm_staged;
pub(crate) mod max_pool;
pub(crate) mod over_places;
pub(crate) mod product;
pub(crate) mod relu;
pub(crate) mod stack_arena;
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

/// A layer that a GPU can compute for all rows of a block. A [`StackedLayer`] implements it if it keeps nothing.
pub(crate) trait Stackable {
    /// For each buffer that it keeps for the backward pass, the numbers per example.
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

/// A layer with its buffers for the backward pass.
pub(crate) trait StackedLayer: Debug + Send {
    /// Computes the output of its node, including ReLU. The pass applies dropout.
    fn forward(&self, forward: &Forward<'_>);

    /// Writes the gradient with respect to the input to [`Backward::below`], and last that with respect to the
    /// parameters to [`Backward::sink`].
    fn backward(&self, backward: &Backward<'_>);
}

/// The inputs and outputs of a node in the forward pass.
#[derive(Clone, Copy)]
pub(crate) struct Forward<'a> {
    pub(crate) flow: &'a Flow<'a>,
    /// `[rows, examples, places, channels]`, or without rows if they share it.
    pub(crate) inputs: &'a CubeTensor,
    pub(crate) shared: bool,
    /// The second summand of a sum.
    pub(crate) added: Option<&'a CubeTensor>,
    /// Whether negative outputs become zero.
    pub(crate) relu: bool,
    /// `[rows, examples, places, channels]`.
    pub(crate) outputs: &'a CubeTensor,
}

impl<'a> Forward<'a> {
    /// The inputs, if each row has its own.
    ///
    /// # Panics
    /// If the rows share it: only layers that multiply or look up can read examples.
    pub(crate) fn own_inputs(&self) -> &'a CubeTensor {
        assert!(!self.shared, "layers without products read no examples");
        self.inputs
    }
}

/// The inputs and outputs of a node in the backward pass.
#[derive(Clone, Copy)]
pub(crate) struct Backward<'a> {
    pub(crate) flow: &'a Flow<'a>,
    /// What the node read.
    pub(crate) inputs: &'a CubeTensor,
    /// Its output; for the last node, the gradient with respect to its output.
    pub(crate) outputs: &'a CubeTensor,
    /// The gradient with respect to its output.
    pub(crate) above: &'a CubeTensor,
    /// Where the gradient with respect to the input goes; `None` if the input was the example.
    pub(crate) below: Option<InputGradient<'a>>,
    /// Where the gradient with respect to its parameters goes; written last, after the parameters have been read.
    pub(crate) sink: &'a GradientSink,
}
