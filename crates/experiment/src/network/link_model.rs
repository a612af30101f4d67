//! The links that messages travel over.

use meshfold_algorithms::{EvenLinks, Exchange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::directed_edges::Edge;
use super::edge_capacitated::EdgeCapacitated;
use super::error::NetworkError;
use super::fixed::Fixed;
use super::latency::Latency;
use super::moment::Moment;
use super::node_capacitated::NodeCapacitated;
use super::trace::LinkTrace;

/// Seconds that bytes take over an edge from a time on, in seconds since the start of the run.
pub(super) type Delays<'a> = Box<dyn Fn(Edge, u64, f64) -> Result<f64, NetworkError> + 'a>;

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

    /// The links, if they are the same for all and at all times.
    pub(crate) fn even(&self) -> Option<EvenLinks> {
        match self {
            Self::Fixed(fixed) => Some(EvenLinks {
                latency_seconds: fixed.latency_seconds,
                bytes_per_second: Some(fixed.bytes_per_second),
            }),
            Self::Latency(latency) => Some(EvenLinks {
                latency_seconds: latency.message,
                bytes_per_second: None,
            }),
            Self::NodeCapacitated(_) | Self::EdgeCapacitated(_) | Self::Trace(_) => None,
        }
    }

    /// Seconds that a message is under way without taking any of its sender's time.
    pub(super) fn latency_seconds(&self) -> f64 {
        match self {
            Self::Fixed(fixed) => fixed.latency_seconds,
            Self::NodeCapacitated(capacities) => capacities.latency_seconds,
            Self::EdgeCapacitated(capacities) => capacities.latency_seconds,
            Self::Latency(latency) => latency.message,
            Self::Trace(trace) => trace.latency_seconds,
        }
    }

    /// The seconds of each message of `exchange` by itself, beside the others that share its nodes. The longest of messages that set out
    /// at the same time has those of the whole exchange.
    pub(super) fn delays<'a>(&'a self, exchange: &Exchange, moment: &'a Moment<'a>) -> Delays<'a> {
        match self {
            Self::Fixed(fixed) => {
                let delays = fixed.delays(exchange);
                Box::new(move |edge, _, _| Ok(delays(edge)))
            }
            Self::NodeCapacitated(capacities) => {
                let delays = capacities.delays(exchange, moment);
                Box::new(move |edge, bytes, _| Ok(delays(edge, bytes)))
            }
            Self::EdgeCapacitated(capacities) => {
                Box::new(move |edge, bytes, _| Ok(capacities.delay(edge, bytes, moment)))
            }
            Self::Latency(latency) => Box::new(|_, _, _| Ok(latency.message)),
            Self::Trace(trace) => Box::new(trace.delays(exchange, moment)),
        }
    }
}
