//! Models as a configuration names them.

use serde::{Deserialize, Serialize};

/// A model as a configuration names it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// A linear map judged by its squared error.
    Linear(Linear),
    /// Multinomial logistic regression.
    Logistic,
    /// Dense layers with ReLU between them.
    Mlp(Mlp),
    /// The network of DeceFL's experiments, with eight hidden layers.
    Dnn8(Dnn8),
}

/// What the outputs of a [`Linear`] model are to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Targets {
    /// One output per class: one for the label, zero for the others.
    #[default]
    OneHot,
    /// One output: the label as a number.
    Value,
}

/// Parameters of [`Model::Linear`]: `½ ‖W x + b − target‖²` per example.
///
/// The loss of a client is a quadratic whose curvature and minimum are those of its own examples.
///
/// # Source
/// DeceFL, Supplementary Information, section 4 (16) and its example 4.5, which has one weight and no bias.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// Parameters of [`Model::Mlp`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mlp {
    /// Width of each hidden layer.
    pub hidden: Vec<usize>,
    /// Share of the hidden units that a training step leaves out, in `[0, 1)`.
    #[serde(default)]
    pub dropout: f32,
}

/// Parameters of [`Model::Dnn8`]: hidden layers of 256, 512, 512, 256, 256, 128, 128 and 64 units, each with ReLU and
/// dropout. Two classes have one output, the logit of the second.
///
/// # Source
/// DeceFL, Supplementary Information, section 5.1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// Hidden layers of [`Dnn8`].
const DNN8: [usize; 8] = [256, 512, 512, 256, 256, 128, 128, 64];

impl Model {
    /// Widths of the hidden layers.
    pub(crate) fn hidden(&self) -> &[usize] {
        match self {
            Self::Linear(_) | Self::Logistic => &[],
            Self::Mlp(mlp) => &mlp.hidden,
            Self::Dnn8(_) => &DNN8,
        }
    }

    /// Share of the hidden units that a training step leaves out.
    pub(crate) fn dropout(&self) -> f32 {
        match self {
            Self::Linear(_) | Self::Logistic => 0.0,
            Self::Mlp(mlp) => mlp.dropout,
            Self::Dnn8(dnn) => dnn.dropout,
        }
    }
}
