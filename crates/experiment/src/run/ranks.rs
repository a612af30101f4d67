//! One run over several ranks. Rank 0 leads, as [`run`](crate::run) describes it. The others follow: they write nothing, and decide
//! nothing.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use meshfold_data::{Examples, Splits};
use meshfold_engine::{Device, EngineError, Ranks};
use sha2::{Digest, Sha256};

use crate::plan::run_plan::RunPlan;
use crate::rank_steps::{Step, announce, next};
use crate::results::checkpoint::{CheckpointFile, VerifiedCheckpoint};
use crate::results::data_digests::DataDigests;
use crate::results::run_folder::{CHECKPOINT, RunFolder};
use crate::run::environment::VERSION;
use crate::run::run_data::RunData;
use crate::run::run_state::RunState;

/// A run that has been announced to the other ranks. They take part in it until this is dropped.
pub(crate) struct AnnouncedRun<'a>(&'a Device);

impl<'a> AnnouncedRun<'a> {
    /// The examples of the run `plan` are read next, by [`RunData::read`].
    pub(crate) fn begin(device: &'a Device, plan: &RunPlan) -> Self {
        announce(device, Step::Begin(number(&plan.id)));
        Self(device)
    }

    /// The run starts on these examples.
    pub(crate) fn start(&self) {
        announce(self.0, Step::Start);
    }
}

impl Drop for AnnouncedRun<'_> {
    fn drop(&mut self) {
        // After a panic this process ends, and the others with it.
        if !std::thread::panicking() {
            announce(self.0, Step::End);
        }
    }
}

/// Held by rank 0 while it carries out runs that the other ranks [`follow`]. When it is dropped, the others are told that there are no
/// more runs, and `follow` returns.
#[derive(Debug)]
pub struct LeaderGuard(Device);

impl LeaderGuard {
    /// For the ranks of `device`, if there are any. This rank must be rank 0.
    pub fn new(device: &Device) -> Self {
        Self(device.clone())
    }
}

impl Drop for LeaderGuard {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            announce(&self.0, Step::Over);
        }
    }
}

/// Whether all ranks of `device` are of the same version and instructions and have planned the same runs. Every rank calls it,
/// and gets the same answer. One that has no plans says so by `None`.
///
/// # Errors
/// The first rank that differs from rank 0.
pub fn expect_same_plans(device: &Device, plans: Option<&[RunPlan]>) -> Result<(), usize> {
    let Some(ranks) = device.ranks() else {
        return Ok(());
    };
    let mut digest = Sha256::new();
    digest.update(VERSION);
    digest.update(device.kind());
    for plan in plans.unwrap_or_default() {
        digest.update(device.kind_in(plan.config.precision));
        digest.update(&plan.id);
        digest.update(plan.partition.digest());
        digest.update(plan.dataset.digest());
    }
    let known = u64::from(plans.is_some());
    ranks.expect_same_words([known, words(digest)[0]])
}

/// Takes part in the runs that rank 0 carries out, until it is done with them. `results` is the folder of all results, where
/// checkpoints are read; `data` gives the examples of `plans[index]`, those for training in pieces, and is asked only on the rank that
/// reads for its machine.
///
/// # Errors
/// The first error of `data`, which the caller makes the end of all ranks.
pub fn follow<E>(
    plans: &[RunPlan],
    results: &Path,
    device: &Device,
    mut data: impl FnMut(usize, &mut dyn FnMut(&Examples)) -> Result<Splits, E>,
) -> Result<(), E> {
    let Some(ranks) = device.ranks() else {
        return Ok(());
    };
    loop {
        match next(ranks) {
            Step::Over => return Ok(()),
            Step::Begin(run) => {
                let is_asked_for = |plan: &RunPlan| number(&plan.id) == run;
                let Some(index) = plans.iter().position(is_asked_for) else {
                    ranks.abort("rank 0 carries out a run that this rank has not planned");
                };
                let plan = &plans[index];
                let data = RunData::read_following(plan, device, |see| data(index, see))?;
                let data = Mutex::new(data);
                device.side_by_side(1, |device| {
                    let data = data.lock().unwrap_or_else(PoisonError::into_inner).take();
                    let done = device.attempt(|| {
                        take_part(plan, data, results, device);
                        Ok::<_, EngineError>(())
                    });
                    done.unwrap_or_else(|error| ranks.abort(&error.to_string()));
                });
            }
            step => ranks.abort(&format!("rank 0 is at {step:?} where no run has begun")),
        }
    }
}

