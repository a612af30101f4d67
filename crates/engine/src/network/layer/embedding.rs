//! Vectors of tokens.

use super::{LayerFacts, WeightAt};
use crate::network::initial::Initial;
use std::ops::Range;

/// A vector for every token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Embedding {
    pub(crate) symbols: usize,
    pub(crate) width: usize,
    pub(crate) positions: usize,
    /// `[symbols, width]`, row-major.
    pub(crate) weight: Range<usize>,
}

impl LayerFacts for Embedding {
    fn width_setting(&self, _: usize) -> String {
        "embedding".to_owned()
    }

    fn takes_relu(&self) -> bool {
        false
    }

    /// Nothing is multiplied by them.
    fn weights(&self) -> Vec<WeightAt> {
        Vec::new()
    }

    fn initial(&self) -> Vec<(Initial, Range<usize>)> {
        vec![(Initial::Normal { deviation: 1.0 }, self.weight.clone())]
    }
}
