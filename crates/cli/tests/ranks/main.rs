//! Runs over several ranks, which are threads here, give the same bits as runs of one process: for every method,
//! overlay, failure and straggler in the YAML files of the test `numbers`, and with checkpoints.

#![allow(clippy::unwrap_used)]

#[cfg(feature = "gpu")]
mod gpus;
mod planned_bytes;
mod read_once;
mod unread;

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use meshfold_data::{DataFolder, Examples, Splits};
use meshfold_engine::{Device, DeviceRequest, Learner, Ranks, Sent};
use meshfold_experiment::{
    Ending, ExperimentSource, LeaderGuard, Observer, Placement, RoundProgress, RunOptions, RunPlan,
    RunReport, expect_same_plans, follow, plan, run,
};

/// The runs of the YAML file `name` of the test `numbers`.
fn plans_of(name: &str) -> (Vec<RunPlan>, DataFolder) {
    let numbers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/numbers");
    let source = ExperimentSource::read(numbers.join(name)).unwrap();
    planned(&source)
}

fn planned(source: &ExperimentSource) -> (Vec<RunPlan>, DataFolder) {
    let folder = DataFolder::new("unused").beside(source.resolve(Path::new("")));
    (plan(source, &folder).unwrap(), folder)
}

/// Asks to stop once a round is done.
struct Stopper<'a> {
    after: Option<usize>,
    stop: &'a AtomicBool,
}

impl Observer for Stopper<'_> {
    fn round(&mut self, progress: &RoundProgress) {
        let is_over = self.after.is_some_and(|round| progress.round >= round);
        self.stop.store(is_over, Ordering::Relaxed);
    }
}

/// Carries out `plans` on `device`, each until the round `after`.
fn lead(
    plans: &[RunPlan],
    data: &[Splits],
    device: &Device,
    results: &Path,
    after: Option<usize>,
) -> Vec<RunReport> {
    let options = RunOptions {
        device: device.clone(),
        results: results.to_owned(),
        again: false,
        commit: None,
    };
    let carry_out = |(plan, data): (&RunPlan, &Splits)| {
        let stop = AtomicBool::new(false);
        let mut stopper = Stopper { after, stop: &stop };
        run(plan, data, &options, &stop, &mut stopper).unwrap()
    };
    plans.iter().zip(data).map(carry_out).collect()
}

/// The same over `count` ranks, each of one thread; also what the ranks have sent.
fn over_ranks(
    count: usize,
    plans: &[RunPlan],
    data: &[Splits],
    results: &Path,
    after: Option<usize>,
) -> (Vec<RunReport>, Vec<Sent>) {
    over_ranks_on(DeviceRequest::Cpu, count, (plans, data), results, after)
}

/// The same on such a device each.
fn over_ranks_on(
    request: DeviceRequest,
    count: usize,
    (plans, data): (&[RunPlan], &[Splits]),
    results: &Path,
    after: Option<usize>,
) -> (Vec<RunReport>, Vec<Sent>) {
    let (reports, sent) = thread::scope(|scope| {
        let rank = |ranks: Ranks| {
            move || {
                let device = Device::over_ranks(ranks.clone(), request, Some(1), None).unwrap();
                expect_same_plans(&device, Some(plans)).unwrap();
                let reports = if ranks.leads() {
                    let _leader = LeaderGuard::new(&device);
                    lead(plans, data, &device, results, after)
                } else {
                    let data = |index: usize, see: &mut dyn FnMut(&Examples)| {
                        Ok::<_, ()>(data[index].clone().in_pieces(10_000, see))
                    };
                    follow(plans, results, &device, data).unwrap();
                    Vec::new()
                };
                (reports, ranks.sent())
            }
        };
        // Of an odd number of ranks the last one has a machine of its own: it reads for itself, and sends messages. All others share
        // one, where they read examples from the first and rows in place.
        let machine = |rank: usize| usize::from(count % 2 == 1 && count > 1 && rank + 1 == count);
        let machines: Vec<usize> = (0..count).map(machine).collect();
        let ranks = Ranks::on_machines(&machines).into_iter();
        let threads: Vec<_> = ranks.map(|ranks| scope.spawn(rank(ranks))).collect();
        let ends = threads.into_iter().map(|thread| thread.join().unwrap());
        ends.unzip::<_, _, Vec<_>, Vec<_>>()
    });
    (reports.into_iter().flatten().collect(), sent)
}

