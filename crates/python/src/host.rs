//! The host of the runs of one call.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use std::time::Duration;

use meshfold_comparison::{COMBINED, write_combined};
use meshfold_data::Splits;
use meshfold_experiment::{Observer, RunHost, RunPlan, RunReport, SharedDatasets};
use meshfold_report::{Gathered, PAGE, write_gathered, write_run_report};

use crate::errors::{Failure, results};
use crate::events::{Ended, Event, Stopping, Watcher, What};

/// Gives the runs of a call their data, and sends what happens in them.
pub(crate) struct Host<'a> {
    /// Whether they belong to a sweep, whose page theirs name.
    pub(crate) is_sweep: bool,
    pub(crate) datasets: SharedDatasets<'a>,
    pub(crate) events: Sender<Event>,
    /// Whether all runs are to end.
    pub(crate) stop: &'a AtomicBool,
    /// Whether each run is to end.
    pub(crate) stops: &'a [Arc<AtomicBool>],
    /// Whether runs wait until call-backs have been called.
    pub(crate) is_awaited: bool,
}

impl RunHost for Host<'_> {
    type Error = Failure;

    fn data(&self, index: usize, next: usize) -> Result<Splits, Failure> {
        Ok(self.datasets.splits(index, next)?)
    }

    fn observer(&self, index: usize) -> Box<dyn Observer + '_> {
        let stopping = Stopping {
            all: self.stop,
            this: &self.stops[index],
            is_awaited: self.is_awaited,
        };
        Box::new(Watcher::new(index, self.events.clone(), stopping))
    }

    fn ended(&self, index: usize, report: &RunReport, _took: Duration) -> Result<(), Failure> {
        let mut ended = Ended::of(report);
        if report.has_all_files()
            && let Err(error) = write_run_report(&report.folder, self.is_sweep)
        {
            // The run is done, whatever becomes of its page.
            ended.error = ended.error.or(Some(format!("no report: {error}")));
        }
        let event = Event::new(index, What::Ended(ended));
        self.events.send(event).ok();
        Ok(())
    }
}

/// Writes what compares the runs of a `sweep`, as the program does: its page and its tables. They have the runs of `reports`, and
/// others that are finished. A single run brings them up to date if they are there.
///
/// # Errors
/// [`Failure::Results`] if a file cannot be read or written.
pub(crate) fn compare(
    sweep: &[RunPlan],
    reports: &[RunReport],
    above: &Path,
) -> Result<(), Failure> {
    let ([first, others @ ..], [_, ..]) = (sweep, reports) else {
        return Ok(());
    };
    let folder = above.join(&first.config.name);
    if others.is_empty() && !folder.join(COMBINED[0]).is_file() {
        return Ok(());
    }
    let own: BTreeSet<&Path> = reports.iter().map(|report| &*report.folder).collect();
    let gathered = Gathered::beside(&own)?;
    write_gathered(&gathered, &folder.join(PAGE))?;
    write_combined(&gathered.runs, &folder).map_err(results)
}
