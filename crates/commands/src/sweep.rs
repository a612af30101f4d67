//! The progress of a whole sweep in one line: runs that have ended, runs that go on, and when the sweep will end.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Zoned;
use meshfold_experiment::{Ending, Observer, Record, Resumed, RoundProgress, RunPlan};

use crate::figures::duration;
use crate::progress::Progress;

/// The runs of one command.
#[derive(Debug)]
pub(crate) struct Sweep {
    began: Instant,
    parts: Mutex<Vec<Part>>,
}

/// One run of a sweep.
#[derive(Clone, Debug)]
struct Part {
    /// What all of it costs, in a unit that the parts share.
    cost: f64,
    rounds: usize,
    /// The share of it that was done before, by another call.
    before: f64,
    /// The share of it that is done.
    done: f64,
    standing: Standing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Waiting,
    Running,
    Finished,
    Failed,
    /// Another process has it.
    Elsewhere,
    Interrupted,
}

impl Part {
    fn new(cost: f64, rounds: usize) -> Self {
        Self {
            cost,
            rounds,
            before: 0.0,
            done: 0.0,
            standing: Standing::Waiting,
        }
    }

    /// The share of it that `rounds` are.
    fn share(&self, rounds: usize) -> f64 {
        rounds as f64 / self.rounds as f64
    }

    /// The cost of what this call has done of it.
    fn worked(&self) -> f64 {
        self.cost * (self.done - self.before)
    }

    /// The cost of what this call has yet to do of it.
    fn left(&self) -> f64 {
        match self.standing {
            Standing::Waiting | Standing::Running => self.cost * (1.0 - self.done),
            _ => 0.0,
        }
    }
}

impl Sweep {
    /// The runs `plans`, which begin now.
    pub(crate) fn of(plans: &[RunPlan]) -> Self {
        let is_known = plans
            .iter()
            .all(|plan| plan.seconds > 0.0 && plan.seconds.is_finite());
        let part = |plan: &RunPlan| {
            let cost = if is_known { plan.seconds } else { 1.0 };
            Part::new(cost, plan.config.rounds)
        };
        Self {
            began: Instant::now(),
            parts: Mutex::new(plans.iter().map(part).collect()),
        }
    }

    /// The line as it is now.
    pub(crate) fn line(&self) -> String {
        line(&self.parts(), self.began.elapsed(), &Zoned::now())
    }

    /// The run at `index` has ended.
    pub(crate) fn ended(&self, index: usize, ending: &Ending) {
        let part = &mut self.parts()[index];
        part.standing = match ending {
            Ending::Finished | Ending::Skipped { .. } => Standing::Finished,
            Ending::Failed { .. } | Ending::Damaged { .. } => Standing::Failed,
            Ending::Elsewhere => Standing::Elsewhere,
            Ending::Interrupted => Standing::Interrupted,
        };
    }

    fn parts(&self) -> MutexGuard<'_, Vec<Part>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The line about `parts`, after they have `taken` so long, at the time `now`.
fn line(parts: &[Part], taken: Duration, now: &Zoned) -> String {
    let count = |standing| {
        parts
            .iter()
            .filter(|part| part.standing == standing)
            .count()
    };
    let mut line = format!(
        "sweep: {} of {} done",
        count(Standing::Finished),
        parts.len()
    );
    for (standing, words) in [
        (Standing::Running, "running"),
        (Standing::Failed, "failed"),
        (Standing::Elsewhere, "in another process"),
    ] {
        match count(standing) {
            0 => {}
            count => line.push_str(&format!(", {count} {words}")),
        }
    }
    line.push_str(&format!("; {} so far", duration(taken)));
    if let Some(left) = time_left(parts, taken)
        && let Ok(end) = now.checked_add(left)
    {
        let format = match end.date() == now.date() {
            true => "%H:%M",
            false => "%F %H:%M",
        };
        let end = end.strftime(format);
        line.push_str(&format!(", {} left, ends about {end}", duration(left)));
    }
    line
}

/// The time that the rest takes at the pace of what has been done; unknown before there is any, or where nothing is left.
fn time_left(parts: &[Part], taken: Duration) -> Option<Duration> {
    let worked: f64 = parts.iter().map(Part::worked).sum();
    let left: f64 = parts.iter().map(Part::left).sum();
    let seconds = taken.as_secs_f64() * left / worked;
    (worked > 0.0 && left > 0.0)
        .then(|| Duration::try_from_secs_f64(seconds).ok())
        .flatten()
}

/// Watches one run of a sweep: for its own bar and for the line of the sweep.
pub(crate) struct RunOfSweep<'a> {
    pub(crate) sweep: &'a Sweep,
    pub(crate) index: usize,
    pub(crate) progress: Progress,
}

