//! `meshfold figure DIR...`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use meshfold_comparison::{
    At, AxisRequest, Band, CurveRequest, Horizontal, Naming, Only, Plot, PlotRequest, Progress,
};
use meshfold_figure::Scale;

use crate::commands::tabulate::{SummaryChoice, absent, tell_left_out};
use crate::failure::Failure;
use crate::gathered::gathered;
use crate::length::Length;
use crate::page::{Out, PageArguments, out, write};
use crate::terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
Settings go by their names in YAML, such as algorithm.dsgd.learning_rate, or by the end of it, such as learning_rate.
Figures go by their names in metrics.jsonl; test_accuracy.p10 is the 10 % quantile of the clients, and test_accuracy.worst10 the mean
of the worst 10 % of them. Lengths take mm, cm, in or pt.

Examples:
  meshfold figure runs/first --by topology -o accuracy.pdf
  meshfold figure runs/first --by algorithm,topology --panels topology --name dfedavg=DFedAvg --width 170mm -o overlays.pdf
  meshfold figure runs/first --by topology,algorithm --best learning_rate -o tuned.pdf
  meshfold figure runs/first --by topology,algorithm --bars --at round=100 -o bars.pdf
  meshfold figure runs/sweep --by algorithm --x alpha -o alpha.pdf
  meshfold figure runs/first --by topology,algorithm --x bytes --y test_loss --log y --width 170mm -o loss.svg")]
