//! How much memory a run takes, and how much there is.

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// The parts of a run that fill memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// Rows of the stack of models, `R`.
    pub(crate) rows: usize,
    /// Rows that the method holds besides when it holds most.
    pub(crate) working_rows: usize,
    /// Floats of a row, padding included, `P_pad`.
    pub(crate) width: usize,
    /// Training and test examples, `M`.
    pub(crate) examples: usize,
    /// Bytes of their features.
    pub(crate) feature_bytes: usize,
    /// Weights of the mixing matrix that are stored.
    pub(crate) mixing_weights: usize,
    /// What the trainer needs besides.
    pub(crate) working_bytes: u64,
}

/// What the program, its report and the reading of files take, measured with the smallest of runs.
const PROGRAM: u64 = 72 << 20;

impl Footprint {
    /// Estimate in bytes of the most memory that a run holds at once: `4 P_pad (R + working rows)` for the models and
    /// what the method needs besides; the examples with labels of two bytes and the clients' index tables and orders of
    /// the pass, 8 each; 12 for every mixing weight, in both precisions; what the trainer needs; and the program itself.
    pub(crate) fn bytes(&self) -> u64 {
        let rows = (self.rows as u64).saturating_add(self.working_rows as u64);
        let models = rows.saturating_mul(self.width as u64).saturating_mul(4);
        let examples = self.feature_bytes as u64 + 10 * self.examples as u64;
        [
            models,
            examples,
            12 * self.mixing_weights as u64,
            self.working_bytes,
        ]
        .into_iter()
        .fold(PROGRAM, u64::saturating_add)
    }
}

/// Bytes that the machine, or the control group that the program runs in, has left; `None` where it does not tell.
pub(crate) fn available() -> Option<u64> {
    let refresh = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(refresh);
    let free = Some(system.available_memory()).filter(|bytes| *bytes > 0)?;
    let group = system
        .cgroup_limits()
        .filter(|limits| limits.total_memory > 0);
    // What a group calls free leaves out the page cache that it could give back.
    Some(group.map_or(free, |limits| {
        limits.total_memory.saturating_sub(limits.rss).min(free)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_of_a_thousand_clients_and_their_velocities_are_counted_three_times() {
        let footprint = Footprint {
            rows: 1000,
            working_rows: 2000,
            width: 159_104,
            examples: 70_000,
            feature_bytes: 70_000 * 784,
            mixing_weights: 11_000,
            working_bytes: 5,
        };
        assert_eq!(
            footprint.bytes(),
            PROGRAM + 3 * 4 * 1000 * 159_104 + 70_000 * 794 + 132_005
        );
    }

    #[test]
    fn a_run_beyond_all_memory_does_not_overflow() {
        let huge = usize::MAX / 8;
        let footprint = Footprint {
            rows: huge,
            working_rows: huge,
            width: huge,
            examples: 1,
            feature_bytes: 1,
            mixing_weights: 0,
            working_bytes: 0,
        };
        assert_eq!(footprint.bytes(), u64::MAX);
    }

    #[test]
    fn this_machine_has_memory_left() {
        assert!(available().is_none_or(|bytes| bytes > 1 << 20));
    }
}