fn alone(
    plans: &[RunPlan],
    data: &[Splits],
    results: &Path,
    after: Option<usize>,
) -> Vec<RunReport> {
    alone_on(DeviceRequest::Cpu, (plans, data), results, after)
}

/// The same on such a device.
fn alone_on(
    request: DeviceRequest,
    (plans, data): (&[RunPlan], &[Splits]),
    results: &Path,
    after: Option<usize>,
) -> Vec<RunReport> {
    let device = Device::open(request, Some(1), None).unwrap();
    lead(plans, data, &device, results, after)
}

/// What a run came to: its records without the time that they took, its table of clients, and its error if it has one.
fn outcome(report: &RunReport) -> (Vec<String>, Vec<u8>, Option<String>) {
    let folder: &PathBuf = &report.folder;
    let records = fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
    let without_time = |line: &str| {
        let (before, after) = line.split_once("\"wall_seconds\":").unwrap();
        let (_, after) = after.split_once(',').unwrap();
        [before, after].concat()
    };
    let error = match &report.ending {
        Ending::Failed { error } => Some(error.to_string()),
        _ => None,
    };
    let table = fs::read(folder.join("clients.parquet")).unwrap();
    (records.lines().map(without_time).collect(), table, error)
}

/// `plan` with its rows wherever `count` ranks have them: each stack of some rows at random.
fn scattered(plan: &RunPlan, count: usize) -> RunPlan {
    // A generator of Lehmer's.
    let mut state = 20_261_u64;
    let mut rank = |_| {
        state = state * 48_271 % 0x7fff_ffff;
        state as u32 % count as u32
    };
    let owners = (1..120).map(|rows| (0..rows).map(&mut rank).collect());
    let mut plan = plan.clone();
    plan.placement = Some(Arc::new(Placement::of_rows(count, owners.collect())));
    plan
}

/// `plan` with its rows where the command would have them over `count` ranks.
fn placed(plan: &RunPlan, count: usize) -> RunPlan {
    let mut plan = plan.clone();
    plan.placement = Some(Arc::new(plan.placement_over(count)));
    plan
}

/// The runs of the file `name` come to the same over each of `counts` ranks as in one process.
fn expect_the_same(name: &str, counts: &[usize]) {
    expect_the_same_where(name, counts, placed);
}

/// The same with rows that lie as `place` says.
fn expect_the_same_where(name: &str, counts: &[usize], place: impl Fn(&RunPlan, usize) -> RunPlan) {
    expect_the_same_of(name, plans_of(name), counts, place);
}

/// The runs `plans`, whose data lie in `folder`, come to the same; `name` is where they are from.
fn expect_the_same_of(
    name: &str,
    (plans, folder): (Vec<RunPlan>, DataFolder),
    counts: &[usize],
    place: impl Fn(&RunPlan, usize) -> RunPlan,
) {
    let load = |plan: &RunPlan| plan.config.dataset.load(&folder).unwrap();
    let data: Vec<Splits> = plans.iter().map(load).collect();
    let results = tempfile::tempdir().unwrap();
    let expected = alone(&plans, &data, results.path(), None);
    for count in counts {
        let results = tempfile::tempdir().unwrap();
        let plans: Vec<RunPlan> = plans.iter().map(|plan| place(plan, *count)).collect();
        let (found, _) = over_ranks(*count, &plans, &data, results.path(), None);
        for ((plan, expected), found) in plans.iter().zip(&expected).zip(&found) {
            let (expected, found) = (outcome(expected), outcome(found));
            let run = format!("{name}/{} over {count} ranks", plan.config.name);
            assert_eq!(found.0, expected.0, "{run}");
            assert_eq!(found.2, expected.2, "{run}");
            assert!(found.1 == expected.1, "{run}: another table of clients");
        }
    }
}

