//! `meshfold report DIR...`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use meshfold_comparison::write_combined;
use meshfold_experiment::results::is_run;
use meshfold_report::{LeftOut, PAGE, write_gathered};

use crate::failure::Failure;
use crate::gathered::gathered;
use crate::terminal;

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Folders of runs, or folders that hold runs
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// The page to write [default: report.html, in DIR if there is one only]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Writes one page about the runs in the folders and, for the folder of an experiment, the tables of all its runs.
///
/// # Errors
/// [`Failure::Refused`] if there is no run in the folders, [`Failure::Broken`] if the page fails or every run is damaged,
/// [`Failure::Incomplete`] if the page leaves out a damaged run.
pub(crate) fn report(arguments: &ReportArguments) -> Result<(), Failure> {
    let page = arguments
        .out
        .clone()
        .unwrap_or_else(|| match arguments.folders.as_slice() {
            [folder] => folder.join(PAGE),
            _ => PathBuf::from(PAGE),
        });
    let gathered = gathered(&arguments.folders)?;
    write_gathered(&gathered, &page)?;
    if let [folder] = arguments.folders.as_slice()
        && !is_run(folder)
    {
        write_combined(&gathered.runs, folder).map_err(Failure::broken)?;
    }
    for run in &gathered.left_out {
        terminal::line(&run.to_string());
    }
    writeln!(std::io::stdout().lock(), "report: {}", page.display())?;
    match gathered.left_out.iter().any(LeftOut::is_damaged) {
        true => Err(Failure::Incomplete),
        false => Ok(()),
    }
}
