//! The memory of a pass: the output of every layer for a block of rows, and the gradient with respect to it.

use crate::network::Network;
use crate::network::layer::{Node, Source};
use crate::stacked::batches::block_shape::BlockShape;
use crate::stacked::device::memory::Memory;
use crate::stacked::gradients::gradient_aliasing::is_handed;
use crate::stacked::layers::{StackedLayer, stackable};
use burn_cubecl::tensor::CubeTensor;
use meshfold_data::Input;

/// All buffers together may take at most so many times the largest one.
const BUFFERS: usize = 4;

/// Memory for a block of rows.
#[derive(Debug)]
pub(crate) struct Workspace {
    shape: BlockShape,
    /// `[rows, examples, D]`, or `[examples, D]` if the rows share it; tokens are words.
    pub(crate) input: CubeTensor,
    pub(crate) shared: bool,
    pub(crate) nodes: Vec<NodeBuffers>,
}

/// Memory of one node.
#[derive(Debug)]
pub(crate) struct NodeBuffers {
    /// Its output, `[rows, examples, places, channels]`; after the loss, the last node's holds the gradient instead.
    pub(crate) output: CubeTensor,
    /// The gradient with respect to its output, perhaps shared with a sum; `None` for the last node, and without
    /// training.
    pub(crate) delta: Option<CubeTensor>,
    /// Its layer, with what the layer keeps for the backward pass besides the output.
    pub(crate) layer: Box<dyn StackedLayer>,
}

/// A guess of the numbers per example that a pass of a user's own model holds at once, in multiples of its input or
/// output: its operations are unknown.
const BUFFERS_OF_OWN: usize = 16;

/// Numbers per example of every buffer of a workspace, in training or without gradients.
fn sizes(network: &Network, training: bool) -> Vec<usize> {
    if network.own_model().is_some() {
        return vec![BUFFERS_OF_OWN * network.inputs().max(network.outputs())];
    }
    let of_node = |node: &Node| {
        let size = node.output.size();
        let given = vec![size; 1 + usize::from(training)];
        [given, stackable(&node.layer).kept()].concat()
    };
    let nodes = network.nodes().iter().flat_map(of_node);
    nodes.chain([network.inputs()]).collect()
}

/// The most weights of a row that the backward pass transposes at once: those of the largest layer.
fn transposed(network: &Network) -> usize {
    let reading = network.nodes().iter();
    let reading = reading.filter(|node| node.source != Source::Example);
    let weights = reading.flat_map(|node| node.layer.facts().weights());
    let sizes = weights.map(|weight| weight.range.len());
    sizes.max().unwrap_or(0)
}

/// Bytes of all buffers for so many rows and examples.
pub(crate) fn bytes(network: &Network, shape: BlockShape, training: bool) -> u64 {
    let numbers: usize = sizes(network, training).iter().sum();
    let weights = if training { transposed(network) } else { 0 };
    let all = (shape.rows as u64).saturating_mul((shape.examples * numbers + weights) as u64);
    all.saturating_mul(size_of::<f32>() as u64)
}

/// Numbers per example of the largest buffer.
pub(crate) fn largest(network: &Network) -> usize {
    sizes(network, true).into_iter().max().unwrap_or(1)
}

/// The numbers per example that decide how many examples fit: those of the largest buffer, or a share of all buffers.
pub(crate) fn widest(network: &Network) -> usize {
    let all: usize = sizes(network, true).iter().sum();
    largest(network).max(all.div_ceil(BUFFERS))
}

/// Rows and examples of a block whose largest buffer takes at most `bytes`, and all buffers at most [`BUFFERS`] times
/// that.
pub(crate) fn block(network: &Network, rows: usize, examples: usize, bytes: usize) -> BlockShape {
    let rows = match network.own_model() {
        // Their parameters are copied out of the arena.
        Some(_) => rows.min(bytes / (network.layout().width() * size_of::<f32>())),
        None => rows,
    };
    let fit = bytes / (widest(network) * size_of::<f32>());
    let examples = examples.min(fit).max(1);
    BlockShape {
        rows: rows.min(fit / examples).max(1),
        examples,
    }
}

impl Workspace {
    /// Memory for a block of `shape`. Without `training` there are no gradients. If the rows share their examples,
    /// there is one input.
    pub(crate) fn new(
        memory: &Memory,
        network: &Network,
        shape: BlockShape,
        shared: bool,
        training: bool,
    ) -> Self {
        let BlockShape { rows, examples } = shape;
        let input = [if shared { 1 } else { rows }, examples, network.inputs()];
        let last = network.nodes().len().saturating_sub(1);
        let numbers = input.iter().product();
        let nodes = network.nodes();
        // The sum whose gradient buffer each node shares, if any.
        let sum_of = |index: usize| {
            let source = Source::Node(index);
            (index + 1..nodes.len()).find(|sum| is_handed(nodes, *sum, source))
        };
        let buffers = |(index, node): (usize, &Node)| {
            let floats = || memory.floats(&[rows, examples, node.output.size()]);
            NodeBuffers {
                output: floats(),
                delta: (training && index < last && sum_of(index).is_none()).then(floats),
                layer: stackable(&node.layer).stack(memory, shape),
            }
        };
        let mut all: Vec<NodeBuffers> = nodes.iter().enumerate().map(buffers).collect();
        for index in (0..all.len()).rev().filter(|_| training) {
            if let Some(sum) = sum_of(index) {
                all[index].delta = all[sum].delta.clone();
            }
        }
        Self {
            shape,
            // A user's own model reads whole batches, so that places beyond a short batch must be initialised.
            input: match (network.input(), network.own_model()) {
                (Input::Numbers(_), None) => memory.floats(&input),
                (Input::Numbers(_), Some(_)) => memory.zeros(1, numbers),
                (Input::Tokens { .. }, None) => memory.words(&input),
                (Input::Tokens { .. }, Some(_)) => memory.upload_words(&vec![0; numbers]),
            },
            shared,
            nodes: all,
        }
    }

    /// Whether there is room for a block of `shape`.
    pub(crate) fn fits(&self, shape: BlockShape) -> bool {
        self.shape.rows >= shape.rows && self.shape.examples >= shape.examples
    }

    /// The output of `source`.
    pub(crate) fn output(&self, source: Source) -> &CubeTensor {
        match source {
            Source::Example => &self.input,
            Source::Node(node) => &self.nodes[node].output,
        }
    }

    /// Whether the rows share the output of `source`.
    pub(crate) fn is_shared(&self, source: Source) -> bool {
        source == Source::Example && self.shared
    }

    /// The output of the last node, `[rows, examples, positions, outputs]`.
    pub(crate) fn last(&self) -> &CubeTensor {
        &self.nodes[self.nodes.len() - 1].output
    }
}
