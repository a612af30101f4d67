//! Edges read from a file.

use super::overlay_spec::{Contents, FixedOverlay, OverlaySpec, usual};
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError, redacted};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// An overlay given edge by edge.
///
/// This crate reads no files: whoever has read the configuration reads `file`, checks it against `sha256` if that is
/// given, and fills `pairs` through [`parse_edge_list`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edges {
    /// The edge list, one pair of node numbers per line.
    pub file: PathBuf,
    /// SHA-256 of the file in lower-case hexadecimal, part of a resolved configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The edges read from the file.
    #[serde(skip)]
    pub pairs: Vec<(u32, u32)>,
}

impl OverlaySpec for Edges {
    usual!(fixed, undirected, ignores_labels, quick, ready, no_weights);

    /// `edges` and the file's name.
    fn label(&self) -> String {
        of_file(&self.file)
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        OverlaySize::listed(nodes, self.pairs.len() as f64, Paths::Long)
    }

    fn contents(&mut self) -> Contents<'_> {
        Contents::EdgeList("edges", self)
    }
}

impl FixedOverlay for Edges {
    /// Links the pairs.
    ///
    /// # Errors
    /// [`TopologyError::NoEdges`] if there are no pairs for several nodes, and those of [`Overlay::from_edges`].
    fn build(&self, nodes: Nodes<'_>, _rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        let nodes = nodes.count;
        if self.pairs.is_empty() && nodes > 1 {
            return Err(TopologyError::NoEdges {
                file: self.file.display().to_string(),
                nodes,
            });
        }
        Overlay::from_edges(nodes, self.pairs.iter().copied())
    }
}

/// `edges` and the name of `file`: the label of what a file gives each edge.
pub(crate) fn of_file(file: &Path) -> String {
    match file.file_name() {
        Some(name) => format!("edges {}", name.to_string_lossy()),
        None => "edges".to_owned(),
    }
}

/// Reads an edge list: one edge `a b` or `a,b` per line; `#` starts a comment; blank lines are skipped.
///
/// # Errors
/// [`TopologyError::EdgeLine`] for any other line and [`TopologyError::EdgeLineSelfLoop`] for an edge from a node to
/// itself, both with the line's number. Nodes out of range are found by [`Overlay::from_edges`], which knows how many
/// nodes there are.
pub fn parse_edge_list(text: &str) -> Result<Vec<(u32, u32)>, TopologyError> {
    parse_lines(text, |line, content| match parse_pair(content.trim()) {
        Some((a, b)) if a == b => Err(TopologyError::EdgeLineSelfLoop { line, node: a }),
        Some(pair) => Ok(pair),
        None => Err(wrong_line(line, content)),
    })
}

/// What `parse` makes of each line that is not blank, without its comment behind `#`; it is given the line's number, from 1.
pub(crate) fn parse_lines<T>(
    text: &str,
    parse: impl Fn(usize, &str) -> Result<T, TopologyError>,
) -> Result<Vec<T>, TopologyError> {
    // Programs that write tables put a mark of the byte order first.
    let contents = text
        .strip_prefix('\u{feff}')
        .unwrap_or(text)
        .lines()
        .map(|full| full.split('#').next().unwrap_or_default());
    let lines = (1..)
        .zip(contents)
        .filter(|(_, content)| !content.trim().is_empty());
    lines.map(|(line, content)| parse(line, content)).collect()
}

fn parse_pair(content: &str) -> Option<(u32, u32)> {
    let (a, b) = ends(content)?;
    Some((a.trim().parse().ok()?, b.trim().parse().ok()?))
}

/// What stands before and behind the first comma or, if there is none, the first space.
fn ends(content: &str) -> Option<(&str, &str)> {
    let at_space = || content.split_once(char::is_whitespace);
    content.split_once(',').or_else(at_space)
}

/// The error about a line: at the first end that is no number of a node, or at the whole line if it has no two ends.
fn wrong_line(line: usize, content: &str) -> TopologyError {
    let whole = content.trim();
    let is_node = |end: &str| end.trim().parse::<u32>().is_ok();
    let at_fault = match ends(whole) {
        Some((a, _)) if !is_node(a) && !a.trim().is_empty() => a.trim(),
        Some((a, b)) if is_node(a) && !b.trim().is_empty() => b.trim(),
        _ => whole,
    };
    // Both are parts of the same text.
    let start = at_fault.as_ptr() as usize - content.as_ptr() as usize;
    TopologyError::EdgeLine {
        line,
        column: content[..start].chars().count() + 1,
        found: redacted(at_fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::overlay_spec::built;

    #[test]
    fn spaces_commas_and_comments_are_read() {
        let text = "# a path\n0 1\n\n1,2 # the middle\r\n  2 ,\t3\n3\t4\n";
        assert_eq!(
            parse_edge_list(text),
            Ok(vec![(0, 1), (1, 2), (2, 3), (3, 4)])
        );
    }

    #[test]
    fn a_mark_of_the_byte_order_is_no_part_of_the_list() {
        assert_eq!(
            parse_edge_list("\u{feff}0 1\n1 2"),
            Ok(vec![(0, 1), (1, 2)])
        );
    }

    #[test]
    fn errors_carry_the_line() {
        let message = |text: &str| parse_edge_list(text).unwrap_err().to_string();
        assert_eq!(
            message("0 1\n  12 xyz # here"),
            "line 2, column 6: expected two node numbers as \"a b\" or \"a,b\", found a word of 3 letters"
        );
        assert_eq!(
            message("0 1.5"),
            "line 1, column 3: expected two node numbers as \"a b\" or \"a,b\", found \"1.5\""
        );
        assert_eq!(
            message("#\n\n4,4"),
            "line 3: edge 4-4 is a self-loop; an edge joins two different nodes"
        );
        for bad in ["1", "1 2 3", "-1 2", "1,", "1.0 2", "99999999999 1"] {
            assert!(message(bad).starts_with("line 1"), "{bad}");
        }
    }

    #[test]
    fn errors_repeat_nothing_of_a_file_that_is_no_edge_list() {
        for (text, column, found) in [
            (
                "root:$6$salt$hash:19000:0:99999:7:::",
                1,
                "text of 36 characters",
            ),
            ("-----BEGIN PRIVATE KEY-----", 1, "text of 10 characters"),
            ("  password", 3, "a word of 8 letters"),
            ("token=abc,def", 1, "text of 9 characters"),
            ("1,secret", 3, "a word of 6 letters"),
            ("7 of nine", 3, "text of 7 characters"),
            ("5", 1, "\"5\""),
            ("1 2 3", 3, "\"2 3\""),
            ("1,", 1, "\"1,\""),
        ] {
            let expected = TopologyError::EdgeLine {
                line: 1,
                column,
                found: found.to_owned(),
            };
            assert_eq!(parse_edge_list(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn an_edge_list_builds_its_overlay() {
        let edges = Edges {
            file: "lists/tree.edges".into(),
            sha256: None,
            pairs: vec![(0, 1), (2, 1)],
        };
        assert_eq!(built(&edges, 3).unwrap().neighbours(1), [0, 2]);
        assert_eq!(edges.label(), "edges tree.edges");
        assert_eq!(
            built(&edges, 2).unwrap_err(),
            TopologyError::NodeOutOfRange {
                a: 2,
                b: 1,
                nodes: 2
            }
        );
        let unread = Edges {
            pairs: Vec::new(),
            ..edges
        };
        assert!(matches!(
            built(&unread, 3),
            Err(TopologyError::NoEdges { .. })
        ));
    }
}
