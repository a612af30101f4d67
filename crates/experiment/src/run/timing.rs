//! How long a run takes, by its first rounds.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use meshfold_data::Splits;
use meshfold_engine::Device;
use serde::Serialize;

use crate::config::run_config::RunConfig;
use crate::plan::run_plan::RunPlan;
use crate::results::run_error::RunError;
use crate::run::run_data::RunData;
use crate::run::run_state::RunState;

/// What the parts of a run take on a device, in seconds by the clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RunTiming {
    /// Before the first round, once the examples have been read.
    pub start_seconds: f64,
    /// Each round, in the middle.
    pub round_seconds: f64,
    /// Each evaluation of the models.
    pub evaluation_seconds: f64,
}

impl RunTiming {
    /// Seconds of a whole run of `config`, if no budget and no target ends it before its last round.
    pub fn seconds(&self, config: &RunConfig) -> f64 {
        let evaluations = 1 + config.rounds.div_ceil(config.evaluate.every.max(1));
        self.start_seconds
            + self.round_seconds * config.rounds as f64
            + self.evaluation_seconds * evaluations as f64
    }
}

/// Carries out the first rounds of `plan` on `data`, the examples as its dataset has them, for about the time `spent`, and
/// returns what they took. It makes at least one round, writes nothing, and leaves no trace. `None` once `stop` is true.
///
/// The device must be one process's own.
///
/// # Errors
/// [`RunError`] if the plan does not fit the data or the device, and if the models are not finite after these rounds.
pub fn time_run(
    plan: &RunPlan,
    data: &Splits,
    device: &Device,
    spent: Duration,
    stop: &AtomicBool,
) -> Result<Option<RunTiming>, RunError> {
    debug_assert!(device.ranks().is_none());
    let Ok(data) = RunData::read(plan, device, |_| Ok::<_, Infallible>(data.clone()));
    let begun = Instant::now();
    let mut state = RunState::start(plan, &data, device)?;
    if let Some(train) = data.all() {
        state.measure_examples(train, stop)?;
    }
    drop(data);
    device.wait();
    let start_seconds = begun.elapsed().as_secs_f64();
    if state.theory().is_called_off() {
        return Ok(None);
    }
    state.evaluate()?;
    let mut rounds = Vec::new();
    while !state.is_done() && wants_more(&rounds, spent) {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        rounds.push(seconds(device, || state.advance())?);
    }
    // The second evaluation: the first one makes room for what it needs.
    let evaluation_seconds = seconds(device, || state.evaluate())?;
    Ok(Some(RunTiming {
        start_seconds,
        round_seconds: typical(&rounds),
        evaluation_seconds,
    }))
}

/// How many times the time that may be spent the first round may take and be followed by a second one.
const FIRST: f64 = 4.0;

/// Seconds that `work` takes on `device`.
fn seconds<T>(
    device: &Device,
    work: impl FnOnce() -> Result<T, RunError>,
) -> Result<f64, RunError> {
    let begun = Instant::now();
    work()?;
    device.wait();
    Ok(begun.elapsed().as_secs_f64())
}

/// Whether to make another round after `rounds` that took so long: until the time `spent` is over. The first round alone says little, so
/// there is a second one unless it would take many times as long.
fn wants_more(rounds: &[f64], spent: Duration) -> bool {
    let so_far: f64 = rounds.iter().sum();
    let spent = spent.as_secs_f64();
    match rounds.len() {
        0 => true,
        1 => so_far < FIRST * spent,
        _ => so_far < spent,
    }
}

/// The median of `rounds` without the first of several, which also makes room and compiles kernels.
fn typical(rounds: &[f64]) -> f64 {
    let mut rounds = match rounds {
        [_, later @ ..] if !later.is_empty() => later.to_vec(),
        few => few.to_vec(),
    };
    rounds.sort_by(f64::total_cmp);
    match rounds.len() {
        0 => 0.0,
        some => rounds[some / 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_several_rounds_does_not_count() {
        assert_eq!(typical(&[9.0, 1.0, 3.0, 2.0]), 2.0);
        assert_eq!(typical(&[9.0, 1.0]), 1.0);
        assert_eq!(typical(&[9.0]), 9.0);
        assert_eq!(typical(&[]), 0.0);
    }

    #[test]
    fn rounds_go_on_until_the_time_is_over() {
        let spent = Duration::from_secs(2);
        assert!(wants_more(&[], Duration::ZERO), "at least one");
        assert!(wants_more(&[0.5, 1.0], spent));
        assert!(!wants_more(&[0.5, 1.5], spent));
        assert!(wants_more(&[3.0], spent), "the first one warms up");
        assert!(!wants_more(&[9.0], spent) && !wants_more(&[3.0, 0.1], spent));
    }
}
