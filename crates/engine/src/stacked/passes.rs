//! Forward and backward pass of a block of rows.

use super::affine::Affine;
use super::delta::delta;
use super::dropout::Masks;
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
    /// Output of each layer, `[rows, examples, outputs]`; after the loss the last holds the loss's gradient by it.
    outputs: Vec<CubeTensor>,
    /// Gradient of the loss by each output but the last.
    deltas: Vec<CubeTensor>,
}

/// What goes through the network besides the examples themselves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given<'a> {
    /// Examples of every entry of the table.
    pub(super) counts: &'a CubeTensor,
    pub(super) masks: Option<Masks<'a>>,
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

    /// Runs `input` through the network, leaving out what `given` says; what the loss is taken of is in
    /// [`Workspace::last`] afterwards.
    pub(super) fn forward(
        &self,
        network: &Network,
        models: &CubeTensor,
        given: Given<'_>,
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
                counts: given.counts,
                relu: index < last,
            };
            product.launch(part, &self.outputs[index]);
            if let Some(masks) = given.masks.filter(|_| index < last) {
                let outputs = (&self.outputs[index], layer.outputs);
                masks.apply(index, outputs, given.counts, part);
            }
        }
    }

    /// The output of the last layer, `[rows, examples, outputs]`.
    pub(super) fn last(&self) -> &CubeTensor {
        &self.outputs[self.outputs.len() - 1]
    }

    /// Carries the loss's gradient by the last output back into `gradients` `[R, P_pad]`, added to what is there if `add`.
    pub(super) fn backward(
        &self,
        network: &Network,
        (models, gradients): (&CubeTensor, &CubeTensor),
        given: Given<'_>,
        part: &Part,
        add: bool,
    ) {
        let width = network.layout().width();
        let slope = given.masks.map_or(1.0, |masks| masks.dropout.scale());
        for (index, layer) in network.layers().iter().enumerate().rev() {
            let above = self.deltas.get(index).unwrap_or_else(|| self.last());
            let inputs = if index == 0 {
                &self.input
            } else {
                &self.outputs[index - 1]
            };
            if index > 0 {
                delta(
                    (models, width),
                    layer,
                    (above, inputs, given.counts),
                    (&self.deltas[index - 1], slope),
                    part,
                );
            }
            outer(
                layer,
                (inputs, above, given.counts),
                (gradients, width),
                part,
                add,
            );
        }
    }
}
