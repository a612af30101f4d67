//! Records work that threads of the processor could share, and how long each part takes, for benches.

use std::cell::RefCell;
use std::time::{Duration, Instant};

thread_local! {
    static RECORDED: RefCell<Option<Recorded>> = const { RefCell::new(None) };
}

/// What has been recorded on a thread.
#[derive(Debug, Default)]
struct Recorded {
    all: Vec<SharedWork>,
    /// Parts of the shared work in progress.
    parts: Vec<Duration>,
    /// Whether shared work is in progress. Shared work within it is not recorded by itself.
    is_within: bool,
}

/// Work that all threads of a processor could share.
#[derive(Debug, Clone)]
pub struct SharedWork {
    /// When it began.
    pub began: Instant,
    /// How long it took one thread.
    pub took: Duration,
    /// How long each row or part took, in order; empty if the work can be cut anywhere.
    pub parts: Vec<Duration>,
}

impl SharedWork {
    /// Starts recording on this thread, for a device with one thread. Earlier records are dropped.
    pub fn begin() {
        RECORDED.set(Some(Recorded::default()));
    }

    /// Takes what was recorded on this thread since the last call.
    pub fn take() -> Vec<Self> {
        RECORDED.with_borrow_mut(|recorded| {
            let recorded = recorded.as_mut();
            recorded.map_or_else(Vec::new, |recorded| std::mem::take(&mut recorded.all))
        })
    }

    /// Ends the recording on this thread.
    pub fn end() {
        RECORDED.set(None);
    }
}

/// Carries out `work`, which threads share.
pub(crate) fn shared<T>(work: impl FnOnce() -> T) -> T {
    let begins = RECORDED.with_borrow_mut(|recorded| match recorded {
        Some(recorded) if !recorded.is_within => {
            recorded.is_within = true;
            recorded.parts.clear();
            true
        }
        _ => false,
    });
    if !begins {
        return work();
    }
    timed(work, |recorded, began, took| {
        recorded.is_within = false;
        let parts = std::mem::take(&mut recorded.parts);
        recorded.all.push(SharedWork { began, took, parts });
    })
}

/// Carries out `work`, a part of what threads share.
pub(crate) fn part<T>(work: impl FnOnce() -> T) -> T {
    if RECORDED.with_borrow(Option::is_none) {
        return work();
    }
    timed(work, |recorded, _, took| recorded.parts.push(took))
}

/// Carries out `work` and has `keep` record when it began and how long it took, if somebody still asks.
fn timed<T>(work: impl FnOnce() -> T, keep: impl FnOnce(&mut Recorded, Instant, Duration)) -> T {
    let began = Instant::now();
    let done = work();
    let took = began.elapsed();
    RECORDED.with_borrow_mut(|recorded| {
        if let Some(recorded) = recorded {
            keep(recorded, began, took);
        }
    });
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_is_recorded_with_its_parts_while_somebody_asks() {
        let work = || shared(|| (0..3).map(|row| part(|| row)).sum::<u32>());
        assert_eq!(work(), 3);
        assert!(SharedWork::take().is_empty(), "nobody has asked");
        SharedWork::begin();
        let before = Instant::now();
        assert_eq!(shared(work), 3);
        let recorded = SharedWork::take();
        SharedWork::end();
        let [one] = recorded.as_slice() else {
            panic!("work within work is a part of it: {recorded:?}");
        };
        assert_eq!(one.parts.len(), 3);
        assert!(one.began >= before && one.parts.iter().sum::<Duration>() <= one.took);
        work();
        assert!(SharedWork::take().is_empty(), "it has ended");
    }
}
