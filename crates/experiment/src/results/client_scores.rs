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

/// What else was measured of the models, as `evaluate.clients` asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientViews {
    /// The names of the figures, such as `own_accuracy` and `label_3_accuracy`.
    pub columns: Vec<String>,
    /// The figures of each row of [`RecordedRun::client_scores`], in the order of the columns; not numbers where they are
    /// absent.
    pub rows: Vec<Vec<f64>>,
}

impl RecordedRun {
    /// The scores of all evaluations in the order of the file; none if the run has yet to write it. They are read when
    /// asked for.
    ///
    /// # Errors
    /// [`ResultsError::Read`], and [`ResultsError::Content`] for a file that is torn or has other columns.
    pub fn client_scores(&self) -> Result<Vec<ClientScore>, ResultsError> {
        self.read_clients(read_all)
    }

    /// The names of what else was measured at each evaluation; none if the run has yet to write it.
    ///
    /// # Errors
    /// Those of [`client_scores`](Self::client_scores).
    pub fn client_view_names(&self) -> Result<Vec<String>, ResultsError> {
        self.read_clients(|file| Ok(view_names(&SerializedFileReader::new(file)?)))
    }

    /// What else was measured at each evaluation; nothing if the run has yet to write it.
    ///
    /// # Errors
    /// Those of [`client_scores`](Self::client_scores).
    pub fn client_views(&self) -> Result<ClientViews, ResultsError> {
        self.read_clients(read_views)
    }

    fn read_clients<T: Default>(
        &self,
        read: impl FnOnce(File) -> Result<T>,
    ) -> Result<T, ResultsError> {
        let path = self.folder.join("clients.parquet");
        match File::open(&path) {
            Ok(file) => readable(|| read(file)).map_err(|error| ResultsError::Content {
                path,
                found: error.to_string(),
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(T::default()),
            Err(source) => Err(ResultsError::Read { path, source }),
        }
    }
}

/// The columns that every table has.
const OF_EVERY_RUN: [&str; 5] = ["round", "row", "kind", "accuracy", "loss"];

fn view_names(reader: &SerializedFileReader<File>) -> Vec<String> {
    let columns = reader.metadata().file_metadata().schema().get_fields();
    let names = columns.iter().map(|column| column.name());
    let views = names.filter(|name| !OF_EVERY_RUN.contains(name));
    views.map(str::to_owned).collect()
}

fn read_views(file: File) -> Result<ClientViews> {
    let reader = SerializedFileReader::new(file)?;
    let columns = view_names(&reader);
    if columns.is_empty() {
        return Ok(ClientViews::default());
    }
    let views_of = |row: Row| {
        let cells = row.get_column_iter();
        let views = cells.filter(|(name, _)| !OF_EVERY_RUN.contains(&name.as_str()));
        views.map(|(name, field)| figure(field, name)).collect()
    };
    let rows = reader.get_row_iter(None)?;
    let rows = rows.map(|row| views_of(row?)).collect::<Result<_>>()?;
    Ok(ClientViews { columns, rows })
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
    figure(column(row, name)?, name)
}

/// The figure in a cell of the column `name`; not a number where it is absent.
fn figure(cell: &Field, name: &str) -> Result<f64> {
    match cell {
        Field::Double(value) => Ok(*value),
        Field::Float(value) => Ok(f64::from(*value)),
        Field::Null => Ok(f64::NAN),
        _ => Err(ParquetError::General(format!(
            "column {name} holds no numbers"
        ))),
    }
}
