//! Layers over grids, one example after the other: what one layer gives is in cache when the next reads it.

use crate::blocked::layers::relu::mask;
use crate::blocked::layers::{
    Blocked, ExampleBackward, ExampleForward, ExampleGradient, ExampleLayer, ExampleTrace,
    GradientSums, Masks, RowContext,
};
use crate::blocked::pass::passes::Passes;
use crate::blocked::pass::products::RowWeights;
use crate::blocked::pass::scratch::{Buffers, Grids, StageMemory, reserve};
use crate::blocked::pass::sink::Sink;
use crate::blocked::pass::stage_io::StageIo;
use crate::blocked::pass::stages::Stage;
use crate::blocked::pass::target::Target;
use crate::network::layer::{Node, Source};
use rayon::prelude::*;
use std::ops::Range;

/// The layers of one stage with the weights of one row.
pub(crate) struct ByExample<'a> {
    nodes: &'a [Node],
    /// The layers of the stage.
    layers: Vec<&'a dyn ExampleLayer>,
    pub(crate) stage: &'a Stage,
    row: RowContext<'a>,
}

/// What one example left on its way through the stage.
#[derive(Debug, Clone, Copy)]
struct Trace<'a> {
    input: &'a [f32],
    block: &'a [f32],
}

/// What one example left on its forward pass and back.
#[derive(Debug, Clone, Copy)]
struct Traces<'a> {
    trace: Trace<'a>,
    /// The gradient by what each node gave.
    deltas: &'a [f32],
    kept: &'a [f32],
}

/// What all examples need on their backward pass.
#[derive(Debug, Clone, Copy)]
struct Turned<'a> {
    /// Weights of the layers, turned where they need them so.
    weights: &'a [Vec<f32>],
    /// Whether the step left outputs out.
    drops_out: bool,
}

/// Parameters of a layer whose gradient is computed at once.
#[derive(Clone)]
struct ParameterPiece<'a> {
    node: usize,
    gradient: &'a dyn ExampleGradient,
    /// Which of the node's pieces it is.
    part: usize,
    /// Floats of the row.
    range: Range<usize>,
}

impl<'a> ByExample<'a> {
    /// The numbers of `node` in a block of the stage.
    fn range(&self, node: usize) -> Range<usize> {
        let place = self.stage.place(node);
        place..place + self.nodes[node].output.size()
    }

    /// What `node` keeps of an example, up to what the next keeps and beyond.
    fn kept_from(&self, node: usize) -> usize {
        self.stage.kept_place(node)
    }

    /// Runs one example through all layers, into its `block` of outputs, leaving out what `masks`, which begin with the example,
    /// say.
    pub(crate) fn forward(
        &self,
        input: &[f32],
        block: &mut [f32],
        kept: &mut [f32],
        masks: Option<Masks<'_>>,
        grids: &mut Grids,
    ) {
        for (index, layer) in self.stage.nodes.clone().zip(&self.layers) {
            let node = &self.nodes[index];
            let (done, rest) = block.split_at_mut(self.stage.place(index));
            let out = &mut rest[..node.output.size()];
            let read = |source: Source| match source {
                Source::Example => input,
                Source::Node(source) => &done[self.range(source)],
            };
            let forward = ExampleForward {
                x: read(node.source),
                added: node.layer.added().map_or(&[], read),
                relu: node.relu,
                out: &mut *out,
                kept: &mut kept[self.kept_from(index)..],
                grids: &mut *grids,
            };
            layer.forward(self.row, forward);
            if let Some((masks, left_out)) = masks.zip(node.dropout) {
                let first = masks.first * node.output.size();
                self.row.products.cpu.instructions().vectorize(
                    #[inline(always)]
                    || masks.dropout.apply(left_out, first, out),
                );
            }
        }
    }

