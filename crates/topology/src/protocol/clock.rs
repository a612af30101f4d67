//! The clock of the simulation, which jumps from one event to the next.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A moment or a span of simulated time, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Time(u64);

impl Time {
    /// After everything else.
    pub(super) const FAR: Self = Self(u64::MAX);

    /// Not negative, rounded to microseconds.
    pub(super) fn from_seconds(seconds: f64) -> Self {
        Self((seconds * 1e6).round() as u64)
    }

    pub(super) fn from_milliseconds(milliseconds: f64) -> Self {
        Self((milliseconds * 1e3).round() as u64)
    }

    pub(super) fn seconds(self) -> f64 {
        self.0 as f64 / 1e6
    }

    pub(super) fn after(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The span since `earlier`.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

/// Events to come, the earliest first; of those at one time the one that was planned first.
#[derive(Debug)]
pub(super) struct Clock<E> {
    now: Time,
    planned: u64,
    queue: BinaryHeap<Planned<E>>,
}

#[derive(Debug)]
struct Planned<E> {
    at: Time,
    number: u64,
    event: E,
}

impl<E> Clock<E> {
    pub(super) fn new() -> Self {
        Self {
            now: Time::default(),
            planned: 0,
            queue: BinaryHeap::new(),
        }
    }

    pub(super) fn now(&self) -> Time {
        self.now
    }

    /// Plans `event` for the moment `span` from now.
    pub(super) fn plan(&mut self, span: Time, event: E) {
        self.queue.push(Planned {
            at: self.now.after(span),
            number: self.planned,
            event,
        });
        self.planned += 1;
    }

    /// The next event up to the moment `end`, which becomes now.
    pub(super) fn next(&mut self, end: Time) -> Option<E> {
        if self.queue.peek()?.at > end {
            return None;
        }
        let Planned { at, event, .. } = self.queue.pop()?;
        self.now = at;
        Some(event)
    }
}

impl<E> Ord for Planned<E> {
    /// The largest of the heap is the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<E> PartialOrd for Planned<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Planned<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Planned<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_by_when_they_were_planned() {
        let mut clock = Clock::new();
        let end = Time::from_seconds(3.0);
        for (seconds, name) in [(2.0, 'a'), (1.0, 'b'), (2.0, 'c'), (1.0, 'd'), (4.0, 'e')] {
            clock.plan(Time::from_seconds(seconds), name);
        }
        assert_eq!(clock.next(end), Some('b'));
        clock.plan(Time::default(), 'f');
        let rest: Vec<char> = std::iter::from_fn(|| clock.next(end)).collect();
        assert_eq!(rest, ['d', 'f', 'a', 'c']);
        assert_eq!(clock.now().seconds(), 2.0);
    }
}
