//! `dnn8`: the network of DeceFL's experiments.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mlp::draw_dense_layers;
use super::{Architecture, Loss, Sketch};
use crate::error::EngineError;
use crate::network::checks::expect_share;

/// Units of the hidden layers.
const HIDDEN: [usize; 8] = [256, 512, 512, 256, 256, 128, 128, 64];

/// Parameters of [`Model::Dnn8`](super::Model::Dnn8).
///
/// Hidden layers of 256, 512, 512, 256, 256, 128, 128 and 64 units, each with ReLU and dropout. Two classes have one output, the logit of
/// the second; more have an output each.
///
/// # Source
/// DeceFL, Supplementary Information, section 5.1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dnn8 {
    /// Share of the hidden units that a training step leaves out, in `[0, 1)`.
    pub dropout: f32,
}

impl Default for Dnn8 {
    fn default() -> Self {
        Self { dropout: 0.3 }
    }
}

impl Architecture for Dnn8 {
    fn check(&self) -> Result<(), EngineError> {
        expect_share(self.dropout)
    }

    fn loss(&self, classes: usize) -> Result<Loss, EngineError> {
        Ok(match classes {
            2 => Loss::Sigmoid,
            _ => Loss::CrossEntropy,
        })
    }

    fn draw(&self, sketch: &mut Sketch, outputs: usize) {
        draw_dense_layers(sketch, &HIDDEN, self.dropout, outputs);
    }
}
