//! What a learner gives its trainer.

use super::batches::{Augmentation, Batches, RowCall, RowKey, ShardPass};
use super::tally::RowTally;
use super::work::{RowWork, Tasks};
use crate::error::EngineError;
use crate::network::Network;
use meshfold_data::{Augment, Examples, Partition, Splits};
use std::sync::Arc;

/// What a trainer is given by the learner, the same for all rows.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) network: &'a Network,
    pub(crate) train: &'a Examples,
    pub(crate) test: &'a Examples,
    pub(crate) validation: Option<&'a Examples>,
    pub(crate) partition: &'a Partition,
    pub(crate) seed: u64,
    /// How the images of batches are augmented; not at all if absent.
    pub(crate) augment: Option<Augment>,
    /// The numbers of the rows at hand among all rows of the run, if they are not all of them. Draws are keyed by
    /// these.
    pub(crate) rows: Option<&'a [u32]>,
    /// Size of the largest batch over all rows of the run, if not all rows are at hand; else 0. It decides how a GPU
    /// cuts batches, and with that the bits of all rows.
    #[cfg_attr(
        not(feature = "gpu"),
        allow(dead_code, reason = "without GPUs nobody asks")
    )]
    pub(crate) largest_batch: usize,
}

/// The error for judging on validation examples where there are none.
pub(crate) fn no_validation() -> EngineError {
    EngineError::Setting {
        what: "examples for validation",
        found: "0".to_owned(),
        needed: "at least 1",
    }
}

/// The learning problem: everything that is the same throughout a run.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) network: Network,
    pub(crate) splits: Splits,
    /// Who owns which training example.
    pub(crate) partition: Arc<Partition>,
    /// Keys the initial models and the batches.
    pub(crate) seed: u64,
    /// How the images of batches are augmented; not at all if absent.
    pub(crate) augment: Option<Augment>,
}

impl Problem {
    /// What a trainer is given of it.
    pub(crate) fn context(&self) -> Context<'_> {
        Context {
            network: &self.network,
            train: &self.splits.train,
            test: &self.splits.test,
            validation: self.splits.validation.as_deref(),
            partition: &self.partition,
            seed: self.seed,
            augment: self.augment,
            rows: None,
            largest_batch: 0,
        }
    }
}

/// What a trainer is given row by row.
pub(crate) struct RowStates<'a> {
    pub(crate) passes: &'a mut [ShardPass],
    pub(crate) tallies: &'a mut [RowTally],
}

impl<'a> Context<'a> {
    /// The training shards of `clients`, `[R]`.
    pub(crate) fn shards(&self, clients: &[u32]) -> Vec<&'a [u32]> {
        let of = |client: &u32| self.partition.shard(*client as usize);
        clients.iter().map(of).collect()
    }

    /// The local test sets of `clients`, `[R]`.
    pub(crate) fn local_tests(&self, clients: &[u32]) -> Vec<&'a [u32]> {
        let of = |client: &u32| self.partition.local_test(*client as usize);
        clients.iter().map(of).collect()
    }

    /// The examples that the indices of local test sets count.
    pub(crate) fn examples_of_local_tests(&self) -> &'a Examples {
        match self.partition.has_tests_of_owners() {
            true => self.test,
            false => self.train,
        }
    }

    /// The batches of one row in one call.
    pub(crate) fn batches<'b>(
        &self,
        pass: &'b mut ShardPass,
        row: &RowWork,
        tasks: &Tasks<'b>,
        index: usize,
    ) -> Batches<'b>
    where
        'a: 'b,
    {
        let key = RowKey {
            seed: self.seed,
            row: self.rows.map_or(index as u32, |rows| rows[index]),
        };
        let call = RowCall {
            work: *row,
            shard: self.partition.shard(row.client as usize),
            rounds: tasks.round as u64 - 1,
        };
        let augmentation = self.augment.map(|augment| Augmentation {
            augment,
            examples: self.train.len(),
        });
        Batches::new(pass, call, tasks.sgd, key)
            .scaled(tasks.rate_scale(index))
            .augmented(augmentation)
    }
}
