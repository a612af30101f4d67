//! Examples that cannot be read when a run begins end it on all ranks.

use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use meshfold_data::{Examples, Splits};
use meshfold_engine::{Device, DeviceRequest, Ranks};
use meshfold_experiment::{
    Ending, ExperimentSource, LeaderGuard, Observer, RunError, RunHost, RunOptions, RunPlan,
    RunReport, follow, run_all,
};

use crate::planned;

const TEXT: &str = "
name: unread
dataset: {glyphs: {train: 60, test: 10}}
partition: {iid: {clients: 6}}
topology: ring
model: logistic
algorithm: {dsgd: {batch_size: 5, learning_rate: 0.1}}
rounds: 1
";

/// What a rank finds where the examples should be.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Found {
    Examples,
    /// Others than were planned with.
    Others,
    Nothing,
}

#[derive(Debug, PartialEq)]
struct Unread;

impl From<RunError> for Unread {
    fn from(error: RunError) -> Self {
        panic!("{error}")
    }
}

impl Found {
    fn read(self, data: &Splits, see: &mut dyn FnMut(&Examples)) -> Result<Splits, Unread> {
        match self {
            Self::Examples => Ok(data.clone().in_pieces(10_000, see)),
            Self::Others => {
                let all: Vec<u32> = (0..50).collect();
                Ok(data.clone().keeping(&all).in_pieces(10_000, see))
            }
            Self::Nothing => {
                // Some pieces have gone before a file turns out to be damaged.
                data.train.each_piece(30_000, see);
                Err(Unread)
            }
        }
    }
}

struct Host<'a>(Found, &'a Splits);

struct Silent;

impl Observer for Silent {}

impl RunHost for Host<'_> {
    type Error = Unread;

    fn data(&self, _: usize, _: usize) -> Result<Splits, Unread> {
        panic!("ranks ask for pieces")
    }

    fn data_in_pieces(&self, _: usize, see: &mut dyn FnMut(&Examples)) -> Result<Splits, Unread> {
        self.0.read(self.1, see)
    }

    fn observer(&self, _: usize) -> Box<dyn Observer + '_> {
        Box::new(Silent)
    }

    fn ended(&self, _: usize, _: &RunReport, _: Duration) -> Result<(), Unread> {
        Ok(())
    }
}

/// How rank 0 ends, which finds `first`, and whether each other one ends well, the one with a machine of its own finding `last`.
fn ends(first: Found, last: Found) -> (Result<Vec<RunReport>, Unread>, Vec<bool>) {
    let (plans, folder) = planned(&ExperimentSource::new("unread.yaml", TEXT));
    let data = plans[0].config.dataset.load(&folder).unwrap();
    let results = tempfile::tempdir().unwrap();
    let plans: &[RunPlan] = &plans;
    thread::scope(|scope| {
        let mut ranks = Ranks::on_machines(&[0, 0, 1]).into_iter();
        let open =
            |ranks: Ranks| Device::over_ranks(ranks, DeviceRequest::Cpu, Some(1), None).unwrap();
        let (data, results) = (&data, results.path());
        let leader = ranks.next().unwrap();
        let leader = scope.spawn(move || {
            let device = open(leader);
            let _leader = LeaderGuard::new(&device);
            let options = RunOptions {
                device: device.clone(),
                results: results.to_owned(),
                again: false,
                commit: None,
            };
            run_all(
                plans,
                &options,
                1,
                &AtomicBool::new(false),
                &Host(first, data),
            )
        });
        let follower = |ranks: Ranks| {
            move || {
                let read = |_: usize, see: &mut dyn FnMut(&Examples)| last.read(data, see);
                follow(plans, results, &open(ranks), read).is_ok()
            }
        };
        let others: Vec<_> = ranks.map(|ranks| scope.spawn(follower(ranks))).collect();
        let others = others.into_iter().map(|thread| thread.join().unwrap());
        let others = others.collect();
        (leader.join().unwrap(), others)
    })
}

#[test]
fn what_rank_0_cannot_read_ends_the_command_on_all_ranks() {
    for last in [Found::Examples, Found::Nothing, Found::Others] {
        let (leader, others) = ends(Found::Nothing, last);
        assert_eq!(leader.unwrap_err(), Unread, "{last:?}");
        assert_eq!(others, [true, true], "{last:?}");
    }
}

#[test]
fn examples_that_changed_since_they_were_planned_with_end_the_run_on_all_ranks() {
    for last in [Found::Examples, Found::Nothing, Found::Others] {
        let (leader, others) = ends(Found::Others, last);
        let reports = leader.unwrap();
        let Ending::Failed { error } = &reports[0].ending else {
            panic!("{:?}", reports[0].ending)
        };
        assert!(matches!(error, RunError::Unplanned { .. }), "{error}");
        assert_eq!(others, [true, true], "{last:?}");
    }
}

#[test]
fn examples_that_all_ranks_have_are_trained_on() {
    let (leader, others) = ends(Found::Examples, Found::Examples);
    assert!(matches!(leader.unwrap()[0].ending, Ending::Finished));
    assert_eq!(others, [true, true]);
}
