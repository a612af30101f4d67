//! Who waits for whom.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who waits for whom on the simulated network.
///
/// With the local barrier of an overlay without servers, node `i` ends an exchange at `t_i ← max(t_i, max_j (t_j + d_ji))` over the nodes
/// `j` that send to it, `d_ji` being the seconds of the message by `links`. Local steps add to `t_i` alone.
///
/// # Source
/// `local`: the max-plus model of Marfoq, Xu, Neglia and Vidal, *Throughput-optimal topology design for cross-silo federated learning*
/// (2020). With servers it is P-FedAvg (Liu et al.), Definition 5.1.
///
/// # Interpretation
/// A node goes on once it has received; its own messages go out beside its next local steps. Who neither trains nor exchanges messages
/// in a round is no earlier than the first of the others. Walks of DFedRW that meet at a client are trained one after the other.
/// `simulated_seconds` is the time at which the last node has done the round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Barrier {
    /// All wait for the slowest after each phase of a round.
    #[default]
    Global,
    /// A node waits for those who send to it, and for nobody else.
    Local,
}