    /// Carries the gradient by the exit's output, in its place of `deltas`, back to all layers of one example.
    fn backward(
        &self,
        trace: Trace<'_>,
        deltas: &mut [f32],
        kept: &mut [f32],
        turned: &Turned<'_>,
        grids: &mut Grids,
    ) {
        // Where several layers read one, their gradients add up.
        for index in self.stage.nodes.clone() {
            if self.stage.readers(self.nodes, index) > 1 {
                deltas[self.range(index)].fill(0.0);
            }
        }
        for (index, layer) in self.stage.nodes.clone().zip(&self.layers).rev() {
            let node = &self.nodes[index];
            let (below, rest) = deltas.split_at_mut(self.stage.place(index));
            let d = &mut rest[..node.output.size()];
            if node.relu {
                let slope = node.slope(turned.drops_out);
                mask(
                    self.row.products.cpu,
                    d,
                    &trace.block[self.range(index)],
                    slope,
                );
            }
            let kept = &mut kept[self.kept_from(index)..];
            let x = self.read(node, trace);
            if let Some(gradient) = layer.gradient() {
                gradient.keep(self.row, x, d, kept);
            }
            let Source::Node(source) = node.source else {
                continue;
            };
            let back = ExampleBackward {
                trace: ExampleTrace { x, d, kept },
                turned: &turned.weights[index - self.stage.nodes.start],
                below: self.target(below, source),
                grids: &mut *grids,
            };
            layer.backward(self.row, back);
            if let Some(Source::Node(other)) = node.layer.added() {
                self.target(below, other).take(d);
            }
        }
    }

    /// Adds one example's gradient of the parameters of `piece` to `sums`.
    fn parameters(&self, piece: &ParameterPiece<'_>, of: Traces<'_>, sums: GradientSums<'_>) {
        let trace = ExampleTrace {
            x: self.read(&self.nodes[piece.node], of.trace),
            d: &of.deltas[self.range(piece.node)],
            kept: &of.kept[self.kept_from(piece.node)..],
        };
        piece.gradient.add(self.row, piece.part, trace, sums);
    }

    /// Where the gradient by what `node` gives lies in a block of `gradients`.
    fn target<'b>(&self, gradients: &'b mut [f32], node: usize) -> Target<'b> {
        Target {
            gradient: &mut gradients[self.range(node)],
            add: self.stage.readers(self.nodes, node) > 1,
        }
    }

    /// What `node` read of the example.
    fn read<'b>(&self, node: &Node, trace: Trace<'b>) -> &'b [f32] {
        match node.source {
            Source::Example => trace.input,
            Source::Node(source) => &trace.block[self.range(source)],
        }
    }

    /// The parameters of the stage in the order of a row.
    fn pieces(&self) -> Vec<ParameterPiece<'a>> {
        let nodes = self.stage.nodes.clone().zip(&self.layers);
        let gradients = nodes.filter_map(|(node, layer)| Some((node, layer.gradient()?)));
        let pieces = gradients.flat_map(|(node, gradient)| {
            let pieces = gradient.pieces().into_iter().enumerate();
            pieces.map(move |(part, range)| ParameterPiece {
                node,
                gradient,
                part,
                range,
            })
        });
        pieces.collect()
    }

    /// Turns the weights of all layers for the backward pass.
    fn turn(&self, pairs: &mut Vec<f32>, turned: &mut Vec<Vec<f32>>) {
        turned.resize_with(turned.len().max(self.stage.nodes.len()), Vec::new);
        let nodes = self.nodes[self.stage.nodes.clone()].iter();
        for ((node, layer), turned) in nodes.zip(&self.layers).zip(turned) {
            if node.source != Source::Example {
                layer.turn(self.row, pairs, turned);
            }
        }
    }
}

