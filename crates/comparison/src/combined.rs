//! All runs of an experiment in two Parquet files: `metrics.parquet` and `clients.parquet`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use meshfold_experiment::files::whole_file::{persist, temporary};
use meshfold_experiment::results::{Figures, Holdings, RecordedRun};
use parquet::errors::ParquetError;

use crate::error::TableError;
use crate::fields::{Fields, differing};
use crate::parquet_table::{Cells, Column, ParquetTable};
use crate::settings_columns::settings_columns;

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
        source: ParquetError,
    },
}

/// Writes both files into `folder`, each in one step. They hold a row for each evaluation of each run, and for each client at
/// each evaluation, with the run's id, the settings in which the runs differ, and sizes.
///
/// One run is held in memory at a time.
///
/// # Errors
/// [`CombineError`].
pub fn write_combined(runs: &[RecordedRun], folder: &Path) -> Result<(), CombineError> {
    let fields: Vec<Fields> = runs.iter().map(|run| Fields::of(&run.settings)).collect();
    let settings = settings_columns(&differing(&fields, &[]), &fields);
    let mut names = BTreeSet::new();
    for run in runs {
        let figures = run.figures().map_err(TableError::from)?;
        names.extend(figures.into_iter().flat_map(Figures::into_keys));
    }
    let names = in_order(&names);
    let views = views(runs)?;
    let about_runs = [text_column("run", "Id of the run, the name of its folder.")]
        .into_iter()
        .chain(settings.iter().map(|setting| setting.column.clone()));
    let columns = about_runs
        .clone()
        .chain(sizes())
        .chain(names.iter().map(|name| figure_column(name)));
    write(folder, "metrics", columns.collect(), runs, |index, run| {
        let figures = run.figures().map_err(TableError::from)?;
        let rows = figures.len();
        let mut cells = vec![Cells::Text(vec![Some(run.id.clone()); rows])];
        cells.extend(settings.iter().map(|setting| setting.cells(index, rows)));
        let clients = run.settings.clients().map(|clients| clients as i64);
        cells.push(Cells::Whole(vec![clients; rows]));
        cells.push(Cells::Whole(vec![
            run.parameters.map(u64::cast_signed);
            rows
        ]));
        for name in &names {
            let values = figures.iter().map(|figures| figures.get(name).copied());
            cells.push(Cells::Number(values.collect()));
        }
        Ok(cells)
    })?;
    let columns = about_runs
        .chain(client_columns())
        .chain(views.iter().map(|name| view_column(name)));
    let columns = columns.collect();
    write(folder, "clients", columns, runs, |index, run| {
        let scores = run.client_scores().map_err(TableError::from)?;
        let held = held(run)?;
        let rows = scores.len();
        let mut cells = vec![Cells::Text(vec![Some(run.id.clone()); rows])];
        cells.extend(settings.iter().map(|setting| setting.cells(index, rows)));
        let of_row = |row: usize| held.get(row).map(|examples| i64::from(*examples));
        cells.push(Cells::Whole(
            scores.iter().map(|score| Some(score.round)).collect(),
        ));
        cells.push(Cells::Whole(
            scores.iter().map(|score| Some(score.row as i64)).collect(),
        ));
        cells.push(Cells::Whole(
            scores.iter().map(|score| of_row(score.row)).collect(),
        ));
        cells.push(Cells::Number(
            scores.iter().map(|score| finite(score.accuracy)).collect(),
        ));
        cells.push(Cells::Number(
            scores.iter().map(|score| finite(score.loss)).collect(),
        ));
        let found = run.client_views().map_err(TableError::from)?;
        for name in &views {
            cells.push(Cells::Number(
                match found.columns.iter().position(|column| column == name) {
                    Some(at) => found.rows.iter().map(|row| finite(row[at])).collect(),
                    None => vec![None; rows],
                },
            ));
        }
        Ok(cells)
    })
}

/// What was measured of models besides accuracy and loss in any of the runs: first of a client's own examples, then by
/// label.
fn views(runs: &[RecordedRun]) -> Result<Vec<String>, CombineError> {
    let mut names = BTreeSet::new();
    for run in runs {
        names.extend(run.client_view_names().map_err(TableError::from)?);
    }
    let mut names: Vec<String> = names.into_iter().collect();
    names.sort_by_key(|name| label(name));
    Ok(names)
}

/// The label of the column `name`, if it has one.
fn label(name: &str) -> Option<u32> {
    let label = name.strip_prefix("label_")?.strip_suffix("_accuracy")?;
    label.parse().ok()
}

/// The column of a figure that a run was asked for by `evaluate.clients`.
fn view_column(name: &str) -> Column {
    let about = match (name, label(name)) {
        ("own_accuracy", _) => "Accuracy on the client's own training examples.".to_owned(),
        ("own_loss", _) => "Mean loss on the client's own training examples, in nats.".to_owned(),
        ("own_labels_accuracy", _) => {
            "Accuracy on the test examples of the client's labels, each label counted as often as the client holds it."
                .to_owned()
        }
        (_, Some(label)) => format!("Accuracy on the test examples of label {label}."),
        (_, None) => "A figure of clients.parquet of the run.".to_owned(),
    };
    Column::number(name, &about)
}

