//! `meshfold plan FILE`.

mod timing;

use std::io::Write;
use std::time::Duration;

use clap::{Args, value_parser};
use meshfold_data::{DatasetSummary, Input};
use meshfold_experiment::{
    OverRanks, Own, PlanSummary, RunPlan, brief, plan_elsewhere, plan_on, plan_without_data,
    warnings,
};
use serde::Serialize;

use crate::arguments::{DeviceArguments, ExperimentArguments};
use crate::commands::plan::timing::Timed;
use crate::failure::Failure;
use crate::figures::{bytes, count, eigenvalue};
use crate::json_lines;
use crate::lambda::explain_lambda;
use crate::table::{Column, Table};
use crate::terminal;

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    experiment: ExperimentArguments,
    #[command(flatten)]
    device: DeviceArguments,
    /// Take the published sizes of a dataset whose files are missing
    #[arg(long)]
    without_data: bool,
    /// Plan each run over N MPI ranks: edges cut, bytes between ranks, and memory of the rank that holds most
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=4096))]
    ranks: Option<u16>,
    /// Measure how long each run takes here: carries out first rounds for so many seconds, and writes nothing [default SECONDS: 60]
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "60")]
    #[arg(value_parser = value_parser!(u32).range(1..=86_400), conflicts_with_all = ["without_data", "ranks"])]
    time: Option<u32>,
    /// Print one JSON object per run, one a line
    #[arg(long)]
    json: bool,
}

const COLUMNS: [Column<'_>; 9] = [
    Column::Text("run"),
    Column::Text("id"),
    Column::Figure("clients"),
    Column::Figure("rows"),
    Column::Figure("parameters"),
    Column::Figure("memory"),
    Column::Figure("steps/round"),
    Column::Figure("bytes/round"),
    Column::Figure("λ"),
];

/// Prints what each run would do, and the resolved configuration of the first.
///
/// # Errors
/// [`Failure::Refused`] if the experiment cannot be planned.
pub(crate) fn plan(arguments: &PlanArguments, own: &Own) -> Result<(), Failure> {
    let device = arguments.device.open()?;
    let source = arguments.experiment.source()?.with_own(own.clone());
    let folder = arguments.experiment.data.folder_for(&source)?;
    let ranks = arguments.ranks.map(usize::from);
    let plans = match (arguments.without_data, ranks) {
        (true, _) => plan_without_data(&device, &source, &folder),
        (false, None) => plan_on(&device, &source, &folder),
        // What does not fit this machine may fit several.
        (false, Some(_)) => plan_elsewhere(Some(&device), &source, &folder),
    }?;
    let over = |plan: &RunPlan, ranks| plan.over_ranks_on(Some(&device), ranks);
    warn(&plans);
    let spent = arguments.time.map(u64::from).map(Duration::from_secs);
    let timed = match spent {
        Some(spent) => Some(timing::time(&plans, &device, &folder, spent)?),
        None => None,
    };
    let time_of = |place: usize| timed.as_ref().map(|timed| timed[place]);
    if arguments.json {
        let line = |(place, plan)| Line {
            summary: RunPlan::summary(plan),
            over_ranks: ranks.map(|ranks| over(plan, ranks)),
            time: time_of(place),
        };
        return Ok(json_lines::print(plans.iter().enumerate().map(line))?);
    }
    let of_time = timed.as_ref().map_or(&[][..], |_| &timing::COLUMNS);
    let mut table = Table::new(&[&COLUMNS[..], of_time].concat());
    for (place, plan) in plans.iter().enumerate() {
        let time = time_of(place).map(|time| time.cells());
        table.row(row(plan).into_iter().chain(time.into_iter().flatten()));
    }
    table.print()?;
    if let Some(timed) = &timed {
        timing::print_together(timed, &device)?;
    }
    explain_lambda(&plans)?;
    print_datasets(&plans)?;
    if let Some(ranks) = ranks {
        let over = plans.iter().map(|plan| (plan, over(plan, ranks)));
        print_over_ranks(over, ranks)?;
    }
    let misses =
        |plan: &RunPlan| plan.config.stragglers.is_some() || !plan.config.failures.0.is_empty();
    if plans.iter().any(misses) {
        writeln!(
            std::io::stdout().lock(),
            "steps and bytes are those of a round in which nobody fails or falls behind"
        )?;
    }
    let counts_itself = |plan: &RunPlan| plan.config.algorithm.key() == "own";
    if plans.iter().any(counts_itself) {
        writeln!(
            std::io::stdout().lock(),
            "steps and bytes of a method of your own are what its `forecast` says, or else those of `local` and of one model over each edge: a run counts what it does"
        )?;
    }
    if let Some(first) = plans.first() {
        let which = if plans.len() > 1 {
            "the first run"
        } else {
            "the run"
        };
        write!(
            std::io::stdout().lock(),
            "\n# config.yaml of {which}\n{}",
            first.config.to_yaml()
        )?;
    }
    Ok(())
}

