//! The report: one HTML file about one run or several, which opens anywhere without a network.
//!
//! The crate depends on `meshfold-experiment`, never the other way round: it reads what runs left in their folders. So
//! [`run`](meshfold_experiment::run()) and [`run_all`](meshfold_experiment::run_all) write no page. Whoever has runs carried
//! out writes the page of each once it has ended, by one call of [`write_run_report`]; the program `meshfold` does so.
//!
//! A report is made from what runs left in their folders alone, so it can be made again at any time, of finished, failed
//! and running runs alike. Its path: in the folder `runs`, `gathering` finds the
//! runs, [`RecordedRun`] reads each, and `group` takes runs that differ in their seed only as one and names what
//! distinguishes the groups. `charts`, `tables`, `overlay`, `partition` and `clients` make the figures, and `page` puts them together
//! into a `document`, which holds style, script and the plotting library. A run of which something is missing or damaged is left out, named on the page,
//! and never keeps the others from it.
//! A [`Follower`] keeps a page in memory that is drawn anew while runs go on, and asks for newer ones where it is open.

use meshfold_experiment::files::whole_file::{persist, remove_leftovers, temporary};
use std::fs;
use std::io::{self, BufWriter, Read, Seek, SeekFrom};
use std::path::Path;

mod charts;
mod churn_page;
mod clients;
mod document;
mod error;
mod evenly;
mod follower;
mod left_out;
mod overlay;
mod page;
mod partition;
mod runs;
mod tables;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

use document::Document;
use document::plotly_script::Script;
pub use document::plotly_script::remove_shared_scripts;
pub use error::ReportError;
pub use follower::{Follower, LivePage};
pub use left_out::LeftOut;
use meshfold_experiment::ChurnRun;
use meshfold_experiment::results::RecordedRun;
use meshfold_topology::protocol::ChurnTrace;
use runs::gathering;
pub use runs::gathering::Gathered;

/// The file name of a run's report.
pub const PAGE: &str = "report.html";

/// How every page ends.
const END: [u8; 8] = *b"</html>\n";

/// Writes one self-contained HTML page about the runs that were read to `out`.
///
/// Runs that differ in their seed only are grouped. The page names what was [left out](Gathered::left_out). The folder of `out` is made if
/// it is missing, and the page appears whole or not at all.
///
/// # Errors
/// Those of reading overlays and partitions, and [`ReportError::Write`].
pub fn write_gathered(gathered: &Gathered, out: &Path) -> Result<(), ReportError> {
    write_whole(out, &page::page(gathered, Script::Inside)?)
}

/// Writes the page `report.html` of the run in `folder`, unless a whole one is there.
///
/// The page of a run that is alone in its experiment is self-contained. With `in_sweep`, or where other runs lie beside it,
/// they share one copy of the plotting library, 0.6 MB, in the folder above.
///
/// # Errors
/// Those of reading the run, and [`ReportError::Write`].
pub fn write_run_report(folder: &Path, in_sweep: bool) -> Result<(), ReportError> {
    let page = folder.join(PAGE);
    if is_whole(&page) {
        return Ok(());
    }
    let mut gathered = Gathered::default();
    gathered.runs.push(RecordedRun::read(folder)?);
    let script = match folder.parent() {
        Some(above) if in_sweep || gathering::has_other_runs(above, folder) => {
            Script::shared(above).map_err(|source| ReportError::write(above, source))?
        }
        _ => Script::Inside,
    };
    write_whole(&page, &page::page(&gathered, script)?)
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
    write_whole(out, &churn_page::page(title, runs))
}

/// Writes the page `out` whole or not at all.
fn write_whole(out: &Path, page: &Document) -> Result<(), ReportError> {
    let write = || -> io::Result<()> {
        let folder = match out.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let name = out.file_name().ok_or(io::ErrorKind::IsADirectory)?;
        fs::create_dir_all(folder)?;
        remove_leftovers(folder);
        let mut file = BufWriter::new(temporary(folder)?);
        page.write(&mut file)?;
        persist(file.into_inner()?, &folder.join(name))
    };
    write().map_err(|source| ReportError::write(out, source))
}

/// Whether `page` is a page that was written to its end.
fn is_whole(page: &Path) -> bool {
    let ends = || -> io::Result<bool> {
        let mut file = fs::File::open(page)?;
        let mut end = [0; END.len()];
        file.seek(SeekFrom::End(-(END.len() as i64)))?;
        file.read_exact(&mut end)?;
        Ok(end == END)
    };
    ends().unwrap_or(false)
}
