//! Merges the local steps of several runs on one GPU: a launch costs as much for one run as for many.
//!
//! Every run has a thread of its own. When a run has local steps to make, or models to judge, it waits until each other
//! run has a request too or has ended. Then compatible requests are carried out as one, with the rows of one run after
//! those of another. Rows do not affect one another, so that every run has the bits that it has alone.

use super::merged_launch::MergedLaunch;
use super::shared_examples::SharedExamples;
use crate::error::EngineError;
use crate::stacked::device::gpu::Gpu;
use crate::stacked::requests::evaluation_request::{EvaluationRequest, judge};
use crate::stacked::requests::of_run::OfRun;
use crate::stacked::requests::train_batch_request::TrainBatchRequest;
use crate::training::score::Score;
use std::collections::BTreeMap;
use std::mem::take;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The runs that go on side by side.
#[derive(Debug, Default)]
pub(crate) struct LaunchCoalescer {
    pending: Mutex<PendingRequests>,
    changed: Condvar,
    /// Examples that several of them learn from.
    pub(crate) examples: SharedExamples,
}

/// The runs that take part, and their requests.
#[derive(Debug, Default)]
struct PendingRequests {
    /// Runs that have made a request, or may make one.
    members: usize,
    /// The number of the next run.
    next: u64,
    requests: Vec<OfRun<TrainBatchRequest>>,
    evaluations: Vec<OfRun<EvaluationRequest>>,
    /// Finished requests, by run.
    made: BTreeMap<u64, TrainBatchRequest>,
    scores: BTreeMap<u64, Vec<Score>>,
    /// Errors of the runs whose requests failed.
    failed: BTreeMap<u64, EngineError>,
    merged: MergedLaunch,
}

/// A run's place among the others.
#[derive(Debug)]
pub(crate) struct Participant {
    coalescer: Arc<LaunchCoalescer>,
    number: u64,
}

impl LaunchCoalescer {
    /// Adds a run.
    pub(crate) fn participant(self: &Arc<Self>) -> Participant {
        let mut pending = self.pending();
        let number = pending.next;
        pending.next += 1;
        pending.members += 1;
        Participant {
            coalescer: self.clone(),
            number,
        }
    }

    fn pending(&self) -> MutexGuard<'_, PendingRequests> {
        let lock = self.pending.lock();
        lock.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Participant {
    /// Carries out `request` together with those of other runs, and returns it; activations take at most `bytes` per
    /// buffer.
    ///
    /// # Errors
    /// The error of the GPU if it fails meanwhile; [`EngineError::Device`] if another run panicked while it worked for
    /// all.
    pub(crate) fn carry_out(
        &self,
        request: TrainBatchRequest,
        gpu: &Gpu,
        bytes: usize,
    ) -> Result<TrainBatchRequest, EngineError> {
        let number = self.number;
        let ask = |pending: &mut PendingRequests| {
            pending.requests.push(OfRun {
                run: number,
                item: request,
            })
        };
        self.answer(ask, |pending| pending.made.remove(&number), gpu, bytes)
    }

    /// The scores of the models of `judging`, judged together with those of other runs. Waits for the device.
    ///
    /// # Errors
    /// As [`Participant::carry_out`].
    pub(crate) fn judge(
        &self,
        evaluation: EvaluationRequest,
        gpu: &Gpu,
        bytes: usize,
    ) -> Result<Vec<Score>, EngineError> {
        let number = self.number;
        let ask = |pending: &mut PendingRequests| {
            pending.evaluations.push(OfRun {
                run: number,
                item: evaluation,
            })
        };
        let scores = |pending: &mut PendingRequests| pending.scores.remove(&number);
        self.answer(ask, scores, gpu, bytes)
    }

    /// Makes a request, and waits for the answer.
    fn answer<T>(
        &self,
        ask: impl FnOnce(&mut PendingRequests),
        answer: impl Fn(&mut PendingRequests) -> Option<T>,
        gpu: &Gpu,
        bytes: usize,
    ) -> Result<T, EngineError> {
        let broken = || EngineError::Device {
            device: gpu.kind(),
            reason: "a run beside this one broke down on it".to_owned(),
        };
        let lock = self.coalescer.pending.lock();
        let mut pending = lock.map_err(|_| broken())?;
        ask(&mut pending);
        loop {
            // The last run to make a request works for all.
            if pending.requests.len() + pending.evaluations.len() == pending.members {
                pending.work(gpu, bytes);
                self.coalescer.changed.notify_all();
            }
            if let Some(answer) = answer(&mut pending) {
                return Ok(answer);
            }
            if let Some(error) = pending.failed.remove(&self.number) {
                return Err(error);
            }
            let woken = self.coalescer.changed.wait(pending);
            pending = woken.map_err(|_| broken())?;
        }
    }
}

impl Drop for Participant {
    fn drop(&mut self) {
        self.coalescer.pending().members -= 1;
        self.coalescer.changed.notify_all();
    }
}

impl PendingRequests {
    /// Carries out all requests. If one fails, its run gets the error.
    fn work(&mut self, gpu: &Gpu, bytes: usize) {
        let (requests, evaluations) = (take(&mut self.requests), take(&mut self.evaluations));
        let asked: Vec<u64> = requests.iter().map(|asked| asked.run).collect();
        let made = gpu.attempt(|| self.merged.carry_out(requests, gpu.memory(), bytes));
        match made {
            Ok(requests) => {
                let by_run = requests.into_iter().map(|made| (made.run, made.item));
                self.made.extend(by_run);
            }
            Err(error) => asked.iter().for_each(|run| self.fail(*run, error.clone())),
        }
        for OfRun { run, item } in judge(evaluations, gpu, bytes) {
            match item {
                Ok(scores) => drop(self.scores.insert(run, scores)),
                Err(error) => self.fail(run, error),
            }
        }
    }

    fn fail(&mut self, run: u64, error: EngineError) {
        // There may have been no room for memory that is kept for the next requests.
        self.merged = MergedLaunch::default();
        self.failed.insert(run, error);
    }
}

#[cfg(test)]
mod tests;
