//! Timing of repeats and the figures of the process.

use std::time::Instant;

/// How often a workload is run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Protocol {
    pub(crate) repeat: usize,
    pub(crate) warmup: usize,
}

/// Losses, wall and processor seconds of the timed repeats.
#[derive(Debug, Default)]
pub(crate) struct Timing {
    pub(crate) losses: Vec<f64>,
    pub(crate) seconds: Vec<f64>,
    pub(crate) cpu_seconds: Vec<f64>,
}

impl Protocol {
    /// How often it runs a workload in all.
    pub(crate) fn repeats(self) -> usize {
        self.warmup + self.repeat
    }

    /// Runs `repeat`, which returns a loss, as often as the protocol says.
    pub(crate) fn time<E>(self, mut repeat: impl FnMut() -> Result<f64, E>) -> Result<Timing, E> {
        let mut timing = Timing::default();
        for index in 0..self.warmup + self.repeat {
            let (cpu, start) = (cpu_seconds(), Instant::now());
            let loss = repeat()?;
            let (seconds, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
            timing.losses.push(loss);
            if index >= self.warmup {
                timing.seconds.push(seconds);
                timing.cpu_seconds.push(cpu);
            }
        }
        timing.seconds.sort_by(f64::total_cmp);
        timing.cpu_seconds.sort_by(f64::total_cmp);
        Ok(timing)
    }
}

impl Timing {
    /// Median, least and most seconds.
    pub(crate) fn spread(&self) -> [f64; 3] {
        let count = self.seconds.len();
        [
            self.seconds[count / 2],
            self.seconds[0],
            self.seconds[count - 1],
        ]
    }
}

/// Five significant digits, as the other programs print.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

/// Processor seconds of this process, user and system.
fn cpu_seconds() -> f64 {
    // Fields 14 and 15 of the line, counted from 1, in ticks of which Linux has 100 a second.
    let line = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = line.rsplit(')').next().unwrap_or_default();
    after
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum::<f64>()
        / 100.0
}

/// Most memory that the process has held, in MiB.
pub(crate) fn peak_rss_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or(0)
        / 1024
}