impl RunOfSweep<'_> {
    fn change(&self, change: impl FnOnce(&mut Part)) {
        change(&mut self.sweep.parts()[self.index]);
    }
}

impl Observer for RunOfSweep<'_> {
    fn started(&mut self, plan: &RunPlan) {
        self.change(|part| part.standing = Standing::Running);
        self.progress.started(plan);
    }

    fn preparing(&mut self, what: &str) {
        self.progress.preparing(what);
    }

    fn resumed(&mut self, from: &Resumed) {
        self.change(|part| {
            part.done = part.share(from.round);
            part.before = part.done;
        });
        self.progress.resumed(from);
    }

    fn round(&mut self, progress: &RoundProgress) {
        self.change(|part| part.done = part.share(progress.round));
        self.progress.round(progress);
    }

    fn record(&mut self, record: &Record) {
        self.progress.record(record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use jiff::tz::TimeZone;

    /// The line at 14:00, `minutes` after the sweep began.
    fn at(minutes: u64, parts: &[Part]) -> String {
        let now = date(2026, 11, 24).at(14, 0, 0, 0).to_zoned(TimeZone::UTC);
        line(parts, Duration::from_secs(60 * minutes), &now.unwrap())
    }

    fn part(cost: f64, before: f64, done: f64, standing: Standing) -> Part {
        Part {
            before,
            done,
            standing,
            ..Part::new(cost, 10)
        }
    }

    fn waiting() -> Part {
        part(1.0, 0.0, 0.0, Standing::Waiting)
    }

    fn finished() -> Part {
        part(1.0, 0.0, 1.0, Standing::Finished)
    }

    #[test]
    fn before_the_first_round_the_end_is_unknown() {
        let begun = part(1.0, 0.0, 0.0, Standing::Running);
        assert_eq!(
            at(1, &[begun, waiting(), waiting()]),
            "sweep: 0 of 3 done, 1 running; 1 min 0 s so far"
        );
    }

    #[test]
    fn the_first_run_tells_the_pace_by_its_rounds() {
        let half = part(1.0, 0.0, 0.5, Standing::Running);
        assert_eq!(
            at(10, &[half, waiting()]),
            "sweep: 0 of 2 done, 1 running; 10 min 0 s so far, 30 min 0 s left, ends about 14:30"
        );
    }

    #[test]
    fn planned_costs_weigh_the_runs() {
        let large = part(8.0, 0.0, 0.0, Standing::Running);
        let line = at(5, &[finished(), large]);
        assert!(
            line.ends_with("40 min 0 s left, ends about 14:40"),
            "{line}"
        );
    }

    #[test]
    fn what_was_done_before_says_nothing_of_the_pace() {
        let resumed = part(1.0, 0.8, 0.9, Standing::Running);
        let skipped = part(1.0, 0.0, 0.0, Standing::Finished);
        assert_eq!(
            at(2, &[skipped, resumed]),
            "sweep: 1 of 2 done, 1 running; 2 min 0 s so far, 2 min 0 s left, ends about 14:02"
        );
    }

    #[test]
    fn runs_that_failed_or_are_elsewhere_are_not_waited_for() {
        let failed = part(1.0, 0.0, 0.5, Standing::Failed);
        let elsewhere = part(1.0, 0.0, 0.0, Standing::Elsewhere);
        assert_eq!(
            at(30, &[failed, finished(), elsewhere, waiting()]),
            "sweep: 1 of 4 done, 1 failed, 1 in another process; 30 min 0 s so far, 20 min 0 s left, ends about 14:20"
        );
    }

    #[test]
    fn another_day_is_named() {
        let line = at(60, &[finished(), part(20.0, 0.0, 0.0, Standing::Running)]);
        assert!(
            line.ends_with("20 h 0 min left, ends about 2026-11-25 10:00"),
            "{line}"
        );
    }

    #[test]
    fn a_sweep_that_is_done_has_no_end_to_come() {
        assert_eq!(
            at(61, &[finished(), finished()]),
            "sweep: 2 of 2 done; 1 h 1 min so far"
        );
    }
}
