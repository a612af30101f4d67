//! A time after which runs end.

use std::str::FromStr;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::interruption::Interruption;
use crate::terminal;

/// A span of time, as `90s`, `10m` or `2h`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Time(Duration);

/// Units with their seconds.
const UNITS: [(char, f64); 3] = [('s', 1.0), ('m', 60.0), ('h', 3600.0)];

/// The longest time: a year.
const MOST: f64 = 365.0 * 24.0 * 3600.0;

impl Time {
    pub(super) fn seconds(self) -> f64 {
        self.0.as_secs_f64()
    }
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let needed = "needed a time such as 90s, 10m or 2h";
        let unit = UNITS.iter().find(|(unit, _)| text.ends_with(*unit));
        let (_, seconds) = unit.ok_or(needed)?;
        let number: f64 = text[..text.len() - 1].parse().map_err(|_| needed)?;
        let seconds = number * seconds;
        match seconds > 0.0 && seconds <= MOST {
            true => Ok(Self(Duration::from_secs_f64(seconds))),
            false => Err(needed.to_owned()),
        }
    }
}

/// When runs are to end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline(Instant);

/// A thread that asks runs to end at a deadline.
#[derive(Debug)]
pub(super) struct Watch {
    done: Sender<()>,
    thread: JoinHandle<bool>,
}

impl Deadline {
    pub(super) fn from_now(time: Time) -> Self {
        Self(Instant::now() + time.0)
    }

    /// Makes the flag of `asked` true at the deadline.
    pub(super) fn watch(self, asked: &Interruption) -> Watch {
        let asked = asked.clone();
        let (done, is_done) = channel();
        let thread = std::thread::spawn(move || {
            let left = self.0.saturating_duration_since(Instant::now());
            // A command that fails drops the watch without sending.
            let is_late = is_done.recv_timeout(left) == Err(RecvTimeoutError::Timeout);
            if is_late && !asked.flag().swap(true, Ordering::Relaxed) {
                terminal::line(
                    "the time is up: runs end after this round, and the same command goes on with them",
                );
                return true;
            }
            false
        });
        Watch { done, thread }
    }
}

impl Watch {
    /// Ends the thread. Returns whether the deadline ended the runs.
    pub(super) fn end(self) -> bool {
        // The thread has ended by itself if nobody listens.
        self.done.send(()).ok();
        self.thread.join().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        let seconds = |text: &str| text.parse::<Time>().map(Time::seconds);
        assert_eq!(seconds("90s"), Ok(90.0));
        assert_eq!(seconds("1.5h"), Ok(5400.0));
        for text in ["10", "", "m", "-3m", "0s", "1e9h", "NaNs"] {
            assert_eq!(
                seconds(text),
                Err("needed a time such as 90s, 10m or 2h".to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn runs_are_asked_to_end_at_the_deadline_and_not_before() {
        let asked = Interruption::default();
        let watch = Deadline::from_now(Time(Duration::from_secs(3600))).watch(&asked);
        assert!(!watch.end());
        assert!(!asked.flag().load(Ordering::Relaxed));
        let watch = Deadline::from_now(Time(Duration::ZERO)).watch(&asked);
        while !asked.flag().load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        assert!(watch.end());
    }

    #[test]
    fn a_watch_that_is_dropped_asks_nobody_to_end() {
        let asked = Interruption::default();
        let watch = Deadline::from_now(Time(Duration::from_secs(3600))).watch(&asked);
        drop(watch.done);
        assert!(!watch.thread.join().unwrap());
        assert!(!asked.flag().load(Ordering::Relaxed));
    }
}
