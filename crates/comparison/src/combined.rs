//! All runs of an experiment in two tables: of their evaluations, and of their clients.

use std::collections::{BTreeMap, BTreeSet};

use meshfold_experiment::results::{ClientScore, Figures, Holdings, RecordedRun, ResultsError};
use rayon::prelude::*;

use crate::column::{Cells, Column};
use crate::error::TableError;
use crate::fields::{Fields, differing};
use crate::settings_columns::{SettingColumn, settings_columns};

/// A table over several runs, which is made run by run.
pub struct CombinedTable<'a> {
    columns: Vec<Column>,
    runs: &'a [RecordedRun],
    settings: Vec<SettingColumn>,
    content: Content,
}

/// What the rows of a table are.
enum Content {
    /// Evaluations, with the figures of these names.
    Metrics(Vec<String>),
    /// The same, read already: those of each run.
    InMemory(Vec<String>, Vec<FigureColumns>),
    /// Clients at an evaluation.
    Clients {
        /// Names of what else was measured of them.
        views: Vec<String>,
        /// Whether owners of clients' examples have names.
        owners: bool,
    },
}

impl<'a> CombinedTable<'a> {
    /// A row for each evaluation of each run, with the run's id, the settings in which the runs differ, sizes, and the
    /// figures of `metrics.jsonl`.
    ///
    /// # Errors
    /// [`TableError`] if the records of a run cannot be read.
    pub fn metrics(runs: &'a [RecordedRun]) -> Result<Self, TableError> {
        let mut names = BTreeSet::new();
        for run in runs {
            names.extend(run.figures()?.into_iter().flat_map(Figures::into_keys));
        }
        let names = in_order(&names);
        let columns = metrics_columns(&names);
        Ok(Self::new(runs, columns, Content::Metrics(names)))
    }

    /// The table of [`metrics`](Self::metrics), with all figures in memory: each file is read once, several at a time.
    ///
    /// # Errors
    /// [`TableError`] if the records of a run cannot be read.
    pub fn metrics_in_memory(runs: &'a [RecordedRun]) -> Result<Self, TableError> {
        let all = runs.par_iter().map(FigureColumns::read);
        let all = all.collect::<Result<Vec<_>, TableError>>()?;
        let names = all.iter().flat_map(|run| run.columns.keys().cloned());
        let names = in_order(&names.collect());
        let columns = metrics_columns(&names);
        Ok(Self::new(runs, columns, Content::InMemory(names, all)))
    }

    /// A row for each client at each evaluation of each run, with the run's id, the settings in which the runs differ, how
    /// many examples the client holds, and what was measured of its model.
    ///
    /// # Errors
    /// [`TableError`] if the records of a run cannot be read.
    pub fn clients(runs: &'a [RecordedRun]) -> Result<Self, TableError> {
        let views = views(runs)?;
        let measured = views.iter().map(|name| view_column(name));
        let named = runs.iter().map(|run| Ok(!run.names()?.clients.is_empty()));
        let named: Result<Vec<bool>, ResultsError> = named.collect();
        let owners = named?.contains(&true);
        let owner = owners.then(owner_column);
        let columns = client_columns().into_iter().chain(owner).chain(measured);
        let columns: Vec<Column> = columns.collect();
        Ok(Self::new(runs, columns, Content::Clients { views, owners }))
    }

    fn new(runs: &'a [RecordedRun], columns: Vec<Column>, content: Content) -> Self {
        let fields = Fields::of_all(runs.iter().map(|run| &run.settings));
        let settings = settings_columns(&differing(&fields, &[]), &fields);
        let id = Column::text("run", "Id of the run, the name of its folder.");
        let of_runs = settings.iter().map(|setting| setting.column.clone());
        Self {
            columns: [id].into_iter().chain(of_runs).chain(columns).collect(),
            runs,
            settings,
            content,
        }
    }

    /// The columns, in their order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// How many runs there are.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// The cells of the run at `index`: those of each column, in the order of the columns.
    ///
    /// # Errors
    /// [`TableError`] if the records of the run cannot be read.
    ///
    /// # Panics
    /// If there are not so many runs.
    pub fn cells(&self, index: usize) -> Result<Vec<Cells>, TableError> {
        let run = &self.runs[index];
        let (rows, measured) = match &self.content {
            Content::Metrics(names) => metrics_cells(run, &FigureColumns::read(run)?, names),
            Content::InMemory(names, all) => metrics_cells(run, &all[index], names),
            Content::Clients { views, owners } => client_cells(run, views, *owners)?,
        };
        let mut cells = vec![Cells::Text(vec![Some(run.id.clone()); rows])];
        cells.extend(
            self.settings
                .iter()
                .map(|setting| setting.cells(index, rows)),
        );
        cells.extend(measured);
        Ok(cells)
    }
}

