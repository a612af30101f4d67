//! What some threads would do with the recorded work of a sweep, as the pool of the processor deals it.
//!
//! A thread with a run carries it out. Where it shares work it takes part after part, and threads without a run take parts, too. Where
//! all parts of its own work are taken, it helps others until they are done; while it waits for the disk, it helps nobody. Threads
//! without a run take the next one, as long as no more runs go on at once than may. Each part takes as long as it took one thread alone:
//! the threads' shares of caches and memory are those of one thread.

use std::collections::BTreeMap;
use std::fmt;

use super::phase::Phase;

/// A segment of a run.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    pub(super) phase: Phase,
    pub(super) work: Work,
}

/// Seconds that the segment takes one thread.
#[derive(Debug, Clone)]
pub(super) enum Work {
    /// Nobody can help.
    Alone(f64),
    /// Parts that any thread can take.
    Shared(Vec<f64>),
    /// The disk has something to do, and no thread.
    Disk(f64),
}

impl Work {
    /// Seconds that a thread works.
    pub(super) fn seconds(&self) -> f64 {
        match self {
            Self::Alone(seconds) => *seconds,
            Self::Shared(parts) => parts.iter().sum(),
            Self::Disk(_) => 0.0,
        }
    }
}

/// Why a thread has nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Idle {
    /// Its run waits for rows that other threads have, or for the last rows there is nothing to share.
    Rows,
    /// Its run waits for the disk.
    Disk,
    /// All runs have begun, and those that go on have nothing to share.
    NoRunLeft,
    /// The only run does what one thread does alone.
    Alone(Phase),
}

impl fmt::Display for Idle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows => out.write_str("while others have the last rows of a run"),
            Self::Disk => out.write_str("while the disk has work"),
            Self::NoRunLeft => out.write_str("after the last run has begun"),
            Self::Alone(phase) => write!(out, "while one thread alone has work: {}", phase.name()),
        }
    }
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    /// From the first run's beginning to the last one's end.
    pub(super) seconds: f64,
    /// Seconds that threads had nothing to do, all together.
    pub(super) idle: BTreeMap<Idle, f64>,
}

/// A run that goes on.
struct RunInProgress<'a> {
    segments: &'a [Segment],
    at: usize,
    taken: usize,
    done: usize,
    /// When the disk is done, if the run waits for it.
    until: Option<f64>,
}

impl RunInProgress<'_> {
    fn now(&self) -> Option<&Segment> {
        self.segments.get(self.at)
    }

    /// The next part that is to be had, in seconds.
    fn part(&self) -> Option<f64> {
        match &self.now()?.work {
            Work::Shared(parts) => parts.get(self.taken).copied(),
            _ => None,
        }
    }

    fn advance(&mut self) {
        self.at += 1;
        (self.taken, self.done, self.until) = (0, 0, None);
    }
}

/// What a thread has to do until some time.
#[derive(Clone, Copy)]
struct Task {
    until: f64,
    /// The thread whose run it is of.
    of: usize,
}

/// What carrying out `runs` would take on `threads` threads, up to `at_once` runs at the same time.
pub(super) fn simulate(runs: &[Vec<Segment>], threads: usize, at_once: usize) -> Timeline {
    let mut pool = Pool {
        waiting: runs,
        at_once: at_once.min(threads),
        runs: (0..threads).map(|_| None).collect(),
        tasks: vec![None; threads],
        now: 0.0,
    };
    let mut timeline = Timeline::default();
    loop {
        while (0..threads).any(|thread| pool.begin(thread)) {}
        let Some(next) = pool.next() else {
            timeline.seconds = pool.now;
            return timeline;
        };
        for thread in (0..threads).filter(|thread| pool.tasks[*thread].is_none()) {
            *timeline.idle.entry(pool.why_idle(thread)).or_default() += next - pool.now;
        }
        pool.now = next;
        pool.finish();
    }
}

struct Pool<'a> {
    waiting: &'a [Vec<Segment>],
    at_once: usize,
    /// The run of each thread that has one.
    runs: Vec<Option<RunInProgress<'a>>>,
    tasks: Vec<Option<Task>>,
    now: f64,
}

impl<'a> Pool<'a> {
    /// Gives `thread` something to do, if it has nothing to do and there is something. Whether anything has changed.
    fn begin(&mut self, thread: usize) -> bool {
        if self.tasks[thread].is_some() {
            return false;
        }
        if self.runs[thread].is_none() && !self.take_run(thread) {
            return self.take_part(thread);
        }
        let run = self.runs[thread].as_mut().expect("it has just been found");
        let Some(segment) = run.now() else {
            self.runs[thread] = None;
            return true;
        };
        match &segment.work {
            Work::Alone(seconds) => {
                let until = self.now + seconds;
                self.tasks[thread] = Some(Task { until, of: thread });
                true
            }
            Work::Shared(parts) if run.done == parts.len() => {
                run.advance();
                true
            }
            Work::Shared(_) => self.take_part(thread),
            Work::Disk(seconds) => {
                let until = *run.until.get_or_insert(self.now + seconds);
                let is_over = until <= self.now;
                if is_over {
                    run.advance();
                }
                is_over
            }
        }
    }

