//! The last accuracy of every client, from `clients.parquet`.

use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::record::{Field, Row};
use std::fs::File;

use crate::files::guarded;

/// The accuracy of one deployed model at the last evaluation in the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowAccuracy {
    /// Index of the row within the run; the client's where rows are clients.
    pub row: usize,
    /// Fraction of the test examples that were recognised.
    pub accuracy: f64,
}

/// Reads the rows of the last round, ascending by row. Accuracies that are not finite are left out.
///
/// Evaluations are appended, so the file is read from its last row group backwards until an earlier round is met.
///
/// # Errors
/// What the reader says of a file that is torn or has other columns.
pub(super) fn read(file: File) -> Result<Vec<RowAccuracy>> {
    // The reader panics at some damaged files.
    guarded::call(|| read_last(file)).unwrap_or_else(|| {
        Err(ParquetError::General(
            "it is no table that can be read".to_owned(),
        ))
    })
}

fn read_last(file: File) -> Result<Vec<RowAccuracy>> {
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
    last.retain(|row| row.accuracy.is_finite());
    last.sort_by_key(|row| row.row);
    Ok(last)
}

fn rows_of(group: &dyn RowGroupReader) -> Result<Vec<(i64, RowAccuracy)>> {
    group.get_row_iter(None)?.map(|row| parse(&row?)).collect()
}

fn parse(row: &Row) -> Result<(i64, RowAccuracy)> {
    let column = |name: &str| {
        let missing = || ParquetError::General(format!("found no column {name}"));
        row.get_column_iter()
            .find(|(found, _)| *found == name)
            .map(|(_, field)| field)
            .ok_or_else(missing)
    };
    let whole = |name: &str| {
        let value = match column(name)? {
            Field::Int(value) => Some(i64::from(*value)),
            Field::Long(value) => Some(*value),
            Field::UInt(value) => Some(i64::from(*value)),
            Field::ULong(value) => i64::try_from(*value).ok(),
            _ => None,
        };
        value.ok_or_else(|| ParquetError::General(format!("column {name} holds no whole numbers")))
    };
    let accuracy = match column("accuracy")? {
        Field::Double(value) => *value,
        Field::Float(value) => f64::from(*value),
        Field::Null => f64::NAN,
        _ => {
            return Err(ParquetError::General(
                "column accuracy holds no numbers".to_owned(),
            ));
        }
    };
    let row =
        usize::try_from(whole("row")?).map_err(|error| ParquetError::External(Box::new(error)))?;
    Ok((whole("round")?, RowAccuracy { row, accuracy }))
}
