//! Runs of a workload that differ in their seed, side by side as those of a sweep.

use crate::BenchError;
use crate::case::Case;
use crate::clock::{Protocol, rounded};
use crate::synthetic;
use crate::training::{Rounds, network, record, regular_mixing};
use meshfold_data::{Partition, Splits};
use meshfold_engine::{Device, Learner, Mixing, Network};
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
            network: network(case, &splits)?,
            splits,
            partition: Arc::new(partition),
            mixing: regular_mixing(case.clients, case.degree)?,
        })
    }

    /// The run of `seed` on `device`; `begun` is called when its models are there. Gives its last loss.
    fn run(&self, device: &Device, seed: u64, begun: impl Fn()) -> Result<f64, BenchError> {
        let (splits, partition) = (self.splits.clone(), self.partition.clone());
        let mut learner = Learner::upload(device, self.network.clone(), splits, partition, seed)?;
        let mut rounds = Rounds::new(self.case, device, &learner, &self.mixing)?;
        begun();
        rounds.train(&mut learner)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Name;
    use crate::training;
    use meshfold_engine::{DeviceRequest, Precision};

    #[test]
    fn a_run_of_a_sweep_is_the_workload_by_itself() {
        let device = Device::open(DeviceRequest::Cpu, Some(1), None).expect("there is a processor");
        let protocol = Protocol {
            repeat: 1,
            warmup: 0,
        };
        let sweep = Sweep {
            runs: 1,
            at_once: 1,
        };
        let case = Case {
            clients: 4,
            degree: 2,
            momentum: 0.9,
            rounds: 3,
            ..Case::of(Name::W1)
        };
        let of = |precision, keeps_velocity| {
            let case = Case {
                precision,
                keeps_velocity,
                ..case.clone()
            };
            let alone = training::run(&case, &device, protocol).expect("it trains");
            let swept = run(&case, &device, sweep, protocol).expect("it trains");
            assert_eq!(
                alone["loss_last"], swept["loss_last"],
                "{precision:?} {keeps_velocity}"
            );
            swept["loss_last"].clone()
        };
        let usual = of(Precision::F32, false);
        assert_ne!(of(Precision::Bf16, false), usual);
        assert_ne!(of(Precision::F32, true), usual);
    }
}
