//! Means over a grid.

use super::{Grid, LayerFacts, WeightAt};
use crate::network::initial::Initial;
use std::ops::Range;

/// The mean of every channel over all places of the grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MeanPool {
    pub(crate) grid: Grid,
}

impl LayerFacts for MeanPool {
    fn weights(&self) -> Vec<WeightAt> {
        Vec::new()
    }

    fn initial(&self) -> Vec<(Initial, Range<usize>)> {
        Vec::new()
    }
}
