//! Backward pass of a block of rows.

use super::flow::Flow;
use super::workspace::{Kept, NodeBuffers, Workspace};
use crate::network::layer::{Dense, Grid, GroupNorm, Layer, Lstm, MaxPool, Node, Source};
use crate::stacked::gradients::gradient_aliasing::{is_handed, reads};
use crate::stacked::gradients::gradient_write::{GradientWrite, InputGradient};
use crate::stacked::gradients::sink::GradientSink;
use crate::stacked::layers::add::pass;
use crate::stacked::layers::convolution::convolve_delta::convolve_delta;
use crate::stacked::layers::convolution::convolve_outer::convolve_outer;
use crate::stacked::layers::dense::delta::delta;
use crate::stacked::layers::dense::outer::Outer;
use crate::stacked::layers::embedding_gradient::EmbeddingGradient;
use crate::stacked::layers::group_norm::Norms;
use crate::stacked::layers::group_norm_delta::NormDelta;
use crate::stacked::layers::lstm::{Recurrence, products};
use crate::stacked::layers::max_pool::MaximaDelta;
use crate::stacked::layers::over_places::OverPlaces;
use burn_cubecl::tensor::CubeTensor;

/// What comes back to a node.
struct Back<'a> {
    flow: &'a Flow<'a>,
    /// What the node read.
    inputs: &'a CubeTensor,
    /// The gradient by what it gave.
    above: &'a CubeTensor,
    /// Where the gradient by what it read goes; nowhere if that was the example.
    below: Option<InputGradient<'a>>,
    /// Where the gradient by its parameters goes, the last thing of a node that reads them.
    sink: &'a GradientSink,
}

impl Workspace {
    /// Carries the loss's gradient by the last output back to `sink`.
    pub(crate) fn backward(&self, flow: &Flow<'_>, sink: &GradientSink) {
        for (index, node) in flow.network.nodes().iter().enumerate().rev() {
            let buffers = &self.nodes[index];
            let above = buffers.delta.as_ref().unwrap_or(&buffers.output);
            let back = Back {
                flow,
                inputs: self.output(node.source),
                above,
                below: self.below(flow, node.source, index),
                sink,
            };
            if let Layer::Add(added) = node.layer {
                for source in [added, node.source] {
                    back.pass_on(node, self.below_sum(flow, source, index));
                }
            }
            back.through(node, buffers);
        }
    }

    /// Where the sum of node `sum` sends its gradient, unless `source` has that for its own.
    fn below_sum<'a>(
        &'a self,
        flow: &Flow<'_>,
        source: Source,
        sum: usize,
    ) -> Option<InputGradient<'a>> {
        let handed = is_handed(flow.network.nodes(), sum, source);
        self.below(flow, source, sum).filter(|_| !handed)
    }

    /// Where node `reader` sends the gradient by what it read of `source`.
    fn below<'a>(
        &'a self,
        flow: &Flow<'_>,
        source: Source,
        reader: usize,
    ) -> Option<InputGradient<'a>> {
        let Source::Node(index) = source else {
            return None;
        };
        let (nodes, buffers) = (flow.network.nodes(), &self.nodes[index]);
        Some(InputGradient {
            gradient: buffers.delta.as_ref()?,
            activations: &buffers.output,
            slope: nodes[index].slope(flow.masks.is_some()),
            write: GradientWrite {
                add: nodes[reader + 1..].iter().any(|node| reads(node, source)),
                masked: nodes[index].relu
                    && !nodes[..reader].iter().any(|node| reads(node, source)),
            },
        })
    }
}

impl Back<'_> {
    /// Goes back through `node`, whose pass forth left `buffers`.
    fn through(&self, node: &Node, buffers: &NodeBuffers) {
        let output = &buffers.output;
        match (&node.layer, &buffers.kept) {
            (Layer::Dense(layer), _) => self.dense(layer),
            (Layer::Convolution(layer), _) => {
                let (arena, part) = (self.flow.arena(), self.flow.part);
                if let Some(below) = &self.below {
                    convolve_delta(arena, layer, self.above, below, part);
                }
                convolve_outer(layer, self.inputs, self.above, self.sink, part);
            }
            (Layer::GroupNorm(norm), Kept::Norms(norms)) => self.norm(norm, norms),
            (Layer::Embedding(embedding), Kept::Strings(strings)) => {
                let gradient = EmbeddingGradient {
                    embedding,
                    tokens: self.inputs,
                    deltas: self.above,
                    strings,
                };
                gradient.launch(self.sink, self.flow.part);
            }
            (Layer::Lstm(lstm), Kept::Recurrence(recurrence)) => {
                self.recur(lstm, recurrence, output);
            }
            (Layer::MaxPool(pool), Kept::Chosen(chosen)) => self.max_pool(pool, chosen, output),
            (Layer::MeanPool(grid), _) => self.over_places(OverPlaces::Mean, grid),
            (Layer::Last(grid), _) => self.over_places(OverPlaces::Last, grid),
            (Layer::Add(_), _) => {}
            (Layer::GroupNorm(_) | Layer::MaxPool(_) | Layer::Embedding(_) | Layer::Lstm(_), _) => {
                unreachable!("memory is made for the layers of its network")
            }
        }
    }

    /// Copies what comes back to the sum `node`.
    fn pass_on(&self, node: &Node, below: Option<InputGradient<'_>>) {
        if let Some(below) = below {
            pass(self.above, node.output.size(), &below, self.flow.part);
        }
    }

    fn max_pool(&self, pool: &MaxPool, chosen: &CubeTensor, output: &CubeTensor) {
        if let Some(below) = &self.below {
            let back = MaximaDelta {
                pool,
                above: self.above,
                chosen,
                outputs: output,
            };
            back.send(below, self.flow.part);
        }
    }

    fn over_places(&self, kind: OverPlaces, grid: &Grid) {
        if let Some(below) = &self.below {
            kind.backward(grid, self.above, below, self.flow.part);
        }
    }

    fn dense(&self, layer: &Dense) {
        if let Some(below) = &self.below {
            let (arena, part) = (self.flow.arena(), self.flow.part);
            delta(arena, layer, self.above, below, part);
        }
        self.outer(layer, self.inputs, self.above, 0);
    }

    /// The gradient of `layer`, whose outputs stand `skip` places after their inputs.
    fn outer(&self, layer: &Dense, inputs: &CubeTensor, deltas: &CubeTensor, skip: usize) {
        let outer = Outer {
            layer,
            inputs,
            deltas,
            skip,
        };
        outer.launch(self.sink, self.flow.part);
    }

    fn norm(&self, norm: &GroupNorm, norms: &Norms) {
        let (arena, part) = (self.flow.arena(), self.flow.part);
        let back = NormDelta {
            norm,
            inputs: self.inputs,
            above: self.above,
        };
        let below = self.below.as_ref();
        let below = below.expect("layers without products read no examples");
        back.send(norms, arena, below, part);
        back.outer(norms, self.sink, part);
    }

    fn recur(&self, lstm: &Lstm, recurrence: &Recurrence, states: &CubeTensor) {
        let (arena, part) = (self.flow.arena(), self.flow.part);
        recurrence.backward(arena, lstm, self.above, part);
        let (gates, [input, hidden]) = (&recurrence.gates, products(lstm));
        if let Some(below) = &self.below {
            delta(arena, &input, gates, below, part);
        }
        self.outer(&input, self.inputs, gates, 0);
        self.outer(&hidden, states, gates, 1);
    }
}
