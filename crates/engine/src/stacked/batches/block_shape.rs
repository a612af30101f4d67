//! How much goes through a network at once.

/// Rows of a block, and examples of a piece of their batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockShape {
    pub(crate) rows: usize,
    pub(crate) examples: usize,
}
