//! `char_lstm` and `word_lstm`: recurrent networks, which differ in their defaults.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Architecture, Sketch};
use crate::error::EngineError;
use crate::network::checks::{expect_layers, expect_units};
use crate::network::layer::{Grid, Last, Layer};

/// Which positions of a window a recurrent network is judged on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Judged {
    /// What follows every token of the window is to be foretold, from those before it.
    EveryPosition,
    /// What follows the window alone.
    Last,
}

/// Parameters of [`Model::CharLstm`](super::Model::CharLstm).
///
/// A vector per character, layers of long short-term memory and one dense layer, the same at each position. With 90 characters it has
/// 820,522 parameters.
///
/// # Source
/// McMahan et al., Communication-efficient learning (2017), section 3: two layers of 256 nodes on an embedding of 8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CharLstm {
    /// Length of a character's vector.
    pub embedding: usize,
    /// Units of a layer.
    pub hidden: usize,
    /// Layers.
    pub layers: usize,
    /// What is judged.
    pub loss: Judged,
}

impl Default for CharLstm {
    fn default() -> Self {
        Self {
            embedding: 8,
            hidden: 256,
            layers: 2,
            loss: Judged::EveryPosition,
        }
    }
}

/// Parameters of [`Model::WordLstm`](super::Model::WordLstm).
///
/// As `char_lstm` with words, a vector of 128 each.
///
/// # Source
/// DFedRW, section VI-F, and LEAF (Caldas et al., 2018): the next word of a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WordLstm {
    /// Length of a word's vector.
    pub embedding: usize,
    /// Units of a layer.
    pub hidden: usize,
    /// Layers.
    pub layers: usize,
    /// What is judged.
    pub loss: Judged,
}

impl Default for WordLstm {
    fn default() -> Self {
        Self {
            embedding: 128,
            hidden: 256,
            layers: 2,
            loss: Judged::Last,
        }
    }
}

/// The network of settings with these sizes.
macro_rules! recurrent {
    ($name:ident) => {
        impl Architecture for $name {
            fn reads_tokens(&self) -> bool {
                true
            }

            fn judges_every_position(&self) -> bool {
                self.loss == Judged::EveryPosition
            }

            fn check(&self) -> Result<(), EngineError> {
                expect_units(self.embedding, "embedding")?;
                expect_units(self.hidden, "hidden")?;
                expect_layers(self.layers)
            }

            /// The text has as many symbols as there are `outputs`.
            fn draw(&self, sketch: &mut Sketch, outputs: usize) {
                sketch.embedding(outputs, self.embedding);
                for _ in 0..self.layers {
                    sketch.lstm(self.hidden);
                }
                if self.loss == Judged::Last {
                    let grid = sketch.grid();
                    sketch.push(Layer::Last(Last { grid }), Grid::flat(grid.channels));
                }
                sketch.dense_at_each_place(outputs);
            }
        }
    };
}

recurrent!(CharLstm);
recurrent!(WordLstm);
