//! The network built from a model and the shape of its examples.

use crate::dropout::Dropout;
use crate::error::EngineError;
use crate::layout::Layout;
use crate::loss::Loss;
use crate::model::Model;
use crate::stream::{Key, Purpose, stream};
use rand::RngExt;
use std::ops::Range;
use std::sync::Arc;

/// A dense layer and where its parameters lie in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dense {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    /// `[inputs, outputs]`, row-major.
    pub(crate) weight: Range<usize>,
    /// `[outputs]`, if the layer has one.
    pub(crate) bias: Option<Range<usize>>,
}

impl Dense {
    /// The floats of the layer's bias in `row`.
    pub(crate) fn bias_of<'a, T>(&self, row: &'a [T]) -> Option<&'a [T]> {
        self.bias.clone().map(|bias| &row[bias])
    }
}

/// A model fitted to a dataset: dense layers with ReLU between them, and the loss that their outputs are judged by.
#[derive(Debug, Clone)]
pub struct Network {
    layers: Vec<Dense>,
    layout: Arc<Layout>,
    classes: usize,
    loss: Loss,
    dropout: f32,
}

impl Network {
    /// Builds `model` for examples of `inputs` features and `classes` classes.
    ///
    /// # Errors
    /// [`EngineError::Setting`] if a layer would have no units, or if the share of units left out is not in `[0, 1)`.
    pub fn new(model: &Model, inputs: usize, classes: usize) -> Result<Self, EngineError> {
        let loss = Loss::of(model, classes);
        let widths: Vec<usize> = std::iter::once(inputs)
            .chain(model.hidden().iter().copied())
            .chain([loss.outputs(classes)])
            .collect();
        let refuse = |what, found, needed| {
            Err(EngineError::Setting {
                what,
                found,
                needed,
            })
        };
        if widths.contains(&0) {
            let needed = "at least one unit in every layer";
            return refuse("layer widths", format!("{widths:?}"), needed);
        }
        let dropout = model.dropout();
        if !(0.0..1.0).contains(&dropout) {
            return refuse("dropout", dropout.to_string(), "at least 0 and below 1");
        }
        let biased = !matches!(model, Model::Linear(linear) if !linear.bias);
        let mut layout = Layout::default();
        let layers = widths
            .windows(2)
            .enumerate()
            .map(|(index, pair)| dense(&mut layout, index, (pair[0], pair[1]), biased))
            .collect();
        Ok(Self {
            layers,
            layout: Arc::new(layout),
            classes,
            loss,
            dropout,
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

    /// Outputs of the last layer.
    pub fn outputs(&self) -> usize {
        self.layers[self.layers.len() - 1].outputs
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Which units row `row` leaves out in its local step `step`, counted from 0 over the whole run; `None` if the
    /// model leaves none out.
    pub fn dropout(&self, seed: u64, row: u32, step: u64) -> Option<Dropout> {
        (self.dropout > 0.0).then(|| Dropout::new(self.dropout, seed, row, step))
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

    pub(crate) fn loss(&self) -> Loss {
        self.loss
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
            for at in layer
                .weight
                .clone()
                .chain(layer.bias.clone().unwrap_or_default())
            {
                values[at] = rng.random_range(-bound..bound);
            }
        }
        values
    }
}

/// Appends the blocks of a layer to `layout`.
fn dense(
    layout: &mut Layout,
    index: usize,
    (inputs, outputs): (usize, usize),
    biased: bool,
) -> Dense {
    let weight = layout.push(format!("dense{index}.weight"), inputs, outputs);
    let bias = biased.then(|| layout.push(format!("dense{index}.bias"), 1, outputs));
    let range = |block: usize| layout.blocks()[block].range();
    Dense {
        inputs,
        outputs,
        weight: range(weight),
        bias: bias.map(range),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Dnn8, Linear, Mlp, Targets};

    fn mlp(hidden: &[usize], dropout: f32) -> Model {
        Model::Mlp(Mlp {
            hidden: hidden.to_vec(),
            dropout,
        })
    }

    fn count(model: &Model, classes: usize) -> usize {
        let network = Network::new(model, 784, classes).unwrap();
        network.layout().parameters()
    }

    #[test]
    fn parameter_counts_are_those_of_the_literature() {
        assert_eq!(count(&Model::Logistic, 10), 7_850);
        assert_eq!(count(&mlp(&[200], 0.0), 10), 159_010);
        assert_eq!(count(&mlp(&[200, 200], 0.0), 10), 199_210);
    }

    #[test]
    fn the_layers_of_dnn8_add_up() {
        // Products of neighbouring widths and one bias per unit: 784-256-512-512-256-256-128-128-64-10.
        let hidden = 200_960 + 131_584 + 262_656 + 131_328 + 65_792 + 32_896 + 16_512 + 8_256;
        let dnn8 = Model::Dnn8(Dnn8::default());
        assert_eq!(count(&dnn8, 10), hidden + 650);
        assert_eq!(count(&dnn8, 10), 850_634);
        // Two classes have one output: 64 weights and a bias.
        assert_eq!(count(&dnn8, 2), hidden + 65);
    }

    #[test]
    fn a_linear_model_has_an_output_per_class_or_one_and_a_bias_or_none() {
        let linear = |targets, bias| Model::Linear(Linear { targets, bias });
        assert_eq!(count(&linear(Targets::OneHot, true), 10), 7_850);
        assert_eq!(count(&linear(Targets::OneHot, false), 10), 7_840);
        assert_eq!(count(&linear(Targets::Value, true), 10), 785);
        assert_eq!(count(&linear(Targets::Value, false), 10), 784);
    }

    #[test]
    fn operations_are_counted_as_the_yardsticks_count_them() {
        let network = Network::new(&mlp(&[200], 0.0), 784, 10).unwrap();
        assert_eq!(
            network.flop_per_step(20),
            20.0 * (4.0 * 784.0 * 200.0 + 6.0 * 200.0 * 10.0)
        );
    }

    #[test]
    fn shares_of_units_to_leave_out_are_below_one() {
        for dropout in [0.0, 0.3, 0.999] {
            assert!(Network::new(&mlp(&[5], dropout), 3, 2).is_ok());
        }
        for dropout in [-0.1, 1.0, f32::NAN, f32::INFINITY] {
            let refused = Network::new(&mlp(&[5], dropout), 3, 2).unwrap_err();
            let found = refused.to_string();
            assert!(found.starts_with("dropout: "), "{found}");
            assert!(Network::new(&Model::Dnn8(Dnn8 { dropout }), 3, 2).is_err());
        }
    }
}
