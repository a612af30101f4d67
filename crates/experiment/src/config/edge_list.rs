//! Edge lists: the files behind the overlay `edges` and the weights `edges`, and the one that a run leaves of its overlay.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use meshfold_topology::{
    EdgeWeights, Edges, Overlay, Topology, TopologyError, Weights, parse_edge_list,
    parse_weight_list,
};

use crate::config::error::ConfigError;
use crate::config::fault::ConfigFault;
use crate::config::source::ExperimentSource;
use crate::files::sha256::sha256;
use crate::files::text_file::read_text;

/// The most bytes that an edge list may have: some ten million edges.
const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// The most edges of a complete overlay that are written, those of 1,414 nodes. A line says of larger ones what they are.
const MOST_WRITTEN: usize = 1_000_000;

/// Writes an edge `a b` a line, as [`parse_edge_list`] reads them. Of a complete overlay with more than
/// [`MOST_WRITTEN`] edges a comment is written in their place.
pub(crate) fn write(overlay: &Overlay, file: &mut impl Write) -> io::Result<()> {
    let edges = overlay.edge_count();
    if overlay.is_complete() && edges > MOST_WRITTEN {
        let nodes = overlay.nodes();
        return writeln!(
            file,
            "# complete: every two of the {nodes} nodes are linked; the {edges} edges are not listed"
        );
    }
    overlay
        .edges()
        .try_for_each(|(a, b)| writeln!(file, "{a} {b}"))
}

/// Reads the edge lists that `topology` names, found from the working folder, for an overlay of `nodes` nodes.
///
/// # Errors
/// [`ConfigError`] about the file at fault.
pub fn with_edge_lists(mut topology: Topology, nodes: usize) -> Result<Topology, ConfigError> {
    let source = ExperimentSource::new("", "");
    for (_, edges) in topology.edge_lists_mut() {
        *edges = read(edges, nodes, &source).map_err(ConfigFault::nowhere)?;
    }
    Ok(topology)
}

/// The nodes that the edge lists of `topology`, found from the working folder, have at least: one more than the largest
/// number in them; none if it names no list.
///
/// # Errors
/// [`ConfigError`] about the file at fault.
pub fn nodes_of_edge_lists(topology: &Topology) -> Result<Option<usize>, ConfigError> {
    let mut read = with_edge_lists(topology.clone(), usize::MAX)?;
    let lists = read.edge_lists_mut().into_iter();
    let pairs = lists.flat_map(|(_, edges)| edges.pairs.iter().copied());
    let largest = pairs.map(|(a, b)| a.max(b)).max();
    Ok(largest.map(|node| node as usize + 1))
}

/// Reads the file of `edges`, found from the folder of `source`: its pairs are filled in, as is its SHA-256.
///
/// # Errors
/// [`ConfigFault::EdgeList`] if the file cannot be read, has another SHA-256 than `edges` asks for, holds a line that is no
/// edge, or names a node beyond `nodes`; with the number of the line.
pub(crate) fn read(
    edges: &Edges,
    nodes: usize,
    source: &ExperimentSource,
) -> Result<Edges, ConfigFault> {
    let list = List::read(&edges.file, edges.sha256.as_deref(), source)?;
    let fault = |message: String| list.fault(message);
    let pairs = parse_edge_list(&list.text).map_err(|error| fault(error.to_string()))?;
    let beyond = |pair: &&(u32, u32)| pair.0.max(pair.1) as usize >= nodes;
    if let Some(&(a, b)) = pairs.iter().find(beyond) {
        let line = line_beyond(&list.text, nodes);
        let error = TopologyError::NodeOutOfRange { a, b, nodes };
        return Err(fault(format!("line {line}: {error}")));
    }
    Ok(Edges {
        sha256: Some(list.sha256),
        pairs,
        ..edges.clone()
    })
}

/// Reads the file of `weights`, found from the folder of `source`: its entries are filled in, as is its SHA-256.
///
/// # Errors
/// [`ConfigFault::EdgeList`] if the file cannot be read, has another SHA-256 than `weights` asks for, or holds a line that is
/// no weight; with the number of the line.
pub(crate) fn read_weights(
    weights: &EdgeWeights,
    source: &ExperimentSource,
) -> Result<EdgeWeights, ConfigFault> {
    let list = List::read(&weights.file, weights.sha256.as_deref(), source)?;
    let entries = parse_weight_list(&list.text).map_err(|error| list.fault(error.to_string()))?;
    Ok(EdgeWeights {
        sha256: Some(list.sha256),
        entries,
        ..weights.clone()
    })
}