    /// When a thread or the disk is done next; `None` if all is done.
    fn next(&self) -> Option<f64> {
        let tasks = self.tasks.iter().flatten().map(|task| task.until);
        let disk = self.runs.iter().flatten().filter_map(|run| run.until);
        let to_come = disk.filter(|until| *until > self.now);
        tasks.chain(to_come).min_by(f64::total_cmp)
    }

    /// Gives `thread` the next run, if it may have one.
    fn take_run(&mut self, thread: usize) -> bool {
        // The pool gives runs to its first threads.
        if thread >= self.at_once {
            return false;
        }
        let Some((next, rest)) = self.waiting.split_first() else {
            return false;
        };
        self.waiting = rest;
        self.runs[thread] = Some(RunInProgress {
            segments: next,
            at: 0,
            taken: 0,
            done: 0,
            until: None,
        });
        true
    }

    /// Gives `thread` a part of what is shared, its own first.
    fn take_part(&mut self, thread: usize) -> bool {
        let others = (0..self.runs.len()).filter(|other| *other != thread);
        for of in [thread].into_iter().chain(others) {
            let Some(run) = &mut self.runs[of] else {
                continue;
            };
            if let Some(seconds) = run.part() {
                run.taken += 1;
                let until = self.now + seconds;
                self.tasks[thread] = Some(Task { until, of });
                return true;
            }
        }
        false
    }

    /// Ends the tasks whose time has come.
    fn finish(&mut self) {
        for thread in 0..self.tasks.len() {
            let Some(task) = self.tasks[thread].filter(|task| task.until <= self.now) else {
                continue;
            };
            self.tasks[thread] = None;
            let run = self.runs[task.of].as_mut();
            let run = run.expect("a run waits for all of its parts");
            match run.now().map(|segment| &segment.work) {
                Some(Work::Shared(_)) => run.done += 1,
                _ => run.advance(),
            }
        }
    }

    fn why_idle(&self, thread: usize) -> Idle {
        let own = self.runs[thread].as_ref();
        if own.is_none() && self.at_once > 1 {
            return Idle::NoRunLeft;
        }
        let only = || self.runs.iter().flatten().next();
        match own.or_else(only).and_then(RunInProgress::now) {
            Some(Segment {
                phase,
                work: Work::Alone(_),
            }) => Idle::Alone(*phase),
            Some(Segment {
                work: Work::Disk(_),
                ..
            }) => Idle::Disk,
            _ => Idle::Rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone(seconds: f64) -> Segment {
        Segment {
            phase: Phase::Rounds,
            work: Work::Alone(seconds),
        }
    }

    fn shared(parts: &[f64]) -> Segment {
        Segment {
            phase: Phase::Rounds,
            work: Work::Shared(parts.to_vec()),
        }
    }

    #[test]
    fn one_thread_does_everything_in_turn() {
        let runs = vec![vec![alone(1.0), shared(&[1.0, 2.0])]; 3];
        let found = simulate(&runs, 1, 1);
        assert_eq!(found.seconds, 12.0);
        assert!(found.idle.is_empty());
    }

    #[test]
    fn what_one_thread_does_alone_leaves_the_others_idle() {
        let runs = vec![vec![alone(1.0), shared(&[1.0; 5])]];
        let found = simulate(&runs, 4, 1);
        assert_eq!(found.seconds, 3.0);
        assert_eq!(found.idle[&Idle::Alone(Phase::Rounds)], 3.0);
        assert_eq!(found.idle[&Idle::Rows], 3.0, "five rows, four threads");
    }

    #[test]
    fn side_by_side_only_the_end_leaves_threads_idle() {
        let runs = vec![vec![alone(1.0), shared(&[1.0])]; 3];
        let found = simulate(&runs, 2, 2);
        assert_eq!(found.seconds, 4.0);
        assert_eq!(found.idle[&Idle::NoRunLeft], 2.0);
        assert_eq!(found.idle.len(), 1);
    }

    #[test]
    fn whoever_waits_for_the_disk_helps_nobody() {
        let disk = Segment {
            phase: Phase::Ending,
            work: Work::Disk(2.0),
        };
        let alone_with_it = simulate(&[vec![disk.clone(), alone(1.0)]], 2, 1);
        assert_eq!(alone_with_it.seconds, 3.0);
        assert_eq!(alone_with_it.idle[&Idle::Disk], 4.0);
        let runs = vec![vec![disk], vec![shared(&[1.0; 4])]];
        let found = simulate(&runs, 2, 2);
        assert_eq!(found.seconds, 3.0);
        assert_eq!(found.idle[&Idle::Disk], 2.0);
    }

    #[test]
    fn threads_without_a_run_take_parts() {
        let runs = vec![vec![shared(&[1.0; 4])], vec![shared(&[1.0; 8])]];
        assert_eq!(simulate(&runs, 2, 2).seconds, 6.0);
    }
}
