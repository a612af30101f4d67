//! Forward pass of a block of rows.

use super::flow::Flow;
use super::workspace::{Kept, NodeBuffers, Workspace};
use crate::network::layer::{Convolution, Dense, Layer, Lstm, Node, Source};
use crate::stacked::layers::add::Add;
use crate::stacked::layers::arena::StackArena;
use crate::stacked::layers::convolution::convolve::Convolve;
use crate::stacked::layers::dense::affine::Affine;
use crate::stacked::layers::embedding::Embed;
use crate::stacked::layers::group_norm::Normalise;
use crate::stacked::layers::lstm::{Recurrence, products};
use crate::stacked::layers::max_pool::Maxima;
use crate::stacked::layers::over_places::OverPlaces;
use burn_cubecl::tensor::CubeTensor;

impl Workspace {
    /// Runs `input` through the network, leaving out what `flow` says; what the loss is taken of is in
    /// [`Workspace::last`] afterwards.
    pub(crate) fn forward(&self, flow: &Flow<'_>) {
        for (node, buffers) in flow.network.nodes().iter().zip(&self.nodes) {
            self.give(flow, node, buffers);
            if let Some((masks, left_out)) = flow.masks.zip(node.dropout) {
                masks.apply(left_out, &buffers.output, node.output.size(), flow.part);
            }
        }
    }

    /// Writes what `node` gives to `buffers`.
    fn give(&self, flow: &Flow<'_>, node: &Node, buffers: &NodeBuffers) {
        let output = &buffers.output;
        let (part, relu) = (flow.part, node.relu);
        let inputs = self.output(node.source);
        let shares = self.is_shared(node.source);
        let may = matches!(
            node.layer,
            Layer::Dense(_) | Layer::Convolution(_) | Layer::Embedding(_) | Layer::Lstm(_)
        );
        assert!(may || !shares, "layers without products read no examples");
        match (&node.layer, &buffers.kept) {
            (Layer::Dense(layer), _) => {
                let product = self.affine(flow, layer, node.source);
                Affine { relu, ..product }.launch(part, output);
            }
            (Layer::Convolution(layer), _) => {
                let convolve = self.convolve(flow, layer, node.source);
                Convolve { relu, ..convolve }.launch(part, output);
            }
            (Layer::GroupNorm(norm), Kept::Norms(norms)) => {
                let normalise = Normalise {
                    arena: flow.arena(),
                    norm,
                    inputs,
                    relu,
                };
                normalise.launch(part, output, norms);
            }
            (Layer::MaxPool(pool), Kept::Chosen(chosen)) => {
                let maxima = Maxima { pool, inputs, relu };
                maxima.launch(part, output, chosen);
            }
            (Layer::MeanPool(grid), _) => {
                OverPlaces::Mean.forward(grid, inputs, output, part, relu);
            }
            (Layer::Add(other), _) => {
                let add = Add {
                    first: inputs,
                    second: self.output(*other),
                    size: node.output.size(),
                    relu,
                };
                add.launch(part, output);
            }
            (Layer::Embedding(embedding), _) => {
                let embed = Embed {
                    arena: flow.arena(),
                    embedding,
                    tokens: inputs,
                    shared: shares,
                };
                embed.launch(part, output);
            }
            (Layer::Lstm(lstm), Kept::Recurrence(recurrence)) => {
                self.recur(flow, lstm, node.source, recurrence, output);
            }
            (Layer::Last(grid), _) => {
                OverPlaces::Last.forward(grid, inputs, output, part, relu);
            }
            (Layer::GroupNorm(_) | Layer::MaxPool(_) | Layer::Lstm(_), _) => {
                unreachable!("memory is made for the layers of its network")
            }
        }
    }

    fn affine<'a>(&'a self, flow: &Flow<'a>, layer: &'a Dense, source: Source) -> Affine<'a> {
        let StackArena { models, width } = flow.arena();
        Affine {
            models,
            width,
            layer,
            inputs: self.output(source),
            shared: self.is_shared(source),
            relu: false,
        }
    }

    fn convolve<'a>(
        &'a self,
        flow: &Flow<'a>,
        layer: &'a Convolution,
        source: Source,
    ) -> Convolve<'a> {
        let StackArena { models, width } = flow.arena();
        Convolve {
            models,
            width,
            layer,
            inputs: self.output(source),
            shared: self.is_shared(source),
            relu: false,
        }
    }

    /// The product with what the layer reads at all positions, then position after position.
    fn recur(
        &self,
        flow: &Flow<'_>,
        lstm: &Lstm,
        source: Source,
        recurrence: &Recurrence,
        output: &CubeTensor,
    ) {
        let [product, _] = products(lstm);
        let affine = self.affine(flow, &product, source);
        affine.launch(flow.part, &recurrence.gates);
        recurrence.forward(flow.arena(), lstm, output, flow.part);
    }
}
