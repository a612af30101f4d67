//! The forward pass of one row.

use super::by_example::{ByExample, of_examples};
use crate::blocked::layers::constant_columns::Constant;
use crate::blocked::layers::embedding;
use crate::blocked::layers::last;
use crate::blocked::layers::lstm;
use crate::blocked::pass::inputs::Inputs;
use crate::blocked::pass::passes::{Entry, Passes};
use crate::blocked::pass::products::RowWeights;
use crate::blocked::pass::scratch::{Buffers, Grids, StageMemory};
use crate::kernels::{Affine, Packing, SumStart};
use crate::network::dropout::{Dropout, LeftOut};
use crate::network::layer::{Dense, Layer, Node};
use rayon::prelude::*;

/// What a step leaves out of the examples that go through the network.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Masks<'a> {
    pub(crate) dropout: &'a Dropout,
    /// Where the first of the examples stands in its batch.
    pub(crate) first: usize,
}

/// Examples that go through the network together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batch<'a> {
    /// What the first stage reads of them.
    pub(crate) input: Entry<'a>,
    pub(crate) count: usize,
    pub(crate) masks: Option<Masks<'a>>,
    /// Whether the product of the first layer is there.
    pub(crate) begun: bool,
}

/// A dense layer and what follows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DenseNode<'a> {
    pub(crate) layer: &'a Dense,
    /// Whether negative outputs become zero.
    pub(crate) relu: bool,
    /// The outputs that a training step leaves out, if it does.
    pub(crate) dropout: Option<LeftOut>,
}

impl<'a> DenseNode<'a> {
    /// `layer`, which is that of `node`.
    pub(crate) fn of(layer: &'a Dense, node: &Node) -> Self {
        Self {
            layer,
            relu: node.relu,
            dropout: node.dropout,
        }
    }
}

