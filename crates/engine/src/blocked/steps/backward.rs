//! The backward pass of one row, each layer's gradient handed on while it is in registers.

use super::gradient::BatchPiece;
use crate::blocked::layers::dense::DenseNode;
use crate::blocked::layers::fused_next_forward::pays;
use crate::blocked::layers::relu::mask;
use crate::blocked::layers::{BatchBackward, Blocked};
use crate::blocked::pass::entry::Entry;
use crate::blocked::pass::passes::Passes;
use crate::blocked::pass::scratch::{Scratch, StageMemory};
use crate::blocked::pass::sink::Sink;
use crate::blocked::pass::stage_io::StageIo;
use crate::network::layer::Layer;

impl Passes<'_> {
    /// Carries the gradient of the loss of `piece` by the outputs, in the last output, back through the network. If there is a
    /// batch `ahead`, the next step's, what the first layer makes of it takes the place of that layer's outputs.
    pub(super) fn backward(
        &self,
        scratch: &mut Scratch,
        piece: &BatchPiece<'_>,
        sink: &mut Sink<'_>,
        ahead: bool,
    ) {
        let (batch, drops_out) = (piece.part.len(), piece.dropout.is_some());
        let buffers = &mut scratch.buffers;
        for (index, stage) in self.stages.stages.iter().enumerate().rev() {
            let (before, after) = scratch.stages.split_at_mut(index);
            let input = self.examples_entry(&scratch.input);
            let io = StageIo {
                drops_out,
                ..self.io(index, batch, before, input)
            };
            let memory = &mut after[0];
            let node = &self.network.nodes()[stage.nodes.start];
            let Blocked::Whole(layer) = Blocked::of(&node.layer) else {
                self.examples_back(stage, &io, memory, buffers, sink);
                continue;
            };
            let size = batch * stage.width;
            if node.relu {
                let slope = node.slope(drops_out);
                mask(self.cpu, &mut memory.deltas[..size], &memory.outputs, slope);
            }
            if let (true, 0, Layer::Dense(layer)) = (ahead, index, &node.layer) {
                let (on, d) = (self.batch(), &memory.deltas[..size]);
                let sums = on.constant_sums(layer, &io.entry, d);
                on.bias_back(layer, d, &buffers.ones, sink);
                let pairs = &mut buffers.pairs;
                let product = on.parted(layer, io.entry, d, sums.as_deref(), pairs);
                let (indices, inputs) = &scratch.next;
                let outputs = &mut memory.outputs[..indices.len() * layer.outputs];
                let next = self.examples_entry(inputs);
                on.step_ahead(DenseNode::of(layer, node), &product, next, outputs, sink);
                continue;
            }
            let back = BatchBackward {
                memory,
                io,
                buffers: &mut *buffers,
                sink: &mut *sink,
            };
            layer.backward(self.batch(), back);
            if let (true, Some(hidden)) = (index + 1 == self.stages.stages.len(), before.last_mut())
            {
                self.add_slopes_of_representations(piece, &mut hidden.deltas);
            }
        }
    }

    /// Whether what the first layer makes of the next batch is computed ahead.
    pub(super) fn steps_ahead(&self) -> bool {
        let first = self.network.nodes().first().map(|node| &node.layer);
        let pays = matches!(first, Some(Layer::Dense(layer)) if pays(layer));
        pays && !self.share && self.stages.stages.len() > 1
    }

    /// What stage `index` read and where its gradient goes.
    fn io<'a>(
        &self,
        index: usize,
        batch: usize,
        before: &'a mut [StageMemory],
        input: Entry<'a>,
    ) -> StageIo<'a> {
        let (entry, below) = match before.last_mut() {
            None => (input, None),
            Some(memory) => {
                let entry = self.entry_after(index - 1, &memory.outputs);
                let size = batch * self.stages.stages[index - 1].width;
                (entry, Some(&mut memory.deltas[..size]))
            }
        };
        StageIo {
            entry,
            below,
            batch,
            width: self.stages.stages[index].width,
            last: index + 1 == self.stages.stages.len(),
            drops_out: false,
        }
    }
}
