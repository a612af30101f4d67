//! Links whose bandwidth changes over time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshfold_algorithms::Exchange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::directed_edges::{Edge, directed_edges};
use super::error::NetworkError;
use super::load::{Load, is_silent};
use super::moment::Moment;
use super::rate_trace::RateTrace;
use super::trace_file;
use super::traces::Traces;
use crate::files::sha256::sha256;

/// Bandwidths read from a CSV file, such as measurements of a mobile network.
///
/// The file has the columns `seconds,bytes_per_second`: from each time on, counted from the start of the run, the bandwidth of
/// every client, until the next. Before them may stand `node`, a bandwidth for each node (servers follow the clients), or
/// `from,to`, one for each edge. The times of a node or edge begin at 0 and ascend; lines that begin with `#` are skipped.
///
/// ```text
/// node,seconds,bytes_per_second
/// 0,0,2493100
/// 0,1,2760743
/// 1,0,1954600
/// ```
///
/// A time that comes later than the one before by more than ten times the median step of its node or edge, of four rows at
/// least, is a gap: measuring stopped, and the last rate would pass for minutes of bandwidth. Such a file is refused unless
/// `hold: true` says that the rate before a gap holds until its end.
///
/// Whoever reads the configuration calls [`LinkTrace::read`], which fills in the bandwidths.
///
/// # Source
/// P-FedAvg (Liu et al.), section VII-A, takes the bandwidth between a server and its clients from the 4G/LTE logs of
/// van der Hooft et al. (2016). A line of such a log holds milliseconds since the epoch, milliseconds since the start,
/// latitude, longitude, and the bytes and milliseconds since the line before: the rate belongs to the time *before* the line.
/// One log becomes the bandwidth of node 0 by `awk -v node=0 'NR == 1 { start = $2 - $6; print "node,seconds,bytes_per_second" }
/// { printf "%d,%.3f,%.0f\n", node, ($2 - $6 - start) / 1000, 1000 * $5 / $6 }' report.log`.
///
/// # Interpretation
/// After its last row, which lasts as long as the row before it, a trace begins anew; a single row lasts for ever. A
/// node's messages share its bandwidth, sending does not slow receiving, and a transfer integrates the rate over time. The
/// rate of an edge holds both ways, unless the file has rows for `to,from` as well. A server without rows has the
/// bandwidth `servers`, or no limit if that is not given: measurements of mobile networks are those of clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkTrace {
    /// The file.
    pub file: PathBuf,
    /// Bytes per second of each server that the file does not name; not for bandwidths of edges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("unit" = "bytes per second"))]
    pub servers: Option<f64>,
    /// Whether the rate before a gap of the file holds until the next row; otherwise a file with gaps is refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("default" = false))]
    pub hold: bool,
    /// Seconds that every message takes besides, before its first byte.
    #[serde(default)]
    #[schemars(extend("unit" = "seconds"))]
    pub latency_seconds: f64,
    /// SHA-256 of the file in lower-case hexadecimal, part of a resolved configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The bandwidths read from the file.
    #[serde(skip)]
    pub traces: Option<Arc<Traces>>,
}

impl LinkTrace {
    /// Reads the file, found at `path`: the bandwidths are filled in, as is its SHA-256.
    ///
    /// # Errors
    /// [`NetworkError::TraceFile`] if the file cannot be read, has another SHA-256 than is asked for, holds a row that is no
    /// bandwidth, or has a gap; it names the line.
    pub fn read(&self, path: &Path) -> Result<Self, NetworkError> {
        let text = trace_file::text(path)?;
        let found = sha256(text.as_bytes());
        if let Some(needed) = self.sha256.as_ref().filter(|needed| **needed != found) {
            return Err(NetworkError::TraceFile {
                file: path.to_owned(),
                message: format!("found content of SHA-256 {found}, needed {needed}"),
            });
        }
        Ok(Self {
            traces: Some(Arc::new(trace_file::parse(&text, path, self.hold)?)),
            sha256: Some(found),
            ..self.clone()
        })
    }

    /// Checks the values for `clients` clients and `servers` servers.
    pub(super) fn check(&self, clients: usize, servers: usize) -> Result<(), NetworkError> {
        NetworkError::if_negative("links.trace.latency_seconds", self.latency_seconds)?;
        if let Some(capacity) = self.servers {
            NetworkError::unless_positive("links.trace.servers", capacity)?;
        }
        let nodes = clients + servers;
        let known = |node: u32| match (node as usize) < nodes {
            true => Ok(()),
            false => Err(NetworkError::TraceNode { node, nodes }),
        };
        match self.traces()? {
            Traces::All(_) => Ok(()),
            Traces::Nodes(traces) => {
                traces.keys().try_for_each(|node| known(*node))?;
                let missing = (0..clients as u32).find(|client| !traces.contains_key(client));
                missing.map_or(Ok(()), |client| {
                    Err(NetworkError::TraceMissing { client, clients })
                })
            }
            Traces::Edges(_) if self.servers.is_some() => Err(NetworkError::setting(
                "links.trace.servers",
                "a bandwidth of servers",
                "none, as the file has bandwidths of edges",
            )),
            Traces::Edges(traces) => traces.keys().try_for_each(|(a, b)| known(*a.max(b))),
        }
    }