/// What a step leaves out of the example that is `index` examples after the first of `masks`.
fn of_example(masks: Option<Masks<'_>>, index: usize) -> Option<Masks<'_>> {
    masks.map(|masks| Masks {
        first: masks.first + index,
        ..masks
    })
}

impl Passes<'_> {
    /// Runs the examples of `batch` through the network; the last stage's outputs are what the loss is taken of.
    pub(crate) fn forward(
        &self,
        weights: RowWeights<'_>,
        batch: &Batch<'_>,
        memory: &mut [StageMemory],
        buffers: &mut Buffers,
    ) {
        let masks = batch.masks;
        for (index, stage) in self.stages.stages.iter().enumerate() {
            let (before, after) = memory.split_at_mut(index);
            let entry = self.entry(index, before, batch.input);
            let node = &self.network.nodes()[stage.nodes.start];
            let memory = &mut after[0];
            let outputs = &mut memory.outputs[..batch.count * stage.width];
            match &node.layer {
                Layer::Dense(dense) if batch.begun && index == 0 => {
                    self.leave_out(DenseNode::of(dense, node), 0, outputs, masks);
                }
                Layer::Dense(dense) => {
                    let node = DenseNode::of(dense, node);
                    self.dense(weights, node, entry, outputs, masks, buffers);
                }
                Layer::Embedding(embedding) => {
                    embedding::forward(embedding, weights.values, entry, outputs)
                }
                Layer::Lstm(layer) => {
                    let forth = lstm::Forth {
                        products: self.products(),
                        layer,
                        weights,
                    };
                    forth.run(entry, outputs, &mut memory.kept, buffers);
                }
                Layer::Last(grid) => last::forward(grid, entry, outputs),
                Layer::Convolution(_)
                | Layer::GroupNorm(_)
                | Layer::MaxPool(_)
                | Layer::MeanPool(_)
                | Layer::Add(_) => {
                    let layers = self.by_example(stage, weights);
                    self.examples(&layers, entry, memory, batch, buffers);
                }
            }
        }
    }

    /// What stage `index` reads.
    fn entry<'a>(&self, index: usize, before: &'a [StageMemory], input: Entry<'a>) -> Entry<'a> {
        let before = before.last();
        before.map_or(input, |memory| self.entry_after(index - 1, &memory.outputs))
    }

    /// What is read of the `outputs` of stage `index`.
    pub(super) fn entry_after<'a>(&self, index: usize, outputs: &'a [f32]) -> Entry<'a> {
        let stage = &self.stages.stages[index];
        Entry {
            offset: stage.exit(),
            ..Entry::of(outputs, stage.width)
        }
    }

    /// The examples of a batch.
    pub(crate) fn examples_entry<'a>(&self, inputs: &'a Inputs) -> Entry<'a> {
        Entry {
            values: &inputs.x,
            offset: 0,
            stride: self.network.inputs(),
            parts: inputs.parts(),
            pairs: inputs.pairs(),
        }
    }

    /// Layers over grids, example after example.
    fn examples(
        &self,
        layers: &ByExample<'_>,
        entry: Entry<'_>,
        memory: &mut StageMemory,
        batch: &Batch<'_>,
        buffers: &mut Buffers,
    ) {
        let (stage, masks) = (layers.stage, batch.masks);
        let outputs = memory.outputs[..batch.count * stage.width].chunks_exact_mut(stage.width);
        let mut kept = of_examples(&mut memory.kept, stage.kept, batch.count);
        let examples = outputs.zip(&mut kept).enumerate();
        if self.share {
            let examples: Vec<_> = examples.collect();
            examples.into_par_iter().for_each(|(index, (block, kept))| {
                let x = entry.example(index);
                let masks = of_example(masks, index);
                layers.forward(x, block, kept, masks, &mut Grids::default());
            });
        } else {
            for (index, (block, kept)) in examples {
                let (x, masks) = (entry.example(index), of_example(masks, index));
                layers.forward(x, block, kept, masks, &mut buffers.grids);
            }
        }
    }

    fn dense(
        &self,
        weights: RowWeights<'_>,
        node: DenseNode<'_>,
        entry: Entry<'_>,
        y: &mut [f32],
        masks: Option<Masks<'_>>,
        buffers: &mut Buffers,
    ) {
        let layer = node.layer;
        let shape = [y.len() / layer.outputs, layer.inputs];
        let [pairs, _] = &mut buffers.pairs;
        let entry = self
            .products()
            .along_columns(entry.of_places(layer), shape, pairs);
        let product = |first: usize, y: &mut [f32]| {
            let entry = Entry {
                offset: entry.offset + first * entry.stride,
                ..entry
            };
            self.product(node, weights, entry, y);
            self.leave_out(node, first, y, masks);
        };
        if !self.share {
            product(0, y);
            return;
        }
        let part = (y.len() / layer.outputs).div_ceil(self.cpu.threads());
        y.par_chunks_mut(part * layer.outputs)
            .enumerate()
            .for_each(|(piece, y)| product(piece * part, y));
    }

    /// Drops what the step leaves out of the outputs `y` of a layer for the examples from `first` on.
    fn leave_out(
        &self,
        node: DenseNode<'_>,
        first: usize,
        y: &mut [f32],
        masks: Option<Masks<'_>>,
    ) {
        if let Some((masks, left_out)) = masks.zip(node.dropout) {
            let first = (masks.first + first) * node.layer.outputs;
            self.cpu.instructions().vectorize(
                #[inline(always)]
                || masks.dropout.apply(left_out, first, y),
            );
        }
    }

    /// The outputs `y` of a layer for the rows of the operand `entry`.
    pub(crate) fn product(
        &self,
        node: DenseNode<'_>,
        weights: RowWeights<'_>,
        entry: Entry<'_>,
        y: &mut [f32],
    ) {
        let DenseNode { layer, relu, .. } = node;
        let varying = entry.parts.map(|parts| parts.varying);
        let products = self.products();
        products.multiply(Affine {
            x: entry.begin(),
            x_stride: entry.stride,
            subset: varying,
            w: weights.operand(layer.weight.clone()),
            packing: Packing::Rows,
            start: match varying {
                None => SumStart::of(layer.bias_of(weights.values)),
                Some(_) => SumStart::Zero,
            },
            rows: y.len() / layer.outputs,
            y: &mut *y,
            y_stride: layer.outputs,
            inner: products.places(layer.inputs),
            columns: layer.outputs,
            relu: relu && varying.is_none(),
        });
        if let Some(constant) = Constant::of(&entry) {
            let mut shared = vec![0.0; layer.outputs];
            self.share_outputs(
                layer,
                weights.values,
                constant,
                0..layer.inputs,
                &mut shared,
            );
            self.add_shared(y, &shared, relu);
        }
    }
}
