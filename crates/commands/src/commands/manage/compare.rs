//! `meshfold runs compare`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use meshfold_comparison::Difference;
use meshfold_experiment::results::{Figures, RecordedRun, ResultsError};
use serde::Serialize;
use serde_json::{Map, Value};

use super::find::run_of;
use crate::failure::Failure;
use crate::figures::{bytes, percent};
use crate::json_lines;
use crate::table::{Column, Table};

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  meshfold runs compare 3fa2 runs/first/91c0d2e4b6a8")]
pub(super) struct CompareArguments {
    /// The first run: its id, the beginning of it, or its folder
    a: String,
    /// The second run
    b: String,
    /// Where ids are looked up
    #[arg(long, value_name = "DIR", default_value = "runs")]
    results: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A run with all that it recorded.
struct Side {
    run: RecordedRun,
    figures: Vec<Figures>,
}

impl Side {
    fn read(folder: &Path) -> Result<Self, ResultsError> {
        let run = RecordedRun::read(folder)?;
        let figures = run.figures()?;
        Ok(Self { run, figures })
    }

    fn last(&self, figure: &str) -> Option<f64> {
        let last = self.figures.last()?;
        last.get(figure).copied()
    }
}

/// How far two runs agree.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Sameness {
    /// Both arguments name one folder.
    SameFolder,
    /// One configuration, and every figure has the same bits, but for the time that it took.
    SameFigures,
    /// One configuration, and other figures, as the examples are others.
    OtherData,
    /// One configuration, and other figures.
    OtherFigures,
    /// Two configurations.
    Different,
}

/// Compares two runs.
///
/// # Errors
/// [`Failure::Refused`] if a word stands for no run, or for several; [`Failure::Broken`] if a run is damaged.
pub(super) fn compare(arguments: &CompareArguments) -> Result<(), Failure> {
    let read = |word: &str| {
        let folder = run_of(word, &arguments.results)?;
        Side::read(&folder).map_err(Failure::broken)
    };
    let sides = [read(&arguments.a)?, read(&arguments.b)?];
    let differences = Difference::between(&sides[0].run.settings, &sides[1].run.settings);
    let sameness = sameness(&sides, &differences);
    if arguments.json {
        return Ok(json_lines::print([line(&sides, &differences, sameness)])?);
    }
    let titles = titles(&sides);
    if !differences.is_empty() {
        let mut table = table("setting", &titles, Column::Text);
        for difference in &differences {
            let path = [difference.path.clone()].into_iter();
            table.row(path.chain(difference.texts()));
        }
        table.print()?;
    }
    let mut table = table("figure", &titles, Column::Figure);
    for name in names(&sides) {
        let shown = sides
            .iter()
            .map(|side| figure(&name, side.last(&name)))
            .collect::<Vec<_>>();
        table.row([name].into_iter().chain(shown));
    }
    table.print()?;
    let mut output = std::io::stdout().lock();
    for (side, title) in sides.iter().zip(&titles) {
        for notice in &side.run.notices {
            writeln!(output, "{title}: {notice}")?;
        }
    }
    Ok(writeln!(output, "{}", verdict(sameness))?)
}

fn sameness(sides: &[Side; 2], differences: &[Difference]) -> Sameness {
    let [a, b] = sides;
    let whole = |side: &Side| std::fs::canonicalize(&side.run.folder).ok();
    let timeless = |side: &Side| -> Vec<Figures> {
        let mut figures = side.figures.clone();
        for record in &mut figures {
            record.remove("wall_seconds");
        }
        figures
    };
    match () {
        () if whole(a).is_some() && whole(a) == whole(b) => Sameness::SameFolder,
        () if a.run.id != b.run.id && !differences.is_empty() => Sameness::Different,
        () if timeless(a) == timeless(b) => Sameness::SameFigures,
        () if are_on_other_data(sides) => Sameness::OtherData,
        () => Sameness::OtherFigures,
    }
}

/// Whether both runs say what their examples were, and these differ.
fn are_on_other_data(sides: &[Side; 2]) -> bool {
    let [a, b] = sides.each_ref().map(|side| side.run.examples());
    a.zip(b).is_some_and(|(a, b)| a != b)
}

fn verdict(sameness: Sameness) -> &'static str {
    match sameness {
        Sameness::SameFolder => "both are the same run, in the same folder",
        Sameness::SameFigures => {
            "both are the same run in two folders: their settings and all their figures are the same, but for the time they took"
        }
        Sameness::OtherData => {
            "both have the same settings, but other data: a file of the dataset was replaced between them"
        }
        Sameness::OtherFigures => {
            "both have the same settings, but other figures: one is not finished, or another version or device made it"
        }
        Sameness::Different => "these are different runs",
    }
}

/// What the runs are called: by their ids, where these differ.
fn titles(sides: &[Side; 2]) -> [String; 2] {
    let is_clear = sides[0].run.id != sides[1].run.id;
    sides.each_ref().map(|side| match is_clear {
        true => side.run.id.clone(),
        false => side.run.folder.display().to_string(),
    })
}

fn table<'a>(first: &'a str, titles: &'a [String; 2], column: fn(&'a str) -> Column<'a>) -> Table {
    Table::new(&[Column::Text(first), column(&titles[0]), column(&titles[1])])
}

/// The figures of the last evaluations: the round, then the others by name. A mean goes by its short name alone.
fn names(sides: &[Side; 2]) -> Vec<String> {
    let last = sides.iter().filter_map(|side| side.figures.last());
    let all: std::collections::BTreeSet<&String> = last.flat_map(Figures::keys).collect();
    let is_second_name = |name: &String| {
        let short = name.strip_suffix(".mean");
        short.is_some_and(|short| all.iter().any(|name| *name == short))
    };
    let is_short = |name: &&&String| !is_second_name(name) && **name != "round";
    let others = all.iter().filter(is_short).map(|name| (*name).clone());
    ["round".to_owned()].into_iter().chain(others).collect()
}

/// A figure as a person reads it.
fn figure(name: &str, value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if name.contains("accuracy") && !name.starts_with("theory") => percent(value),
        Some(value) if name.starts_with("bytes") => bytes(value as u64),
        Some(value) if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value}"),
        Some(value) if (1e-3..1e6).contains(&value.abs()) => format!("{value:.4}"),
        Some(value) => format!("{value:.3e}"),
    }
}

/// What is printed for programs.
#[derive(Serialize)]
struct Line {
    sameness: Sameness,
    ids: [String; 2],
    folders: [String; 2],
    /// The settings in which the runs differ, by their paths, with both values.
    settings: Map<String, Value>,
    /// The figures of the last evaluations by name, with both values.
    figures: Map<String, Value>,
}

fn line(sides: &[Side; 2], differences: &[Difference], sameness: Sameness) -> Line {
    let settings = differences.iter().map(|difference| {
        let values = difference.values.iter().cloned();
        let values = values.map(Option::unwrap_or_default);
        (difference.path.clone(), values.collect())
    });
    let figures = names(sides).into_iter().map(|name| {
        let values = sides.each_ref().map(|side| side.last(&name));
        (name, Value::from(values.map(Value::from).to_vec()))
    });
    Line {
        sameness,
        ids: sides.each_ref().map(|side| side.run.id.clone()),
        folders: sides
            .each_ref()
            .map(|side| side.run.folder.display().to_string()),
        settings: settings.collect(),
        figures: figures.collect(),
    }
}
