//! `meshfold report DIR...`.

use std::io::Write;
use std::path::PathBuf;

use meshfold_experiment::write_report;

use crate::arguments::ReportArguments;
use crate::failure::Failure;

/// Writes one page about the runs in the folders.
///
/// # Errors
/// [`Failure::Refused`] if a folder holds no run, [`Failure::Broken`] if its files or the page fail.
pub(crate) fn report(arguments: &ReportArguments) -> Result<(), Failure> {
    let page = arguments
        .out
        .clone()
        .unwrap_or_else(|| match arguments.folders.as_slice() {
            [folder] => folder.join("report.html"),
            _ => PathBuf::from("report.html"),
        });
    write_report(&arguments.folders, &page)?;
    writeln!(std::io::stdout().lock(), "report: {}", page.display())?;
    Ok(())
}
