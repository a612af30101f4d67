//! Backward pass of a block of rows.

use super::flow::Flow;
use super::workspace::Workspace;
use crate::network::layer::Source;
use crate::stacked::gradients::gradient_aliasing::is_handed;
use crate::stacked::gradients::gradient_write::{GradientWrite, InputGradient};
use crate::stacked::gradients::sink::GradientSink;
use crate::stacked::layers::Backward;
use crate::stacked::layers::add::pass;

impl Workspace {
    /// Backpropagates the gradient with respect to the last output to `sink`.
    pub(crate) fn backward(&self, flow: &Flow<'_>, sink: &GradientSink) {
        for (index, node) in flow.network.nodes().iter().enumerate().rev() {
            let buffers = &self.nodes[index];
            let above = buffers.delta.as_ref().unwrap_or(&buffers.output);
            if let Some(added) = node.layer.added() {
                for source in [added, node.source] {
                    if let Some(below) = self.below_sum(flow, source, index) {
                        pass(above, node.output.size(), &below, flow.part);
                    }
                }
            }
            buffers.layer.backward(&Backward {
                flow,
                inputs: self.output(node.source),
                outputs: &buffers.output,
                above,
                below: self.below(flow, node.source, index),
                sink,
            });
        }
    }

    /// Where node `sum`, a sum, sends its gradient for `source`; `None` if `source` shares its buffer or is the
    /// example.
    fn below_sum<'a>(
        &'a self,
        flow: &Flow<'_>,
        source: Source,
        sum: usize,
    ) -> Option<InputGradient<'a>> {
        let handed = is_handed(flow.network.nodes(), sum, source);
        self.below(flow, source, sum).filter(|_| !handed)
    }

    /// Where node `reader` sends the gradient with respect to the output of `source`, which it read.
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
                add: nodes[reader + 1..].iter().any(|node| node.reads(source)),
                masked: nodes[index].relu && !nodes[..reader].iter().any(|node| node.reads(source)),
            },
        })
    }
}
