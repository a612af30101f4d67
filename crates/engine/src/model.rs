//! Models: what a configuration asks for, and the network built from it.

use crate::error::EngineError;
use crate::layout::Layout;
use crate::stream::{Key, Purpose, stream};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// A model as a configuration names it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// Multinomial logistic regression.
    Logistic,
    /// Dense layers with ReLU between them.
    Mlp(Mlp),
}

/// Parameters of [`Model::Mlp`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mlp {
    /// Width of each hidden layer.
    pub hidden: Vec<usize>,
}

/// A dense layer and where its parameters lie in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dense {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    /// `[inputs, outputs]`, row-major.
    pub(crate) weight: Range<usize>,
    /// `[outputs]`.
    pub(crate) bias: Range<usize>,
}

/// A model fitted to a dataset: dense layers with ReLU between them, the last giving the classes' logits.
#[derive(Debug, Clone)]
pub struct Network {
    layers: Vec<Dense>,
    layout: Arc<Layout>,
}

impl Network {
    /// Builds `model` for examples of `inputs` features and `classes` classes.
    ///
    /// # Errors
    /// [`EngineError::Setting`] if a layer would have no units.
    pub fn new(model: &Model, inputs: usize, classes: usize) -> Result<Self, EngineError> {
        let hidden: &[usize] = match model {
            Model::Logistic => &[],
            Model::Mlp(mlp) => &mlp.hidden,
        };
        let widths: Vec<usize> = std::iter::once(inputs)
            .chain(hidden.iter().copied())
            .chain([classes])
            .collect();
        if widths.contains(&0) {
            return Err(EngineError::Setting {
                what: "layer widths",
                found: format!("{widths:?}"),
                needed: "at least one unit in every layer",
            });
        }
        let mut layout = Layout::default();
        let layers = widths
            .windows(2)
            .enumerate()
            .map(|(index, pair)| {
                let weight = layout.push(format!("dense{index}.weight"), pair[0], pair[1]);
                let bias = layout.push(format!("dense{index}.bias"), 1, pair[1]);
                let blocks = layout.blocks();
                Dense {
                    inputs: pair[0],
                    outputs: pair[1],
                    weight: blocks[weight].range(),
                    bias: blocks[bias].range(),
                }
            })
            .collect();
        Ok(Self {
            layers,
            layout: Arc::new(layout),
        })
    }

    /// How a row of the stack is laid out.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// Features of an example.
    pub fn inputs(&self) -> usize {
        self.layers[0].inputs
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.layers[self.layers.len() - 1].outputs
    }

    /// Floating-point operations of one local step on `batch` examples: two per multiply-accumulate of the forward
    /// product, the weight gradient and, in all layers but the first, the input gradient.
    pub fn flop_per_step(&self, batch: usize) -> f64 {
        let per_example: usize = self
            .layers
            .iter()
            .enumerate()
            .map(|(index, layer)| layer.inputs * layer.outputs * if index == 0 { 4 } else { 6 })
            .sum();
        (batch * per_example) as f64
    }

    pub(crate) fn layers(&self) -> &[Dense] {
        &self.layers
    }

    /// Draws one initial model, `[P_pad]`: weights and biases uniform in ±1/√inputs, as PyTorch's `Linear`.
    pub(crate) fn initialise(&self, seed: u64, row: u32) -> Vec<f32> {
        let mut values = vec![0.0; self.layout.width()];
        for (index, layer) in self.layers.iter().enumerate() {
            let mut rng = stream(
                seed,
                Purpose::Initialisation,
                Key {
                    row,
                    layer: index as u32,
                    ..Key::default()
                },
            );
            let bound = 1.0 / (layer.inputs as f32).sqrt();
            for at in layer.weight.clone().chain(layer.bias.clone()) {
                values[at] = rng.random_range(-bound..bound);
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_counts_are_those_of_the_literature() {
        let count = |model: &Model| Network::new(model, 784, 10).unwrap().layout().parameters();
        assert_eq!(count(&Model::Logistic), 7_850);
        assert_eq!(count(&Model::Mlp(Mlp { hidden: vec![200] })), 159_010);
        assert_eq!(
            count(&Model::Mlp(Mlp {
                hidden: vec![200, 200]
            })),
            199_210
        );
    }

    #[test]
    fn operations_are_counted_as_the_yardsticks_count_them() {
        let network = Network::new(&Model::Mlp(Mlp { hidden: vec![200] }), 784, 10).unwrap();
        assert_eq!(
            network.flop_per_step(20),
            20.0 * (4.0 * 784.0 * 200.0 + 6.0 * 200.0 * 10.0)
        );
    }
}
