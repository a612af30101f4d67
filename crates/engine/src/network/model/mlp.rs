//! `mlp`: dense layers with ReLU between them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Architecture, Loss, Sketch};
use crate::error::EngineError;
use crate::network::checks::{expect_share, expect_two_classes, expect_units};

/// What the outputs of a network say of the classes.
///
/// # Source
/// DeceFL, Supplementary Information, section 5.1: a sigmoid in the output layer for two classes, softmax for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Head {
    /// One output per class, the logits of a softmax.
    #[default]
    Softmax,
    /// One output, the logit of the second of two classes.
    Sigmoid,
}

impl Head {
    /// Whether a configuration need not say it.
    #[must_use]
    pub fn is_softmax(&self) -> bool {
        *self == Self::Softmax
    }
}

/// Parameters of [`Model::Mlp`](super::Model::Mlp).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mlp {
    /// Width of each hidden layer.
    pub hidden: Vec<usize>,
    /// Share of the hidden units that a training step leaves out, in `[0, 1)`.
    #[serde(default)]
    pub dropout: f32,
    /// What the outputs say of the classes; `sigmoid` is for data of two.
    #[serde(default, skip_serializing_if = "Head::is_softmax")]
    #[schemars(extend("default" = "softmax"))]
    pub head: Head,
}

impl Architecture for Mlp {
    fn check(&self) -> Result<(), EngineError> {
        expect_share(self.dropout)?;
        let mut layers = self.hidden.iter().enumerate();
        layers.try_for_each(|(index, units)| expect_units(*units, &format!("hidden.{index}")))
    }

    fn loss(&self, classes: usize) -> Result<Loss, EngineError> {
        match self.head {
            Head::Softmax => Ok(Loss::CrossEntropy),
            Head::Sigmoid => {
                expect_two_classes(classes, "the sigmoid head", "head")?;
                Ok(Loss::Sigmoid)
            }
        }
    }

    fn draw(&self, sketch: &mut Sketch, outputs: usize) {
        draw_dense_layers(sketch, &self.hidden, self.dropout, outputs);
    }
}

/// Draws `hidden` layers with ReLU and `dropout`, and the layer of the outputs.
pub(super) fn draw_dense_layers(
    sketch: &mut Sketch,
    hidden: &[usize],
    dropout: f32,
    outputs: usize,
) {
    for units in hidden {
        sketch.dense(*units, true);
        sketch.relu();
        if dropout > 0.0 {
            sketch.drop_out(dropout);
        }
    }
    sketch.dense(outputs, true);
}