    /// Whether the file has bandwidths of edges.
    pub(super) fn is_by_edge(&self) -> bool {
        matches!(self.traces.as_deref(), Some(Traces::Edges(_)))
    }

    /// Checks that each of `edges` has a bandwidth, if the file has bandwidths of edges.
    pub(super) fn check_edges(
        &self,
        edges: impl IntoIterator<Item = (u32, u32)>,
    ) -> Result<(), NetworkError> {
        match self.traces()? {
            Traces::Edges(traces) => edges
                .into_iter()
                .try_for_each(|edge| self.of_edge(traces, edge).map(|_| ())),
            _ => Ok(()),
        }
    }

    fn of_edge<'a>(
        &self,
        traces: &'a BTreeMap<(u32, u32), RateTrace>,
        (from, to): (u32, u32),
    ) -> Result<&'a RateTrace, NetworkError> {
        let either = traces.get(&(from, to)).or_else(|| traces.get(&(to, from)));
        either.ok_or_else(|| NetworkError::TraceEdge {
            file: self.file.clone(),
            from,
            to,
        })
    }

    /// Seconds of one exchange that begins at `moment`.
    ///
    /// # Errors
    /// [`NetworkError::TraceEdge`] for a message over an edge without a bandwidth, and those of an exchange that does not
    /// go over the overlay.
    ///
    /// # Complexity
    /// O(nodes log pieces + messages) by node, O(edges log edges) by edge.
    pub(super) fn seconds(
        &self,
        exchange: &Exchange,
        moment: &Moment<'_>,
    ) -> Result<f64, NetworkError> {
        if is_silent(exchange) {
            return Ok(0.0);
        }
        let start = moment.seconds + self.latency_seconds;
        let seconds = match self.traces()? {
            Traces::Edges(traces) => {
                let mut most: f64 = 0.0;
                for (edge, bytes) in directed_edges(exchange, moment.overlay)? {
                    most = most.max(self.of_edge(traces, edge)?.seconds(bytes, start));
                }
                most
            }
            traces => Load::of(exchange)
                .nodes()
                .map(|(node, sent, received)| {
                    self.seconds_at(traces, node, sent.max(received), start, moment)
                })
                .fold(0.0, f64::max),
        };
        Ok(self.latency_seconds + seconds)
    }

    /// Seconds that `bytes` take over the link of a node from `start` on.
    fn seconds_at(
        &self,
        traces: &Traces,
        node: u32,
        bytes: u64,
        start: f64,
        moment: &Moment<'_>,
    ) -> f64 {
        match traces.of_node(node, moment) {
            Some(trace) => trace.seconds(bytes, start),
            None => self.servers.map_or(0.0, |rate| bytes as f64 / rate),
        }
    }

    /// Seconds that bytes take over an edge from a time on, beside the other messages of `exchange`.
    pub(super) fn delays<'a>(
        &'a self,
        exchange: &Exchange,
        moment: &'a Moment<'a>,
    ) -> impl Fn(Edge, u64, f64) -> Result<f64, NetworkError> + use<'a> {
        let load = Load::of(exchange);
        move |(from, to), bytes, start| {
            let start = start + self.latency_seconds;
            let seconds = match self.traces()? {
                Traces::Edges(traces) => self.of_edge(traces, (from, to))?.seconds(bytes, start),
                traces => {
                    let at = |node, bytes| self.seconds_at(traces, node, bytes, start, moment);
                    let (sent, received) = (load.sent[from as usize], load.received[to as usize]);
                    at(from, sent).max(at(to, received))
                }
            };
            Ok(self.latency_seconds + seconds)
        }
    }

    fn traces(&self) -> Result<&Traces, NetworkError> {
        self.traces
            .as_deref()
            .ok_or_else(|| NetworkError::TraceUnread {
                file: self.file.clone(),
            })
    }
}

