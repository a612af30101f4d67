//! How much memory a run takes, and how much there is.

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// The parts of a run that fill memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// Rows of the stack of models, `R`.
    pub(crate) rows: usize,
    /// Further rows that the method holds.
    pub(crate) working_rows: usize,
    /// Floats of a row, padding included, `P_pad`.
    pub(crate) width: usize,
    /// Training and test examples, `M`.
    pub(crate) examples: usize,
    /// Features of an example, `D`.
    pub(crate) features: usize,
    /// Weights of the mixing matrix that are stored.
    pub(crate) mixing_weights: usize,
}

impl Footprint {
    /// Estimate in bytes: `4 P_pad (3 R + working rows)` for the models, their velocity and the second buffer that
    /// mixing writes to; `M (D + 2 + 8)` for features of a byte, labels of two, the clients' index tables and their
    /// order of the pass; 12 for every mixing weight, in both precisions.
    ///
    /// The program itself, caches of the trainers and evaluation come on top, some tens of MiB.
    pub(crate) fn bytes(&self) -> u64 {
        let rows = (3 * self.rows as u64).saturating_add(self.working_rows as u64);
        let models = rows.saturating_mul(self.width as u64).saturating_mul(4);
        let examples = (self.examples as u64).saturating_mul(self.features as u64 + 10);
        models
            .saturating_add(examples)
            .saturating_add(12 * self.mixing_weights as u64)
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
    fn the_models_of_a_thousand_clients_are_counted_three_times() {
        let footprint = Footprint {
            rows: 1000,
            working_rows: 0,
            width: 159_104,
            examples: 70_000,
            features: 784,
            mixing_weights: 11_000,
        };
        assert_eq!(
            footprint.bytes(),
            3 * 4 * 1000 * 159_104 + 70_000 * 794 + 132_000
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
            features: 1,
            mixing_weights: 0,
        };
        assert_eq!(footprint.bytes(), u64::MAX);
    }

    #[test]
    fn this_machine_has_memory_left() {
        assert!(available().is_none_or(|bytes| bytes > 1 << 20));
    }
}