#[test]
fn every_method_has_the_bits_of_one_process() {
    expect_the_same("methods.yaml", &[1, 2, 3, 4]);
}

#[test]
fn every_method_has_the_bits_of_one_process_wherever_rows_lie() {
    expect_the_same_where("methods.yaml", &[2, 3], scattered);
}

#[test]
fn every_overlay_has_the_bits_of_one_process() {
    expect_the_same("overlays.yaml", &[2, 3]);
    expect_the_same("weights.yaml", &[4]);
}

#[test]
fn failures_and_stragglers_have_the_bits_of_one_process() {
    expect_the_same("failures.yaml", &[2, 3]);
    expect_the_same_where("failures.yaml", &[4], scattered);
    expect_the_same("stragglers.yaml", &[3]);
}

#[test]
fn messages_schedules_and_measurements_have_the_bits_of_one_process() {
    expect_the_same("quantisation.yaml", &[2, 3]);
    expect_the_same("schedules.yaml", &[2]);
    expect_the_same("evaluations.yaml", &[3]);
    expect_the_same("partitions.yaml", &[2]);
}

#[test]
fn every_model_has_the_bits_of_one_process() {
    expect_the_same("models.yaml", &[3]);
    expect_the_same("precision.yaml", &[2, 3]);
}

#[test]
fn augmented_images_are_those_of_one_process() {
    expect_the_same("augment.yaml", &[2, 3]);
    expect_the_same_where("augment.yaml", &[2], scattered);
}

/// Clients who are judged on the test examples of their owners, of whom some have none.
const OWNED: &str = "
name: owned
dataset: {csv: {file: table.csv, label: kind, client: who, test: {file: tests.csv}}}
partition: {by_writer: {clients: 5}}
topology: ring
model: {mlp: {hidden: [8]}}
algorithm: {dfedavg: {batch_size: 7, learning_rate: 0.1, local: {steps: 2}}}
rounds: 4
evaluate: {every: 2, local_test: owners}
sweep:
  cases:
    - {name: gossip}
    - {name: each-owner, partition: by_writer}
    - {name: tuned-and-attacked, evaluate: {local_test: owners, fine_tune: {local: {steps: 2}, batch_size: 7, learning_rate: 0.1}, membership: {non_members: local_test}}}
    - {name: servers, topology: path, algorithm: {p_fedavg: {servers: {count: 2}, batch_size: 7, learning_rate: 0.1}}}
    - {name: one-model, topology: null, algorithm: {centralised: {batch_size: 7, learning_rate: 0.1}}}
";

#[test]
fn test_examples_of_owners_are_judged_with_the_bits_of_one_process() {
    let home = tempfile::tempdir().unwrap();
    let rows = |rows: usize, owners: usize| {
        let row = |row: usize| {
            let (kind, who) = (row * row % 3, row * 5 % owners);
            format!("{kind},{who},{},{}\n", row % 7, row * 3 % 11)
        };
        let rows: String = (0..rows).map(row).collect();
        format!("kind,who,a,b\n{rows}")
    };
    fs::write(home.path().join("table.csv"), rows(90, 8)).unwrap();
    fs::write(home.path().join("tests.csv"), rows(40, 6)).unwrap();
    let file = home.path().join("owned.yaml");
    fs::write(&file, OWNED).unwrap();
    let source = ExperimentSource::read(&file).unwrap();
    expect_the_same_of("owned.yaml", planned(&source), &[2, 3], placed);
    expect_the_same_of("owned.yaml", planned(&source), &[3], scattered);
}