/// A run as `--json` prints it.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    summary: PlanSummary<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    over_ranks: Option<OverRanks>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<Timed>,
}

/// How many examples the datasets have, and what they look like: a line for each dataset.
fn print_datasets(plans: &[RunPlan]) -> Result<(), Failure> {
    let mut told: Vec<String> = Vec::new();
    for plan in plans {
        let line = dataset_line(plan.config.dataset.name(), &plan.dataset);
        if !told.contains(&line) {
            writeln!(std::io::stdout().lock(), "{line}")?;
            told.push(line);
        }
    }
    Ok(())
}

/// `glyphs: 600 training and 100 test examples of 1 × 28 × 28 numbers in 10 classes`.
fn dataset_line(name: &str, dataset: &DatasetSummary) -> String {
    let (train, test) = (count(dataset.train() as u64), count(dataset.test() as u64));
    let classes = count(dataset.classes() as u64);
    let examples = match dataset.input() {
        Input::Numbers(shape) if (shape.channels, shape.height) == (1, 1) => {
            format!("{} numbers in {classes} classes", count(shape.width as u64))
        }
        Input::Numbers(shape) => {
            let (channels, height, width) = (shape.channels, shape.height, shape.width);
            format!("{channels} × {height} × {width} numbers in {classes} classes")
        }
        Input::Tokens { window } => format!("{} of {classes} tokens", count(window as u64)),
    };
    format!("{name}: {train} training and {test} test examples of {examples}")
}

/// What each run would be like over `ranks` ranks.
fn print_over_ranks<'a>(
    plans: impl Iterator<Item = (&'a RunPlan, OverRanks)>,
    ranks: usize,
) -> Result<(), Failure> {
    writeln!(std::io::stdout().lock(), "\nover {ranks} ranks")?;
    let mut table = Table::new(&[
        Column::Text("run"),
        Column::Figure("rows of a rank"),
        Column::Figure("cut edges"),
        Column::Figure("in blocks"),
        Column::Figure("bytes/exchange"),
        Column::Figure("memory of a rank"),
    ]);
    let figure = |figure: Option<usize>| {
        figure.map_or_else(|| "-".to_owned(), |figure| count(figure as u64))
    };
    for (plan, over) in plans {
        let rows = match over.least_rows == over.most_rows {
            true => count(over.most_rows as u64),
            false => format!(
                "{} to {}",
                count(over.least_rows as u64),
                count(over.most_rows as u64)
            ),
        };
        table.row([
            brief(&plan.label()).into_owned(),
            rows,
            figure(over.cut_edges),
            figure(over.cut_edges_in_blocks),
            over.bytes_per_exchange
                .map_or_else(|| "-".to_owned(), bytes),
            bytes(over.memory_bytes),
        ]);
    }
    table.print()?;
    Ok(())
}

/// Warns of settings that will work but may not be meant.
pub(crate) fn warn(plans: &[RunPlan]) {
    for warning in warnings(plans) {
        terminal::line(&format!("warning: {warning}"));
    }
}

fn row(plan: &RunPlan) -> [String; 9] {
    [
        brief(&plan.label()).into_owned(),
        plan.id.clone(),
        count(plan.clients as u64),
        count(plan.rows.count as u64),
        count(plan.parameters as u64),
        bytes(plan.memory_bytes),
        count(plan.local_steps_per_round.round() as u64),
        bytes(plan.bytes_per_round),
        eigenvalue(plan.overlay.as_ref().and_then(|planned| planned.lambda())),
    ]
}
