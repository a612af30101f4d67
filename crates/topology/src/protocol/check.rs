//! Checks the settings of a simulation.

use super::churn::{Change, Churn, ChurnEvent, Latency};
use super::error::ChurnError;

/// The most nodes that one simulation may meet, those that join included.
const MOST_NODES: usize = 1_000_000;
/// The most rings.
const MOST_SPACES: usize = 64;
/// The most samples.
const MOST_SAMPLES: f64 = 1e6;
/// The longest simulation, about eleven days.
const MOST_SECONDS: f64 = 1e6;
/// The shortest time from one heartbeat or sample to the next.
const LEAST_SECONDS: f64 = 1e-3;

impl Churn {
    /// Checks every value.
    ///
    /// # Errors
    /// [`ChurnError`] of the first setting that cannot work.
    pub fn check(&self) -> Result<(), ChurnError> {
        if !(2..=MOST_NODES).contains(&self.nodes) {
            return Err(ChurnError::new(
                "nodes",
                self.nodes,
                format!("2 to {MOST_NODES} nodes"),
            ));
        }
        if !(1..=MOST_SPACES).contains(&self.spaces) {
            return Err(ChurnError::new(
                "spaces",
                self.spaces,
                format!("1 to {MOST_SPACES} rings"),
            ));
        }
        self.latency.check()?;
        self.check_times()?;
        self.check_events()
    }

    fn check_times(&self) -> Result<(), ChurnError> {
        let round_trip = 2.0 * self.latency.longest() / 1000.0;
        let heartbeat = self.heartbeat_seconds;
        if !(heartbeat.is_finite() && heartbeat >= LEAST_SECONDS && heartbeat > round_trip) {
            let needed = format!(
                "at least {LEAST_SECONDS} and more than the longest round trip of {round_trip} seconds"
            );
            return Err(ChurnError::new("heartbeat_seconds", heartbeat, needed));
        }
        let timeout = self.timeout_seconds;
        if !(timeout.is_finite() && timeout >= 2.0 * heartbeat) {
            let needed = format!("at least two heartbeats, {} seconds", 2.0 * heartbeat);
            return Err(ChurnError::new("timeout_seconds", timeout, needed));
        }
        let until = self.until_seconds;
        if !(until > 0.0 && until <= MOST_SECONDS) {
            let needed = format!("more than 0 and at most {MOST_SECONDS} seconds");
            return Err(ChurnError::new("until_seconds", until, needed));
        }
        let sample = self.sample_seconds;
        if !(sample >= LEAST_SECONDS.max(until / MOST_SAMPLES) && sample <= until) {
            let least = LEAST_SECONDS.max(until / MOST_SAMPLES);
            let needed = format!("{least} to {until} seconds, up to the end");
            return Err(ChurnError::new("sample_seconds", sample, needed));
        }
        Ok(())
    }

    /// Checks that events are in the order of time, that each does one thing, and that some node is always alive.
    fn check_events(&self) -> Result<(), ChurnError> {
        let mut earliest = 0.0;
        let mut alive = self.nodes;
        let mut met = self.nodes;
        for (index, event) in self.events.iter().enumerate() {
            let at = event.at_seconds;
            if !(at >= earliest && at <= self.until_seconds) {
                let needed = format!(
                    "{earliest} to {} seconds, events in the order of time",
                    self.until_seconds
                );
                let setting = format!("events.{index}.at_seconds");
                return Err(ChurnError::new(setting, at, needed));
            }
            earliest = at;
            let change = event.check(index, alive)?;
            let nodes = change.nodes(alive);
            match change {
                Change::Join(_) => {
                    met = met.saturating_add(nodes);
                    alive = alive.saturating_add(nodes);
                }
                Change::Leave(_) | Change::Fail(_) => alive -= nodes,
            }
            if met > MOST_NODES {
                let needed = format!("at most {MOST_NODES} nodes in all");
                let setting = format!("events.{index}.join.count");
                return Err(ChurnError::new(setting, nodes, needed));
            }
        }
        Ok(())
    }
}

impl Latency {
    fn check(self) -> Result<(), ChurnError> {
        let is_time = |milliseconds: f64| milliseconds.is_finite() && milliseconds >= 0.0;
        match self {
            Self::Fixed(milliseconds) if !is_time(milliseconds) => Err(ChurnError::new(
                "latency.fixed",
                milliseconds,
                "0 milliseconds or more",
            )),
            Self::Uniform([least, most]) if !(is_time(least) && is_time(most) && least <= most) => {
                Err(ChurnError::new(
                    "latency.uniform",
                    format!("[{least}, {most}]"),
                    "two numbers of milliseconds, 0 or more, the smaller one first",
                ))
            }
            _ => Ok(()),
        }
    }
}

impl ChurnEvent {
    /// What the event does to `alive` nodes, if it can.
    fn check(&self, index: usize, alive: usize) -> Result<Change, ChurnError> {
        let Some(change) = self.change() else {
            return Err(self.not_one_change(index));
        };
        let nodes = change.nodes(alive);
        match change {
            Change::Join(join) if join.count == 0 => Err(ChurnError::new(
                format!("events.{index}.join.count"),
                0,
                "at least 1 node",
            )),
            Change::Leave(leave) if nodes == 0 || nodes >= alive => Err(ChurnError::new(
                format!("events.{index}.leave.count"),
                leave.count,
                format!("1 to {} of the {alive} nodes alive", alive - 1),
            )),
            Change::Fail(fail) if !(fail.share > 0.0 && fail.share < 1.0) => Err(ChurnError::new(
                format!("events.{index}.fail.share"),
                fail.share,
                "a share above 0 and below 1",
            )),
            Change::Fail(fail) if nodes == 0 || nodes >= alive => Err(ChurnError::new(
                format!("events.{index}.fail.share"),
                fail.share,
                format!(
                    "a share that is 1 to {} of the {alive} nodes alive",
                    alive - 1
                ),
            )),
            change => Ok(change),
        }
    }

