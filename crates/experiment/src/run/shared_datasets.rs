//! Datasets that several runs share.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use meshfold_data::{DataError, DataFolder, DatasetConfig, Examples, Splits};
use meshfold_engine::Ranks;
use rayon::Yield;

use crate::plan::run_plan::RunPlan;

/// Between two looks for something to help with.
const PAUSE: Duration = Duration::from_micros(200);

/// The datasets of some runs: each is read once, and let go of when no run that has yet to begin needs it.
#[derive(Debug)]
pub struct SharedDatasets<'a> {
    plans: &'a [RunPlan],
    folder: &'a DataFolder,
    /// Loaded datasets that are needed by runs which have yet to begin.
    loaded: Mutex<Vec<(DatasetConfig, Splits)>>,
}

impl<'a> SharedDatasets<'a> {
    /// The datasets of `plans`, which lie in `folder`. Nothing is read yet.
    pub fn new(plans: &'a [RunPlan], folder: &'a DataFolder) -> Self {
        Self {
            plans,
            folder,
            loaded: Mutex::new(Vec::new()),
        }
    }

    /// The examples of the run at `index`; `next` is the first run that has not begun. This is what
    /// [`RunHost::data`](crate::RunHost::data) asks for.
    ///
    /// # Errors
    /// [`DataError`] if they cannot be read.
    pub fn splits(&self, index: usize, next: usize) -> Result<Splits, DataError> {
        let dataset = &self.plans[index].config.dataset;
        let mut loaded = self.lock();
        let splits = match loaded.iter().find(|(known, _)| known == dataset) {
            Some((_, splits)) => splits.clone(),
            None => {
                let splits = dataset.load(self.folder)?;
                loaded.push((dataset.clone(), splits.clone()));
                splits
            }
        };
        let to_come = self.plans.get(next..).unwrap_or_default();
        loaded.retain(|(known, _)| to_come.iter().any(|plan| plan.config.dataset == *known));
        Ok(splits)
    }

    /// What is loaded, once no other run loads anything. A thread of the processor helps it meanwhile: all runs of a sweep begin
    /// with their dataset, and one thread alone would draw or read it for all.
    fn lock(&self) -> MutexGuard<'_, Vec<(DatasetConfig, Splits)>> {
        loop {
            match self.loaded.try_lock() {
                Ok(loaded) => return loaded,
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => {}
            }
            match rayon::yield_now() {
                Some(Yield::Executed) => {}
                Some(Yield::Idle) => std::thread::sleep(PAUSE),
                // A thread of no pool.
                None => return self.loaded.lock().unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// The examples of the run at `index`, those for training in pieces that `see` is given: what
    /// [`RunHost::data_in_pieces`](crate::RunHost::data_in_pieces) asks for. Each run reads them anew, so that nobody holds all.
    ///
    /// # Errors
    /// [`DataError`] if they cannot be read.
    pub fn in_pieces(
        &self,
        index: usize,
        see: &mut dyn FnMut(&Examples),
    ) -> Result<Splits, DataError> {
        let dataset = &self.plans[index].config.dataset;
        dataset.load_in_pieces(self.folder, Ranks::PIECE, see)
    }
}