/// Does what rank 0 says, until the run is over. What fails here fails on rank 0 as well, which tells of it.
fn take_part(plan: &RunPlan, data: Option<RunData>, results: &Path, device: &Device) {
    let ranks = device.ranks().expect("there is a rank to follow");
    let data = match (next(ranks), data) {
        (Step::End, _) => return,
        (Step::Start, Some(data)) => data,
        (step, _) => ranks.abort(&format!("rank 0 is at {step:?} where a run is to start")),
    };
    let Ok(mut state) = RunState::start(plan, &data, device) else {
        return wait_for_end(ranks);
    };
    drop(data);
    loop {
        let step = next(ranks);
        match step {
            Step::End => return,
            Step::Restore(round) => {
                let found = found(plan, results, round);
                let found = found.unwrap_or_else(|reason| ranks.abort(&reason));
                state.restore(found).ok();
            }
            Step::Advance => {
                state.advance().ok();
            }
            Step::Evaluate => {
                state.evaluate().ok();
            }
            Step::Losses => {
                state.learner_state();
            }
            Step::Stack(place) => {
                let stacks = state.stacks();
                let (_, stack) = stacks[place as usize];
                let nothing = |_: &[f32]| Ok::<_, ()>(());
                stack.each_block(nothing).ok();
            }
            Step::Begin(_) | Step::Start | Step::Over => {
                ranks.abort(&format!("rank 0 is at {step:?} in the middle of a run"))
            }
        }
    }
}

/// A run that could not be started here could not be started on rank 0.
fn wait_for_end(ranks: &Ranks) {
    match next(ranks) {
        Step::End => {}
        step => ranks.abort(&format!(
            "rank 0 is at {step:?} of a run that cannot be started here"
        )),
    }
}

/// The checkpoint of `plan` after `round`, from which rank 0 resumes.
///
/// # Errors
/// Why it is not here.
fn found(plan: &RunPlan, results: &Path, round: u64) -> Result<VerifiedCheckpoint, String> {
    let folder = RunFolder::new(results, &plan.config.name, &plan.id);
    let path = folder.map_err(|error| error.to_string())?.file(CHECKPOINT);
    let found = CheckpointFile::new(path.clone()).of_run(&plan.id);
    match found {
        Ok(found) if found.saved.round as u64 == round => Ok(found),
        _ => Err(format!(
            "{} is not the checkpoint that rank 0 resumes from: all ranks must see the same folder of results",
            path.display()
        )),
    }
}

/// Whether rank 0 has the data of a run. Ends all ranks unless those that have read them have the same. Every rank calls it; one that
/// has not read any, or cannot, gives none.
pub(crate) fn expect_same_data(ranks: &Ranks, digests: Option<&DataDigests>) -> bool {
    let digest = digests.map(|digests| {
        let text = serde_json::to_vec(digests).expect("digests are text");
        words(Sha256::new().chain_update(text))
    });
    let all = ranks.gather(digest.unwrap_or_default());
    let none = |of_rank: &[u64; 4]| *of_rank == [0; 4];
    let differs = |of_rank: &[u64; 4]| *of_rank != all[0] && !none(of_rank);
    if none(&all[0]) {
        return false;
    }
    if let Some(rank) = all.iter().position(differs) {
        ranks.abort(&format!(
            "rank {rank} has other examples than rank 0: give all ranks the same data folder"
        ));
    }
    true
}

/// The id of a run as a number.
fn number(id: &str) -> u64 {
    words(Sha256::new().chain_update(id))[0]
}

fn words(digest: Sha256) -> [u64; 4] {
    let bytes = digest.finalize();
    let words = bytes.as_chunks::<8>().0.iter();
    let words: Vec<u64> = words.map(|word| u64::from_le_bytes(*word)).collect();
    words.try_into().expect("a digest has 32 bytes")
}
