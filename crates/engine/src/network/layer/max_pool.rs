//! Maxima over windows.

use super::{Grid, LayerFacts, WeightAt, Window};
use crate::network::initial::Initial;
use std::ops::Range;

/// The largest number of each window, channel by channel; the first in row-major order where several are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MaxPool {
    pub(crate) input: Grid,
    pub(crate) output: Grid,
    pub(crate) window: Window,
}

impl LayerFacts for MaxPool {
    fn window_over(&self) -> Option<(&'static str, Window, Grid)> {
        Some(("maximum", self.window, self.input))
    }

    fn weights(&self) -> Vec<WeightAt> {
        Vec::new()
    }

    fn initial(&self) -> Vec<(Initial, Range<usize>)> {
        Vec::new()
    }
}
