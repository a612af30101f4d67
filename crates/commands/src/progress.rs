//! The progress of a run: a bar on a terminal, plain lines elsewhere.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use meshfold_experiment::{Observer, Record, Resumed, RoundProgress, RunPlan};

use crate::figures::{count, duration, percent};
use crate::terminal;

/// Shortest time between two plain lines, so that logs stay short.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// Shows the progress of one run.
pub(crate) struct Progress {
    /// What the run is called, with its place among the runs.
    title: String,
    display: Display,
    rate: RoundRate,
    accuracy: Option<f64>,
}

enum Display {
    Nothing,
    /// Drawn from the start of the run on.
    Bar(Option<ProgressBar>),
    /// When the last line was written.
    Lines(Instant),
}

impl Progress {
    /// The progress of the run called `title`; nothing is shown if `quiet`.
    pub(crate) fn new(title: String, quiet: bool) -> Self {
        let display = match (quiet, terminal::is_watched()) {
            (true, _) => Display::Nothing,
            (false, true) => Display::Bar(None),
            (false, false) => Display::Lines(Instant::now()),
        };
        Self {
            title,
            display,
            rate: RoundRate::new(),
            accuracy: None,
        }
    }

    fn show(&mut self, progress: &RoundProgress) {
        let accuracy = self
            .accuracy
            .map(|accuracy| format!("accuracy {}", percent(accuracy)));
        let speed = self
            .rate
            .steps_per_second(progress)
            .map(|speed| format!("{} steps/s", count(speed as u64)));
        let left = self
            .rate
            .time_left(progress)
            .map(|left| format!("{} left", duration(left)));
        let facts = [accuracy, speed, left]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(", ");
        match &mut self.display {
            Display::Nothing | Display::Bar(None) => {}
            Display::Bar(Some(bar)) => {
                bar.set_message(facts);
                bar.set_position(progress.round as u64);
            }
            Display::Lines(last) if last.elapsed() >= BETWEEN_LINES => {
                *last = Instant::now();
                terminal::line(&format!(
                    "{}: round {}/{}, {facts}",
                    self.title, progress.round, progress.rounds
                ));
            }
            Display::Lines(_) => {}
        }
    }
}

impl Observer for Progress {
    fn started(&mut self, plan: &RunPlan) {
        self.rate = RoundRate::new();
        match &mut self.display {
            Display::Nothing => {}
            Display::Bar(bar) => {
                let style = ProgressStyle::with_template("{prefix} {wide_bar} {pos}/{len}  {msg}");
                let fresh = ProgressBar::hidden()
                    .with_style(style.expect("the template is valid"))
                    .with_prefix(self.title.clone());
                fresh.set_length(plan.config.rounds as u64);
                *bar = Some(terminal::show(fresh));
            }
            Display::Lines(_) => {
                terminal::line(&format!("{}: {} rounds", self.title, plan.config.rounds))
            }
        }
    }

    fn preparing(&mut self, what: &str) {
        match &self.display {
            Display::Nothing | Display::Bar(None) => {}
            Display::Bar(Some(bar)) => bar.set_message(format!("looks for {what}")),
            Display::Lines(_) => terminal::line(&format!("{}: looks for {what}", self.title)),
        }
    }

    fn resumed(&mut self, from: &Resumed) {
        self.rate = RoundRate::resumed();
        let of = from.shorter.as_ref().map_or_else(String::new, |shorter| {
            format!(", the last of run {shorter}")
        });
        let (title, round) = (&self.title, from.round);
        terminal::line(&format!("{title}: goes on after round {round}{of}"));
    }

    fn round(&mut self, progress: &RoundProgress) {
        self.rate.round(progress);
        self.show(progress);
    }

    fn record(&mut self, record: &Record) {
        self.accuracy = Some(record.test_accuracy.mean);
        self.rate.record(record.round);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Display::Bar(Some(bar)) = &self.display {
            bar.finish_and_clear();
        }
    }
}

/// How fast a run is.
struct RoundRate {
    /// When the first counted round began, and the rounds and steps done by then.
    start: Option<(Instant, usize, u64)>,
    /// When the latest round or evaluation ended.
    last: Instant,
    /// Time spent in rounds, evaluations left out.
    training: Duration,
}

impl RoundRate {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            start: Some((now, 0, 0)),
            last: now,
            training: Duration::ZERO,
        }
    }

    /// The first round of a resumed run only tells how many steps there have been.
    fn resumed() -> Self {
        Self {
            start: None,
            ..Self::new()
        }
    }

    fn round(&mut self, progress: &RoundProgress) {
        let now = Instant::now();
        match self.start {
            Some(_) => self.training += now - self.last,
            None => self.start = Some((now, progress.round, progress.local_steps)),
        }
        self.last = now;
    }

    fn record(&mut self, round: usize) {
        self.last = Instant::now();
        if round == 0 {
            // Loading and the first evaluation are no part of the rate.
            self.start = Some((self.last, 0, 0));
        }
    }

    /// Local steps per second of training.
    fn steps_per_second(&self, progress: &RoundProgress) -> Option<f64> {
        let (_, _, before) = self.start?;
        let seconds = self.training.as_secs_f64();
        (seconds > 0.0).then(|| (progress.local_steps - before) as f64 / seconds)
    }

    /// Time until the last round, evaluations included.
    fn time_left(&self, progress: &RoundProgress) -> Option<Duration> {
        let (began, before, _) = self.start?;
        let done = progress
            .round
            .checked_sub(before)
            .filter(|done| *done > 0)?;
        Some(
            began
                .elapsed()
                .mul_f64((progress.rounds - progress.round) as f64 / done as f64),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(round: usize, local_steps: u64) -> RoundProgress {
        RoundProgress {
            round,
            rounds: 10,
            local_steps,
        }
    }

    #[test]
    fn steps_before_a_resumption_do_not_count_as_speed() {
        let mut rate = RoundRate::resumed();
        rate.round(&progress(5, 1_000_000));
        assert!(rate.steps_per_second(&progress(5, 1_000_000)).is_none());
        std::thread::sleep(Duration::from_millis(20));
        let next = progress(6, 1_000_010);
        rate.round(&next);
        let speed = rate.steps_per_second(&next).unwrap();
        assert!(speed > 0.0 && speed <= 500.0, "{speed}");
    }

    #[test]
    fn the_time_left_is_that_of_the_rounds_to_come() {
        let mut rate = RoundRate::new();
        rate.record(0);
        std::thread::sleep(Duration::from_millis(20));
        let half = progress(5, 50);
        rate.round(&half);
        let left = rate.time_left(&half).unwrap();
        assert!(
            left >= Duration::from_millis(20) && left < Duration::from_secs(5),
            "{left:?}"
        );
        assert!(rate.time_left(&progress(10, 100)).unwrap().is_zero());
    }
}
