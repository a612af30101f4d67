//! What is known of the nodes that an overlay is built on.

/// The nodes of an overlay, and what they hold.
///
/// Most overlays need only the number of nodes, and a `usize` serves as one; D-Cliques needs the labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nodes<'a> {
    /// How many there are, `N`.
    pub count: usize,
    /// Training examples of each label that each node holds, `[N][C]`; empty if that is not known.
    pub label_counts: &'a [Vec<u64>],
}

impl From<usize> for Nodes<'_> {
    fn from(count: usize) -> Self {
        Self {
            count,
            label_counts: &[],
        }
    }
}
