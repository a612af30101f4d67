//! What `clients.parquet` has of the last evaluation.

use std::path::Path;

use meshfold_algorithms::RowKind;
use parquet::errors::Result;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};

use crate::results::clients::parquet_file::{self, ClientsFile};
use crate::results::clients::row::{ClientScore, of_models, parse};
use crate::results::results_error::ResultsError;

/// The accuracy of one deployed model at the last evaluation in the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowAccuracy {
    /// Index of the row within the run; the client's where rows are clients.
    pub row: usize,
    /// Fraction of the test examples that were recognised.
    pub accuracy: f64,
}

/// Whose models those of the last round are in the run in `folder`, and their accuracies, ascending by row; none if there is no such
/// file yet. Those that are not finite are left out.
///
/// # Errors
/// [`ResultsError::Read`], and [`ResultsError::Content`] for a file that is torn or has other columns.
pub(in crate::results) fn final_accuracies(
    folder: &Path,
) -> std::result::Result<(Option<RowKind>, Vec<RowAccuracy>), ResultsError> {
    parquet_file::read(folder, read_last)
}

/// Evaluations are appended, so the file is read from its last row group backwards until an earlier round is met.
fn read_last(file: ClientsFile) -> Result<(Option<RowKind>, Vec<RowAccuracy>)> {
    let reader = SerializedFileReader::new(file)?;
    let mut last = Vec::new();
    let mut last_round = None;
    for index in (0..reader.num_row_groups()).rev() {
        let group = rows_of(reader.get_row_group(index)?.as_ref())?;
        let latest = group.iter().map(|(round, _)| *round).max();
        if last_round.is_none() {
            last_round = latest;
        }
        let whole = group.iter().all(|(round, _)| Some(*round) == last_round);
        let current = group
            .into_iter()
            .filter(|(round, _)| Some(*round) == last_round);
        last.extend(current.map(|(_, row)| row));
        if !whole {
            break;
        }
    }
    let mut kinds = last.iter().map(|(kind, _)| *kind);
    let kind = kinds.find(|kind| *kind != RowKind::Client);
    let kind = kind.or_else(|| last.first().map(|(kind, _)| *kind));
    let mut last = of_models(last);
    last.retain(|row| row.accuracy.is_finite());
    last.sort_by_key(|row| row.row);
    Ok((kind, last))
}

/// The round, the kind and the accuracy of each row.
fn rows_of(group: &dyn RowGroupReader) -> Result<Vec<(i64, (RowKind, RowAccuracy))>> {
    let scores = group.get_row_iter(None)?.map(|row| parse(&row?));
    let pair = |score: ClientScore| {
        let (row, accuracy) = (score.row, score.accuracy);
        (score.round, (score.kind, RowAccuracy { row, accuracy }))
    };
    scores.map(|score| score.map(pair)).collect()
}
