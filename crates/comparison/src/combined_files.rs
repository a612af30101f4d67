//! The tables over all runs of an experiment as Parquet files: `metrics.parquet` and `clients.parquet`.

use std::io;
use std::path::{Path, PathBuf};

use meshfold_experiment::files::whole_file::{persist, temporary};
use meshfold_experiment::plain_write_error;
use meshfold_experiment::results::RecordedRun;
use parquet::errors::ParquetError;
use rayon::prelude::*;

use crate::column::Cells;
use crate::combined::CombinedTable;
use crate::error::TableError;
use crate::parquet_table::ParquetTable;

/// The names of the files.
pub const COMBINED: [&str; 2] = ["metrics.parquet", "clients.parquet"];

/// Why the files cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CombineError {
    /// The records of a run cannot be read.
    #[error(transparent)]
    Runs(#[from] TableError),
    /// A file cannot be written.
    #[error("{} cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What stands in the way.
        source: io::Error,
    },
}

/// Writes both files into `folder`, each in one step: [`CombinedTable::metrics`] and [`CombinedTable::clients`].
///
/// As many runs are held in memory at a time as there are threads, which read one each.
///
/// # Errors
/// [`CombineError`].
pub fn write_combined(runs: &[RecordedRun], folder: &Path) -> Result<(), CombineError> {
    write(folder, "metrics", CombinedTable::metrics(runs)?)?;
    write(folder, "clients", CombinedTable::clients(runs)?)
}

/// Writes `<name>.parquet`, one row group for each run.
fn write(folder: &Path, name: &str, combined: CombinedTable<'_>) -> Result<(), CombineError> {
    let path = folder.join(format!("{name}.parquet"));
    let failed = |source| CombineError::Write {
        path: path.clone(),
        source: plain_write_error(source),
    };
    let damaged = |error: ParquetError| failed(io::Error::other(error));
    let mut file = temporary(folder).map_err(failed)?;
    let columns = combined.columns();
    let mut table = ParquetTable::new(file.as_file_mut(), name, columns).map_err(damaged)?;
    let indices: Vec<usize> = (0..combined.runs()).collect();
    for some in indices.chunks(rayon::current_num_threads()) {
        let read = some.par_iter().map(|index| combined.cells(*index));
        let read: Vec<Vec<Cells>> = read.collect::<Result<_, TableError>>()?;
        for cells in read {
            table.write(&cells).map_err(damaged)?;
        }
    }
    table.close().map_err(damaged)?;
    persist(file, &path).map_err(failed)
}