/// Methods that keep stacks of their own, walk, or have servers.
const CHECKPOINTED: &str = "
name: checkpointed
dataset: {glyphs: {train: 300, test: 40}}
partition: {shards: {clients: 7}}
topology: ring
model: {mlp: {hidden: [8]}}
algorithm: {dsgd: {batch_size: 7, learning_rate: 0.1, local: {steps: 2}, momentum: 0.9}}
rounds: 6
checkpoint: {every: 2}
evaluate: {every: 3}
sweep:
  cases:
    - {name: gossip}
    - {name: in-bfloat16, precision: bf16}
    - {name: walks, algorithm: {dfedrw: {walkers: 3, hops: 2, batch_size: 7, learning_rate: 0.1}}}
    - {name: servers, topology: path, algorithm: {p_fedavg: {servers: {count: 3}, batch_size: 7, learning_rate: 0.1}}}
    - {name: controls, topology: null, algorithm: {scaffold: {batch_size: 7, learning_rate: 0.1, participation: {share: 0.5}}}}
";

/// Runs over that many ranks, or in one process.
fn carry_out(
    count: Option<usize>,
    plans: &[RunPlan],
    data: &[Splits],
    results: &Path,
    after: Option<usize>,
) -> Vec<RunReport> {
    match count {
        Some(count) => {
            let plans: Vec<RunPlan> = plans.iter().map(|plan| scattered(plan, count)).collect();
            over_ranks(count, &plans, data, results, after).0
        }
        None => alone(plans, data, results, after),
    }
}

#[test]
fn a_run_that_was_stopped_goes_on_over_any_number_of_ranks() {
    let (plans, folder) = planned(&ExperimentSource::new("checkpointed.yaml", CHECKPOINTED));
    let load = |plan: &RunPlan| plan.config.dataset.load(&folder).unwrap();
    let data: Vec<Splits> = plans.iter().map(load).collect();
    let results = tempfile::tempdir().unwrap();
    let expected = alone(&plans, &data, results.path(), None);
    for (first, then) in [(Some(3), Some(2)), (Some(3), None), (None, Some(4))] {
        let results = tempfile::tempdir().unwrap();
        for report in carry_out(first, &plans, &data, results.path(), Some(4)) {
            assert_eq!(report.checkpoint, Some(4));
        }
        let found = carry_out(then, &plans, &data, results.path(), None);
        for (expected, found) in expected.iter().zip(&found) {
            assert_eq!(found.resumed_from, Some(4));
            assert!(
                outcome(found) == outcome(expected),
                "{first:?} then {then:?}"
            );
        }
    }
}

#[test]
fn a_round_sends_one_row_for_each_client_that_another_rank_listens_to() {
    let text = "
name: ring
dataset: {glyphs: {train: 300, test: 40}}
partition: {iid: {clients: 7}}
topology: ring
model: {mlp: {hidden: [8]}}
algorithm: {dfedavgm: {batch_size: 7, learning_rate: 0.1}}
rounds: 3
evaluate: {every: 100}
sweep: {grid: {rounds: [3, 7]}}
";
    let (plans, folder) = planned(&ExperimentSource::new("ring.yaml", text));
    let data = plans[0].config.dataset.load(&folder).unwrap();
    let sent = |plan: &RunPlan| {
        let results = tempfile::tempdir().unwrap();
        let (plans, data) = ([plan.clone()], [data.clone()]);
        over_ranks(3, &plans, &data, results.path(), None).1
    };
    // Each of three ranks has two neighbours, and one client that each of them listens to. The first two share a machine, where
    // there is nothing to send on Linux.
    let row = 4 * plans[0].model.layout().width() as u64;
    let in_place = if cfg!(target_os = "linux") {
        [1, 1, 0]
    } else {
        [0; 3]
    };
    let both = sent(&plans[0]).into_iter().zip(sent(&plans[1]));
    for ((short, long), in_place) in both.zip(in_place) {
        assert_eq!(long.messages - short.messages, 4 * (2 - in_place));
        assert_eq!(long.bytes - short.bytes, 4 * 2 * row);
        let found = long.bytes_in_place - short.bytes_in_place;
        assert_eq!(found, 4 * in_place * row);
    }
}