/// The figures of `names`, the round first. A mean goes by its short name alone: `test_accuracy` is `test_accuracy.mean`.
fn in_order(names: &BTreeSet<String>) -> Vec<String> {
    let is_second_name = |name: &&String| {
        let short = name.strip_suffix(".mean");
        short.is_some_and(|short| names.contains(short))
    };
    let names = names.iter().filter(|name| !is_second_name(name)).cloned();
    let (round, others): (Vec<String>, Vec<String>) = names.partition(|name| name == "round");
    [round, others].concat()
}

/// Writes `<name>.parquet`, one row group for each run; `cells` gives those of the run at a place.
fn write(
    folder: &Path,
    name: &str,
    columns: Vec<Column>,
    runs: &[RecordedRun],
    cells: impl Fn(usize, &RecordedRun) -> Result<Vec<Cells>, CombineError>,
) -> Result<(), CombineError> {
    let path = folder.join(format!("{name}.parquet"));
    let failed = |source| CombineError::Write {
        path: path.clone(),
        source,
    };
    let mut file = temporary(folder).map_err(|error| failed(error.into()))?;
    let mut table = ParquetTable::new(file.as_file_mut(), name, columns).map_err(failed)?;
    for (index, run) in runs.iter().enumerate() {
        table.write(&cells(index, run)?).map_err(failed)?;
    }
    table.close().map_err(failed)?;
    persist(file, &path).map_err(|error| failed(error.into()))
}

/// `[N]`: how many examples each client holds, where rows are clients; nothing elsewhere.
fn held(run: &RecordedRun) -> Result<Vec<u32>, CombineError> {
    let held = match run.partition().map_err(TableError::from)? {
        Some(Holdings::Labels(counts)) => counts.examples(),
        Some(Holdings::Text(counts)) => counts.examples,
        None => Vec::new(),
    };
    let is_of_clients = run.final_accuracies.iter().all(|row| row.row < held.len());
    let is_server = run.final_accuracies.len() == 1 && held.len() > 1;
    Ok(match is_of_clients && !is_server {
        true => held,
        false => Vec::new(),
    })
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn text_column(name: &str, description: &str) -> Column {
    Column::text(name, description)
}

fn sizes() -> [Column; 2] {
    [
        Column::whole("clients", "Number of clients N."),
        Column::whole(
            "parameters",
            "Parameters of a model, P; known once the run has ended.",
        ),
    ]
}

fn client_columns() -> [Column; 5] {
    [
        Column::whole("round", "Communication rounds done; 0 is the start."),
        Column::whole(
            "row",
            "Row of the stack of models: the client, where rows are clients.",
        ),
        Column::whole(
            "examples",
            "Training examples that the client holds, where rows are clients.",
        ),
        Column::number(
            "accuracy",
            "Fraction of the test examples that the row's model classifies correctly.",
        ),
        Column::number(
            "loss",
            "Mean cross-entropy of the row's model on the test examples, in nats.",
        ),
    ]
}

/// The column of a figure of `metrics.jsonl`.
fn figure_column(name: &str) -> Column {
    let (figure, part) = name.split_once('.').unwrap_or((name, ""));
    let about = match figure {
        "round" => "Communication rounds done; 0 is the start.",
        "local_steps" => "Local steps of all rows since the start.",
        "examples_seen" => "Training examples that those steps saw.",
        "train_loss" => "Mean mini-batch loss since the last evaluation, in nats.",
        "test_accuracy" => "Fraction of test examples classified correctly, over the models",
        "test_loss" => "Mean cross-entropy on the test examples in nats, over the models",
        "validation_accuracy" => {
            "Fraction of the validation examples classified correctly, over the models"
        }
        "validation_loss" => {
            "Mean cross-entropy on the validation examples in nats, over the models"
        }
        "mean_model_accuracy" => "Accuracy of the mean of the models on the test examples.",
        "consensus_distance" => "sqrt(1/R sum of |w_i - mean|^2) over the rows alive.",
        "bytes_total" => "Bytes sent since the start, each message counted once.",
        "bytes_busiest_node" => {
            "Sum over the rounds of the most bytes that a node sent and received."
        }
        "messages_total" => "Messages sent since the start.",
        "simulated_seconds" => "Simulated seconds since the start, where a network is described.",
        "wall_seconds" => "Seconds that the program has worked on the run.",
        "alive" => "Clients alive.",
        "components" => "Parts that the overlay falls into among those alive.",
        "messages_as_printed" => "Messages since the start as the paper counts them.",
        "train_shard_loss" => {
            "Loss of each row on its own training examples in nats, over the rows"
        }
        "train_accuracy" => "Accuracy of each row on its own training examples, over the rows",
        "own_labels_accuracy" => {
            "Accuracy on the test examples of the labels that each client holds, over the clients"
        }
        "theory" => "A quantity of a paper's bound.",
        _ => "A figure of metrics.jsonl.",
    };
    let spread = match (about.ends_with('.'), part) {
        (true, _) => "",
        (false, "" | "mean") => ": the mean.",
        (false, "min") => ": the least.",
        (false, "max") => ": the largest.",
        (false, _) => ": the standard deviation of the models at hand.",
    };
    Column::number(name, &format!("{about}{spread}"))
}
