//! How long a round would take on a described network: links, computing speeds, and a clock that reads a round's traffic.
//!
//! A method reports its round as ordered phases of computing and of messages ([`meshfold_algorithms::Traffic`]). Between phases all wait
//! for the slowest client, node or edge, so that a round is the sum of its phases; or each node waits for those alone who send to it
//! ([`Barrier`]).
//!
//! A new kind of link is one file below `network/`, its `mod` line here, and a variant with its match arms in `link_model.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod barrier;
mod clock;
mod compute;
mod directed_edges;
mod distribution;
mod edge_capacitated;
mod error;
mod fixed;
mod latency;
mod link_model;
mod load;
mod local_barrier;
mod moment;
mod node_capacitated;
mod rate_trace;
mod redraw;
mod simulated_time;
mod trace;
mod trace_file;
mod traces;

pub use barrier::Barrier;
pub use clock::{Clock, NetworkNodes};
pub use compute::Compute;
pub use directed_edges::bytes_per_edge;
pub use distribution::{Distribution, Exponential, Lognormal};
pub use edge_capacitated::EdgeCapacitated;
pub use error::NetworkError;
pub use fixed::Fixed;
pub use latency::Latency;
pub use link_model::LinkModel;
pub use node_capacitated::{NodeCapacitated, ServerCapacity};
pub use rate_trace::RateTrace;
pub use redraw::Redraw;
pub use simulated_time::SimulatedTime;
pub use trace::LinkTrace;
pub use traces::Traces;

/// The network of a run and how fast its clients compute.
///
/// ```
/// use meshfold_experiment::network::SimulatedNetwork;
///
/// let yaml = "{links: {fixed: {bytes_per_second: 2.0e6}}, compute: {seconds_per_step: 0.02, slowdown: {uniform: [1, 4]}}}";
/// let network: SimulatedNetwork = serde_yaml::from_str(yaml)?;
/// network.check(10, 0)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimulatedNetwork {
    /// What messages travel over.
    pub links: LinkModel,
    /// How long local steps take; without it they take no time, unless `links.latency` says how long an epoch takes.
    #[serde(default)]
    pub compute: Option<Compute>,
    /// Who waits for whom; `global` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barrier: Option<Barrier>,
}

