//! Layers over grids, one example after the other: what one layer gives is in cache when the next reads it.

use super::backward::mask;
use super::forward::Masks;
use crate::blocked::layers::convolution;
use crate::blocked::layers::group_norm;
use crate::blocked::layers::pool;
use crate::blocked::pass::passes::Passes;
use crate::blocked::pass::products::{Products, RowWeights};
use crate::blocked::pass::scratch::{Buffers, Grids, StageMemory, reserve};
use crate::blocked::pass::sink::Sink;
use crate::blocked::pass::stage_io::StageIo;
use crate::blocked::pass::stages::Stage;
use crate::blocked::pass::target::Target;
use crate::cpu::Cpu;
use crate::kernels::{Maximum, MaximumBack};
use crate::network::layer::{Layer, Node, Source};
use rayon::prelude::*;
use std::ops::Range;

/// The layers of one stage with the weights of one row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByExample<'a> {
    pub(crate) cpu: &'a Cpu,
    pub(crate) nodes: &'a [Node],
    pub(crate) stage: &'a Stage,
    pub(crate) weights: RowWeights<'a>,
    pub(crate) products: Products<'a>,
}

/// What one example left on its way through the stage.
#[derive(Debug, Clone, Copy)]
struct Trace<'a> {
    input: &'a [f32],
    block: &'a [f32],
}

/// What one example left on its way forth and back.
#[derive(Debug, Clone, Copy)]
struct Left<'a> {
    trace: Trace<'a>,
    /// The gradient by what each node gave.
    deltas: &'a [f32],
    kept: &'a [f32],
}

/// What all examples need on their way back.
#[derive(Debug, Clone, Copy)]
struct Turned<'a> {
    /// Weights of the convolutions, turned.
    weights: &'a [Vec<f32>],
    /// Whether the step left outputs out.
    drops_out: bool,
}

/// Parameters of a layer whose gradient is computed at once.
#[derive(Debug, Clone)]
struct ParameterPiece {
    node: usize,
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

