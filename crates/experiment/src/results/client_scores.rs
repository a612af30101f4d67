//! What every client scored at every evaluation, from `clients.parquet`.

use std::fs::File;
use std::io::ErrorKind;

use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

use crate::files::guarded;
use crate::results::recorded_run::RecordedRun;
use crate::results::results_error::ResultsError;

/// How well one deployed model did at one evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientScore {
    /// Communication rounds done.
    pub round: i64,
    /// Index of the row within the run; the client's where rows are clients.
    pub row: usize,
    /// Fraction of the test examples that were recognised; not a number if it was not finite.
    pub accuracy: f64,
    /// Mean cross-entropy on the test examples, in nats; not a number if it was not finite.
    pub loss: f64,
}

impl RecordedRun {
    /// The scores of all evaluations in the order of the file; none if the run has yet to write it. They are read when
    /// asked for.
    ///
    /// # Errors
    /// [`ResultsError::Read`], and [`ResultsError::Content`] for a file that is torn or has other columns.
    pub fn client_scores(&self) -> Result<Vec<ClientScore>, ResultsError> {
        let path = self.folder.join("clients.parquet");
        match File::open(&path) {
            Ok(file) => readable(|| read_all(file)).map_err(|error| ResultsError::Content {
                path,
                found: error.to_string(),
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => Err(ResultsError::Read { path, source }),
        }
    }
}

fn read_all(file: File) -> Result<Vec<ClientScore>> {
    let reader = SerializedFileReader::new(file)?;
    let rows = reader.get_row_iter(None)?;
    rows.map(|row| parse(&row?)).collect()
}

/// What `read` returns; an error if the reader panics, as it does at some damaged files.
pub(super) fn readable<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    guarded::call(read).unwrap_or_else(|| {
        Err(ParquetError::General(
            "it is no table that can be read".to_owned(),
        ))
    })
}

/// One row of the file.
pub(super) fn parse(row: &Row) -> Result<ClientScore> {
    let index = usize::try_from(whole(row, "row")?)
        .map_err(|error| ParquetError::External(Box::new(error)))?;
    Ok(ClientScore {
        round: whole(row, "round")?,
        row: index,
        accuracy: number(row, "accuracy")?,
        loss: number(row, "loss")?,
    })
}

fn column<'a>(row: &'a Row, name: &str) -> Result<&'a Field> {
    let mut columns = row.get_column_iter();
    let found = columns.find(|(found, _)| *found == name);
    let missing = || ParquetError::General(format!("found no column {name}"));
    found.map(|(_, field)| field).ok_or_else(missing)
}

fn whole(row: &Row, name: &str) -> Result<i64> {
    let value = match column(row, name)? {
        Field::Int(value) => Some(i64::from(*value)),
        Field::Long(value) => Some(*value),
        Field::UInt(value) => Some(i64::from(*value)),
        Field::ULong(value) => i64::try_from(*value).ok(),
        _ => None,
    };
    value.ok_or_else(|| ParquetError::General(format!("column {name} holds no whole numbers")))
}

fn number(row: &Row, name: &str) -> Result<f64> {
    match column(row, name)? {
        Field::Double(value) => Ok(*value),
        Field::Float(value) => Ok(f64::from(*value)),
        Field::Null => Ok(f64::NAN),
        _ => Err(ParquetError::General(format!(
            "column {name} holds no numbers"
        ))),
    }
}
