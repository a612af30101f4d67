//! `meshfold plan FILE --time`: how long the runs take here, measured by their first rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use meshfold_data::DataFolder;
use meshfold_engine::{Device, DeviceRequest};
use meshfold_experiment::{RunPlan, RunTiming, SharedDatasets, time_run};
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::figures::duration;
use crate::interruption::Interruption;
use crate::table::Column;
use crate::terminal;

/// The columns that a table has of [`Timed`].
pub(super) const COLUMNS: [Column<'_>; 2] = [Column::Figure("time/round"), Column::Figure("time")];

/// How long a run takes.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Timed {
    /// Of the whole run.
    seconds: f64,
    /// What its parts take, or those of a run with the same work; absent if the time was over before its turn.
    #[serde(flatten)]
    measured: Option<RunTiming>,
}

impl Timed {
    pub(super) fn cells(&self) -> [String; 2] {
        let whole = long(self.seconds);
        match self.measured {
            Some(timing) => [short(timing.round_seconds), whole],
            None => ["-".to_owned(), format!("~ {whole}")],
        }
    }
}

/// Seconds of a round, which may be a small part of one.
fn short(seconds: f64) -> String {
    match seconds {
        0.0..1e-3 => format!("{:.0} µs", seconds * 1e6),
        1e-3..1.0 => format!("{:.3} s", seconds),
        _ => format!("{seconds:.1} s"),
    }
}

/// Seconds of whole runs.
fn long(seconds: f64) -> String {
    Duration::try_from_secs_f64(seconds).map_or_else(|_| "-".to_owned(), duration)
}

/// Measures `plans`, which takes about the time `spent`, or as long as a round of the first run and one evaluation. On the
/// processor a run has one thread, as the runs of a sweep do. Of runs with the same work one is measured. What is left when
/// the time is over is estimated from those that were measured.
///
/// # Errors
/// [`Failure::Interrupted`] and [`Failure::Stopped`]; [`Failure::Broken`] if a run fails in its first rounds;
/// [`Failure::Refused`] if its data cannot be read.
pub(super) fn time(
    plans: &[RunPlan],
    device: &Device,
    folder: &DataFolder,
    spent: Duration,
) -> Result<Vec<Timed>, Failure> {
    let asked = Interruption::listen()?;
    let device = &of_a_run(device)?;
    let work: Vec<String> = plans.iter().map(work).collect();
    let mut firsts: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, work) in work.iter().enumerate() {
        firsts.entry(work).or_insert(place);
    }
    let kinds: BTreeSet<usize> = firsts.values().copied().collect();
    terminal::line(&format!(
        "carrying out first rounds of {} for {}",
        match kinds.len() {
            1 => "a run".to_owned(),
            some => format!("{some} runs"),
        },
        duration(spent)
    ));
    let datasets = SharedDatasets::new(plans, folder);
    let share = spent.div_f64(kinds.len().max(1) as f64);
    let mut of_kind: BTreeMap<usize, RunTiming> = BTreeMap::new();
    let begun = Instant::now();
    for &kind in &kinds {
        if begun.elapsed() >= spent && !of_kind.is_empty() {
            break;
        }
        let splits = datasets.splits(kind, kind + 1)?;
        let timing = time_run(&plans[kind], &splits, device, share, asked.flag());
        let failed = |error| {
            Failure::broken(format_args!(
                "{}: {error}; the run would fail, too",
                plans[kind].label()
            ))
        };
        match timing.map_err(failed)? {
            Some(timing) => of_kind.insert(kind, timing),
            None => return Err(asked.failure()),
        };
    }
    if asked.flag().load(Ordering::Relaxed) {
        return Err(asked.failure());
    }
    let ratio = ratio(&of_kind, plans);
    let timed = plans.iter().zip(&work).map(|(plan, own)| {
        let measured = of_kind.get(&firsts[own.as_str()]).copied();
        Timed {
            seconds: match measured {
                Some(timing) => timing.seconds(&plan.config),
                None => ratio * plan.seconds,
            },
            measured,
        }
    });
    Ok(timed.collect())
}

/// Says how long all runs take together.
///
/// # Errors
/// The error of standard output.
pub(super) fn print_together(timed: &[Timed], device: &Device) -> Result<(), Failure> {
    let all: f64 = timed.iter().map(|run| run.seconds).sum();
    let runs = match timed.len() {
        1 => "the run takes".to_owned(),
        some => format!("all {some} runs take"),
    };
    let mut output = std::io::stdout().lock();
    match device.threads() {
        None => writeln!(output, "{runs} {} one after the other", long(all))?,
        Some(1) => writeln!(output, "{runs} {} on one thread", long(all))?,
        Some(threads) => writeln!(
            output,
            "{runs} {} on one thread, about {} on {threads}",
            long(all),
            long(all / threads as f64)
        )?,
    }
    if timed.iter().any(|run| run.measured.is_none()) {
        writeln!(
            output,
            "~: not measured, as the time was over; estimated from the runs that were"
        )?;
    }
    Ok(())
}

/// The device that one run of a sweep on `device` has.
fn of_a_run(device: &Device) -> Result<Device, Failure> {
    Ok(match device.instructions() {
        Some(instructions) => Device::open(DeviceRequest::Cpu, Some(1), Some(instructions))?,
        None => device.clone(),
    })
}

/// What decides how long a round and an evaluation of `plan` take: its settings without seeds, rounds and learning rates.
fn work(plan: &RunPlan) -> String {
    let mut config = plan.config.to_json();
    if let Some(settings) = config.as_object_mut() {
        for key in ["name", "seed", "seeds", "rounds", "budget", "checkpoint"] {
            settings.remove(key);
        }
    }
    if let Some(methods) = config["algorithm"].as_object_mut() {
        for method in methods.values_mut().filter_map(Value::as_object_mut) {
            method.remove("learning_rate");
        }
    }
    config.to_string()
}

/// How many times as long as their plans say the measured runs take, in the middle.
fn ratio(of_kind: &BTreeMap<usize, RunTiming>, plans: &[RunPlan]) -> f64 {
    let ratio = |(kind, timing): (&usize, &RunTiming)| {
        let plan = &plans[*kind];
        timing.seconds(&plan.config) / plan.seconds
    };
    let mut ratios: Vec<f64> = of_kind.iter().map(ratio).collect();
    ratios.retain(|ratio| ratio.is_finite());
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied().unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_given_in_a_unit_that_fits() {
        assert_eq!(
            [2e-5, 0.0123, 4.56].map(short),
            ["20 µs", "0.012 s", "4.6 s"]
        );
    }
}
