//! Links of the same bandwidth at every node.

use meshfold_algorithms::Exchange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::directed_edges::Edge;
use super::error::NetworkError;
use super::load::{Load, is_silent};

/// Every node, client or server, has one link of the same bandwidth.
///
/// An exchange lasts `latency + max_i max(sent_i, received_i) / bytes_per_second`.
///
/// # Source
/// Hua et al., section 5 and Table 2: clients with 2 MB/s (`bytes_per_second: 2.0e6`).
///
/// # Interpretation
/// All messages of a node share its link, which carries as much in either direction at once. Hua et al. do not say so, but
/// with a bandwidth for each edge their complete overlay would need no more seconds per round than the 3-regular one; to
/// 98 % on identically distributed MNIST, where both converge in round 16, it needs 1,865 s against 943 s. Messages of one
/// exchange travel at the same time, so the latency counts once; an exchange without messages lasts no time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fixed {
    /// Bandwidth of a node's link, each way.
    #[schemars(extend("unit" = "bytes per second"))]
    pub bytes_per_second: f64,
    /// Seconds that every message takes besides.
    #[serde(default)]
    #[schemars(extend("unit" = "seconds"))]
    pub latency_seconds: f64,
}

impl Fixed {
    pub(super) fn check(&self) -> Result<(), NetworkError> {
        NetworkError::unless_positive("links.fixed.bytes_per_second", self.bytes_per_second)?;
        NetworkError::if_negative("links.fixed.latency_seconds", self.latency_seconds)
    }

    /// Seconds of one exchange.
    ///
    /// # Complexity
    /// O(nodes + messages).
    pub(super) fn seconds(&self, exchange: &Exchange) -> f64 {
        if is_silent(exchange) {
            return 0.0;
        }
        let load = Load::of(exchange);
        let most = load
            .nodes()
            .map(|(_, sent, received)| sent.max(received))
            .max();
        self.latency_seconds + most.unwrap_or(0) as f64 / self.bytes_per_second
    }

    /// Seconds that the message over an edge takes, beside the others of `exchange`.
    pub(super) fn delays(&self, exchange: &Exchange) -> impl Fn(Edge) -> f64 + use<> {
        let (load, links) = (Load::of(exchange), *self);
        move |(from, to)| {
            let bytes = load.sent[from as usize].max(load.received[to as usize]);
            links.latency_seconds + bytes as f64 / links.bytes_per_second
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Models of 784-200-10 among Hua's ten clients at 2 MB/s: 9, 3 and 2 of them leave each client.
    #[test]
    fn a_client_sends_its_model_to_one_neighbour_after_the_other() {
        let links = Fixed {
            bytes_per_second: 2.0e6,
            latency_seconds: 0.0,
        };
        let bytes = 4 * 159_010;
        for (degree, seconds) in [(9, 2.862_18), (3, 0.954_06), (2, 0.636_04)] {
            let degrees = vec![degree; 10];
            let found = links.seconds(&Exchange::Neighbours { bytes, degrees });
            assert!((found - seconds).abs() < 1e-12, "{degree}: {found}");
        }
    }

    #[test]
    fn seconds_less_the_latency_grow_with_the_bytes() {
        let links = Fixed {
            bytes_per_second: 3.0,
            latency_seconds: 0.25,
        };
        let seconds = |bytes| {
            links.seconds(&Exchange::Neighbours {
                bytes,
                degrees: vec![2, 1, 1],
            })
        };
        for factor in 1..20 {
            let found = seconds(60 * factor) - 0.25;
            assert!((found - 40.0 * factor as f64).abs() < 1e-9);
        }
    }
}
