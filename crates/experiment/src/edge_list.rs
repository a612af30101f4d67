//! The file behind the overlay `edges`.

use meshfold_topology::{Edges, Overlay, TopologyError, parse_edge_list};

use crate::fault::Fault;
use crate::id::sha256;
use crate::source::{Source, read_text};

/// The most bytes that an edge list may have: some ten million edges.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// Reads the file of `edges`, found from the folder of `source`: its pairs are filled in, as is its SHA-256.
///
/// # Errors
/// [`Fault::EdgeList`] if the file cannot be read, has another SHA-256 than `edges` asks for, holds a line that is no
/// edge, or names a node beyond `nodes`; with the number of the line.
pub(crate) fn read(edges: &Edges, nodes: usize, source: &Source) -> Result<Edges, Fault> {
    let path = source.resolve(&edges.file);
    let fault = |message: String| Fault::EdgeList {
        file: path.clone(),
        message,
    };
    let text = read_text(&path, MOST_BYTES).map_err(|error| fault(error.to_string()))?;
    let found = sha256(text.as_bytes());
    if let Some(needed) = edges.sha256.as_ref().filter(|needed| **needed != found) {
        return Err(fault(format!(
            "found content of SHA-256 {found}, needed {needed}"
        )));
    }
    let pairs = parse_edge_list(&text).map_err(|error| fault(error.to_string()))?;
    if let Err(error @ TopologyError::NodeOutOfRange { .. }) =
        Overlay::from_edges(nodes, pairs.iter().copied())
    {
        let line = line_beyond(&text, nodes);
        return Err(fault(format!("line {line}: {error}")));
    }
    Ok(Edges {
        sha256: Some(found),
        pairs,
        ..edges.clone()
    })
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
        let source = Source::new(folder.path().join("e.yaml"), "");
        read(&edges, 4, &source).map_err(|fault| fault.to_string())
    }

    #[test]
    fn pairs_and_sum_are_filled_in() {
        let read = list("0 1\n1 2\n2 3\n", None).unwrap();
        assert_eq!(read.pairs, [(0, 1), (1, 2), (2, 3)]);
        let sum = read.sha256.unwrap();
        assert!(list("0 1\n1 2\n2 3\n", Some(&sum)).is_ok());
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
                "line 2: expected two node numbers as \"a b\" or \"a,b\", found \"1 two\"",
            ),
        ] {
            let error = list(text, None).unwrap_err();
            assert!(error.ends_with(&format!("w.edges: {message}")), "{error}");
        }
    }
}
