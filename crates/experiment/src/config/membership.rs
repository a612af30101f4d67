//! How well somebody who has a client's model tells which examples the client trained on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::test_examples::TestExamples;

/// Membership inference: an attacker who has a client's model guesses which examples the client trained on.
///
/// The score of an example is the modified entropy of the model's prediction (Song and Mittal, 2021), low for examples that the
/// model has learned by heart. It is taken of some training examples of the client (members) and of as many examples that the client never
/// saw (non-members). The figures are those of the attacker who knows the best threshold.
///
/// # Source
/// Song and Mittal, Systematic evaluation of privacy risks of machine learning models (USENIX Security 2021), Section 3.3; over
/// decentralized learning, Touat et al., 2025 (arXiv 2412.12837).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Membership {
    /// Members of each client, drawn once per run, and as many non-members; fewer where the client trains on fewer or there are fewer others.
    #[serde(default = "all")]
    #[schemars(extend("unit" = "examples"))]
    pub examples: TestExamples,
    /// Where non-members come from.
    #[serde(default)]
    pub non_members: NonMembers,
    /// Which models attackers have.
    #[serde(default)]
    pub models: AttackedModels,
}

fn all() -> TestExamples {
    TestExamples::All
}

/// Where examples come from that a client did not train on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NonMembers {
    /// From the test examples. If clients hold few labels each, these tell members by their labels alone.
    #[default]
    Test,
    /// From the client's local test set, whose examples are like those that it trains on; needs `local_test`.
    LocalTest,
}

/// Which models attackers have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttackedModels {
    /// Those that are judged: the models after the round.
    #[default]
    AfterRound,
    /// Those that clients send to their neighbours in the round, before they are mixed.
    Sent,
}
