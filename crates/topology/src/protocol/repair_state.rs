//! What a node notes of the repair of one of its slots.

use super::clock::Time;
use super::coordinates::Address;

/// Queries in a row that must end at a neighbour that was found by routing.
pub(super) const CONFIRMATIONS: u8 = 2;

/// What is under way to fill or to confirm one slot.
#[derive(Clone, Debug, Default)]
pub(super) struct RepairState {
    /// Who was asked last to be the neighbour and has not answered, and when.
    pub(super) asked: Option<(Address, Time)>,
    /// How many of those asked in a row had somebody nearer.
    pub(super) refusals: u8,
    /// When the neighbour may be sought by routing again: a query under way is not to be sent twice.
    pub(super) search_after: Time,
    /// How many queries must still find the neighbour again.
    pub(super) confirmations: u8,
}

impl RepairState {
    /// A neighbour was taken; of those asked, who `is_settled` by it need not answer any more.
    pub(super) fn taken(&mut self, is_settled: impl Fn(Address) -> bool) {
        if self.confirmations > 0 {
            self.confirmations = CONFIRMATIONS;
        }
        self.asked = self.asked.filter(|(asked, _)| !is_settled(*asked));
        self.refusals = 0;
    }

    /// No query is to be sent before `moment`.
    pub(super) fn wait_until(&mut self, moment: Time) {
        self.search_after = self.search_after.max(moment);
    }

    /// A query found the neighbour again.
    pub(super) fn confirmed(&mut self) {
        self.confirmations = self.confirmations.saturating_sub(1);
    }
}