pub(crate) struct FigureArguments {
    /// Folders of runs, or folders that hold runs
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Write the figure to this file: .svg, .pdf or .png
    #[arg(short, long, value_name = "FILE", value_parser = out)]
    out: Out,
    /// What measures how far a run is: rounds, steps (local steps of all clients), epochs (examples seen, divided by those that
    /// the clients hold), examples, bytes (sent), seconds (on the simulated network), or a figure that never decreases, such as
    /// wall_seconds. Or a setting whose values are numbers: then a point for each of them shows what the runs have at --at. Or
    /// lambda, gap, mean_degree, diameter, mean_distance or clustering: then each overlay has such a point. Or share_of_clients: then a
    /// curve shows the clients at --at, from the least value to the largest
    #[arg(long, value_name = "WAY|FIGURE|SETTING", default_value = Progress::Rounds.name(), conflicts_with = "bars")]
    x: Horizontal,
    /// The figure to draw
    #[arg(long, value_name = "FIGURE", default_value = "test_accuracy")]
    y: String,
    /// Settings that tell the curves apart: the first by colour, the others by dashes
    #[arg(long, value_name = "SETTING,...", value_delimiter = ',')]
    by: Vec<String>,
    /// Draw a panel for each value of this setting of --by, at most 12
    #[arg(long, value_name = "SETTING")]
    panels: Option<String>,
    /// Words that stand for a setting, a value or a figure, such as dfedavg=DFedAvg; repeatable
    #[arg(long, value_name = "SETTING|VALUE|FIGURE=TEXT")]
    name: Vec<Naming>,
    /// The setting whose values repeat a curve
    #[arg(long, value_name = "SETTING", default_value = "seed")]
    over: String,
    /// Draw only runs with one of these values, or `none` where the setting is not there; repeatable
    #[arg(long, value_name = "SETTING=VALUE,...")]
    only: Vec<Only>,
    /// Draw for each curve or bar the best value of this setting; of several settings, such as learning_rate,momentum, the best
    /// combination of their values
    #[arg(long, value_name = "SETTING,...", value_delimiter = ',')]
    best: Vec<String>,
    /// The figure that says which value is best at the last evaluation, or `validation` [default: that of the validation examples if the
    /// runs have any, else that of --y]
    #[arg(long, value_name = "FIGURE", requires = "best")]
    on: Option<String>,
    /// Whether a curve, bar or point is the mean of its runs or their median
    #[arg(long, value_enum, default_value = "mean")]
    summary: SummaryChoice,
    /// What to draw around the mean or the median; quantiles and range do not go with --bars and --x SETTING or share_of_clients
    #[arg(long, value_enum, default_value = "interval")]
    band: BandChoice,
    /// Draw bars and no curves: a group for each value of the first setting of --by, a colour for each of the others
    #[arg(long)]
    bars: bool,
    /// Where --bars and --x SETTING or share_of_clients judge a run: at round=, steps=, examples=, bytes= or seconds=, or by the mean of the
    /// last evaluations, last=5, or where a figure is best, best=validation_accuracy [default: the last evaluation]
    #[arg(long, value_name = "WAY=NUMBER")]
    at: Option<At>,
    /// There, take runs that are not finished with the evaluations that they have
    #[arg(long)]
    unfinished: bool,
    /// Axes that are logarithmic: x, y
    #[arg(long, value_name = "AXIS,...", value_enum, value_delimiter = ',')]
    log: Vec<AxisChoice>,
    /// Axes that are linear: with --x SETTING, x is logarithmic otherwise if the largest value is 20 times the smallest or more
    #[arg(long, value_name = "AXIS,...", value_enum, value_delimiter = ',')]
    linear: Vec<AxisChoice>,
    /// Where the horizontal axis begins and ends
    #[arg(long, value_name = "FROM,TO", value_parser = limits, allow_hyphen_values = true, conflicts_with = "bars")]
    x_limits: Option<Limits>,
    /// Where the vertical axis begins and ends; accuracies as fractions
    #[arg(long, value_name = "FROM,TO", value_parser = limits, allow_hyphen_values = true)]
    y_limits: Option<Limits>,
    /// Height of the figure [default: 0.72 of the width, 90 mm at most; with panels, what their rows need]
    #[arg(long, value_name = "LENGTH")]
    height: Option<Length>,
    #[command(flatten)]
    page: PageArguments,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum BandChoice {
    /// 95 % interval of the mean (Student's t); the quartiles around a median
    Interval,
    /// Standard deviation of the runs
    Sd,
    /// Standard error of the mean
    Se,
    /// 5 % and 95 % quantiles of the clients
    Quantiles,
    /// The least and the largest of the clients
    Range,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AxisChoice {
    X,
    Y,
}

/// Where an axis begins and ends.
#[derive(Clone, Copy, Debug)]
struct Limits {
    from: f64,
    to: f64,
}

fn limits(text: &str) -> Result<Limits, String> {
    let needed = "needed two numbers, the smaller one first, such as 0.5,1";
    let (from, to) = text.split_once(',').ok_or(needed)?;
    let number = |text: &str| text.trim().parse::<f64>().map_err(|_| needed);
    let (from, to) = (number(from)?, number(to)?);
    match from.is_finite() && to.is_finite() && from < to {
        true => Ok(Limits { from, to }),
        false => Err(needed.to_owned()),
    }
}

impl BandChoice {
    fn band(self) -> Band {
        match self {
            Self::Interval => Band::Interval,
            Self::Sd => Band::Deviation,
            Self::Se => Band::Error,
            Self::Quantiles => Band::Quantiles,
            Self::Range => Band::Range,
            Self::None => Band::None,
        }
    }
}

/// Draws the course of a figure in the runs of the folders.
///
/// # Errors
/// [`Failure::Refused`] if there is no run, a name stands for nothing or the page is too small, [`Failure::Broken`] if the
/// file cannot be written, [`Failure::Incomplete`] if the figure leaves out a damaged run.
pub(crate) fn figure(arguments: &FigureArguments) -> Result<(), Failure> {
    let request = request(arguments)?;
    let gathered = gathered(&arguments.folders)?;
    let plot = Plot::of(&gathered.runs, &request);
    let plot = plot.map_err(|error| Failure::refused(error.to_string()))?;
    write(&plot.figure.drawing(), &arguments.out, arguments.page.dpi)?;
    let absent = absent(&arguments.folders, !arguments.only.is_empty());
    let notes = plot.notes.into_iter().chain(absent);
    notes.for_each(|note| terminal::line(&note));
    tell_left_out(&gathered.left_out)
}

fn request(arguments: &FigureArguments) -> Result<PlotRequest, Failure> {
    Ok(PlotRequest {
        curves: CurveRequest {
            by: arguments.by.clone(),
            over: arguments.over.clone(),
            only: arguments.only.clone(),
            best: arguments.best.clone(),
            on: arguments.on.clone(),
            x: arguments.x.clone(),
            y: arguments.y.clone(),
            summary: arguments.summary.summary(),
            band: arguments.band.band(),
            words: arguments.name.clone(),
        },
        bars: arguments.bars,
        at: arguments.at.clone(),
        unfinished: arguments.unfinished,
        panels: arguments.panels.clone(),
        width: arguments.page.width.millimetres(),
        height: arguments.height.map(Length::millimetres),
        font_size: arguments.page.font_size.points(),
        x: axis(arguments, AxisChoice::X, arguments.x_limits)?,
        y: axis(arguments, AxisChoice::Y, arguments.y_limits)?,
    })
}

fn axis(
    arguments: &FigureArguments,
    which: AxisChoice,
    limits: Option<Limits>,
) -> Result<AxisRequest, Failure> {
    Ok(AxisRequest {
        scale: scale(arguments, which)?,
        limits: limits.map(|Limits { from, to }| [from, to]),
    })
}

/// The scale that is asked for of an axis, if one is.
fn scale(arguments: &FigureArguments, axis: AxisChoice) -> Result<Option<Scale>, Failure> {
    let [log, linear] = [&arguments.log, &arguments.linear].map(|axes| axes.contains(&axis));
    let (name, option) = (
        if axis == AxisChoice::X { "x" } else { "y" },
        if log { "--log" } else { "--linear" },
    );
    match (log, linear) {
        (true, true) => Err(Failure::refused(format!(
            "--log {name} and --linear {name}: an axis is one of them"
        ))),
        (false, false) => Ok(None),
        _ if arguments.bars && axis == AxisChoice::X => Err(Failure::refused(format!(
            "{option} x: with --bars the horizontal axis has no numbers; leave it out"
        ))),
        (true, false) => Ok(Some(Scale::Logarithmic)),
        (false, true) => Ok(Some(Scale::Linear)),
    }
}
