//! All runs of an experiment in two tables: of their evaluations, and of their clients.

use std::collections::{BTreeMap, BTreeSet};

use meshfold_experiment::results::{
    ClientScore, Figures, Holdings, RecordedRun, ResultsError, RowKind,
};
use rayon::prelude::*;

use crate::column::{Cells, Column, Kind};
use crate::combined_columns::{
    client_columns, kind, label, metrics_columns, owner_column, state_column, view_column,
};
use crate::error::TableError;
use crate::fields::{Fields, differing};
use crate::loss::Loss;
use crate::overlay_figure::OverlayFigure;
use crate::settings_columns::{SettingColumn, settings_columns, united_columns};

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
    /// Evaluations, as `Metrics`, with the figures of each run in memory.
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
        let columns = metrics_columns(&names, loss(runs));
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
        let columns = metrics_columns(&names, loss(runs));
        Ok(Self::new(runs, columns, Content::InMemory(names, all)))
    }

    /// A row for each client at each evaluation of each run, with the run's id, the settings in which the runs differ, how
    /// many examples the client holds, and what was measured of its model.
    ///
    /// # Errors
    /// [`TableError`] if the records of a run cannot be read.
    pub fn clients(runs: &'a [RecordedRun]) -> Result<Self, TableError> {
        let views = views(runs)?;
        let loss = loss(runs);
        let measured = views.iter().map(|name| view_column(name, loss));
        let named = runs.iter().map(|run| Ok(!run.names()?.clients.is_empty()));
        let named: Result<Vec<bool>, ResultsError> = named.collect();
        let owners = named?.contains(&true);
        let owner = owners.then(owner_column);
        let columns = client_columns(loss)
            .into_iter()
            .chain(owner)
            .chain(measured);
        let columns: Vec<Column> = columns.collect();
        Ok(Self::new(runs, columns, Content::Clients { views, owners }))
    }

    fn new(runs: &'a [RecordedRun], columns: Vec<Column>, content: Content) -> Self {
        let fields = Fields::of_all(runs.iter().map(|run| &run.settings));
        let differing = differing(&fields, &[]);
        let mut settings = settings_columns(&differing, &fields);
        let mut taken: Vec<Column> = settings
            .iter()
            .map(|setting| setting.column.clone())
            .collect();
        taken.extend(columns.iter().cloned());
        taken.extend([id_column(), state_column()]);
        settings.extend(united_columns(&differing, &fields, &taken));
        let of_runs = settings.iter().map(|setting| setting.column.clone());
        let of_runs = of_runs.chain([state_column()]);
        Self {
            columns: [id_column()]
                .into_iter()
                .chain(of_runs)
                .chain(columns)
                .collect(),
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
        cells.push(Cells::Text(vec![Some(state(run).to_owned()); rows]));
        cells.extend(measured);
        Ok(cells)
    }
}

fn id_column() -> Column {
    Column::text("run", "Id of the run, the name of its folder.")
}

/// How far `run` came.
fn state(run: &RecordedRun) -> &'static str {
    match (run.is_finished, &run.failure) {
        (true, _) => "finished",
        (false, Some(_)) => "failed",
        (false, None) => "unfinished",
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
    cells.extend(OverlayFigure::all().iter().map(|figure| {
        let value = figure.value(run).and_then(finite);
        Cells::Number(vec![value; rows])
    }));
    for name in names {
        let column = figures.columns.get(name).cloned();
        let column = column.unwrap_or_else(|| vec![None; rows]);
        cells.push(match kind(name) {
            Kind::Whole => Cells::Whole(column.into_iter().map(whole).collect()),
            Kind::Number | Kind::Text => Cells::Number(column),
        });
    }
    (rows, cells)
}

/// How many neighbours each row of the overlay of `run` has; none without an overlay of what the rows stand for.
fn degrees(run: &RecordedRun) -> Vec<i64> {
    // A list of edges that was damaged hides nothing else.
    let overlay = run.overlay().ok().flatten();
    let overlay = overlay.filter(|overlay| run.rows == Some(overlay.nodes()));
    overlay.map_or_else(Vec::new, |overlay| {
        let nodes = 0..overlay.nodes();
        nodes.map(|node| overlay.degree(node) as i64).collect()
    })
}

/// A count as a whole number; nothing if it is none.
fn whole(count: Option<f64>) -> Option<i64> {
    let count = count.filter(|count| count.fract() == 0.0)?;
    Some(count as i64)
}

/// What the losses of `runs` are.
fn loss(runs: &[RecordedRun]) -> Loss {
    let fields: Vec<Fields> = runs.iter().map(|run| Fields::of(&run.settings)).collect();
    Loss::of(fields.iter())
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
    let degrees = degrees(run);
    let kind = run.models_of;
    let neighbours = |score: &ClientScore| {
        let degree = degrees.get(score.row).copied();
        degree.filter(|_| Some(score.kind) == kind && score.kind != RowKind::Walker)
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
        whole(&neighbours),
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
