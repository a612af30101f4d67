//! Convolutions.

use super::{Grid, LayerFacts, WeightAt, Window};
use crate::network::initial::Initial;
use std::ops::Range;

/// A convolution: `y[p, o] = b[o] + Σ_{q in window, c} x[q, c] · w[q, c, o]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Convolution {
    pub(crate) input: Grid,
    pub(crate) output: Grid,
    pub(crate) window: Window,
    /// `[window height · window width · input channels, output channels]`, row-major.
    pub(crate) weight: Range<usize>,
    /// `[output channels]`, if the layer has one.
    pub(crate) bias: Option<Range<usize>>,
}

impl Convolution {
    /// Rows of the weight: the numbers that a window covers.
    pub(crate) fn inner(&self) -> usize {
        self.window.size.0 * self.window.size.1 * self.input.channels
    }
}

impl LayerFacts for Convolution {
    fn window_over(&self) -> Option<(&'static str, Window, Grid)> {
        Some(("convolution", self.window, self.input))
    }

    fn weights(&self) -> Vec<WeightAt> {
        let (height, width) = self.window.size;
        vec![WeightAt {
            matrices: height * width,
            ..WeightAt::matrix(&self.weight, self.output.channels)
        }]
    }

    fn initial(&self) -> Vec<(Initial, Range<usize>)> {
        let blocks = [Some(&self.weight), self.bias.as_ref()];
        Initial::of_inputs(self.inner()).of_blocks(blocks.into_iter().flatten())
    }
}
