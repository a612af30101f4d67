//! Tables that compare the settings of runs.

use meshfold_comparison::{
    At, Grid, Naming, Only, Request, Spread, Summary, Surroundings, Table as Compared, latex,
    markdown, records,
};
use pyo3::prelude::*;

use crate::arrow::Table;
use crate::errors::Failure;
use crate::recorded::Recorded;
use crate::threads;

/// What a table is to show.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct TableRequest {
    by: Vec<String>,
    over: String,
    only: Vec<(String, Vec<String>)>,
    best: Vec<String>,
    on: Option<String>,
    at: Option<String>,
    unfinished: bool,
    metric: Vec<String>,
    compare: Option<(String, String)>,
    across: Option<String>,
    summary: String,
    spread: String,
    names: Vec<(String, String)>,
}

/// A message about options of the command line with the arguments that they are in Python: `--only` is `only`.
pub(crate) fn in_python(message: &str) -> String {
    let mut said = String::new();
    let mut rest = message;
    while let Some(at) = rest.find("--") {
        let (before, option) = (&rest[..at], &rest[at + 2..]);
        let letters = option.find(|letter: char| !letter.is_ascii_lowercase());
        let (name, after) = option.split_at(letters.unwrap_or(option.len()));
        said += before;
        said += &match name {
            "" => "--".to_owned(),
            "name" => "`names`".to_owned(),
            _ => format!("`{name}`"),
        };
        rest = after;
    }
    said + rest
}

/// Where runs are judged.
pub(crate) fn place(at: Option<&str>) -> Result<At, Failure> {
    let read = |at: &str| {
        let read = at.parse::<At>();
        read.map_err(|needed| Failure::Argument(format!("at: found {at}, {needed}")))
    };
    at.map_or_else(|| Ok(At::default()), read)
}

/// The words for names and values.
pub(crate) fn words(names: Vec<(String, String)>) -> Vec<Naming> {
    let names = names.into_iter();
    names
        .map(|(name, words)| Naming::new(name, words))
        .collect()
}

/// Whether runs become a mean or a median.
pub(crate) fn summary(written: &str) -> Result<Summary, Failure> {
    match written {
        "mean" => Ok(Summary::Mean),
        "median" => Ok(Summary::Median),
        other => Err(Failure::Argument(format!(
            "summary: found {other}, needed mean or median"
        ))),
    }
}

/// The settings of `only`, each with the values that are taken.
pub(crate) fn chosen(only: Vec<(String, Vec<String>)>) -> Vec<Only> {
    let only = only.into_iter();
    only.map(|(field, values)| Only { field, values }).collect()
}

impl TableRequest {
    fn request(self) -> Result<Request, Failure> {
        let at = place(self.at.as_deref())?;
        if matches!((&at, &self.compare), (At::Target(_), Some(_))) {
            return Err(Failure::Argument(
                "compare: a target is not compared, which not every run may reach".to_owned(),
            ));
        }
        let spread = match self.spread.as_str() {
            "interval" => Spread::Interval,
            "sd" => Spread::Deviation,
            "se" => Spread::Error,
            other => {
                return Err(Failure::Argument(format!(
                    "spread: found {other}, needed interval, sd or se"
                )));
            }
        };
        let summary = summary(&self.summary)?;
        let mut figures = self.metric.into_iter();
        Ok(Request {
            by: self.by,
            only: chosen(self.only),
            over: self.over,
            best: self.best,
            on: self.on,
            at,
            unfinished: self.unfinished,
            metric: figures.next().unwrap_or_default(),
            also: figures.collect(),
            compare: self.compare,
            across: self.across,
            summary,
            spread,
            words: words(self.names),
        })
    }
}

/// A table of the runs at `places`, as numbers, as Markdown and as LaTeX, and what a reader must know.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    recorded: &Recorded,
    places: Vec<usize>,
    request: TableRequest,
) -> PyResult<(Table, String, String, Vec<String>)> {
    let compared = py.detach(|| {
        let request = request.request()?;
        let runs = recorded.some(&places)?;
        let compared = threads::shared(|| Compared::of(&runs, request));
        let compared =
            compared.map_err(|error| Failure::Argument(in_python(&error.to_string())))?;
        let grid = Grid::of(&compared);
        let table = Table::of_records(&records(&compared))?;
        Ok((
            table,
            markdown(&grid),
            latex(&grid, &Surroundings::default()),
            compared.notes,
        ))
    });
    compared.map_err(|error: Failure| error.raise(py))
}