/// Reads the list that `weights` names, if it names one, found from the working folder.
///
/// # Errors
/// [`ConfigError`] about the file at fault.
pub fn with_weight_list(mut weights: Weights) -> Result<Weights, ConfigError> {
    if let Some((_, list)) = weights.list_mut() {
        *list = read_weights(list, &ExperimentSource::new("", "")).map_err(ConfigFault::nowhere)?;
    }
    Ok(weights)
}

/// The text of a list and its SHA-256.
struct List {
    path: PathBuf,
    text: String,
    sha256: String,
}

impl List {
    /// Reads `file`, found from the folder of `source`, which must have the SHA-256 `needed` if that is known.
    fn read(
        file: &Path,
        needed: Option<&str>,
        source: &ExperimentSource,
    ) -> Result<Self, ConfigFault> {
        let path = source.resolve(file);
        let fault = |message: String| ConfigFault::EdgeList {
            file: path.clone(),
            message,
        };
        let text = read_text(&path, MOST_BYTES).map_err(|error| fault(error.to_string()))?;
        let sha256 = sha256(text.as_bytes());
        match needed.filter(|needed| *needed != sha256) {
            Some(needed) => Err(fault(format!(
                "found content of SHA-256 {sha256}, needed {needed}"
            ))),
            None => Ok(Self { path, text, sha256 }),
        }
    }

    fn fault(&self, message: String) -> ConfigFault {
        ConfigFault::EdgeList {
            file: self.path.clone(),
            message,
        }
    }
}

/// The first line, from 1, that names a node beyond `nodes`.
fn line_beyond(text: &str, nodes: usize) -> usize {
    let beyond = |line: &str| {
        let pairs = parse_edge_list(line).unwrap_or_default();
        pairs.iter().any(|(a, b)| *a.max(b) as usize >= nodes)
    };
    text.lines().position(beyond).map_or(0, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn list(text: &str, sha256: Option<&str>) -> Result<Edges, String> {
        let folder = tempfile::tempdir().expect("the test may write");
        fs::write(folder.path().join("w.edges"), text).expect("the test may write");
        let edges = Edges {
            file: "w.edges".into(),
            sha256: sha256.map(str::to_owned),
            pairs: Vec::new(),
        };
        let source = ExperimentSource::new(folder.path().join("e.yaml"), "");
        read(&edges, 4, &source).map_err(|fault| fault.to_string())
    }

    #[test]
    fn pairs_and_sum_are_filled_in() {
        let read = list("0 1\n1 2\n2 3\n", None).unwrap();
        assert_eq!(read.pairs, [(0, 1), (1, 2), (2, 3)]);
        let sum = read.sha256.unwrap();
        list("0 1\n1 2\n2 3\n", Some(&sum)).unwrap();
        let other = list("0 1\n1 2\n2 3\n3 0\n", Some(&sum)).unwrap_err();
        assert!(
            other.contains("found content of SHA-256") && other.contains(&sum),
            "{other}"
        );
    }

    #[test]
    fn a_bad_line_is_numbered() {
        for (text, message) in [
            (
                "0 1\n# two\n1 4\n",
                "line 3: edge 1-4 leaves the overlay, whose 4 nodes are numbered from 0",
            ),
            (
                "0 1\n2 2\n",
                "line 2: edge 2-2 is a self-loop; an edge joins two different nodes",
            ),
            (
                "0 1\n1 two\n",
                "line 2, column 3: expected two node numbers as \"a b\" or \"a,b\", found a word of 3 letters",
            ),
        ] {
            let error = list(text, None).unwrap_err();
            assert!(error.ends_with(&format!("w.edges: {message}")), "{error}");
        }
    }

    fn written(overlay: &Overlay) -> String {
        let mut text = Vec::new();
        write(overlay, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_large_complete_overlay_is_told_in_a_line() {
        let small = Overlay::complete(3).unwrap();
        assert_eq!(written(&small), "0 1\n0 2\n1 2\n");
        let most = Overlay::complete(1414).unwrap();
        assert_eq!(written(&most).lines().count(), 998_991);
        let large = Overlay::complete(60_000).unwrap();
        assert_eq!(
            written(&large),
            "# complete: every two of the 60000 nodes are linked; the 1799970000 edges are not listed\n"
        );
    }
}