impl Passes<'_> {
    /// The layers of `stage` with the weights of a row.
    pub(super) fn by_example<'a>(
        &'a self,
        stage: &'a Stage,
        weights: RowWeights<'a>,
    ) -> ByExample<'a> {
        let nodes = self.network.nodes();
        let layers = nodes[stage.nodes.clone()].iter();
        ByExample {
            nodes,
            layers: layers
                .filter_map(|node| Blocked::of(&node.layer).by_example())
                .collect(),
            stage,
            row: RowContext {
                products: self.products(),
                weights,
            },
        }
    }

    /// The backward pass through a stage of layers over grids. The gradients of the parameters are added up in the order of
    /// the examples, whether threads share them or not.
    pub(crate) fn examples_back(
        &self,
        stage: &Stage,
        io: &StageIo<'_>,
        memory: &mut StageMemory,
        buffers: &mut Buffers,
        sink: &mut Sink<'_>,
    ) {
        let weights = RowWeights::without_operands(sink.weights());
        let layers = self.by_example(stage, weights);
        let [pairs, _] = &mut buffers.pairs;
        layers.turn(pairs, &mut buffers.turned);
        let (
            StageMemory {
                outputs,
                deltas,
                kept,
            },
            batch,
        ) = (memory, io.batch);
        let trace = |index: usize| Trace {
            input: io.entry.example(index),
            block: &outputs[index * stage.width..][..stage.width],
        };
        let deltas = &mut deltas[..batch * stage.width];
        let mut kept = of_examples(kept, stage.kept, batch);
        let pieces = layers.pieces();
        let (first, last) = match (pieces.first(), pieces.last()) {
            (Some(first), Some(last)) => (first.range.start, last.range.end),
            _ => (0, 0),
        };
        reserve(&mut buffers.sums, last - first);
        let sums = &mut buffers.sums[..last - first];
        sums.fill(0.0);
        let turned = &Turned {
            weights: &buffers.turned,
            drops_out: io.drops_out,
        };
        if self.share {
            let blocks = deltas.par_chunks_exact_mut(stage.width).zip(&mut kept);
            blocks.enumerate().for_each(|(index, (deltas, kept))| {
                layers.backward(trace(index), deltas, kept, turned, &mut Grids::default());
            });
            let tasks = pieces.par_iter().zip(cut(sums, first, &pieces));
            tasks.for_each(|(piece, sums)| {
                let mut grids = Grids::default();
                let blocks = deltas.chunks_exact(stage.width).zip(&kept);
                for (index, (deltas, kept)) in blocks.enumerate() {
                    // What is there is another example's.
                    grids.clear();
                    let traces = Traces {
                        trace: trace(index),
                        deltas,
                        kept,
                    };
                    let grids = &mut grids;
                    layers.parameters(piece, traces, GradientSums { sums, grids });
                }
            });
        } else {
            let blocks = deltas.chunks_exact_mut(stage.width).zip(&mut kept);
            for (index, (deltas, kept)) in blocks.enumerate() {
                let grids = &mut buffers.grids;
                layers.backward(trace(index), deltas, kept, turned, grids);
                let traces = Traces {
                    trace: trace(index),
                    deltas,
                    kept,
                };
                for piece in &pieces {
                    let sums = &mut sums[piece.range.start - first..piece.range.end - first];
                    let grids = &mut buffers.grids;
                    layers.parameters(piece, traces, GradientSums { sums, grids });
                }
            }
        }
        // The layers read the weights until here.
        let ranges: Vec<Range<usize>> = pieces.into_iter().map(|piece| piece.range).collect();
        for range in ranges {
            let values = &buffers.sums[range.start - first..range.end - first];
            sink.settle(self.cpu, range, values);
        }
    }
}

/// What is kept of each of `batch` examples, `size` floats.
pub(crate) fn of_examples(kept: &mut [f32], size: usize, batch: usize) -> Vec<&mut [f32]> {
    match size {
        0 => (0..batch).map(|_| Default::default()).collect(),
        _ => kept.chunks_exact_mut(size).take(batch).collect(),
    }
}

/// The floats of each piece in `sums`, which begin at float `first` of a row.
fn cut<'a>(sums: &'a mut [f32], first: usize, pieces: &[ParameterPiece<'_>]) -> Vec<&'a mut [f32]> {
    let (mut rest, mut at) = (sums, first);
    let mut parts = Vec::new();
    for ParameterPiece { range, .. } in pieces {
        let (_, from) = rest.split_at_mut(range.start - at);
        let (part, after) = from.split_at_mut(range.len());
        parts.push(part);
        (rest, at) = (after, range.end);
    }
    parts
}
