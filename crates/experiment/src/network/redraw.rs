//! How long a drawn capacity lasts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When capacities that are drawn from a distribution are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "CapacityRedraw")]
pub enum Redraw {
    /// Once for the whole run.
    #[default]
    Never,
    /// Anew in each round.
    EachRound,
}
