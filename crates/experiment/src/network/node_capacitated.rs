//! Networks whose bottleneck lies at the nodes.

use meshfold_algorithms::{Exchange, Message};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::directed_edges::Edge;
use super::distribution::Distribution;
use super::edge_capacitated::seconds_over_edges;
use super::error::NetworkError;
use super::load::{Load, crosses, is_silent};
use super::moment::{Drawn, Moment, draw, draw_edge};
use super::redraw::Redraw;

/// Every node has a capacity of its own, which its messages share.
///
/// Among clients, and among servers, a message takes as long as the slower of its two ends:
/// `T_ii' = s / min(B_i / d_i, B_i' / d_i', A_ii')` for d messages of s bytes at each end. Between a server i with K_i clients
/// and its client j it is `T_ij = K_i Y1_i + Y2_j`, Y1 and Y2 being the seconds of one model at the server and at the client.
///
/// # Source
/// P-FedAvg (Liu et al.), section V-B, (17) and (18). With equal capacities b and B of the servers, no limit at the clients
/// and no edges, a round is Table III's 2Ks/(Mb) + ds/B.
///
/// # Interpretation
/// A node's messages share its capacity by their size, so all end together, and sending does not slow receiving. A barrier
/// stands between sending models to clients, training and sending them back, so a round is the right-hand side of
/// (19) and not the smaller (17). T_ij counts once in each direction, as Table III does, while (17) writes it once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeCapacitated {
    /// Bytes per second that each client can send.
    #[schemars(extend("unit" = "bytes per second"))]
    pub upload: Distribution,
    /// Bytes per second that each client can receive; as much as it can send by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("unit" = "bytes per second"))]
    pub download: Option<Distribution>,
    /// Capacities of the servers; without it they are like clients, and a list counts clients, then servers, then the root
    /// of `hierfavg`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<ServerCapacity>,
    /// Bytes per second of each edge and direction, A_ii', should edges be bottlenecks as well: edges among clients, or among
    /// servers. The link of a client to its server is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("unit" = "bytes per second"))]
    pub edges: Option<Distribution>,
    /// Seconds that every message takes besides.
    #[serde(default)]
    #[schemars(extend("unit" = "seconds"))]
    pub latency_seconds: f64,
    /// When random capacities are drawn.
    #[serde(default)]
    pub redraw: Redraw,
}

/// Bytes per second that each server can send, and as many that it can receive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerCapacity {
    /// From and to its clients, b_i.
    #[schemars(extend("unit" = "bytes per second"))]
    pub clients: Distribution,
    /// From and to other servers, B_i; as for clients by default, though each has a share of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<Distribution>,
}

/// The direction of a message, seen from one of its ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Send,
    Receive,
}

impl NodeCapacitated {
    /// Checks the values for `clients` clients and `servers` servers.
    pub(super) fn check(&self, clients: usize, servers: usize) -> Result<(), NetworkError> {
        let key = |name: &str| format!("links.node_capacitated.{name}");
        let nodes = match self.servers {
            Some(_) => clients,
            None => clients + servers,
        };
        self.upload.check_capacity(&key("upload"), nodes)?;
        if let Some(download) = &self.download {
            download.check_capacity(&key("download"), nodes)?;
        }
        if let Some(capacity) = &self.servers {
            let among = capacity.servers.as_ref();
            capacity
                .clients
                .check_capacity(&key("servers.clients"), servers)?;
            among.map_or(Ok(()), |among| {
                among.check_capacity(&key("servers.servers"), servers)
            })?;
        }
        if let Some(edges) = &self.edges {
            super::edge_capacitated::check(edges, &key("edges"))?;
        }
        NetworkError::if_negative(&key("latency_seconds"), self.latency_seconds)
    }

