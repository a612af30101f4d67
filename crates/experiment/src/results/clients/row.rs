//! A row of `clients.parquet`.

use meshfold_algorithms::RowKind;
use parquet::errors::{ParquetError, Result};
use parquet::record::{Field, Row};

/// How well one deployed model did at one evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientScore {
    /// Communication rounds done.
    pub round: i64,
    /// Index of the row within the run; the client's where rows are clients.
    pub row: usize,
    /// What the row stands for.
    pub kind: RowKind,
    /// Fraction of the test examples that were recognised; not a number if it was not finite.
    pub accuracy: f64,
    /// Mean cross-entropy on the test examples, in nats; not a number if it was not finite.
    pub loss: f64,
}

impl ClientScore {
    /// The client that the row stands for; none where rows are servers or walkers.
    #[must_use]
    pub fn client(&self) -> Option<usize> {
        (self.kind == RowKind::Client).then_some(self.row)
    }
}

/// The rows that stand for a model each: without the clients that have the models of their servers.
pub(super) fn of_models<T>(rows: Vec<(RowKind, T)>) -> Vec<T> {
    let is_client = |(kind, _): &(RowKind, T)| *kind == RowKind::Client;
    let all_are_clients = rows.iter().all(is_client);
    let of_models = rows
        .into_iter()
        .filter(|row| all_are_clients || !is_client(row));
    of_models.map(|(_, row)| row).collect()
}

/// One row of the file.
pub(super) fn parse(row: &Row) -> Result<ClientScore> {
    let index = usize::try_from(whole(row, "row")?)
        .map_err(|error| ParquetError::External(Box::new(error)))?;
    Ok(ClientScore {
        round: whole(row, "round")?,
        row: index,
        kind: kind(row)?,
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

/// The whole number of `row` in the column `name`.
pub(super) fn whole(row: &Row, name: &str) -> Result<i64> {
    let value = match column(row, name)? {
        Field::Int(value) => Some(i64::from(*value)),
        Field::Long(value) => Some(*value),
        Field::UInt(value) => Some(i64::from(*value)),
        Field::ULong(value) => i64::try_from(*value).ok(),
        _ => None,
    };
    value.ok_or_else(|| ParquetError::General(format!("column {name} holds no whole numbers")))
}

/// What `row` stands for.
pub(super) fn kind(row: &Row) -> Result<RowKind> {
    let kind = match column(row, "kind")? {
        Field::Str(name) => RowKind::named(name),
        _ => None,
    };
    let unknown = "column kind holds something else than client, server and walker";
    kind.ok_or_else(|| ParquetError::General(unknown.to_owned()))
}

/// The figure of `row` in the column `name`; not a number where it is absent.
pub(super) fn number(row: &Row, name: &str) -> Result<f64> {
    figure(column(row, name)?, name)
}

/// The figure in a cell of the column `name`; not a number where it is absent.
pub(super) fn figure(cell: &Field, name: &str) -> Result<f64> {
    match cell {
        Field::Double(value) => Ok(*value),
        Field::Float(value) => Ok(f64::from(*value)),
        Field::Null => Ok(f64::NAN),
        _ => Err(ParquetError::General(format!(
            "column {name} holds no numbers"
        ))),
    }
}
