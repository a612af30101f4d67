//! Forward and backward pass of a block of rows.

use super::affine::Affine;
use super::delta::delta;
use super::memory::Memory;
use super::outer::outer;
use super::part::Part;
use crate::network::Network;
use burn_cubecl::tensor::CubeTensor;

/// Activations of a block of rows, and their gradients.
#[derive(Debug)]
pub(super) struct Workspace {
    rows: usize,
    examples: usize,
    /// `[rows, examples, D]`, or `[examples, D]` if the rows share it.
    pub(super) input: CubeTensor,
    shared: bool,
    /// Output of each layer, `[rows, examples, outputs]`; the last holds the logits, then the loss's gradient by them.
    outputs: Vec<CubeTensor>,
    /// Gradient of the loss by each output but the last.
    deltas: Vec<CubeTensor>,
}

/// Rows and examples of a block whose largest buffer stays within `bytes`.
pub(super) fn block(
    network: &Network,
    rows: usize,
    examples: usize,
    bytes: usize,
) -> (usize, usize) {
    let widest = network
        .layers()
        .iter()
        .map(|layer| layer.inputs.max(layer.outputs))
        .max()
        .unwrap_or(1);
    let fit = bytes / (widest * size_of::<f32>());
    let examples = examples.min(fit).max(1);
    (rows.min(fit / examples).max(1), examples)
}

impl Workspace {
    /// Room for `examples` examples of each of `rows` rows. Without `training` there are no gradients; if the rows
    /// share their examples there is one input.
    pub(super) fn new(
        memory: &Memory,
        network: &Network,
        (rows, examples): (usize, usize),
        shared: bool,
        training: bool,
    ) -> Self {
        let layers = network.layers();
        let deltas = if training { &layers[1..] } else { &[] };
        Self {
            rows,
            examples,
            input: memory.floats(&[if shared { 1 } else { rows }, examples, network.inputs()]),
            shared,
            outputs: layers
                .iter()
                .map(|layer| memory.floats(&[rows, examples, layer.outputs]))
                .collect(),
            deltas: deltas
                .iter()
                .map(|layer| memory.floats(&[rows, examples, layer.inputs]))
                .collect(),
        }
    }

    /// Whether there is room for so many rows and examples.
    pub(super) fn fits(&self, (rows, examples): (usize, usize)) -> bool {
        self.rows >= rows && self.examples >= examples
    }

    /// Runs `input` through the network; the logits are in [`Workspace::logits`] afterwards.
    pub(super) fn forward(
        &self,
        network: &Network,
        models: &CubeTensor,
        counts: &CubeTensor,
        part: &Part,
    ) {
        let last = network.layers().len() - 1;
        for (index, layer) in network.layers().iter().enumerate() {
            let product = Affine {
                models,
                width: network.layout().width(),
                layer,
                inputs: if index == 0 {
                    &self.input
                } else {
                    &self.outputs[index - 1]
                },
                shared: index == 0 && self.shared,
                counts,
                relu: index < last,
            };
            product.launch(part, &self.outputs[index]);
        }
    }

    /// The output of the last layer, `[rows, examples, C]`.
    pub(super) fn logits(&self) -> &CubeTensor {
        &self.outputs[self.outputs.len() - 1]
    }

    /// Carries the loss's gradient by the logits back into `gradients` `[R, P_pad]`, added to what is there if `add`.
    pub(super) fn backward(
        &self,
        network: &Network,
        (models, gradients): (&CubeTensor, &CubeTensor),
        counts: &CubeTensor,
        part: &Part,
        add: bool,
    ) {
        let width = network.layout().width();
        for (index, layer) in network.layers().iter().enumerate().rev() {
            let above = self.deltas.get(index).unwrap_or_else(|| self.logits());
            let inputs = if index == 0 {
                &self.input
            } else {
                &self.outputs[index - 1]
            };
            if index > 0 {
                delta(
                    (models, width),
                    layer,
                    (above, inputs, counts),
                    &self.deltas[index - 1],
                    part,
                );
            }
            outer(
                layer,
                (inputs, above, counts),
                (gradients, width),
                part,
                add,
            );
        }
    }
}
