//! What `clients.parquet` has of all evaluations.

use std::sync::Arc;

use parquet::errors::Result;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Row;
use parquet::schema::types::Type;

use crate::results::clients::parquet_file::{self, ClientsFile};
use crate::results::clients::row::{ClientScore, figure, kind, number, of_models, parse, whole};
use crate::results::recorded_run::RecordedRun;
use crate::results::results_error::ResultsError;

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
    /// asked for. After the servers of an evaluation come the clients that have their models, if clients have local test sets.
    ///
    /// # Errors
    /// [`ResultsError::Read`], and [`ResultsError::Content`] for a file that is torn or has other columns.
    pub fn client_scores(&self) -> Result<Vec<ClientScore>, ResultsError> {
        parquet_file::read(&self.folder, read_all)
    }

    /// The scores of [`client_scores`](Self::client_scores) that stand for a model each: without clients that have the models of servers.
    ///
    /// # Errors
    /// Those of [`client_scores`](Self::client_scores).
    pub fn model_scores(&self) -> Result<Vec<ClientScore>, ResultsError> {
        let scores = self.client_scores()?.into_iter();
        Ok(of_models(scores.map(|score| (score.kind, score)).collect()))
    }

    /// The names of what else was measured at each evaluation; none if the run has yet to write it.
    ///
    /// # Errors
    /// Those of [`client_scores`](Self::client_scores).
    pub fn client_view_names(&self) -> Result<Vec<String>, ResultsError> {
        parquet_file::read(&self.folder, |file| {
            Ok(view_names(&SerializedFileReader::new(file)?))
        })
    }

    /// What else was measured at each evaluation; nothing if the run has yet to write it.
    ///
    /// # Errors
    /// Those of [`client_scores`](Self::client_scores).
    pub fn client_views(&self) -> Result<ClientViews, ResultsError> {
        parquet_file::read(&self.folder, read_views)
    }

    /// The round and the figure of each row of [`client_scores`](Self::client_scores) in one column, such as `own_loss`; not a number
    /// where it is absent. `accuracy` and `loss` are those of [`model_scores`](Self::model_scores). Nothing if there is no such column,
    /// or the run has yet to write it.
    ///
    /// # Errors
    /// Those of [`client_scores`](Self::client_scores).
    pub fn client_column(&self, column: &str) -> Result<Vec<(i64, f64)>, ResultsError> {
        parquet_file::read(&self.folder, |file| read_column(file, column))
    }
}

/// The columns that every table has.
const OF_EVERY_RUN: [&str; 5] = ["round", "row", "kind", "accuracy", "loss"];

fn view_names(reader: &SerializedFileReader<ClientsFile>) -> Vec<String> {
    let columns = reader.metadata().file_metadata().schema().get_fields();
    let names = columns.iter().map(|column| column.name());
    let views = names.filter(|name| !OF_EVERY_RUN.contains(name));
    views.map(str::to_owned).collect()
}

fn read_views(file: ClientsFile) -> Result<ClientViews> {
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

fn read_all(file: ClientsFile) -> Result<Vec<ClientScore>> {
    let reader = SerializedFileReader::new(file)?;
    let rows = reader.get_row_iter(None)?;
    rows.map(|row| parse(&row?)).collect()
}

fn read_column(file: ClientsFile, column: &str) -> Result<Vec<(i64, f64)>> {
    let reader = SerializedFileReader::new(file)?;
    let schema = reader.metadata().file_metadata().schema();
    if !schema
        .get_fields()
        .iter()
        .any(|field| field.name() == column)
    {
        return Ok(Vec::new());
    }
    let wanted = ["round", "kind", column];
    let is_wanted = |field: &&Arc<Type>| wanted.contains(&field.name());
    let fields = schema.get_fields().iter().filter(is_wanted).cloned();
    let wanted = Type::group_type_builder(schema.name()).with_fields(fields.collect());
    let rows = reader.get_row_iter(Some(wanted.build()?))?;
    let read = |row: Row| Ok((kind(&row)?, (whole(&row, "round")?, number(&row, column)?)));
    let figures: Vec<_> = rows.map(|row| read(row?)).collect::<Result<_>>()?;
    Ok(match OF_EVERY_RUN.contains(&column) {
        true => of_models(figures),
        false => figures.into_iter().map(|(_, figure)| figure).collect(),
    })
}