#[test]
fn each_rank_holds_the_examples_of_its_own_clients() {
    let (plans, folder) = planned(&ExperimentSource::new("checkpointed.yaml", CHECKPOINTED));
    let data = plans[0].config.dataset.load(&folder).unwrap();
    let partition = &plans[0].partition;
    // Three, two and two of seven clients.
    let examples = [0..3, 3..5, 5..7].map(|clients: Range<usize>| {
        let shards = clients.map(|client| partition.shard(client).iter().copied());
        let mut kept: Vec<u32> = shards.flatten().collect();
        kept.sort_unstable();
        data.clone().keeping(&kept).train
    });
    let held_by = |ranks: Ranks| {
        // One that does not read for its machine has its examples from the one that does.
        let mut read = ranks.reads().then(|| data.clone());
        let device = Device::over_ranks(ranks, DeviceRequest::Cpu, Some(1), None).unwrap();
        let model = plans[0].model.clone();
        let held = device.deal(partition, &mut |see| {
            let data = read.take().expect("who reads reads once");
            Some(data.in_pieces(10_000, see))
        });
        let held = held.unwrap();
        let learner = Learner::upload(&device, model, held, partition.clone(), 1).unwrap();
        assert_eq!(learner.splits().test, data.test);
        learner.splits().train.clone()
    };
    for machines in [[0, 0, 0], [0, 1, 0], [0, 1, 1], [0, 1, 2]] {
        let held = thread::scope(|scope| {
            let ranks = Ranks::on_machines(&machines).into_iter();
            let threads: Vec<_> = ranks.map(|ranks| scope.spawn(|| held_by(ranks))).collect();
            let ends = threads.into_iter().map(|thread| thread.join().unwrap());
            ends.collect::<Vec<_>>()
        });
        assert_eq!(held, examples, "on machines {machines:?}");
    }
}

#[test]
fn one_rank_of_each_machine_reads() {
    let readers = |machines: &[usize]| {
        let ranks = Ranks::on_machines(machines).into_iter();
        let told = ranks.map(|ranks| (ranks.reads(), ranks.on_this_machine()));
        told.collect::<Vec<_>>()
    };
    let expected = [(true, 2), (true, 3), (false, 2), (false, 3), (false, 3)];
    assert_eq!(readers(&[4, 2, 4, 2, 2]), expected);
}

#[test]
fn the_environment_of_a_run_names_its_ranks() {
    let (plans, folder) = plans_of("quantisation.yaml");
    let data = plans[0].config.dataset.load(&folder).unwrap();
    for (count, expected) in [(Some(3), "\"ranks\": 3"), (None, "\"threads\"")] {
        let results = tempfile::tempdir().unwrap();
        let data = std::slice::from_ref(&data);
        let reports = carry_out(count, &plans[..1], data, results.path(), None);
        let text = fs::read_to_string(reports[0].folder.join("environment.json")).unwrap();
        assert!(text.contains(expected), "{text}");
        assert_eq!(text.contains("ranks"), count.is_some());
    }
}

#[test]
fn a_rank_that_planned_something_else_is_named_on_all_ranks() {
    let (plans, _) = plans_of("quantisation.yaml");
    let answers: Vec<_> = thread::scope(|scope| {
        let ranks = Ranks::in_process(3).into_iter().enumerate();
        let threads: Vec<_> = ranks
            .map(|(rank, ranks)| {
                let own = if rank == 1 { &plans[1..] } else { &plans[..] };
                scope.spawn(move || {
                    let device =
                        Device::over_ranks(ranks, DeviceRequest::Cpu, Some(1), None).unwrap();
                    expect_same_plans(&device, Some(own))
                })
            })
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().unwrap();
        threads.into_iter().map(join).collect()
    });
    assert_eq!(answers, [Err(1); 3]);
}
