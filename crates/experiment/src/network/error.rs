//! What can be wrong with a network.

use std::path::PathBuf;

use thiserror::Error;

/// The least and the largest seconds and bytes per second: times of whole runs stay finite.
const SIZES: [f64; 2] = [1e-12, 1e18];

/// A network that cannot be, or that does not fit the run.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// A value that cannot work.
    #[error("network.{key}: found {found}, needed {needed}")]
    Setting {
        /// Dotted path of the value below `network`.
        key: String,
        /// The value found.
        found: String,
        /// What is needed.
        needed: String,
    },
    /// A file of bandwidths cannot be used.
    #[error("{}: {message}", file.display())]
    TraceFile {
        /// The file.
        file: PathBuf,
        /// What is wrong with it, beginning with the line where there is one.
        message: String,
    },
    /// A file of bandwidths was named but not read.
    #[error("the bandwidths of {} were not read", file.display())]
    TraceUnread {
        /// The file.
        file: PathBuf,
    },
    /// Bandwidths of a node that the run does not have.
    #[error("found bandwidths of node {node}, but the {nodes} nodes are numbered from 0")]
    TraceNode {
        /// The node.
        node: u32,
        /// Clients and servers of the run.
        nodes: usize,
    },
    /// No bandwidths of a client.
    #[error(
        "found no bandwidths of client {client}, needed those of each of the {clients} clients"
    )]
    TraceMissing {
        /// The first client without.
        client: u32,
        /// Clients of the run.
        clients: usize,
    },
    /// No bandwidths of an edge.
    #[error(
        "{}: found no bandwidths of the edge {from},{to}, over which messages may go; add rows of it (servers are numbered \
         after the clients)", file.display()
    )]
    TraceEdge {
        /// The file, as the configuration names it.
        file: PathBuf,
        /// Sending node.
        from: u32,
        /// Receiving node.
        to: u32,
    },
    /// Edges count one by one, but which edges there are is not known.
    #[error(
        "links with a bandwidth per edge and `barrier: local` need the overlay of an exchange among all neighbours"
    )]
    OverlayNeeded,
    /// An exchange among all neighbours that does not go over the overlay.
    #[error("node {node} has {found} neighbours in an exchange, but {needed} in the overlay")]
    Degree {
        /// The first node at fault.
        node: usize,
        /// Its neighbours in the exchange.
        found: u32,
        /// Its neighbours in the overlay whose ends both exchange.
        needed: u32,
    },
}

impl NetworkError {
    /// Dotted path, below `network`, of the value at fault.
    pub fn key(&self) -> &str {
        match self {
            Self::Setting { key, .. } => key,
            Self::TraceFile { .. }
            | Self::TraceUnread { .. }
            | Self::TraceNode { .. }
            | Self::TraceMissing { .. }
            | Self::TraceEdge { .. } => "links.trace.file",
            Self::OverlayNeeded | Self::Degree { .. } => "links",
        }
    }

    /// A value at `key` that is not what is `needed`.
    pub(super) fn setting(
        key: impl Into<String>,
        found: impl ToString,
        needed: impl Into<String>,
    ) -> Self {
        Self::Setting {
            key: key.into(),
            found: found.to_string(),
            needed: needed.into(),
        }
    }

    /// Checks that `value` is a number above 0 of a size that seconds and bytes per second may have.
    pub(super) fn unless_positive(key: &str, value: f64) -> Result<(), Self> {
        let [least, most] = SIZES;
        match value > 0.0 && value.is_finite() {
            true if (least..=most).contains(&value) => Ok(()),
            true => Err(Self::setting(
                key,
                format!("{value:e}"),
                format!("a number from {least:e} to {most:e}"),
            )),
            false => Err(Self::setting(key, value, "a number above 0")),
        }
    }

    /// Checks that `value` is a finite number, 0 or more.
    pub(super) fn if_negative(key: &str, value: f64) -> Result<(), Self> {
        match value >= 0.0 && value.is_finite() {
            true => Ok(()),
            false => Err(Self::setting(key, value, "a number, 0 or more")),
        }
    }
}
