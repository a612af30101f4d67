//! Forward pass of a block of rows.

use super::flow::Flow;
use super::workspace::{Kept, Workspace};
use crate::network::layer::{Convolution, Dense, Layer, Lstm, Node, Source};
use crate::stacked::layers::add::add;
use crate::stacked::layers::arena::Arena;
use crate::stacked::layers::convolution::convolve::Convolve;
use crate::stacked::layers::dense::affine::Affine;
use crate::stacked::layers::embedding::embed;
use crate::stacked::layers::lstm::{Recurrence, products};
use crate::stacked::layers::max_pool::max_pool;
use crate::stacked::layers::over_places::OverPlaces;
use burn_cubecl::tensor::CubeTensor;

impl Workspace {
    /// Runs `input` through the network, leaving out what `flow` says; what the loss is taken of is in
    /// [`Workspace::last`] afterwards.
    pub(crate) fn forward(&self, flow: &Flow<'_>) {
        for (node, buffers) in flow.network.nodes().iter().zip(&self.nodes) {
            self.give(flow, node, (&buffers.output, &buffers.kept));
            if let Some((masks, layer)) = flow.masks.zip(node.dropout) {
                let outputs = (&buffers.output, node.output.size());
                masks.apply(layer, outputs, flow.counts, flow.part);
            }
        }
    }

    /// Writes what `node` gives to `output`.
    fn give(&self, flow: &Flow<'_>, node: &Node, (output, kept): (&CubeTensor, &Kept)) {
        let (part, relu) = (flow.part, node.relu);
        let inputs = self.output(node.source);
        let through = (inputs, output, flow.counts);
        let shares = self.is_shared(node.source);
        let may = matches!(
            node.layer,
            Layer::Dense(_) | Layer::Convolution(_) | Layer::Embedding(_) | Layer::Lstm(_)
        );
        assert!(may || !shares, "layers without products read no examples");
        match (&node.layer, kept) {
            (Layer::Dense(layer), _) => {
                let product = self.affine(flow, layer, node.source);
                Affine { relu, ..product }.launch(part, output);
            }
            (Layer::Convolution(layer), _) => {
                let convolve = self.convolve(flow, layer, node.source);
                Convolve { relu, ..convolve }.launch(part, output);
            }
            (Layer::GroupNorm(norm), Kept::Norms(norms)) => {
                norms.forward(flow.arena(), norm, through, part, relu);
            }
            (Layer::MaxPool(pool), Kept::Chosen(chosen)) => {
                let given = (inputs, flow.counts);
                max_pool(pool, given, (output, chosen), part, relu);
            }
            (Layer::MeanPool(grid), _) => OverPlaces::Mean.forward(grid, through, part, relu),
            (Layer::Add(other), _) => {
                let size = node.output.size();
                let both = (inputs, self.output(*other));
                add(both, flow.counts, (output, size), part, relu);
            }
            (Layer::Embedding(embedding), _) => {
                let tokens = (inputs, shares, flow.counts);
                embed(embedding, flow.arena(), tokens, output, part);
            }
            (Layer::Lstm(lstm), Kept::Recurrence(recurrence)) => {
                self.recur(flow, (lstm, node.source), recurrence, output);
            }
            (Layer::Last(grid), _) => OverPlaces::Last.forward(grid, through, part, relu),
            (Layer::GroupNorm(_) | Layer::MaxPool(_) | Layer::Lstm(_), _) => {
                unreachable!("memory is made for the layers of its network")
            }
        }
    }

    fn affine<'a>(&'a self, flow: &Flow<'a>, layer: &'a Dense, source: Source) -> Affine<'a> {
        let Arena { models, width } = flow.arena();
        Affine {
            models,
            width,
            layer,
            inputs: self.output(source),
            shared: self.is_shared(source),
            counts: flow.counts,
            relu: false,
        }
    }

    fn convolve<'a>(
        &'a self,
        flow: &Flow<'a>,
        layer: &'a Convolution,
        source: Source,
    ) -> Convolve<'a> {
        let Arena { models, width } = flow.arena();
        Convolve {
            models,
            width,
            layer,
            inputs: self.output(source),
            shared: self.is_shared(source),
            counts: flow.counts,
            relu: false,
        }
    }

    /// The product with what the layer reads at all positions, then position after position.
    fn recur(
        &self,
        flow: &Flow<'_>,
        (lstm, source): (&Lstm, Source),
        recurrence: &Recurrence,
        output: &CubeTensor,
    ) {
        let [product, _] = products(lstm);
        let affine = self.affine(flow, &product, source);
        affine.launch(flow.part, &recurrence.gates);
        recurrence.forward(flow.arena(), lstm, (output, flow.counts), flow.part);
    }
}
