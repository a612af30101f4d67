//! The report: one HTML file about one run or several, which opens anywhere without a network.
//!
//! A report is made from what runs left in their folders alone, so it can be made again at any time, of finished, failed
//! and running runs alike. Its path: [`run_folder`] reads, [`group`] takes runs that differ in their seed only as one
//! and names what distinguishes the groups, a file for each figure makes it, and [`page`] puts them together with
//! style, script and the plotting library.

use crate::results::{persist, temporary};
use std::collections::BTreeSet;
use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

mod axes;
mod chart;
mod churn_charts;
mod churn_page;
mod configuration;
mod curve_charts;
mod curves;
mod degree_chart;
mod document;
mod error;
mod escape;
mod evaluation_log;
mod final_accuracies;
mod force_layout;
mod group;
mod headline;
mod holdings;
mod label_counts;
mod overlay_cards;
mod overlay_drawing;
mod overlay_layout;
mod overlay_section;
mod page;
mod palette;
mod partition_chart;
mod partition_section;
mod plotly_script;
mod quantised_section;
mod quantity_text;
mod run_folder;
mod setting_label;
mod settings;
mod spectrum_chart;
mod spread_chart;
mod summary_table;
mod text_chart;
mod text_counts;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

use crate::churn::ChurnRun;
use document::Document;
pub use error::ReportError;
use meshfold_topology::protocol::ChurnTrace;
use run_folder::RunFolder;

/// Packs the plotting library's script, 2 MB that stay for all reports to come. It takes some 20 MB while it lasts: called
/// before a run holds much, they do not come on top.
pub fn prepare_reports() {
    plotly_script::packed();
}

/// Writes one self-contained HTML page about the runs in these folders to `out`.
///
/// Each folder is a run (`runs/<name>/<id>`) or holds runs (`runs/<name>`), which are then taken in order; a run
/// named twice counts once. Runs that differ in their seed only are grouped. The folder of `out` is made if it is
/// missing, and the page appears whole or not at all.
///
/// # Errors
/// [`ReportError::NoRuns`], [`ReportError::NotARun`], [`ReportError::Read`] and [`ReportError::Content`] for what is
/// given; [`ReportError::Write`] if the page cannot be written.
pub fn write_report(runs: &[PathBuf], out: &Path) -> Result<(), ReportError> {
    let mut seen = BTreeSet::new();
    let mut folders = Vec::new();
    for given in runs {
        for folder in run_folder::expand(given)? {
            if seen.insert(fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone())) {
                folders.push(RunFolder::read(&folder)?);
            }
        }
    }
    if folders.is_empty() {
        return Err(ReportError::NoRuns);
    }
    write_whole(out, &page::page(&folders)?).map_err(|source| ReportError::Write {
        path: out.to_owned(),
        source,
    })
}

/// Writes one self-contained HTML page about simulations of overlays under churn to `out`; `title` is its heading.
///
/// # Errors
/// [`ReportError::NoRuns`] without simulations, [`ReportError::Write`] if the page cannot be written.
pub fn write_churn_report(
    title: &str,
    runs: &[(ChurnRun, ChurnTrace)],
    out: &Path,
) -> Result<(), ReportError> {
    if runs.is_empty() {
        return Err(ReportError::NoRuns);
    }
    write_whole(out, &churn_page::page(title, runs)).map_err(|source| ReportError::Write {
        path: out.to_owned(),
        source,
    })
}

/// Writes the page `out` whole or not at all.
fn write_whole(out: &Path, page: &Document) -> std::io::Result<()> {
    let folder = match out.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let name = out.file_name().ok_or(std::io::ErrorKind::IsADirectory)?;
    fs::create_dir_all(folder)?;
    let mut file = BufWriter::new(temporary(folder)?);
    page.write(&mut file)?;
    persist(file.into_inner()?, &folder.join(name))
}
