//! Sums of what two nodes give.

use super::{LayerFacts, Source, WeightAt};
use crate::network::initial::Initial;
use std::ops::Range;

/// The sum of what the node reads and of what `other` gives, of the same grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Add {
    pub(crate) other: Source,
}

impl LayerFacts for Add {
    fn weights(&self) -> Vec<WeightAt> {
        Vec::new()
    }

    fn initial(&self) -> Vec<(Initial, Range<usize>)> {
        Vec::new()
    }
}
