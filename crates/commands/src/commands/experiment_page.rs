//! What the folder of an experiment holds about all its runs: the page that compares them, and their tables.

use std::error::Error;
use std::fs;
use std::io;
use std::path::Path;

use meshfold_comparison::{COMBINED, write_combined};
use meshfold_experiment::results::{ResultsError, sweep_order};
use meshfold_report::{Gathered, PAGE, ReportError, remove_shared_scripts, write_gathered};

/// Why the page or a table cannot be written.
pub(super) type PageError = Box<dyn Error + Send + Sync>;

/// Writes page and tables of the runs in `folder`.
///
/// # Errors
/// Those of [`write_gathered`] and [`write_combined`].
pub(super) fn write(gathered: &Gathered, folder: &Path) -> Result<(), PageError> {
    write_gathered(gathered, &folder.join(PAGE))?;
    Ok(write_combined(&gathered.runs, folder)?)
}

/// Whether `folder` has tables of its runs, which are to be kept up to date.
pub(super) fn exists(folder: &Path) -> bool {
    folder.join(COMBINED[0]).is_file()
}

/// Brings `folder` up to date after the runs `ids` were removed from it: page and tables are written again, or removed if
/// there is no run to show.
///
/// # Errors
/// The error of writing or removing a file.
pub(super) fn forget(folder: &Path, ids: &[&str]) -> Result<(), PageError> {
    sweep_order::forget(folder, ids)?;
    match Gathered::of(&[folder.to_owned()]) {
        Ok(gathered) if exists(folder) => write(&gathered, folder),
        Ok(_) => Ok(()),
        Err(ReportError::NothingLeft { .. }) => Ok(remove(folder)?),
        Err(ReportError::Results(ResultsError::NotARun { .. })) => {
            remove(folder)?;
            remove_shared_scripts(folder)?;
            // A folder with files of the user's own stays.
            fs::remove_dir(folder).ok();
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Removes page and tables, where there are tables: a page alone may be the user's own.
fn remove(folder: &Path) -> io::Result<()> {
    if !exists(folder) {
        return Ok(());
    }
    for name in [PAGE].into_iter().chain(COMBINED) {
        match fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
