//! Dense layers.

use super::{LayerFacts, WeightAt};
use crate::network::initial::Initial;
use std::ops::Range;

/// A dense layer, applied to every one of `places` places of an example alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dense {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) places: usize,
    /// `[inputs, outputs]`, row-major.
    pub(crate) weight: Range<usize>,
    /// `[outputs]`, if the layer has one.
    pub(crate) bias: Option<Range<usize>>,
}

impl Dense {
    /// The floats of the layer's bias in `row`.
    pub(crate) fn bias_of<'a, T>(&self, row: &'a [T]) -> Option<&'a [T]> {
        self.bias.clone().map(|bias| &row[bias])
    }
}

impl LayerFacts for Dense {
    fn inputs(&self) -> usize {
        self.inputs
    }

    fn width_setting(&self, dense_before: usize) -> String {
        format!("hidden.{dense_before}")
    }

    fn weights(&self) -> Vec<WeightAt> {
        vec![WeightAt::matrix(&self.weight, self.outputs)]
    }

    fn initial(&self) -> Vec<(Initial, Range<usize>)> {
        let blocks = [Some(&self.weight), self.bias.as_ref()];
        Initial::of_inputs(self.inputs).of_blocks(blocks.into_iter().flatten())
    }
}