    fn not_one_change(&self, index: usize) -> ChurnError {
        let changes = [
            ("join", self.join.is_some()),
            ("leave", self.leave.is_some()),
            ("fail", self.fail.is_some()),
        ];
        let there = changes.iter().filter(|(_, is_there)| *is_there);
        let found: Vec<&str> = there.map(|(name, _)| *name).collect();
        let found = match found.as_slice() {
            [] => "without a change".to_owned(),
            names => names.join(" and "),
        };
        let needed = "exactly one of join, leave and fail";
        ChurnError::new(format!("events.{index}"), found, needed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::churn::{Fail, Join, Leave, Start};
    use super::*;

    fn churn() -> Churn {
        Churn {
            nodes: 10,
            spaces: 2,
            seed: 1,
            latency: Latency::Fixed(50.0),
            heartbeat_seconds: 1.0,
            timeout_seconds: 3.0,
            start: Start::Built,
            events: Vec::new(),
            until_seconds: 20.0,
            sample_seconds: 1.0,
        }
    }

    fn refused(change: impl FnOnce(&mut Churn)) -> String {
        let mut churn = churn();
        change(&mut churn);
        churn.check().unwrap_err().to_string()
    }

    #[test]
    fn settings_that_cannot_work_are_named_with_what_is_needed() {
        assert_eq!(churn().check(), Ok(()));
        for (found, expected) in [
            (
                refused(|churn| churn.nodes = 1),
                "nodes is 1, needed 2 to 1000000 nodes",
            ),
            (
                refused(|churn| churn.spaces = 0),
                "spaces is 0, needed 1 to 64 rings",
            ),
            (
                refused(|churn| churn.latency = Latency::Fixed(-1.0)),
                "latency.fixed is -1, needed 0 milliseconds or more",
            ),
            (
                refused(|churn| churn.latency = Latency::Uniform([30.0, 20.0])),
                "latency.uniform is [30, 20], needed two numbers of milliseconds, 0 or more, the smaller one first",
            ),
            (
                refused(|churn| churn.latency = Latency::Fixed(500.0)),
                "heartbeat_seconds is 1, needed at least 0.001 and more than the longest round trip of 1 seconds",
            ),
            (
                refused(|churn| churn.timeout_seconds = 1.5),
                "timeout_seconds is 1.5, needed at least two heartbeats, 2 seconds",
            ),
            (
                refused(|churn| churn.until_seconds = f64::INFINITY),
                "until_seconds is inf, needed more than 0 and at most 1000000 seconds",
            ),
            (
                refused(|churn| churn.sample_seconds = 0.0),
                "sample_seconds is 0, needed 0.001 to 20 seconds, up to the end",
            ),
        ] {
            assert_eq!(found, expected);
        }
        assert!(refused(|churn| churn.heartbeat_seconds = f64::NAN).starts_with("heartbeat"));
    }

    fn event(at_seconds: f64, change: Change) -> ChurnEvent {
        let mut event = ChurnEvent {
            at_seconds,
            ..ChurnEvent::default()
        };
        match change {
            Change::Join(join) => event.join = Some(join),
            Change::Leave(leave) => event.leave = Some(leave),
            Change::Fail(fail) => event.fail = Some(fail),
        }
        event
    }

    #[test]
    fn events_that_cannot_happen_are_named() {
        let join = |count| Change::Join(Join { count });
        let leave = |count| Change::Leave(Leave { count });
        let fail = |share| Change::Fail(Fail { share });
        let with = |events: &[(f64, Change)]| {
            let events = events.iter().map(|&(at, change)| event(at, change));
            refused(|churn| churn.events = events.collect())
        };
        for (found, expected) in [
            (
                with(&[(5.0, join(1)), (4.0, join(1))]),
                "events.1.at_seconds is 4, needed 5 to 20 seconds, events in the order of time",
            ),
            (
                with(&[(21.0, join(1))]),
                "events.0.at_seconds is 21, needed 0 to 20 seconds, events in the order of time",
            ),
            (
                with(&[(1.0, fail(1.0))]),
                "events.0.fail.share is 1, needed a share above 0 and below 1",
            ),
            (
                with(&[(1.0, fail(0.04))]),
                "events.0.fail.share is 0.04, needed a share that is 1 to 9 of the 10 nodes alive",
            ),
            (
                with(&[(1.0, leave(5)), (2.0, leave(5))]),
                "events.1.leave.count is 5, needed 1 to 4 of the 5 nodes alive",
            ),
            (
                with(&[(1.0, join(0))]),
                "events.0.join.count is 0, needed at least 1 node",
            ),
            (
                refused(|churn| churn.events = vec![ChurnEvent::default()]),
                "events.0 is without a change, needed exactly one of join, leave and fail",
            ),
        ] {
            assert_eq!(found, expected);
        }
        let mut both = event(1.0, join(1));
        both.leave = Some(Leave { count: 1 });
        let expected = "events.0 is join and leave, needed exactly one of join, leave and fail";
        assert_eq!(refused(|churn| churn.events = vec![both]), expected);
        let many = with(&[(1.0, join(usize::MAX))]);
        assert!(many.starts_with("events.0.join.count"), "{many}");
    }
}
