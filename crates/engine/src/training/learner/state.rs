//! Stopping a learner and going on with another.

use super::Learner;
use crate::training::batches::{Position, ShardPass};
use crate::training::tally::{DeviceLosses, RowTally};
use serde::{Deserialize, Serialize};

/// What a learner must be given to go on where another stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnerState {
    positions: Vec<Position>,
    local_steps: u64,
    examples_seen: u64,
    /// The losses of each row since the last tally.
    losses: Vec<RowTally>,
    /// Losses that are still on the GPU.
    on_device: Option<DeviceLosses>,
}

/// The losses since the last tally.
pub(super) struct Losses {
    of_rows: Vec<RowTally>,
    /// Those that are still on the GPU.
    on_device: Option<DeviceLosses>,
}

impl Learner {
    /// What another learner needs to continue from here. It includes the losses since the last [`tally`](Self::tally), which
    /// remain to be tallied. Waits for the device.
    pub fn state(&self) -> LearnerState {
        let Losses { of_rows, on_device } = self.losses();
        LearnerState {
            positions: self.passes.iter().map(ShardPass::position).collect(),
            local_steps: self.local_steps,
            examples_seen: self.examples_seen,
            losses: of_rows,
            on_device,
        }
    }

    /// The losses since the last tally. Waits for the device.
    pub(super) fn losses(&self) -> Losses {
        let mut of_rows = self.tallies.clone();
        self.trainer.share(&mut of_rows);
        Losses {
            of_rows,
            on_device: self.trainer.losses(),
        }
    }

    /// Goes back to these losses.
    pub(super) fn restore_losses(&mut self, losses: &Losses) {
        self.tallies.clone_from(&losses.of_rows);
        self.trainer.resume(losses.on_device.as_ref());
    }

    /// Whether a learner of the same clients, examples and device kind can be in `state`.
    pub fn fits(&self, state: &LearnerState) -> bool {
        let on_device = state.on_device.as_ref();
        let is_kept = on_device.is_none_or(|losses| self.trainer.can_restore(losses));
        let is_within = |position: &Position| position.is_within(&self.problem.partition);
        is_kept
            && state.positions.iter().all(is_within)
            && state.losses.len() >= state.positions.len()
            && (state.local_steps == 0 || !state.positions.is_empty())
    }

    /// Goes on from where another learner of the same run stopped.
    ///
    /// # Panics
    /// If the state does not [fit](Self::fits).
    pub fn resume(&mut self, state: &LearnerState) {
        assert!(self.fits(state), "the state of a learner of the same run");
        self.passes = self.passes_at(&state.positions);
        self.forget_batches();
        self.tallies.clone_from(&state.losses);
        (self.local_steps, self.examples_seen) = (state.local_steps, state.examples_seen);
        self.trainer.resume(state.on_device.as_ref());
    }
}
