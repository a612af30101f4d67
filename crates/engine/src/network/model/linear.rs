//! `linear`: a linear map judged by its squared error.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Architecture, Loss, Sketch};
use crate::error::EngineError;

/// What the outputs of a [`linear`](Linear) model are to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Targets {
    /// One output per class: one for the label, zero for the others. An example is right if its largest output is that of its label.
    #[default]
    OneHot,
    /// One output: the label as a number. The labels of a table, and texts in an array, are numbered in their order: what is learnt is the
    /// place of the label, from 0. An example is right if the output is less than one half away from it, so that rounding gives the label;
    /// outputs below 0 or beyond the last label are not cut off.
    Value,
}

/// Parameters of [`Model::Linear`](super::Model::Linear).
///
/// The loss of an example is `½ ‖W x + b − target‖²`. That of a client is a quadratic whose curvature and minimum are those of its own
/// examples.
///
/// # Source
/// DeceFL, Supplementary Information, section 4 (16) and its example 4.5, which has one weight and no bias.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Linear {
    /// What the outputs are compared with.
    pub targets: Targets,
    /// Whether every output has a bias.
    pub bias: bool,
}

impl Default for Linear {
    fn default() -> Self {
        Self {
            targets: Targets::OneHot,
            bias: true,
        }
    }
}

impl Architecture for Linear {
    fn loss(&self, _classes: usize) -> Result<Loss, EngineError> {
        Ok(Loss::SquaredError(self.targets))
    }

    fn draw(&self, sketch: &mut Sketch, outputs: usize) {
        sketch.dense(outputs, self.bias);
    }
}
