//! Bytes that go over each edge, each direction for itself.

use std::collections::BTreeMap;

use meshfold_algorithms::{Exchange, Message, Phase, Traffic};
use meshfold_topology::Overlay;

use super::error::NetworkError;
use super::load::crosses;

/// Sending and receiving node.
pub(super) type Edge = (u32, u32);

/// Bytes of one round over each directed edge `(from, to)` that carries any message.
///
/// `overlay` is the graph of the exchanges among all neighbours, if the round has any.
///
/// # Errors
/// [`NetworkError::OverlayNeeded`] if it has and `overlay` is `None`; [`NetworkError::Degree`] if such an exchange goes
/// over another graph.
pub fn bytes_per_edge(
    traffic: &Traffic,
    overlay: Option<&Overlay>,
) -> Result<BTreeMap<(u32, u32), u64>, NetworkError> {
    let mut bytes = BTreeMap::new();
    for phase in traffic.phases() {
        if let Phase::Exchange(exchange) = phase {
            for (edge, more) in directed_edges(exchange, overlay)? {
                *bytes.entry(edge).or_insert(0) += more;
            }
        }
    }
    Ok(bytes)
}

/// Bytes of one exchange over each directed edge that carries any, ascending. Those over an overlay are not listed: a
/// complete one has more than memory may hold.
///
/// # Interpretation
/// An exchange among all neighbours says how many neighbours each node has, not which. Its edges are those of the overlay
/// whose two ends both have a neighbour: a node that has failed has none, and its edges carry nothing.
/// Where the exchange counts more nodes than the overlay has, the overlay is that of the last nodes, the servers.
///
/// # Errors
/// As [`bytes_per_edge`].
pub(super) fn directed_edges<'a>(
    exchange: &'a Exchange,
    overlay: Option<&'a Overlay>,
) -> Result<EdgeBytes<'a>, NetworkError> {
    match exchange {
        Exchange::Messages(messages) => Ok(Box::new(of_messages(messages).into_iter())),
        Exchange::Neighbours { bytes, degrees } => {
            if degrees.iter().all(|degree| *degree == 0) {
                return Ok(Box::new(std::iter::empty()));
            }
            let overlay = overlay.ok_or(NetworkError::OverlayNeeded)?;
            of_neighbours(*bytes, degrees, overlay)
        }
    }
}

/// Edges and the bytes that they carry.
type EdgeBytes<'a> = Box<dyn Iterator<Item = (Edge, u64)> + 'a>;

fn of_messages(messages: &[Message]) -> Vec<(Edge, u64)> {
    let mut edges: Vec<(Edge, u64)> = messages
        .iter()
        .filter(|message| crosses(message))
        .map(|message| ((message.from, message.to), message.bytes))
        .collect();
    edges.sort_unstable();
    edges.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            kept.1 += later.1;
        }
        same
    });
    edges
}

fn of_neighbours<'a>(
    bytes: u64,
    degrees: &'a [u32],
    overlay: &'a Overlay,
) -> Result<EdgeBytes<'a>, NetworkError> {
    let first = degrees.len().saturating_sub(overlay.nodes());
    let exchanging = move |other: &&u32| {
        degrees
            .get(first + **other as usize)
            .is_some_and(|degree| *degree > 0)
    };
    let others = move |node: usize| {
        let own = node
            .checked_sub(first)
            .filter(|own| *own < overlay.nodes() && degrees[node] > 0);
        let neighbours = own.map(|own| overlay.neighbours(own)).unwrap_or_default();
        neighbours.into_iter().filter(exchanging)
    };
    for (node, found) in degrees.iter().enumerate() {
        let needed = others(node).count() as u32;
        if *found != needed {
            return Err(NetworkError::Degree {
                node,
                found: *found,
                needed,
            });
        }
    }
    let edges = (0..degrees.len()).flat_map(move |node| {
        others(node).map(move |other| ((node as u32, first as u32 + other), bytes))
    });
    Ok(Box::new(edges))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(nodes: u32) -> Overlay {
        Overlay::from_edges(nodes as usize, (1..nodes).map(|node| (node - 1, node))).unwrap()
    }

    fn neighbours(bytes: u64, degrees: &[u32]) -> Exchange {
        Exchange::Neighbours {
            bytes,
            degrees: degrees.to_vec(),
        }
    }

    fn listed(
        exchange: &Exchange,
        overlay: Option<&Overlay>,
    ) -> Result<Vec<(Edge, u64)>, NetworkError> {
        directed_edges(exchange, overlay).map(Iterator::collect)
    }

    #[test]
    fn a_round_adds_up_over_its_phases() {
        let mut traffic = Traffic::default();
        traffic.compute(vec![1, 1, 1]);
        traffic.neighbours(10, vec![1, 2, 1]);
        let message = |from, to, bytes| Message { from, to, bytes };
        traffic.messages(vec![
            message(0, 1, 1),
            message(0, 1, 2),
            message(2, 2, 9),
            message(2, 0, 4),
        ]);
        let bytes = bytes_per_edge(&traffic, Some(&path(3))).unwrap();
        let expected = [
            ((0, 1), 13),
            ((1, 0), 10),
            ((1, 2), 10),
            ((2, 0), 4),
            ((2, 1), 10),
        ];
        assert_eq!(bytes, expected.into());
        assert_eq!(
            bytes.values().sum::<u64>() + 9,
            traffic.bytes_total(),
            "only the message to oneself crosses no edge"
        );
    }

    #[test]
    fn edges_of_a_failed_node_carry_nothing() {
        let edges = listed(&neighbours(5, &[1, 1, 0, 0]), Some(&path(4))).unwrap();
        assert_eq!(edges, [((0, 1), 5), ((1, 0), 5)]);
    }

    #[test]
    fn an_overlay_of_servers_is_that_of_the_last_nodes() {
        let edges = listed(&neighbours(5, &[0, 0, 0, 1, 1]), Some(&path(2))).unwrap();
        assert_eq!(edges, [((3, 4), 5), ((4, 3), 5)]);
    }

    #[test]
    fn another_graph_is_refused() {
        let degree = |node, found, needed| {
            Err(NetworkError::Degree {
                node,
                found,
                needed,
            })
        };
        assert_eq!(
            listed(&neighbours(5, &[1, 1, 1]), Some(&path(3))),
            degree(1, 1, 2)
        );
        assert_eq!(
            listed(&neighbours(5, &[1, 1, 1]), Some(&path(2))),
            degree(0, 1, 0)
        );
        assert_eq!(
            listed(&neighbours(5, &[1]), Some(&path(2))),
            degree(0, 1, 0)
        );
        assert_eq!(
            listed(&neighbours(5, &[1, 1]), None),
            Err(NetworkError::OverlayNeeded)
        );
    }
}
