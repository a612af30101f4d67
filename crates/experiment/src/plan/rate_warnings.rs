//! Warnings about learning rates and momentum that have no effect, or little, in the rounds of a run.

use meshfold_algorithms::{Local, Method, Setting};
use meshfold_engine::{Cosine, LearningRate, Milestones, Per, Schedule, Sgd, Step};

use crate::config::run_config::RunConfig;

/// Warnings about the learning rate and the momentum of a run of clients as in `setting`.
pub(super) fn of(config: &RunConfig, setting: &Setting) -> Vec<String> {
    let of_rate = of_rate(config, setting);
    of_rate
        .into_iter()
        .chain(of_momentum(&config.algorithm))
        .collect()
}

/// A schedule of which the run sees the beginning alone.
fn of_rate(config: &RunConfig, setting: &Setting) -> Option<String> {
    let method = &config.algorithm;
    let rate = method.training().sgd.learning_rate;
    let per = rate.per_over_rounds()?;
    if method.profile().counts_itself && per != Per::Round {
        return None;
    }
    let LearningRate::Schedule(schedule) = &rate else {
        return None;
    };
    let progress = method.progress_after(config.rounds, setting);
    let (end, what) = match per {
        Per::Round => (progress.rounds, "rounds"),
        Per::Step => (progress.steps[0], "local steps"),
        Per::Epoch | Per::EpochDue { .. } => (progress.epochs[0], "epochs"),
    };
    let beyond = beyond(schedule, end as f64)?;
    Some(format!("{beyond}, and the run has {end} {what}"))
}

/// What of `schedule` lies beyond the count `end`.
fn beyond(schedule: &Schedule, end: f64) -> Option<String> {
    let warmup = schedule.warmup()?;
    if warmup >= end {
        return Some(format!(
            "the learning rate never gets as high as its formula: `warmup` is {warmup}"
        ));
    }
    match schedule {
        Schedule::Step(Step { every, .. }) if *every >= end => Some(format!(
            "the learning rate stays at its first value: `every` is {every}"
        )),
        Schedule::Milestones(Milestones { at, .. }) => {
            let first = at.first().filter(|first| **first >= end)?;
            Some(format!(
                "the learning rate stays at its first value: the first milestone is {first}"
            ))
        }
        Schedule::Cosine(Cosine { length, .. }) if *length > end => Some(format!(
            "the learning rate does not come down to its last value: `length` is {length}"
        )),
        _ => None,
    }
}

/// Momentum that begins anew before it has any effect.
fn of_momentum(method: &Method) -> Option<String> {
    let training = method.training();
    let Sgd {
        momentum, nesterov, ..
    } = training.sgd;
    let is_idle = method.profile().momentum_begins_anew
        && training.local == Local::Steps(1)
        && momentum != 0.0;
    let effect = match nesterov {
        false => "has no effect".to_owned(),
        true => format!("only makes steps {} times as large", 1.0 + momentum),
    };
    is_idle.then(|| {
        format!(
            "`momentum` {effect}: {} begins it anew in each round, and a round has one local step",
            method.name()
        )
    })
}
