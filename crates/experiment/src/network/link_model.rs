//! The links that messages travel over.

use meshfold_algorithms::Exchange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::edge_capacitated::EdgeCapacitated;
use super::error::NetworkError;
use super::fixed::Fixed;
use super::latency::Latency;
use super::moment::Moment;
use super::node_capacitated::NodeCapacitated;
use super::trace::LinkTrace;

/// The links that can be asked for by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LinkModel {
    /// One bandwidth for every node.
    Fixed(Fixed),
    /// Capacities of nodes.
    NodeCapacitated(NodeCapacitated),
    /// Capacities of edges.
    EdgeCapacitated(EdgeCapacitated),
    /// One price for every exchange.
    Latency(Latency),
    /// Bandwidths that change over time, read from a file.
    Trace(LinkTrace),
}

impl LinkModel {
    /// Checks the values for `clients` clients and `servers` servers.
    pub(super) fn check(&self, clients: usize, servers: usize) -> Result<(), NetworkError> {
        match self {
            Self::Fixed(fixed) => fixed.check(),
            Self::NodeCapacitated(capacities) => capacities.check(clients, servers),
            Self::EdgeCapacitated(capacities) => capacities.check(),
            Self::Latency(latency) => latency.check(),
            Self::Trace(trace) => trace.check(clients, servers),
        }
    }

    /// Seconds of one exchange that begins at `moment`.
    pub(super) fn seconds(
        &self,
        exchange: &Exchange,
        moment: &Moment<'_>,
    ) -> Result<f64, NetworkError> {
        match self {
            Self::Fixed(fixed) => Ok(fixed.seconds(exchange)),
            Self::NodeCapacitated(capacities) => capacities.seconds(exchange, moment),
            Self::EdgeCapacitated(capacities) => capacities.seconds(exchange, moment),
            Self::Latency(latency) => Ok(latency.seconds(exchange)),
            Self::Trace(trace) => trace.seconds(exchange, moment),
        }
    }
}
