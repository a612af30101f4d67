//! `meshfold table DIR...`.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use meshfold_comparison::{
    At, Grid, Naming, Only, Request, Spread, Summary, Surroundings, Table, csv, latex, markdown,
    records,
};
use meshfold_experiment::files::whole_file::write_to;
use meshfold_experiment::results::{is_run, sweep_order};
use meshfold_report::LeftOut;

use crate::failure::Failure;
use crate::gathered::gathered;
use crate::table::{Column, Table as Lines};
use crate::terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
Settings go by their names in YAML, such as algorithm.dsgd.learning_rate, or by the end of it, such as learning_rate.
Figures go by their names in metrics.jsonl; test_accuracy.p10 is the 10 % quantile of the clients, and test_accuracy.worst10 the mean
of the worst 10 % of them. Of accuracies more is better, of how far they spread (test_accuracy.std) and of all other figures less.

Examples:
  meshfold table runs/first --by topology
  meshfold table runs/first --by topology,algorithm --best learning_rate --compare algorithm=dsgd
  meshfold table runs/first --by algorithm --metric test_accuracy,test_loss,bytes_total
  meshfold table runs/first --by algorithm,partition --across partition -o table.tex
  meshfold table runs/first --by topology --at target=0.95 --summary median")]
pub(crate) struct TableArguments {
    /// Folders of runs, or folders that hold runs
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Settings that tell the rows apart
    #[arg(long, value_name = "SETTING,...", value_delimiter = ',')]
    by: Vec<String>,
    /// The setting whose values repeat a row
    #[arg(long, value_name = "SETTING", default_value = "seed")]
    over: String,
    /// Take only runs with one of these values, or `none` where the setting is not there; repeatable
    #[arg(long, value_name = "SETTING=VALUE,...")]
    only: Vec<Only>,
    /// Take for each row the best value of this setting; of several settings, such as learning_rate,momentum, the best combination
    /// of their values
    #[arg(long, value_name = "SETTING,...", value_delimiter = ',')]
    best: Vec<String>,
    /// The figure that says which value is best, or `validation` [default: that of the validation examples if the runs have
    /// any, else --metric if it is an accuracy or a loss, else test_accuracy]
    #[arg(long, value_name = "FIGURE", requires = "best")]
    on: Option<String>,
    /// Where to judge a run: at round=, steps=, examples=, bytes= or seconds=, on the straight line between two evaluations;
    /// last=5, by the mean of the last five evaluations; best=validation_accuracy, at the evaluation at which this figure is best; or
    /// target=, to show at which evaluation the metric first reached it [default: the last evaluation]
    #[arg(long, value_name = "WAY=NUMBER")]
    at: Option<At>,
    /// Take runs that are not finished, such as those that early stopping ended, with the evaluations that they have
    #[arg(long)]
    unfinished: bool,
    /// The figure to show, or several side by side; rounds_to=0.9 is what it takes until the test accuracy first reaches 0.9, and so
    /// are steps_to=, examples_to=, bytes_to= and seconds_to=
    #[arg(
        long,
        value_name = "FIGURE,...",
        value_delimiter = ',',
        default_value = "test_accuracy"
    )]
    metric: Vec<String>,
    /// Compare each row with the one that has this value, over the same seeds
    #[arg(long, value_name = "SETTING=VALUE", value_parser = setting)]
    compare: Option<Baseline>,
    /// Show the values of this setting of --by side by side, each with its mean or median: a table for a paper; with --compare a star marks what differs significantly
    #[arg(long, value_name = "SETTING")]
    across: Option<String>,
    /// Whether a row shows the mean of its runs, or their median with the quartiles in brackets
    #[arg(long, value_enum, default_value = "mean")]
    summary: SummaryChoice,
    /// What to show behind ±, beside a mean
    #[arg(long, value_enum, default_value = "interval")]
    spread: SpreadChoice,
    /// Words that stand for a setting, a value or a figure, such as dfedavg=DFedAvg; CSV and JSON keep the names; repeatable
    #[arg(long, value_name = "SETTING|VALUE|FIGURE=TEXT")]
    name: Vec<Naming>,
    /// How to write it [default: by the ending of FILE, else terminal]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The beginning of the caption, in LaTeX; the notes of the table follow
    #[arg(long, value_name = "TEXT")]
    caption: Option<String>,
    /// By which a text refers to the table, in LaTeX: \ref{tab:accuracy}
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// Write the table to a file
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// A setting and its value.
#[derive(Clone, Debug)]
struct Baseline {
    setting: String,
    value: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SummaryChoice {
    /// Of what it takes to reach a target, the mean of the runs that reach it
    Mean,
    /// Runs that never reach a target are larger than all others
    Median,
}

impl SummaryChoice {
    pub(crate) fn summary(self) -> Summary {
        match self {
            Self::Mean => Summary::Mean,
            Self::Median => Summary::Median,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SpreadChoice {
    /// Half of the 95 % interval of the mean (Student's t)
    Interval,
    /// Standard deviation
    Sd,
    /// Standard error of the mean
    Se,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Terminal,
    Markdown,
    /// Plain numbers, accuracies as fractions
    Csv,
    /// For the package booktabs
    Latex,
    /// Plain numbers, also in settings that are numbers; one object a line
    Json,
}

fn setting(text: &str) -> Result<Baseline, String> {
    let (setting, value) = text
        .split_once('=')
        .ok_or("needed a setting and its value, such as algorithm=dsgd")?;
    Ok(Baseline {
        setting: setting.to_owned(),
        value: value.to_owned(),
    })
}

/// Shows what the runs in the folders say of each setting.
///
/// # Errors
/// [`Failure::Refused`] if there is no run or a name stands for nothing, [`Failure::Broken`] if the file cannot be written,
/// [`Failure::Incomplete`] if the table leaves out a damaged run.
pub(crate) fn tabulate(arguments: &TableArguments) -> Result<(), Failure> {
    let at = arguments.at.clone().unwrap_or_default();
    if matches!((&at, &arguments.compare), (At::Target(_), Some(_))) {
        return Err(Failure::refused(
            "--compare compares figures: it does not go with --at target=, which not every run may reach",
        ));
    }
    let format = format(arguments)?;
    let around = around(arguments, format)?;
    let gathered = gathered(&arguments.folders)?;
    let baseline = arguments.compare.as_ref();
    let mut figures = arguments
        .metric
        .iter()
        .map(|figure| figure.trim().to_owned());
    let request = Request {
        by: arguments.by.clone(),
        only: arguments.only.clone(),
        over: arguments.over.clone(),
        best: arguments.best.clone(),
        on: arguments.on.clone(),
        at,
        unfinished: arguments.unfinished,
        metric: figures.next().unwrap_or_default(),
        also: figures.collect(),
        compare: baseline.map(|baseline| (baseline.setting.clone(), baseline.value.clone())),
        across: arguments.across.clone(),
        summary: arguments.summary.summary(),
        spread: match arguments.spread {
            SpreadChoice::Interval => Spread::Interval,
            SpreadChoice::Sd => Spread::Deviation,
            SpreadChoice::Se => Spread::Error,
        },
        words: arguments.name.clone(),
    };
    let mut table =
        Table::of(&gathered.runs, request).map_err(|error| Failure::refused(error.to_string()))?;
    let has_choice = !arguments.only.is_empty();
    table.notes.extend(absent(&arguments.folders, has_choice));
    let most = terminal::width().filter(|_| arguments.out.is_none());
    let text = text(&table, format, &around, most)?;
    match &arguments.out {
        Some(file) => {
            write_to(file, text.as_bytes()).map_err(|error| Failure::unwritten(file, error))?
        }
        None => std::io::stdout().lock().write_all(text.as_bytes())?,
    }
    if matches!(format, Format::Csv | Format::Json) {
        table.notes.iter().for_each(|note| terminal::line(note));
    }
    tell_left_out(&gathered.left_out)
}

/// For each of `folders` whose sweeps have runs that none of the folders has: how many. If `has_choice`, some of them may be none that were
/// asked for.
pub(crate) fn absent(folders: &[PathBuf], has_choice: bool) -> Vec<String> {
    let is_anywhere = |id: &String| folders.iter().any(|folder| is_run(&folder.join(id)));
    let say = |folder: &PathBuf| {
        let ids = sweep_order::places(folder).into_keys();
        let what = match ids.filter(|id| !is_anywhere(id)).count() {
            0 => return None,
            1 => "1 run of its sweeps has not begun or was removed".to_owned(),
            count => format!("{count} runs of its sweeps have not begun or were removed"),
        };
        let choice = match has_choice {
            true => ", whether --only takes them or not",
            false => "",
        };
        Some(format!("{}: {what}{choice}", folder.display()))
    };
    folders.iter().filter_map(say).collect()
}

/// Names the runs that a table or figure is without.
pub(crate) fn tell_left_out(left_out: &[LeftOut]) -> Result<(), Failure> {
    for run in left_out {
        let folder = run.folder().display();
        terminal::line(&format!("{folder} is left out: {}", run.reason()));
    }
    match left_out.iter().any(LeftOut::is_damaged) {
        true => Err(Failure::Incomplete),
        false => Ok(()),
    }
}

/// The format that was asked for, or that the ending of the file's name says.
fn format(arguments: &TableArguments) -> Result<Format, Failure> {
    let (Some(file), None) = (&arguments.out, arguments.format) else {
        return Ok(arguments.format.unwrap_or(Format::Terminal));
    };
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("md") => Ok(Format::Markdown),
        Some("csv") => Ok(Format::Csv),
        Some("tex") => Ok(Format::Latex),
        Some("json" | "jsonl") => Ok(Format::Json),
        Some("txt") | None => Ok(Format::Terminal),
        Some(other) => Err(Failure::refused(format!(
            "--out {}: no format has the ending .{other}; end it in .md, .csv, .tex, .json or .txt, or say --format",
            file.display()
        ))),
    }
}

/// The caption and the label that were asked for, which LaTeX has alone.
fn around(arguments: &TableArguments, format: Format) -> Result<Surroundings, Failure> {
    let asked = [
        ("--caption", &arguments.caption),
        ("--label", &arguments.label),
    ];
    match asked.iter().find(|(_, text)| text.is_some()) {
        Some((option, _)) if format != Format::Latex => Err(Failure::refused(format!(
            "{option}: tables in LaTeX have one; end the file in .tex, or say --format latex"
        ))),
        _ => Ok(Surroundings {
            caption: arguments.caption.clone(),
            label: arguments.label.clone(),
        }),
    }
}

/// The table in a format: in LaTeX with what goes `around` it, for people no wider than `most` columns of text.
fn text(
    table: &Table,
    format: Format,
    around: &Surroundings,
    most: Option<usize>,
) -> Result<String, Failure> {
    Ok(match format {
        Format::Terminal => lines(&Grid::of(table), most),
        Format::Markdown => markdown(&Grid::of(table)),
        Format::Latex => latex(&Grid::of(table), around),
        Format::Csv => csv(table).map_err(Failure::broken)?,
        Format::Json => {
            let records = records(table).into_iter();
            let lines = records.map(|record| format!("{}\n", serde_json::Value::from(record)));
            lines.collect()
        }
    })
}

/// The table in a frame, no wider than `most` columns of text, and its notes.
pub(super) fn lines(grid: &Grid, most: Option<usize>) -> String {
    let column = |(place, title)| match place < grid.words {
        true => Column::Text(title),
        false => Column::Figure(title),
    };
    let titles = grid.titles.iter().map(String::as_str);
    let columns: Vec<Column<'_>> = titles.enumerate().map(column).collect();
    let mut table = Lines::new(&columns).keyed_by(grid.words.max(1));
    grid.rows
        .iter()
        .for_each(|row| table.row(row.cells.iter().cloned()));
    let mut text = format!("{}\n", table.text(most));
    for note in &grid.notes {
        text += &format!("{note}\n");
    }
    text
}