    /// Seconds of one exchange.
    ///
    /// # Errors
    /// With capacities of edges, those of an exchange that does not go over the overlay.
    ///
    /// # Complexity
    /// O(nodes + messages), with capacities of edges O(edges + messages log messages).
    pub(super) fn seconds(
        &self,
        exchange: &Exchange,
        moment: &Moment<'_>,
    ) -> Result<f64, NetworkError> {
        if is_silent(exchange) {
            return Ok(0.0);
        }
        let at_nodes = match exchange {
            Exchange::Messages(messages) => self.seconds_of(messages, moment),
            Exchange::Neighbours { .. } => self.seconds_among_peers(&Load::of(exchange), moment),
        };
        let over_edges = match (&self.edges, exchange) {
            (Some(edges), Exchange::Messages(messages)) => {
                let among_peers = messages
                    .iter()
                    .filter(|message| is_among_peers(message, moment));
                let exchange = Exchange::Messages(among_peers.cloned().collect());
                seconds_over_edges(edges, self.redraw, &exchange, moment)?
            }
            (Some(edges), _) => seconds_over_edges(edges, self.redraw, exchange, moment)?,
            (None, _) => 0.0,
        };
        Ok(self.latency_seconds + at_nodes.max(over_edges))
    }

    /// Seconds that bytes take over an edge, beside the other messages of `exchange`.
    pub(super) fn delays<'a>(
        &'a self,
        exchange: &Exchange,
        moment: &'a Moment<'a>,
    ) -> impl Fn(Edge, u64) -> f64 + use<'a> {
        let (peers, mixed) = match exchange {
            Exchange::Neighbours { .. } => (Load::of(exchange), Load::default()),
            Exchange::Messages(messages) => {
                let among_peers = |message: &&Message| is_among_peers(message, moment);
                let peers = messages.iter().filter(among_peers);
                let mixed = messages.iter().filter(|message| !among_peers(message));
                (Load::of_messages(peers), Load::of_messages(mixed))
            }
        };
        let round = moment.drawn_in(self.redraw);
        move |(from, to), bytes| {
            let is_mixed = moment.is_server(from) != moment.is_server(to);
            let load = if is_mixed { &mixed } else { &peers };
            let up = load.sent[from as usize] as f64
                / self.capacity(from, is_mixed, Direction::Send, moment);
            let down = load.received[to as usize] as f64
                / self.capacity(to, is_mixed, Direction::Receive, moment);
            let seconds = match &self.edges {
                _ if is_mixed => up + down,
                Some(edges) => {
                    let edge = bytes as f64 / draw_edge(edges, (from, to), moment.seed, round);
                    up.max(down).max(edge)
                }
                None => up.max(down),
            };
            self.latency_seconds + seconds
        }
    }

    fn seconds_among_peers(&self, load: &Load, moment: &Moment<'_>) -> f64 {
        load.nodes().fold(0.0, |most, (node, sent, received)| {
            let up = sent as f64 / self.capacity(node, false, Direction::Send, moment);
            let down = received as f64 / self.capacity(node, false, Direction::Receive, moment);
            most.max(up).max(down)
        })
    }

    fn seconds_of(&self, messages: &[Message], moment: &Moment<'_>) -> f64 {
        let is_mixed = |message: &&Message| !is_among_peers(message, moment);
        let among_peers = messages.iter().filter(|message| !is_mixed(message));
        let peers = self.seconds_among_peers(&Load::of_messages(among_peers), moment);
        let load = Load::of_messages(messages.iter().filter(is_mixed));
        let seconds = |node: u32, bytes: u64, direction| {
            bytes as f64 / self.capacity(node, true, direction, moment)
        };
        messages
            .iter()
            .filter(|message| crosses(message) && is_mixed(message))
            .map(|Message { from, to, .. }| {
                seconds(*from, load.sent[*from as usize], Direction::Send)
                    + seconds(*to, load.received[*to as usize], Direction::Receive)
            })
            .fold(peers, f64::max)
    }

    /// Bytes per second of `node` in one direction, to nodes of the other kind if `mixed`, else to those of its own.
    fn capacity(&self, node: u32, mixed: bool, direction: Direction, moment: &Moment<'_>) -> f64 {
        let round = moment.drawn_in(self.redraw);
        let of = |capacity, drawn, index| draw(capacity, drawn, index, moment.seed, round);
        match (&self.servers, &self.download) {
            (Some(servers), _) if moment.is_server(node) => {
                let index = moment.index(node);
                match &servers.servers {
                    Some(among) if !mixed => of(among, Drawn::ServerToServers, index),
                    _ => of(&servers.clients, Drawn::ServerToClients, index),
                }
            }
            (_, Some(download)) if direction == Direction::Receive => {
                of(download, Drawn::Download, node as usize)
            }
            _ => of(&self.upload, Drawn::Upload, node as usize),
        }
    }
}

