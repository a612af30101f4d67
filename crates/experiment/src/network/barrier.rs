//! Who waits for whom.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who waits for whom on the simulated network.
///
/// With the local barrier node `i`, client or server, begins at its own time `t_i`. Local steps add to `t_i` alone. An exchange ends for it
/// at `max(t_i, max_j (t_j + d_ji), max_k (t_i + d_ik − l))`: when the messages of all `j` to it have arrived, and its own to all `k` have
/// left. `d_ji` are the seconds of a message by `links`, such as `l + max(bytes that j sends, bytes that i receives) / bandwidth` of `fixed`,
/// with the bytes of the whole exchange and the latency `l`; of all messages that begin at the same time, the longest is the exchange.
///
/// # Source
/// `local`: the max-plus model of Marfoq, Xu, Neglia and Vidal, *Throughput-optimal topology design for cross-silo federated learning*
/// (2020). With servers it is P-FedAvg (Liu et al.), Definition 5.1.
///
/// # Interpretation
/// In the paper a node does not wait for its own messages to leave; messages of several rounds would then share a link, each at its full
/// bandwidth. A client that takes no part in a round does not begin the next one before the first of the others has ended this one.
/// `simulated_seconds` is the time at which the last node has done the round. The local steps of walks (DFedRW) wait for nobody in any case, and the local
/// barrier is not for them, nor for stragglers with a deadline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Barrier {
    /// All wait for the slowest after each phase of a round.
    #[default]
    Global,
    /// A node waits for those who send to it, and for nobody else.
    Local,
}