impl Traces {
    /// The bandwidth of a node; `None` for a server without one.
    fn of_node(&self, node: u32, moment: &Moment<'_>) -> Option<&RateTrace> {
        match self {
            Self::All(trace) => Some(trace).filter(|_| !moment.is_server(node)),
            Self::Nodes(traces) => traces.get(&node),
            Self::Edges(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshfold_algorithms::Message;
    use meshfold_topology::Overlay;

    fn trace(text: &str) -> LinkTrace {
        let folder = tempfile::tempdir().expect("the test may write");
        let path = folder.path().join("4g.csv");
        std::fs::write(&path, text).expect("the test may write");
        unread().read(&path).expect("the test is a trace")
    }

    fn unread() -> LinkTrace {
        LinkTrace {
            file: "4g.csv".into(),
            servers: None,
            hold: false,
            latency_seconds: 0.0,
            sha256: None,
            traces: None,
        }
    }

    fn moment(seconds: f64) -> Moment<'static> {
        Moment {
            clients: 2,
            seed: 1,
            round: 1,
            seconds,
            overlay: None,
        }
    }

    fn messages(edges: &[(u32, u32, u64)]) -> Exchange {
        let message = |&(from, to, bytes)| Message { from, to, bytes };
        Exchange::Messages(edges.iter().map(message).collect())
    }

    const NODES: &str = "node,seconds,bytes_per_second\n0,0,10\n0,2,30\n1,0,5\n";

    #[test]
    fn a_node_sends_all_its_messages_over_its_own_rate() {
        let mut nodes = trace(NODES);
        // Node 0: 10 B/s for 2 s, 30 B/s for 2 s, and again; node 1: 5 B/s.
        let exchange = messages(&[(0, 1, 20), (0, 2, 30)]);
        assert_eq!(
            nodes.seconds(&exchange, &moment(0.0)),
            Ok(4.0),
            "20 B at 5 B/s"
        );
        let exchange = messages(&[(0, 2, 20), (2, 0, 80)]);
        assert_eq!(nodes.seconds(&exchange, &moment(0.0)), Ok(4.0));
        assert_eq!(nodes.seconds(&exchange, &moment(2.0)), Ok(4.0));
        let exchange = messages(&[(0, 2, 20), (2, 0, 50)]);
        assert_eq!(nodes.seconds(&exchange, &moment(0.0)), Ok(3.0));
        nodes.latency_seconds = 1.0;
        let later = nodes.seconds(&exchange, &moment(1.0)).unwrap();
        assert!(
            (later - (1.0 + 5.0 / 3.0)).abs() < 1e-12,
            "the rate is that after the latency"
        );
        nodes.servers = Some(2.0);
        assert_eq!(nodes.seconds(&exchange, &moment(0.0)), Ok(26.0));
    }

    #[test]
    fn one_trace_is_that_of_every_client_and_of_no_server() {
        let mut all = trace("seconds,bytes_per_second\n0,10\n");
        let exchange = messages(&[(2, 0, 30), (2, 1, 30)]);
        assert_eq!(all.seconds(&exchange, &moment(7.0)), Ok(3.0));
        all.servers = Some(10.0);
        assert_eq!(all.seconds(&exchange, &moment(7.0)), Ok(6.0));
    }

    #[test]
    fn an_edge_has_its_rate_both_ways_unless_it_has_two() {
        let edges = trace("from,to,seconds,bytes_per_second\n0,1,0,10\n1,2,0,4\n2,1,0,1\n");
        let path = Overlay::from_edges(3, [(0, 1), (1, 2)]).unwrap();
        let on_path = Moment {
            overlay: Some(&path),
            ..moment(0.0)
        };
        let exchange = Exchange::Neighbours {
            bytes: 20,
            degrees: vec![1, 2, 1],
        };
        assert_eq!(edges.seconds(&exchange, &on_path), Ok(20.0));
        assert_eq!(
            edges.seconds(&messages(&[(1, 0, 20), (1, 2, 8)]), &on_path),
            Ok(2.0)
        );
        let missing = NetworkError::TraceEdge {
            file: "4g.csv".into(),
            from: 0,
            to: 2,
        };
        let found = edges.seconds(&messages(&[(0, 2, 1)]), &on_path);
        assert_eq!(found, Err(missing.clone()));
        assert_eq!(edges.check_edges(path.edges()), Ok(()));
        let triangle = Overlay::from_edges(3, [(0, 1), (1, 2), (0, 2)]).unwrap();
        assert_eq!(edges.check_edges(triangle.edges()), Err(missing));
    }

    #[test]
    fn a_file_must_fit_the_run() {
        let file = || "4g.csv".into();
        assert_eq!(
            unread().check(2, 0),
            Err(NetworkError::TraceUnread { file: file() })
        );
        assert_eq!(trace(NODES).check(2, 1), Ok(()));
        let missing = NetworkError::TraceMissing {
            client: 2,
            clients: 3,
        };
        assert_eq!(trace(NODES).check(3, 0), Err(missing));
        assert_eq!(
            trace(NODES).check(1, 0),
            Err(NetworkError::TraceNode { node: 1, nodes: 1 })
        );
        let edges = LinkTrace {
            servers: Some(1.0),
            ..trace("from,to,seconds,bytes_per_second\n0,1,0,10\n")
        };
        assert_eq!(edges.check(2, 0).unwrap_err().key(), "links.trace.servers");
    }

    #[test]
    fn another_content_is_refused() {
        let first = trace(NODES);
        let folder = tempfile::tempdir().expect("the test may write");
        let path = folder.path().join("4g.csv");
        std::fs::write(&path, "seconds,bytes_per_second\n0,10\n").expect("the test may write");
        let error = first.read(&path).unwrap_err().to_string();
        assert!(error.contains("found content of SHA-256"), "{error}");
    }
}
