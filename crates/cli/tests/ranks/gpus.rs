//! Runs over ranks with a GPU each give the same bits as one process on that GPU. Here all ranks share one GPU.

use std::path::Path;

use meshfold_data::Splits;
use meshfold_engine::DeviceRequest;
use meshfold_experiment::{ExperimentSource, RunPlan, RunReport};

use crate::{alone_on, outcome, over_ranks_on, placed, planned, scattered};

const GPU: DeviceRequest = DeviceRequest::Wgpu(0);

/// Methods that exchange in each way that there is: over overlays that change and complete ones, by walkers and servers, quantised, with
/// gradients and corrections of their own, with clients that die.
const METHODS: &str = "
name: gpus
dataset: {glyphs: {train: 300, test: 40}}
partition: {shards: {clients: 7}}
topology: {redraw: {of: {erdos_renyi: {p: 0.4}}}}
model: {mlp: {hidden: [8], dropout: 0.2}}
algorithm: {dsgd: {batch_size: 7, learning_rate: 0.1, local: {steps: 2}, momentum: 0.9}}
rounds: 4
checkpoint: {every: 2}
evaluate: {every: 3, train: true}
sweep:
  cases:
    - {name: gossip}
    - {name: complete, topology: complete, failures: [{clients: {list: [3]}, from_round: 2}]}
    - {name: quantised, algorithm: {dfedavgm: {batch_size: 7, learning_rate: 0.1, quantise: {bits: 6}}}}
    - {name: servers, topology: path, algorithm: {p_fedavg: {servers: {count: 3}, participation: {per_server: 2}, batch_size: 7, learning_rate: 0.1}}}
    - {name: walks, algorithm: {dfedrw: {walkers: 3, hops: 2, neighbours: 2, quantise: {bits: 8}, batch_size: 7, learning_rate: 0.1}}}
    - {name: tracking, algorithm: {gradient_tracking: {batch_size: 7, learning_rate: 0.1}}}
    - {name: controls, topology: null, algorithm: {scaffold: {batch_size: 7, learning_rate: 0.1, participation: {share: 0.5}}}}
";

/// The plans of [`METHODS`] and their data.
fn methods() -> (Vec<RunPlan>, Vec<Splits>) {
    let (plans, folder) = planned(&ExperimentSource::new("gpus.yaml", METHODS));
    let load = |plan: &RunPlan| plan.config.dataset.load(&folder).unwrap();
    let data = plans.iter().map(load).collect();
    (plans, data)
}

/// Carries out `plans` until the round `after`, over `count` ranks or in one process.
fn carry_out(
    count: Option<usize>,
    (plans, data): (&[RunPlan], &[Splits]),
    place: fn(&RunPlan, usize) -> RunPlan,
    results: &Path,
    after: Option<usize>,
) -> Vec<RunReport> {
    match count {
        Some(count) => {
            let plans: Vec<RunPlan> = plans.iter().map(|plan| place(plan, count)).collect();
            over_ranks_on(GPU, count, (&plans, data), results, after).0
        }
        None => alone_on(GPU, (plans, data), results, after),
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn methods_over_gpus_have_the_bits_of_one_process_and_go_on_over_any_number() {
    let (plans, data) = methods();
    let runs = (&plans[..], &data[..]);
    let results = tempfile::tempdir().unwrap();
    let expected = carry_out(None, runs, placed, results.path(), None);
    let expected: Vec<_> = expected.iter().map(outcome).collect();
    let results = tempfile::tempdir().unwrap();
    let whole = carry_out(Some(3), runs, placed, results.path(), None);
    for (plan, (found, expected)) in plans.iter().zip(whole.iter().zip(&expected)) {
        assert!(outcome(found) == *expected, "{}", plan.config.name);
    }
    for (first, then) in [(Some(3), Some(2)), (Some(2), None)] {
        let results = tempfile::tempdir().unwrap();
        for report in carry_out(first, runs, scattered, results.path(), Some(2)) {
            assert_eq!(report.checkpoint, Some(2));
        }
        let ended = carry_out(then, runs, scattered, results.path(), None);
        for (plan, (found, expected)) in plans.iter().zip(ended.iter().zip(&expected)) {
            let run = format!("{}: {first:?}, then {then:?}", plan.config.name);
            assert_eq!(found.resumed_from, Some(2), "{run}");
            assert!(outcome(found) == *expected, "{run}");
        }
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn more_gpus_need_less_memory_each() {
    use meshfold_engine::Device;
    let (plans, _) = methods();
    let gpu = Device::open(GPU, None, None).unwrap();
    for plan in &plans {
        let of = |ranks| plan.over_ranks_on(Some(&gpu), ranks).memory_bytes;
        // A rank has its driver, and its part of all else.
        assert!(of(4) <= of(2) && of(2) > 110 << 20, "{}", plan.config.name);
        assert!(
            of(2) > plan.over_ranks(2).memory_bytes,
            "{}",
            plan.config.name
        );
    }
}
