//! Runs of a workload that differ in their seed, side by side as those of a sweep.

use crate::BenchError;
use crate::case::Case;
use crate::clock::{Protocol, rounded};
use crate::synthetic;
use crate::training::{record, regular_mixing, rows, sgd};
use meshfold_data::{Partition, Splits};
use meshfold_engine::{Device, Learner, LocalWork, Mixing, Network, Start, Velocity};
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How many runs, and how many of them at the same time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sweep {
    pub(crate) runs: u64,
    pub(crate) at_once: usize,
}

/// What all runs have in common.
struct Shared<'a> {
    case: &'a Case,
    network: Network,
    splits: Splits,
    partition: Arc<Partition>,
    mixing: Mixing,
}

impl<'a> Shared<'a> {
    fn new(case: &'a Case) -> Result<Self, BenchError> {
        let (splits, partition) = synthetic::splits(case, 1)?;
        Ok(Self {
            case,
            network: Network::new(&case.model, splits.train.input(), splits.train.classes())?,
            splits,
            partition: Arc::new(partition),
            mixing: regular_mixing(case.clients, case.degree)?,
        })
    }

    /// The run of `seed` on `device`; `begun` is called when its models are there. Gives its last loss.
    fn run(&self, device: &Device, seed: u64, begun: impl Fn()) -> Result<f64, BenchError> {
        let (splits, partition) = (self.splits.clone(), self.partition.clone());
        let mut learner = Learner::upload(device, self.network.clone(), splits, partition, seed)?;
        let mut models = learner.initial(self.case.clients, Start::Same)?;
        begun();
        let (sgd, rows) = (sgd(self.case), rows(self.case));
        for round in 1..=self.case.rounds {
            let work = LocalWork::new(round, &rows, &sgd);
            learner.train(&mut models, Velocity::Fresh, &work)?;
            models.mix(&self.mixing)?;
        }
        // Reading the losses waits for the device.
        Ok(learner.tally().train_loss.unwrap_or(f64::NAN))
    }

    /// All runs; gives the mean of their last losses.
    fn all(
        &self,
        device: &Device,
        sweep: Sweep,
        begun: impl Fn() + Sync,
    ) -> Result<f64, BenchError> {
        let (next, losses) = (AtomicU64::new(0), Mutex::new(Vec::new()));
        device.side_by_side(sweep.at_once, |device| {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= sweep.runs {
                    break;
                }
                let loss = self.run(device, seed, &begun);
                let mut losses = losses.lock().unwrap_or_else(PoisonError::into_inner);
                losses.push(loss);
            }
        });
        let losses = losses.into_inner().unwrap_or_else(PoisonError::into_inner);
        let count = losses.len().max(1) as f64;
        let sum: f64 = losses.into_iter().sum::<Result<f64, BenchError>>()?;
        Ok(sum / count)
    }
}

/// Times all runs from the upload of their examples to their last losses.
pub(crate) fn run(
    case: &Case,
    device: &Device,
    sweep: Sweep,
    protocol: Protocol,
) -> Result<Value, BenchError> {
    let shared = Shared::new(case)?;
    let timing = protocol.time(|| shared.all(device, sweep, || {}))?;
    let steps = case.clients * case.steps as usize * case.rounds;
    let count = sweep.runs as f64 * steps as f64;
    let parameters = shared.network.layout().parameters();
    let mut record = record(case, device, &timing, parameters, count);
    record["runs"] = sweep.runs.into();
    record["at_once"] = sweep.at_once.into();
    record["loss_last"] = rounded(timing.losses[timing.losses.len() - 1]).into();
    Ok(record)
}

/// Counts what all runs launch in their rounds, per round.
#[cfg(feature = "gpu")]
pub(crate) fn trace(case: &Case, device: &Device, sweep: Sweep) -> Result<String, BenchError> {
    use meshfold_engine::Trace;
    use std::sync::Barrier;

    if device.threads().is_some() {
        return Err(BenchError::NoLaunches);
    }
    let shared = Shared::new(case)?;
    // The runs at the same time begin together.
    let together = Barrier::new(sweep.at_once);
    let whole = (sweep.runs as usize).is_multiple_of(sweep.at_once);
    let begun = || {
        if whole {
            together.wait();
        }
    };
    let trace = Trace::begin();
    shared.all(device, sweep, begun)?;
    let launched = trace.end();
    let of_a_round = |launches: u64| launches as f64 / case.rounds as f64;
    let line = |kernel: &str, launches: u64| {
        format!("| {kernel:<40} | {:>10.2} |\n", of_a_round(launches))
    };
    let kernels: String = launched
        .iter()
        .map(|kernel| line(&kernel.kernel, kernel.launches))
        .collect();
    let sum = line("sum", launched.iter().map(|kernel| kernel.launches).sum());
    Ok(format!(
        "{}: {} runs of {} clients, {} at once, on {}\n\n| {:<40} | launches a round |\n|---|---|\n{kernels}{sum}",
        case.name,
        sweep.runs,
        case.clients,
        sweep.at_once,
        device.kind(),
        "all runs"
    ))
}