/// Whether a message goes from client to client or from server to server: over an edge of the overlay.
fn is_among_peers(message: &Message, moment: &Moment<'_>) -> bool {
    moment.is_server(message.from) == moment.is_server(message.to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshfold_algorithms::Traffic;

    fn moment(clients: usize) -> Moment<'static> {
        Moment {
            clients,
            seed: 1,
            round: 1,
            seconds: 0.0,
            overlay: None,
        }
    }

    fn with(upload: Distribution) -> NodeCapacitated {
        NodeCapacitated {
            upload,
            download: None,
            servers: None,
            edges: None,
            latency_seconds: 0.0,
            redraw: Redraw::Never,
        }
    }

    fn message(from: u32, to: u32, bytes: u64) -> Message {
        Message { from, to, bytes }
    }

    fn seconds(links: &NodeCapacitated, clients: usize, exchange: &Exchange) -> f64 {
        links.seconds(exchange, &moment(clients)).unwrap()
    }

    /// (18) without edges, message by message.
    #[test]
    fn a_message_takes_as_long_as_the_slower_of_its_ends() {
        let capacities = [10.0, 40.0, 6.0, 20.0];
        let links = with(Distribution::List(capacities.to_vec()));
        let star = |bytes| Exchange::Neighbours {
            bytes,
            degrees: vec![1, 3, 1, 1],
        };
        let by_hand = [0, 2, 3]
            .map(|leaf: usize| 120.0 / (capacities[1] / 3.0).min(capacities[leaf]))
            .into_iter()
            .fold(0.0, f64::max);
        assert_eq!(by_hand, 20.0);
        assert!((seconds(&links, 4, &star(120)) - by_hand).abs() < 1e-12);
        for factor in 1..20 {
            let longer = seconds(&links, 4, &star(120 * factor));
            assert!((longer - by_hand * factor as f64).abs() < 1e-9);
        }
    }

    #[test]
    fn sending_and_receiving_have_capacities_of_their_own() {
        let links = NodeCapacitated {
            download: Some(Distribution::List(vec![1.0, 2.0, 8.0])),
            ..with(Distribution::List(vec![10.0, 5.0, 100.0]))
        };
        let exchange =
            Exchange::Messages(vec![message(0, 2, 40), message(1, 2, 40), message(1, 0, 3)]);
        // Sent: 40/10, 43/5; received: 3/1, 80/8.
        assert_eq!(seconds(&links, 3, &exchange), 10.0);
    }

    /// T_ij = K_i Y1_i + Y2_j for K_i = 2, Y1 = 3, Y2 = (5, 7); the other server has one client, Y1 = 4, Y2 = 1.
    #[test]
    fn a_client_waits_for_its_server_and_for_itself() {
        let links = NodeCapacitated {
            servers: Some(ServerCapacity {
                clients: Distribution::List(vec![420.0 / 3.0, 420.0 / 4.0]),
                servers: None,
            }),
            ..with(Distribution::List(vec![420.0 / 5.0, 420.0 / 7.0, 420.0]))
        };
        let down = vec![message(3, 0, 420), message(3, 1, 420), message(4, 2, 420)];
        let up = down
            .iter()
            .map(|m| message(m.to, m.from, m.bytes))
            .collect();
        for messages in [down, up] {
            let found = seconds(&links, 3, &Exchange::Messages(messages));
            assert!((found - 13.0).abs() < 1e-12, "{found}");
        }
    }

    /// Table III for M = 9 servers, K = 36 clients, s = 1000, b = 50, B = 25: 2Ks/(Mb) + ds/B.
    #[test]
    fn equal_servers_need_the_time_of_table_three() {
        let links = NodeCapacitated {
            servers: Some(ServerCapacity {
                clients: Distribution::Fixed(50.0),
                servers: Some(Distribution::Fixed(25.0)),
            }),
            ..with(Distribution::Fixed(1e300))
        };
        for (name, degree) in [("complete", 8), ("2d-torus", 4), ("ring", 2)] {
            let mut traffic = Traffic::default();
            let pairs = (0..36).map(|client| (36 + client % 9, client));
            traffic.messages(pairs.clone().map(|(i, j)| message(i, j, 1000)).collect());
            traffic.messages(pairs.map(|(i, j)| message(j, i, 1000)).collect());
            let among =
                (0..9).flat_map(|i| (1..=degree).map(move |hop| (36 + i, 36 + (i + hop) % 9)));
            traffic.messages(among.map(|(i, other)| message(i, other, 1000)).collect());
            let found: f64 = traffic
                .phases()
                .iter()
                .map(|phase| match phase {
                    meshfold_algorithms::Phase::Exchange(exchange) => seconds(&links, 36, exchange),
                    _ => 0.0,
                })
                .sum();
            let stated = 2.0 * 36.0 * 1000.0 / (9.0 * 50.0) + f64::from(degree) * 1000.0 / 25.0;
            assert!((found - stated).abs() < 1e-9, "{name}: {found} {stated}");
        }
    }

    #[test]
    fn edges_count_where_they_are_narrower() {
        let mut links = NodeCapacitated {
            edges: Some(Distribution::Fixed(4.0)),
            latency_seconds: 0.5,
            ..with(Distribution::Fixed(10.0))
        };
        let exchange = Exchange::Messages(vec![message(0, 1, 20), message(0, 2, 20)]);
        assert_eq!(
            seconds(&links, 3, &exchange),
            5.5,
            "20 / 4 rather than 40 / 10"
        );
        links.edges = Some(Distribution::Fixed(8.0));
        assert_eq!(
            seconds(&links, 3, &exchange),
            4.5,
            "40 / 10 rather than 20 / 8"
        );
    }

    /// (18): A_ii' is of edges between servers, and the link of a client has none.
    #[test]
    fn edges_do_not_throttle_the_links_of_clients_to_their_server() {
        let links = NodeCapacitated {
            servers: Some(ServerCapacity {
                clients: Distribution::Fixed(10.0),
                servers: None,
            }),
            edges: Some(Distribution::Fixed(0.5)),
            ..with(Distribution::Fixed(20.0))
        };
        let down = Exchange::Messages(vec![message(2, 0, 40), message(3, 1, 40)]);
        assert_eq!(seconds(&links, 2, &down), 40.0 / 10.0 + 40.0 / 20.0);
        let among = Exchange::Messages(vec![message(2, 3, 40)]);
        assert_eq!(seconds(&links, 2, &among), 40.0 / 0.5);
    }

    #[test]
    fn random_capacities_change_from_round_to_round_only_if_asked() {
        let exchange = Exchange::Messages(vec![message(0, 1, 1000)]);
        let uniform = with(Distribution::Uniform([1.0, 9.0]));
        let in_round = |links: &NodeCapacitated, round| {
            let moment = Moment { round, ..moment(2) };
            links.seconds(&exchange, &moment).unwrap()
        };
        assert_eq!(in_round(&uniform, 1), in_round(&uniform, 2));
        let redrawn = NodeCapacitated {
            redraw: Redraw::EachRound,
            ..uniform
        };
        assert_ne!(in_round(&redrawn, 1), in_round(&redrawn, 2));
        assert_eq!(in_round(&redrawn, 2), in_round(&redrawn, 2));
    }
}
