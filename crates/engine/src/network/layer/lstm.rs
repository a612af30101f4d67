//! Layers of long short-term memory.

use super::{LayerFacts, WeightAt};
use crate::network::initial::Initial;
use std::ops::Range;

/// A layer of long short-term memory over the positions of a sequence, from a state of zeros:
/// `(i, f, g, o) = x_t · W + h_{t−1} · U + b`, `c_t = σ(f) c_{t−1} + σ(i) tanh(g)`, `h_t = σ(o) tanh(c_t)`.
///
/// # Source
/// Hochreiter and Schmidhuber (1997) with forget gates (Gers et al., 2000); gates in PyTorch's order, one bias for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lstm {
    pub(crate) inputs: usize,
    pub(crate) hidden: usize,
    pub(crate) positions: usize,
    /// `W`, `[inputs, 4 hidden]`, row-major.
    pub(crate) input_weight: Range<usize>,
    /// `U`, `[hidden, 4 hidden]`, row-major.
    pub(crate) hidden_weight: Range<usize>,
    /// `b`, `[4 hidden]`.
    pub(crate) bias: Range<usize>,
}

impl LayerFacts for Lstm {
    fn inputs(&self) -> usize {
        self.inputs
    }

    fn width_setting(&self, _: usize) -> String {
        "hidden".to_owned()
    }

    fn takes_relu(&self) -> bool {
        false
    }

    fn weights(&self) -> Vec<WeightAt> {
        [&self.input_weight, &self.hidden_weight]
            .map(|weight| WeightAt::matrix(weight, 4 * self.hidden))
            .into()
    }

    fn initial(&self) -> Vec<(Initial, Range<usize>)> {
        let blocks = [&self.input_weight, &self.hidden_weight, &self.bias];
        Initial::of_inputs(self.hidden).of_blocks(blocks.into_iter())
    }
}
