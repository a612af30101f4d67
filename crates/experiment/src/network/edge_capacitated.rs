//! Networks whose bottleneck lies at the edges.

use meshfold_algorithms::Exchange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::directed_edges::{Edge, directed_edges};
use super::distribution::Distribution;
use super::error::NetworkError;
use super::load::is_silent;
use super::moment::{Moment, draw_edge};
use super::redraw::Redraw;

/// Every edge has a capacity of its own, and nodes have no limit.
///
/// An exchange lasts `latency + max s_ij / A_ij` over the edges, s_ij being the bytes from i to j.
///
/// # Source
/// P-FedAvg (Liu et al.), (18) with the bottleneck in A_ii'. Nodes with limits as well are
/// [`NodeCapacitated`](super::NodeCapacitated) with `edges`.
///
/// # Interpretation
/// Both directions of an edge have the same capacity and do not slow each other. A client and a server that exchange
/// messages are joined by an edge like any other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EdgeCapacitated {
    /// Bytes per second of each edge and direction; no list, edges have no order.
    #[schemars(extend("unit" = "bytes per second"))]
    pub bytes_per_second: Distribution,
    /// Seconds that every message takes besides.
    #[serde(default)]
    #[schemars(extend("unit" = "seconds"))]
    pub latency_seconds: f64,
    /// When random capacities are drawn.
    #[serde(default)]
    pub redraw: Redraw,
}

impl EdgeCapacitated {
    pub(super) fn check(&self) -> Result<(), NetworkError> {
        check(
            &self.bytes_per_second,
            "links.edge_capacitated.bytes_per_second",
        )?;
        NetworkError::if_negative(
            "links.edge_capacitated.latency_seconds",
            self.latency_seconds,
        )
    }

    /// Seconds of one exchange.
    ///
    /// # Errors
    /// [`NetworkError::OverlayNeeded`] or [`NetworkError::Degree`] for an exchange that does not go over the overlay.
    pub(super) fn seconds(
        &self,
        exchange: &Exchange,
        moment: &Moment<'_>,
    ) -> Result<f64, NetworkError> {
        if is_silent(exchange) {
            return Ok(0.0);
        }
        let seconds = seconds_over_edges(&self.bytes_per_second, self.redraw, exchange, moment)?;
        Ok(self.latency_seconds + seconds)
    }

    /// Seconds that `bytes` take over an edge.
    pub(super) fn delay(&self, edge: Edge, bytes: u64, moment: &Moment<'_>) -> f64 {
        let round = moment.drawn_in(self.redraw);
        self.latency_seconds
            + bytes as f64 / draw_edge(&self.bytes_per_second, edge, moment.seed, round)
    }
}

/// Checks capacities of edges.
pub(super) fn check(capacities: &Distribution, key: &str) -> Result<(), NetworkError> {
    if let Distribution::List(values) = capacities {
        let found = format!("{} numbers", values.len());
        let needed = "a number or a distribution, as edges have no order";
        return Err(NetworkError::setting(format!("{key}.list"), found, needed));
    }
    capacities.check_capacity(key, 0)
}

/// Seconds until the last edge has carried its bytes.
///
/// # Complexity
/// O(nodes) for an exchange among all neighbours over equal edges, else O(edges + messages log messages).
pub(super) fn seconds_over_edges(
    capacities: &Distribution,
    redraw: Redraw,
    exchange: &Exchange,
    moment: &Moment<'_>,
) -> Result<f64, NetworkError> {
    if let (Distribution::Fixed(capacity), Exchange::Neighbours { bytes, .. }) =
        (capacities, exchange)
    {
        return Ok(*bytes as f64 / capacity);
    }
    let round = moment.drawn_in(redraw);
    let edges = directed_edges(exchange, moment.overlay)?;
    let seconds =
        edges.map(|(edge, bytes)| bytes as f64 / draw_edge(capacities, edge, moment.seed, round));
    Ok(seconds.fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshfold_algorithms::Message;
    use meshfold_topology::Overlay;

    fn moment(overlay: Option<&Overlay>) -> Moment<'_> {
        Moment {
            clients: 9,
            seed: 2,
            round: 1,
            seconds: 0.0,
            overlay,
        }
    }

    fn links(bytes_per_second: Distribution) -> EdgeCapacitated {
        EdgeCapacitated {
            bytes_per_second,
            latency_seconds: 0.0,
            redraw: Redraw::Never,
        }
    }

    fn neighbours(degree: u32, bytes: u64) -> Exchange {
        Exchange::Neighbours {
            bytes,
            degrees: vec![degree; 9],
        }
    }

    #[test]
    fn messages_over_one_edge_share_it_and_others_do_not() {
        let message = |from, to, bytes| Message { from, to, bytes };
        let exchange = Exchange::Messages(vec![
            message(0, 1, 10),
            message(0, 1, 20),
            message(0, 2, 25),
            message(1, 0, 25),
        ]);
        let fixed = links(Distribution::Fixed(5.0));
        assert_eq!(fixed.seconds(&exchange, &moment(None)), Ok(6.0));
    }

    /// P-FedAvg, section V-B: with capacities at the edges, more links do not lengthen the exchange.
    #[test]
    fn equal_edges_need_the_same_time_on_every_overlay() {
        let fixed = links(Distribution::Fixed(5.0));
        for degree in [2, 4, 8] {
            let found = fixed.seconds(&neighbours(degree, 60), &moment(None));
            assert_eq!(found, Ok(12.0));
        }
        assert_eq!(fixed.seconds(&neighbours(0, 60), &moment(None)), Ok(0.0));
    }

    #[test]
    fn the_slowest_edge_decides_and_is_the_same_both_ways() {
        let uniform = Distribution::Uniform([1.0, 9.0]);
        let ring = Overlay::from_edges(9, (0..9).map(|node| (node, (node + 1) % 9))).unwrap();
        let slowest = ring
            .edges()
            .map(|edge| draw_edge(&uniform, edge, 2, 0))
            .fold(f64::INFINITY, f64::min);
        let found = links(uniform.clone()).seconds(&neighbours(2, 60), &moment(Some(&ring)));
        assert_eq!(found, Ok(60.0 / slowest));
        assert_eq!(
            draw_edge(&uniform, (3, 4), 2, 0),
            draw_edge(&uniform, (4, 3), 2, 0)
        );
        let without = links(uniform).seconds(&neighbours(2, 60), &moment(None));
        assert_eq!(without, Err(NetworkError::OverlayNeeded));
    }
}
