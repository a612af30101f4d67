//! The forward pass of one row.

use super::by_example::{ByExample, of_examples};
use crate::blocked::layers::dense::DenseNode;
use crate::blocked::layers::{BatchForward, Blocked, Masks};
use crate::blocked::pass::entry::Entry;
use crate::blocked::pass::inputs::Inputs;
use crate::blocked::pass::passes::Passes;
use crate::blocked::pass::products::RowWeights;
use crate::blocked::pass::scratch::{Buffers, Grids, StageMemory};
use crate::network::layer::Layer;
use rayon::prelude::*;

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
        for (index, stage) in self.stages.stages.iter().enumerate() {
            let (before, after) = memory.split_at_mut(index);
            let entry = self.entry(index, before, batch.input);
            let node = &self.network.nodes()[stage.nodes.start];
            let memory = &mut after[0];
            let outputs = &mut memory.outputs[..batch.count * stage.width];
            match (Blocked::of(&node.layer), &node.layer) {
                (_, Layer::Dense(dense)) if batch.begun && index == 0 => {
                    let node = DenseNode::of(dense, node);
                    self.batch().leave_out(node, 0, outputs, batch.masks);
                }
                (Blocked::Whole(layer), _) => {
                    let forward = BatchForward {
                        node,
                        weights,
                        entry,
                        masks: batch.masks,
                        outputs,
                        kept: &mut memory.kept,
                        buffers: &mut *buffers,
                    };
                    layer.forward(self.batch(), forward);
                }
                (Blocked::ByExample(_), _) => {
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
}
