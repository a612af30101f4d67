//! `meshfold report DIR...`.

use std::io::Write;
use std::path::PathBuf;

use meshfold_report::{LeftOut, PAGE, write_report};

use crate::arguments::ReportArguments;
use crate::failure::Failure;
use crate::terminal;

/// Writes one page about the runs in the folders.
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
    let left_out = write_report(&arguments.folders, &page)?;
    for run in &left_out {
        terminal::line(&run.to_string());
    }
    writeln!(std::io::stdout().lock(), "report: {}", page.display())?;
    match left_out.iter().any(LeftOut::is_damaged) {
        true => Err(Failure::Incomplete),
        false => Ok(()),
    }
}