    /// Runs one example through all layers, into its `block` of outputs. Maxima leave out what `masks`, which begin with the
    /// example, say.
    pub(crate) fn forward(
        &self,
        input: &[f32],
        block: &mut [f32],
        kept: &mut [f32],
        masks: Option<Masks<'_>>,
        grids: &mut Grids,
    ) {
        for index in self.stage.nodes.clone() {
            let node = &self.nodes[index];
            let (done, rest) = block.split_at_mut(self.stage.place(index));
            let out = &mut rest[..node.output.size()];
            let x = match node.source {
                Source::Example => input,
                Source::Node(source) => &done[self.range(source)],
            };
            let kept = &mut kept[self.kept_from(index)..];
            match &node.layer {
                Layer::Convolution(layer) => {
                    let conv = convolution::ConvolutionLayer::new(self.products, layer);
                    conv.forward(self.weights, x, out, node.relu, grids);
                    continue;
                }
                Layer::GroupNorm(layer) => {
                    let norm = group_norm::GroupNormLayer::new(self.cpu, layer);
                    let x = &x[..out.len()];
                    norm.forward(self.weights.values, x, out, node.relu, kept);
                    continue;
                }
                Layer::MaxPool(layer) => {
                    let (x, kept) = (&x[..layer.input.size()], &mut kept[..out.len()]);
                    let y = &mut *out;
                    self.cpu.instructions().run(Maximum { layer, x, y, kept });
                }
                Layer::MeanPool(grid) => pool::mean(grid, x, out),
                Layer::Add(Source::Node(other)) => {
                    let other = &done[self.range(*other)];
                    let sums = x.iter().zip(other).map(|(x, other)| x + other);
                    out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum);
                }
                Layer::Add(Source::Example)
                | Layer::Dense(_)
                | Layer::Embedding(_)
                | Layer::Lstm(_)
                | Layer::Last(_) => unreachable!("a layer that takes a batch whole"),
            }
            if node.relu {
                self.cpu.instructions().vectorize(
                    #[inline(always)]
                    || out.iter_mut().for_each(|out| *out = out.max(0.0)),
                );
            }
            if let Some((masks, left_out)) = masks.zip(node.dropout) {
                let first = masks.first * node.output.size();
                self.cpu.instructions().vectorize(
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
        for index in self.stage.nodes.clone().rev() {
            let node = &self.nodes[index];
            let (below, rest) = deltas.split_at_mut(self.stage.place(index));
            let d = &mut rest[..node.output.size()];
            let out = &trace.block[self.range(index)];
            if node.relu {
                mask(self.cpu, d, out, node.slope(turned.drops_out));
            }
            let kept = &mut kept[self.kept_from(index)..];
            if let Layer::GroupNorm(layer) = &node.layer {
                let x = &self.read(node, trace)[..d.len()];
                group_norm::GroupNormLayer::new(self.cpu, layer).gradients(x, d, kept);
            }
            let Source::Node(source) = node.source else {
                continue;
            };
            let add = self.stage.readers(self.nodes, source) > 1;
            let x = &trace.block[self.range(source)];
            let target = Target {
                gradient: &mut below[self.range(source)],
                add,
            };
            match &node.layer {
                Layer::Convolution(layer) => {
                    let conv = convolution::ConvolutionLayer::new(self.products, layer);
                    let turned = &turned.weights[index - self.stage.nodes.start];
                    conv.backward(turned, d, target, grids);
                }
                Layer::GroupNorm(layer) => {
                    let norm = group_norm::GroupNormLayer::new(self.cpu, layer);
                    norm.backward(self.weights.values, x, kept, d, target);
                }
                Layer::MaxPool(layer) => {
                    if !add {
                        target.gradient.fill(0.0);
                    }
                    self.cpu.instructions().run(MaximumBack {
                        layer,
                        kept,
                        d,
                        below: target.gradient,
                    });
                }
                Layer::MeanPool(grid) => pool::mean_back(grid, d, target),
                Layer::Add(Source::Node(other)) => {
                    hand_on(d, target);
                    let other = Target {
                        gradient: &mut below[self.range(*other)],
                        add: self.stage.readers(self.nodes, *other) > 1,
                    };
                    hand_on(d, other);
                }
                Layer::Add(Source::Example)
                | Layer::Dense(_)
                | Layer::Embedding(_)
                | Layer::Lstm(_)
                | Layer::Last(_) => unreachable!("a layer that takes a batch whole"),
            }
        }
    }

    /// Adds one example's gradient of the parameters of `piece` to `sums`.
    fn parameters(
        &self,
        piece: &ParameterPiece,
        left: Left<'_>,
        sums: &mut [f32],
        grids: &mut Grids,
    ) {
        let Left {
            trace,
            deltas,
            kept,
        } = left;
        let (index, part) = (piece.node, piece.part);
        let node = &self.nodes[index];
        match &node.layer {
            Layer::Convolution(layer) => {
                let (x, d) = (self.read(node, trace), &deltas[self.range(index)]);
                let conv = convolution::ConvolutionLayer::new(self.products, layer);
                conv.parameters(part, x, d, sums, grids);
            }
            Layer::GroupNorm(layer) => {
                let kept = &kept[self.kept_from(index)..];
                group_norm::GroupNormLayer::new(self.cpu, layer).parameters(part, kept, sums);
            }
            Layer::Dense(_)
            | Layer::MaxPool(_)
            | Layer::MeanPool(_)
            | Layer::Add(_)
            | Layer::Embedding(_)
            | Layer::Lstm(_)
            | Layer::Last(_) => {}
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
    fn pieces(&self) -> Vec<ParameterPiece> {
        let of_node = |index: usize| {
            let pieces = match &self.nodes[index].layer {
                Layer::Convolution(layer) => convolution::pieces(layer),
                Layer::GroupNorm(layer) => vec![layer.weight.clone(), layer.bias.clone()],
                Layer::Dense(_)
                | Layer::MaxPool(_)
                | Layer::MeanPool(_)
                | Layer::Add(_)
                | Layer::Embedding(_)
                | Layer::Lstm(_)
                | Layer::Last(_) => Vec::new(),
            };
            let pieces = pieces.into_iter().enumerate();
            pieces.map(move |(part, range)| ParameterPiece {
                node: index,
                part,
                range,
            })
        };
        self.stage.nodes.clone().flat_map(of_node).collect()
    }

    /// Turns the weights of all convolutions for the way back.
    fn turn(&self, pairs: &mut Vec<f32>, turned: &mut Vec<Vec<f32>>) {
        turned.resize_with(turned.len().max(self.stage.nodes.len()), Vec::new);
        for (index, turned) in self.stage.nodes.clone().zip(turned) {
            let node = &self.nodes[index];
            if let (Layer::Convolution(layer), Source::Node(_)) = (&node.layer, node.source) {
                let weight = &self.weights.values[layer.weight.clone()];
                convolution::ConvolutionLayer::new(self.products, layer)
                    .turn(weight, pairs, turned);
            }
        }
    }
}

/// Gives the gradient `d` to `below`.
fn hand_on(d: &[f32], below: Target<'_>) {
    let Target { gradient, add } = below;
    if add {
        gradient.iter_mut().zip(d).for_each(|(sum, d)| *sum += d);
    } else {
        gradient.copy_from_slice(d);
    }
}

impl Passes<'_> {
    /// The layers of `stage` with the weights of a row.
    pub(super) fn by_example<'a>(
        &'a self,
        stage: &'a Stage,
        weights: RowWeights<'a>,
    ) -> ByExample<'a> {
        ByExample {
            cpu: self.cpu,
            nodes: self.network.nodes(),
            stage,
            weights,
            products: self.products(),
        }
    }

    /// The way back through a stage of layers over grids. The gradients of the parameters are added up in the order of
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
                    let left = Left {
                        trace: trace(index),
                        deltas,
                        kept,
                    };
                    layers.parameters(piece, left, sums, &mut grids);
                }
            });
        } else {
            let blocks = deltas.chunks_exact_mut(stage.width).zip(&mut kept);
            for (index, (deltas, kept)) in blocks.enumerate() {
                let grids = &mut buffers.grids;
                layers.backward(trace(index), deltas, kept, turned, grids);
                let left = Left {
                    trace: trace(index),
                    deltas,
                    kept,
                };
                for piece in &pieces {
                    let sums = &mut sums[piece.range.start - first..piece.range.end - first];
                    layers.parameters(piece, left, sums, grids);
                }
            }
        }
        for ParameterPiece { range, .. } in pieces {
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
fn cut<'a>(sums: &'a mut [f32], first: usize, pieces: &[ParameterPiece]) -> Vec<&'a mut [f32]> {
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
