//! Runs side by side on one GPU, whose local steps are made together: a launch costs as much for one run as for many.
//!
//! Every run goes its way on a thread of its own. Where it has local steps to make, or models to judge, it waits until the
//! others have something too or are gone; then what is alike becomes one, the rows of one run after those of another.
//! Rows know nothing of one another, so that every run has the bits that it has alone.

use super::shared_examples::SharedExamples;
use super::together::Together;
use crate::error::EngineError;
use crate::stacked::device::gpu::Gpu;
use crate::stacked::requests::bout::Bout;
use crate::stacked::requests::judging::{Judging, judge};
use crate::training::score::Score;
use std::collections::BTreeMap;
use std::mem::take;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The runs that go on side by side.
#[derive(Debug, Default)]
pub(crate) struct Joint {
    gathering: Mutex<Gathering>,
    changed: Condvar,
    /// Examples that several of them learn from.
    pub(crate) examples: SharedExamples,
}

/// Who takes part, and what they have asked for.
#[derive(Debug, Default)]
struct Gathering {
    /// Runs that have asked for something, or may.
    members: usize,
    /// The number of the next run.
    next: u64,
    bouts: Vec<(u64, Bout)>,
    judgings: Vec<(u64, Judging)>,
    /// What became of them.
    made: BTreeMap<u64, Bout>,
    scores: BTreeMap<u64, Vec<Score>>,
    /// The errors of those for whom nothing was made.
    failed: BTreeMap<u64, EngineError>,
    together: Together,
}

/// A run's place among the others.
#[derive(Debug)]
pub(crate) struct Seat {
    joint: Arc<Joint>,
    number: u64,
}

impl Joint {
    /// A place for one run more.
    pub(crate) fn seat(self: &Arc<Self>) -> Seat {
        let mut gathering = self.gathering();
        let number = gathering.next;
        gathering.next += 1;
        gathering.members += 1;
        Seat {
            joint: self.clone(),
            number,
        }
    }

    fn gathering(&self) -> MutexGuard<'_, Gathering> {
        let lock = self.gathering.lock();
        lock.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// Carries out `bout` with those of the others, and gives back what became of it; activations take `bytes` a buffer at
    /// most.
    ///
    /// # Errors
    /// Those of the GPU if it fails meanwhile; [`EngineError::Device`] if a run beside this one broke down while it worked
    /// for all.
    pub(crate) fn carry_out(
        &self,
        bout: Bout,
        gpu: &Gpu,
        bytes: usize,
    ) -> Result<Bout, EngineError> {
        let number = self.number;
        let ask = |gathering: &mut Gathering| gathering.bouts.push((number, bout));
        self.answer(ask, |gathering| gathering.made.remove(&number), gpu, bytes)
    }

    /// The scores of the models of `judging`, which are judged with those of the others. Waits for the device.
    ///
    /// # Errors
    /// As [`Seat::carry_out`].
    pub(crate) fn judge(
        &self,
        judging: Judging,
        gpu: &Gpu,
        bytes: usize,
    ) -> Result<Vec<Score>, EngineError> {
        let number = self.number;
        let ask = |gathering: &mut Gathering| gathering.judgings.push((number, judging));
        let scores = |gathering: &mut Gathering| gathering.scores.remove(&number);
        self.answer(ask, scores, gpu, bytes)
    }

    /// Asks, and waits for the answer.
    fn answer<T>(
        &self,
        ask: impl FnOnce(&mut Gathering),
        answer: impl Fn(&mut Gathering) -> Option<T>,
        gpu: &Gpu,
        bytes: usize,
    ) -> Result<T, EngineError> {
        let broken = || EngineError::Device {
            device: gpu.kind(),
            reason: "a run beside this one broke down on it".to_owned(),
        };
        let lock = self.joint.gathering.lock();
        let mut gathering = lock.map_err(|_| broken())?;
        ask(&mut gathering);
        loop {
            // Whoever comes last works for all.
            if gathering.bouts.len() + gathering.judgings.len() == gathering.members {
                gathering.work(gpu, bytes);
                self.joint.changed.notify_all();
            }
            if let Some(answer) = answer(&mut gathering) {
                return Ok(answer);
            }
            if let Some(error) = gathering.failed.remove(&self.number) {
                return Err(error);
            }
            let woken = self.joint.changed.wait(gathering);
            gathering = woken.map_err(|_| broken())?;
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.joint.gathering().members -= 1;
        self.joint.changed.notify_all();
    }
}

impl Gathering {
    /// Does everything that was asked for. Whoever asked for what fails has the error.
    fn work(&mut self, gpu: &Gpu, bytes: usize) {
        let (bouts, judgings) = (take(&mut self.bouts), take(&mut self.judgings));
        let asked: Vec<u64> = bouts.iter().map(|(number, _)| *number).collect();
        let made = gpu.attempt(|| self.together.carry_out(bouts, gpu.memory(), bytes));
        match made {
            Ok(bouts) => self.made.extend(bouts),
            Err(error) => asked.iter().for_each(|run| self.fail(*run, error.clone())),
        }
        for (run, scores) in judge(judgings, gpu, bytes) {
            match scores {
                Ok(scores) => drop(self.scores.insert(run, scores)),
                Err(error) => self.fail(run, error),
            }
        }
    }

    fn fail(&mut self, run: u64, error: EngineError) {
        // There may have been no room for memory that is kept for the next bouts.
        self.together = Together::default();
        self.failed.insert(run, error);
    }
}

#[cfg(test)]
mod tests;