/// The figures of the evaluations of a run by their names, one for each evaluation.
struct FigureColumns {
    rows: usize,
    columns: BTreeMap<String, Vec<Option<f64>>>,
}

impl FigureColumns {
    fn read(run: &RecordedRun) -> Result<Self, TableError> {
        let figures = run.figures()?;
        let rows = figures.len();
        let mut columns: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
        for (row, figures) in figures.into_iter().enumerate() {
            for (name, value) in figures {
                let column = columns.entry(name).or_insert_with(|| vec![None; rows]);
                column[row] = Some(value);
            }
        }
        Ok(Self { rows, columns })
    }
}

/// How many evaluations `run` has, and the cells of sizes and of the `figures` called `names`.
fn metrics_cells(
    run: &RecordedRun,
    figures: &FigureColumns,
    names: &[String],
) -> (usize, Vec<Cells>) {
    let rows = figures.rows;
    let clients = run.clients.map(|clients| clients as i64);
    let parameters = run.parameters.map(u64::cast_signed);
    let mut cells = vec![
        Cells::Whole(vec![clients; rows]),
        Cells::Whole(vec![parameters; rows]),
    ];
    for name in names {
        let column = figures.columns.get(name).cloned();
        cells.push(Cells::Number(column.unwrap_or_else(|| vec![None; rows])));
    }
    (rows, cells)
}

/// How many clients `run` recorded over all evaluations, and the cells of what was measured of them, `views` among it.
fn client_cells(
    run: &RecordedRun,
    views: &[String],
    owners: bool,
) -> Result<(usize, Vec<Cells>), TableError> {
    let scores = run.client_scores()?;
    let (held, found) = (held(run)?, run.client_views()?);
    let rows = scores.len();
    let examples = |score: &ClientScore| Some(i64::from(*held.get(score.client()?)?));
    let whole = |value: &dyn Fn(&ClientScore) -> Option<i64>| {
        Cells::Whole(scores.iter().map(value).collect())
    };
    let number = |value: &dyn Fn(&ClientScore) -> f64| {
        Cells::Number(scores.iter().map(|score| finite(value(score))).collect())
    };
    let mut cells = vec![
        whole(&|score| Some(score.round)),
        whole(&|score| Some(score.row as i64)),
        Cells::Text(
            scores
                .iter()
                .map(|score| Some(score.kind.name().to_owned()))
                .collect(),
        ),
        whole(&examples),
        number(&|score| score.accuracy),
        number(&|score| score.loss),
    ];
    if owners {
        let names = run.names()?.clients;
        let owner = |score: &ClientScore| names.get(score.client()?).cloned().flatten();
        cells.push(Cells::Text(scores.iter().map(owner).collect()));
    }
    for name in views {
        cells.push(Cells::Number(
            match found.columns.iter().position(|column| column == name) {
                Some(at) => found.rows.iter().map(|row| finite(row[at])).collect(),
                None => vec![None; rows],
            },
        ));
    }
    Ok((rows, cells))
}

/// What was measured of models besides accuracy and loss in any of the runs: first of a client's own examples, then by
/// label.
fn views(runs: &[RecordedRun]) -> Result<Vec<String>, TableError> {
    let mut names = BTreeSet::new();
    for run in runs {
        names.extend(run.client_view_names()?);
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

/// `[N]`: how many examples each client holds; nothing if the run has no record of it.
fn held(run: &RecordedRun) -> Result<Vec<u32>, TableError> {
    Ok(match run.partition()? {
        Some(Holdings::Labels(counts)) => counts.examples(),
        Some(Holdings::Text(counts)) => counts.examples,
        None => Vec::new(),
    })
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// The columns of sizes and of the figures called `names`.
fn metrics_columns(names: &[String]) -> Vec<Column> {
    let figures = names.iter().map(|name| figure_column(name));
    sizes().into_iter().chain(figures).collect()
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

/// Whose examples a client holds.
fn owner_column() -> Column {
    Column::text(
        "owner",
        "Owner of the client's examples, where the dataset names owners and the client holds those of one.",
    )
}

fn client_columns() -> [Column; 6] {
    [
        Column::whole("round", "Communication rounds done; 0 is the start."),
        Column::whole(
            "row",
            "Row of the stack of models: the client, where rows are clients.",
        ),
        Column::text(
            "kind",
            "What the row stands for: `client`, `server` or `walker`.",
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
