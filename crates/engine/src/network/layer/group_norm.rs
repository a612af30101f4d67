//! Group normalisation.

use super::{Grid, LayerFacts, WeightAt};
use crate::error::EngineError;
use crate::network::initial::Initial;
use std::ops::Range;

/// Group normalisation: in each example and each group of channels, mean 0 and variance 1, then a factor and an offset
/// per channel.
///
/// # Source
/// Wu and He, Group normalization (2018), (1)-(2) and (6); the variance is the biased one and has 1e-5 added to it, as in
/// PyTorch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupNorm {
    pub(crate) grid: Grid,
    pub(crate) groups: usize,
    /// Factors, `[channels]`.
    pub(crate) weight: Range<usize>,
    /// Offsets, `[channels]`.
    pub(crate) bias: Range<usize>,
}

/// What is added to the variance of a group.
pub(crate) const NORM_EPSILON: f64 = 1e-5;

impl LayerFacts for GroupNorm {
    fn check(&self) -> Result<(), EngineError> {
        if self.groups > 0 && self.grid.channels.is_multiple_of(self.groups) {
            return Ok(());
        }
        Err(EngineError::ModelSetting {
            what: "groups",
            path: "groups".to_owned(),
            found: format!("{} for {} channels", self.groups, self.grid.channels),
            needed: "a divisor of the channels of every layer",
        })
    }

    fn weights(&self) -> Vec<WeightAt> {
        Vec::new()
    }

    fn initial(&self) -> Vec<(Initial, Range<usize>)> {
        vec![
            (Initial::Constant(1.0), self.weight.clone()),
            (Initial::Constant(0.0), self.bias.clone()),
        ]
    }
}
