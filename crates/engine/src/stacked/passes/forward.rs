//! Forward pass of a block of rows.

use super::flow::Flow;
use super::workspace::Workspace;
use crate::stacked::layers::Forward;

impl Workspace {
    /// Runs `input` through the network, with the dropout masks of `flow`. Afterwards the outputs are in
    /// [`Workspace::last`].
    pub(crate) fn forward(&self, flow: &Flow<'_>) {
        for (node, buffers) in flow.network.nodes().iter().zip(&self.nodes) {
            buffers.layer.forward(&Forward {
                flow,
                inputs: self.output(node.source),
                shared: self.is_shared(node.source),
                added: node.layer.added().map(|source| self.output(source)),
                relu: node.relu,
                outputs: &buffers.output,
            });
            if let Some((masks, left_out)) = flow.masks.zip(node.dropout) {
                masks.apply(left_out, &buffers.output, node.output.size(), flow.part);
            }
        }
    }
}
