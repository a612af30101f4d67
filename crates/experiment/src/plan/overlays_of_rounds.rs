//! The overlays of a run, round by round.

use meshfold_topology::{MixingMatrix, Overlay, TopologyError};

use crate::plan::round_graph::RoundGraphs;
use crate::plan::run_plan::RunPlan;

/// The overlays of a run, round by round.
#[derive(Debug)]
pub struct OverlaysOfRounds<'a>(RoundGraphs<'a>);

impl<'a> OverlaysOfRounds<'a> {
    /// Those of the run that `plan` describes.
    pub fn of(plan: &'a RunPlan) -> Self {
        Self(RoundGraphs::new(plan))
    }

    /// The overlay of `round`, counted from 1, and its mixing weights: what failures leave of them. Stragglers are as linked as
    /// the others, and messages that are lost have their weight.
    /// `None` if the method uses no overlay.
    ///
    /// # Errors
    /// [`TopologyError`] if the overlay of a schedule cannot be drawn.
    pub fn in_round(
        &mut self,
        round: usize,
    ) -> Result<Option<(&Overlay, &MixingMatrix)>, TopologyError> {
        self.0.exchanged(round)
    }
}