impl SimulatedNetwork {
    /// Checks every value for a run of `clients` clients and `servers` servers.
    ///
    /// # Errors
    /// [`NetworkError::Setting`] with the dotted path of the first value at fault, or one of
    /// [`NetworkError::TraceUnread`], [`NetworkError::TraceNode`] and [`NetworkError::TraceMissing`] for a trace.
    pub fn check(&self, clients: usize, servers: usize) -> Result<(), NetworkError> {
        self.links.check(clients, servers)?;
        match (&self.links, &self.compute) {
            (LinkModel::Latency(_), Some(_)) => Err(NetworkError::setting(
                "compute",
                "both `compute` and `links.latency`",
                "one of them, as `links.latency.epoch` says how long computing takes",
            )),
            (_, Some(compute)) => compute.check(clients),
            (_, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(yaml: &str) -> Result<SimulatedNetwork, String> {
        serde_yaml::from_str(yaml).map_err(|error| error.to_string())
    }

    #[test]
    fn a_network_is_written_as_it_is_read() {
        for yaml in [
            "{links: {fixed: {bytes_per_second: 2.0e6}}, compute: {seconds_per_step: 0.02, slowdown: {uniform: [1, 4]}}}",
            "{links: {fixed: {bytes_per_second: 1, latency_seconds: 0.1}}}",
            "{links: {node_capacitated: {upload: 10, download: {list: [1, 2]}, edges: {exponential: {mean: 3}}, redraw: each_round, \
             servers: {clients: 5, servers: {lognormal: {median: 2, sigma: 1}}}}}}",
            "{links: {edge_capacitated: {bytes_per_second: {uniform: [1, 2]}}}}",
            "{links: {latency: {epoch: 1, message: 2}}}",
            "{links: {trace: {file: 4g.csv, servers: 1000}}, compute: {seconds_per_step: 0, slowdown: {fixed: 1}}}",
            "{links: {latency: {epoch: 1, message: 2}}, barrier: local}",
            "{links: {latency: {epoch: 1, message: 2}}, barrier: global}",
            "{links: {fixed: {bytes_per_second: 1}}, compute: {seconds_per_step: 1, each_round: {exponential: {mean: 1}}}}",
        ] {
            let network = read(yaml).unwrap();
            let written = serde_yaml::to_string(&network).unwrap();
            assert_eq!(read(&written).unwrap(), network, "{written}");
        }
    }

    #[test]
    fn unknown_keys_are_refused() {
        for yaml in [
            "{links: {fixed: {bytes_per_second: 1, latency: 2}}}",
            "{links: {fixed: {}}}",
            "{links: {wired: {}}}",
            "{links: {latency: {epoch: 1, message: 2}}, speed: 3}",
            "{links: {latency: {epoch: 1, message: 2}}, barrier: none}",
            "{links: {node_capacitated: {upload: {normal: 3}}}}",
            "{links: {node_capacitated: {upload: fast}}}",
        ] {
            assert!(read(yaml).is_err(), "{yaml}");
        }
    }

    #[test]
    fn the_value_at_fault_is_named() {
        for (yaml, key) in [
            (
                "{links: {fixed: {bytes_per_second: 0}}}",
                "links.fixed.bytes_per_second",
            ),
            (
                "{links: {fixed: {bytes_per_second: 1, latency_seconds: -1}}}",
                "links.fixed.latency_seconds",
            ),
            (
                "{links: {node_capacitated: {upload: -3}}}",
                "links.node_capacitated.upload",
            ),
            (
                "{links: {node_capacitated: {upload: {list: [1, 2]}}}}",
                "links.node_capacitated.upload.list",
            ),
            (
                "{links: {node_capacitated: {upload: {list: [1, 2, 0]}}}}",
                "links.node_capacitated.upload.list.2",
            ),
            (
                "{links: {node_capacitated: {upload: 1, download: {uniform: [2, 1]}}}}",
                "links.node_capacitated.download.uniform",
            ),
            (
                "{links: {node_capacitated: {upload: {lognormal: {sigma: 1}}}}}",
                "links.node_capacitated.upload.lognormal.median",
            ),
            (
                "{links: {node_capacitated: {upload: 1, servers: {clients: 0}}}}",
                "links.node_capacitated.servers.clients",
            ),
            (
                "{links: {node_capacitated: {upload: 1, servers: {clients: 1, servers: {list: [1]}}}}}",
                "links.node_capacitated.servers.servers.list",
            ),
            (
                "{links: {node_capacitated: {upload: 1, edges: {list: [1]}}}}",
                "links.node_capacitated.edges.list",
            ),
            (
                "{links: {edge_capacitated: {bytes_per_second: {exponential: {mean: 0}}}}}",
                "links.edge_capacitated.bytes_per_second.exponential.mean",
            ),
            (
                "{links: {latency: {epoch: -1, message: 1}}}",
                "links.latency.epoch",
            ),
            (
                "{links: {latency: {epoch: 1, message: .nan}}}",
                "links.latency.message",
            ),
            (
                "{links: {latency: {epoch: 1, message: 1}}, compute: {seconds_per_step: 1}}",
                "compute",
            ),
            (
                "{links: {fixed: {bytes_per_second: 1}}, compute: {seconds_per_step: -1}}",
                "compute.seconds_per_step",
            ),
            (
                "{links: {fixed: {bytes_per_second: 1}}, compute: {seconds_per_step: 1, slowdown: {list: [1]}}}",
                "compute.slowdown.list",
            ),
            (
                "{links: {fixed: {bytes_per_second: 1}}, compute: {seconds_per_step: 1, each_round: {list: [1, 2, 3]}}}",
                "compute.each_round.list",
            ),
            (
                "{links: {fixed: {bytes_per_second: 1}}, compute: {seconds_per_step: 1, each_round: {exponential: {mean: 0}}}}",
                "compute.each_round.exponential.mean",
            ),
            ("{links: {trace: {file: 4g.csv}}}", "links.trace.file"),
        ] {
            assert_eq!(
                read(yaml).unwrap().check(3, 2).unwrap_err().key(),
                key,
                "{yaml}"
            );
        }
    }
}
