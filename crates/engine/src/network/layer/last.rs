//! The last position of a sequence.

use super::{Grid, LayerFacts, WeightAt};
use crate::network::initial::Initial;
use std::ops::Range;

/// The last position of a sequence of such a grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Last {
    pub(crate) grid: Grid,
}

impl LayerFacts for Last {
    fn takes_relu(&self) -> bool {
        false
    }

    fn weights(&self) -> Vec<WeightAt> {
        Vec::new()
    }

    fn initial(&self) -> Vec<(Initial, Range<usize>)> {
        Vec::new()
    }
}
