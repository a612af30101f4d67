//! The time that a run takes: on the clock, and of the processor as long as no other run shares the program.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

/// Runs in progress in this program, and all that have begun.
static IN_PROGRESS: AtomicUsize = AtomicUsize::new(0);
static BEGUN: AtomicUsize = AtomicUsize::new(0);

/// Seconds that were worked on a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Worked {
    /// On the clock.
    pub(crate) wall: f64,
    /// Of all threads of the processor together; absent where runs shared the program for a while, or the system does not
    /// tell.
    pub(crate) processor: Option<f64>,
}

impl Worked {
    /// Nothing yet.
    pub(crate) const NOTHING: Self = Self {
        wall: 0.0,
        processor: Some(0.0),
    };
}

/// The time since a run began in this program, and what was worked on it before.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    began: Instant,
    /// What the program had worked by then; absent if other runs were in progress.
    processor: Option<f64>,
    /// This run's number among those that have begun.
    number: usize,
    before: Worked,
}

impl Stopwatch {
    /// Begins to measure a run.
    pub(crate) fn start() -> Self {
        let is_alone = IN_PROGRESS.fetch_add(1, Ordering::SeqCst) == 0;
        Self {
            began: Instant::now(),
            processor: is_alone.then(of_this_program).flatten(),
            number: BEGUN.fetch_add(1, Ordering::SeqCst) + 1,
            before: Worked::NOTHING,
        }
    }

    /// Begins again, after what earlier programs worked on the run.
    pub(crate) fn resume(&mut self, before: Worked) {
        self.began = Instant::now();
        self.processor = self.processor.and_then(|_| of_this_program());
        self.before = before;
    }

    /// Seconds on the clock.
    pub(crate) fn wall(&self) -> f64 {
        self.before.wall + self.began.elapsed().as_secs_f64()
    }

    /// What was worked until now.
    pub(crate) fn worked(&self) -> Worked {
        Worked {
            wall: self.wall(),
            processor: self.processor(),
        }
    }

    fn processor(&self) -> Option<f64> {
        let is_alone = BEGUN.load(Ordering::SeqCst) == self.number;
        let (before, began) = (self.before.processor?, self.processor.filter(|_| is_alone)?);
        Some(before + (of_this_program()? - began).max(0.0))
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        IN_PROGRESS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Seconds of processor time that all threads of this program have had.
#[cfg(target_os = "linux")]
fn of_this_program() -> Option<f64> {
    // One short file: what knows other systems, too, reads a page for each core here.
    match std::fs::read_to_string("/proc/self/stat") {
        Ok(line) => Some(ticks(&line)? as f64 / TICKS),
        Err(_) => of_the_system(),
    }
}

#[cfg(not(target_os = "linux"))]
fn of_this_program() -> Option<f64> {
    of_the_system()
}

/// Units of a second in which Linux tells programs of processor time, on every machine.
#[cfg(target_os = "linux")]
const TICKS: f64 = 100.0;

/// User and system time in the line of `/proc/self/stat`.
#[cfg(target_os = "linux")]
fn ticks(line: &str) -> Option<u64> {
    // The name of the program stands in brackets and may hold any character.
    let (_, fields) = line.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

/// The same as the system tells it, whichever it is.
fn of_the_system() -> Option<f64> {
    let id = sysinfo::get_current_pid().ok()?;
    let mut system = System::new();
    let with_time = ProcessRefreshKind::nothing().with_cpu();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[id]), false, with_time);
    let milliseconds = system.process(id)?.accumulated_cpu_time();
    Some(milliseconds as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_beside_another_does_not_know_its_processor_time() {
        let mut first = Stopwatch::start();
        first.resume(Worked {
            wall: 10.0,
            processor: Some(5.0),
        });
        let second = Stopwatch::start();
        assert_eq!(second.worked().processor, None, "it was never alone");
        drop(second);
        let worked = first.worked();
        assert_eq!(worked.processor, None, "it was not always alone");
        assert!((10.0..1000.0).contains(&worked.wall), "{worked:?}");
    }

    #[test]
    fn both_ways_of_asking_agree() {
        let [one, other] = [of_the_system(), of_this_program()].map(Option::unwrap);
        assert!((0.0..5.0).contains(&(other - one)), "{one} {other}");
    }

    #[test]
    fn the_system_tells_the_processor_time() {
        let before = of_this_program().unwrap();
        let began = Instant::now();
        let mut sum = 0u64;
        while began.elapsed().as_millis() < 100 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let took = of_this_program().unwrap() - before;
        assert!(took > 0.0, "{took}");
    }
}
