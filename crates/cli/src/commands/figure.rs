//! `meshfold figure DIR...`.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use meshfold_comparison::{Band, CurveRequest, Curves, Loss, MeanCurve, Only, Progress};
use meshfold_experiment::files::whole_file::write_atomically;
use meshfold_experiment::results::FigureKind;
use meshfold_figure::{
    Axis, COLOURS, Curve, DASHES, Figure, Legend, Point, Scale, Size, Style, Unit,
};
use meshfold_report::Gathered;

use crate::commands::tabulate::{absent, tell_left_out};
use crate::failure::Failure;
use crate::length::Length;
use crate::terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
Settings go by their names in YAML, such as algorithm.dsgd.learning_rate, or by the end of it, such as learning_rate.
Figures go by their names in metrics.jsonl. Lengths take mm, cm, in or pt.

Examples:
  meshfold figure runs/first --by topology -o accuracy.pdf
  meshfold figure runs/first --by topology,algorithm --x bytes --y test_loss --log y --width 170mm -o loss.svg")]
pub(crate) struct FigureArguments {
    /// Folders of runs, or folders that hold runs
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Write the figure to this file: .svg, .pdf or .png
    #[arg(short, long, value_name = "FILE", value_parser = out)]
    out: Out,
    /// What measures how far a run is
    #[arg(long, default_value = Progress::Rounds.name(), value_parser = measures())]
    x: Progress,
    /// The figure to draw
    #[arg(long, value_name = "FIGURE", default_value = "test_accuracy")]
    y: String,
    /// Settings that tell the curves apart: the first by colour, the others by dashes
    #[arg(long, value_name = "SETTING,...", value_delimiter = ',')]
    by: Vec<String>,
    /// The setting whose values repeat a curve
    #[arg(long, value_name = "SETTING", default_value = "seed")]
    over: String,
    /// Draw only runs with one of these values, or `none` where the setting is not there; repeatable
    #[arg(long, value_name = "SETTING=VALUE,...")]
    only: Vec<Only>,
    /// What to draw around the mean
    #[arg(long, value_enum, default_value = "interval")]
    band: BandChoice,
    /// Axes that are logarithmic: x, y
    #[arg(long, value_name = "AXIS,...", value_enum, value_delimiter = ',')]
    log: Vec<AxisChoice>,
    /// Where the horizontal axis begins and ends
    #[arg(long, value_name = "FROM,TO", value_parser = limits, allow_hyphen_values = true)]
    x_limits: Option<Limits>,
    /// Where the vertical axis begins and ends; accuracies as fractions
    #[arg(long, value_name = "FROM,TO", value_parser = limits, allow_hyphen_values = true)]
    y_limits: Option<Limits>,
    /// Width of the figure; a column of a paper has about 85 mm
    #[arg(long, value_name = "LENGTH", default_value = "85mm")]
    width: Length,
    /// Height of the figure [default: 0.72 of the width, 90 mm at most]
    #[arg(long, value_name = "LENGTH")]
    height: Option<Length>,
    /// Height of the letters
    #[arg(long, value_name = "LENGTH", default_value = "8pt")]
    font_size: Length,
    /// Pixels per inch of a PNG
    #[arg(long, value_name = "PIXELS", default_value = "300", value_parser = clap::value_parser!(u16).range(10..=2400))]
    dpi: u16,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum BandChoice {
    /// 95 % interval of the mean (Student's t)
    Interval,
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

/// An output file and its format.
#[derive(Clone, Debug)]
pub(crate) struct Out {
    path: PathBuf,
    format: Format,
}

#[derive(Clone, Copy, Debug)]
enum Format {
    Svg,
    Pdf,
    Png,
}

/// Where an axis begins and ends.
#[derive(Clone, Copy, Debug)]
struct Limits {
    from: f64,
    to: f64,
}

/// The file and the format that a name asks for.
pub(crate) fn out(text: &str) -> Result<Out, String> {
    let path = PathBuf::from(text);
    let ending = path.extension().and_then(|ending| ending.to_str());
    let format = match ending.map(str::to_lowercase).as_deref() {
        Some("svg") => Format::Svg,
        Some("pdf") => Format::Pdf,
        Some("png") => Format::Png,
        _ => return Err("needed a name that ends in .svg, .pdf or .png".to_owned()),
    };
    Ok(Out { path, format })
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

/// Reads a measure of progress by its name.
fn measures() -> impl TypedValueParser<Value = Progress> {
    let offered = |progress: Progress| {
        let help = match progress {
            Progress::Rounds => None,
            Progress::Steps => Some("Local steps of all clients"),
            Progress::Epochs => Some("Examples seen, divided by those that the clients hold"),
            Progress::Examples => Some("Examples seen by all clients"),
            Progress::Bytes => Some("Bytes sent"),
            Progress::Seconds => Some("Seconds on the simulated network"),
        };
        let value = PossibleValue::new(progress.name());
        match help {
            Some(help) => value.help(help),
            None => value,
        }
    };
    PossibleValuesParser::new(Progress::ALL.map(offered)).map(|name| {
        let mut all = Progress::ALL.into_iter();
        all.find(|progress| progress.name() == name)
            .expect("the parser takes no other name")
    })
}

impl BandChoice {
    fn band(self) -> Band {
        match self {
            Self::Interval => Band::Interval,
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
    let (size, font_size) = page(arguments)?;
    let gathered = Gathered::of(&arguments.folders)?;
    let request = CurveRequest {
        by: arguments.by.clone(),
        over: arguments.over.clone(),
        only: arguments.only.clone(),
        x: arguments.x,
        y: arguments.y.clone(),
        band: arguments.band.band(),
    };
    let curves = Curves::of(&gathered.runs, &request)
        .map_err(|error| Failure::refused(error.to_string()))?;
    let [x, y] = axes(arguments, curves.loss)?;
    let drawn_keys = curves.curves.iter().map(|curve| curve.keys.clone());
    let drawn_keys: Vec<Vec<String>> = drawn_keys.collect();
    let (legend, styles) = Legend::among(&arguments.by, &curves.keys, &drawn_keys);
    legend
        .iter()
        .filter_map(repeats)
        .for_each(|note| terminal::line(&note));
    let figure = Figure {
        size,
        font_size,
        x,
        y,
        legend,
        curves: curves.curves.iter().zip(styles).map(drawn).collect(),
    };
    expect_within(&figure)?;
    write(&figure, &arguments.out, arguments.dpi)?;
    let absent = arguments.folders.iter().filter_map(|folder| absent(folder));
    let notes = curves.notes.into_iter().chain(absent);
    notes.for_each(|note| terminal::line(&note));
    tell_left_out(&gathered.left_out)
}

/// The size of the page and of its letters.
fn page(arguments: &FigureArguments) -> Result<(Size, f64), Failure> {
    let width = arguments.width.millimetres();
    let height = arguments
        .height
        .map_or_else(|| (0.72 * width).min(90.0), Length::millimetres);
    let size = Size::millimetres(width, height);
    let letters = arguments.font_size.points();
    match size.width >= 15.0 * letters && size.height >= 10.0 * letters {
        true => Ok((size, letters)),
        false => Err(Failure::refused(format!(
            "a page of {width:.0} × {height:.0} mm has no room for letters of {letters:.1} pt: \
             give more --width and --height, or a smaller --font-size"
        ))),
    }
}

fn axes(arguments: &FigureArguments, loss: Loss) -> Result<[Axis; 2], Failure> {
    let unit_of_x = unit(arguments.x.figure(), loss);
    let (title, unit) = (arguments.x.title().to_owned(), unit_of_x);
    let x = axis(title, unit, AxisChoice::X, arguments.x_limits, arguments)?;
    let (title, unit) = measured(&arguments.y, loss);
    let y = axis(title, unit, AxisChoice::Y, arguments.y_limits, arguments)?;
    Ok([x, y])
}

fn axis(
    title: String,
    unit: Unit,
    which: AxisChoice,
    limits: Option<Limits>,
    arguments: &FigureArguments,
) -> Result<Axis, Failure> {
    let scale = match arguments.log.contains(&which) {
        true => Scale::Logarithmic,
        false => Scale::Linear,
    };
    if let (Scale::Logarithmic, Some(Limits { from, .. })) = (scale, limits)
        && from <= 0.0
    {
        return Err(Failure::refused(format!(
            "a logarithmic axis cannot begin at {from}: needed more than 0"
        )));
    }
    Ok(Axis {
        title,
        unit,
        scale,
        limits: limits.map(|Limits { from, to }| [from, to]),
    })
}

/// Requires that some curve reaches the part of each axis that was asked for.
fn expect_within(figure: &Figure) -> Result<(), Failure> {
    let points = || figure.curves.iter().flat_map(|curve| &curve.points);
    let xs: Vec<f64> = points().map(|point| point.x).collect();
    let ys: Vec<f64> = points().map(|point| point.y).collect();
    for (option, axis, values) in [("x", &figure.x, xs), ("y", &figure.y, ys)] {
        let (low, high) = (
            values.iter().copied().fold(f64::INFINITY, f64::min),
            values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        );
        if let Some([from, to]) = axis.limits
            && low <= high
            && (high < from || to < low)
        {
            return Err(Failure::refused(format!(
                "--{option}-limits {from},{to}: no curve is there, as they go from {low} to {high}"
            )));
        }
    }
    Ok(())
}

/// The words for a figure of `metrics.jsonl`, and its unit in runs with this `loss`.
fn measured(name: &str, loss: Loss) -> (String, Unit) {
    let name_of_it = name.strip_prefix("own.").unwrap_or(name);
    let words = name_of_it.replace(['_', '.'], " ");
    let mut letters = words.chars();
    let title = letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    });
    (title, unit(name, loss))
}

fn unit(name: &str, loss: Loss) -> Unit {
    match FigureKind::of(name) {
        FigureKind::Share => Unit::Share,
        FigureKind::Nats => match loss {
            Loss::CrossEntropy => Unit::Of("nats"),
            Loss::SquaredError => Unit::Of("½ squared error"),
            Loss::Various => Unit::Number,
        },
        FigureKind::Bytes => Unit::Bytes,
        FigureKind::Seconds => Unit::Of("s"),
        FigureKind::Number => Unit::Number,
    }
}

/// Says that colours or dashes repeat, if they do.
fn repeats(legend: &Legend) -> Option<String> {
    let count = legend.keys.len();
    let is_coloured = legend
        .keys
        .first()
        .is_some_and(|key| key.style.is_coloured());
    let (what, most) = match is_coloured {
        true => ("colours", COLOURS),
        false => ("dashes", DASHES),
    };
    (count > most).then(|| {
        format!(
            "{} has {count} values and there are {most} {what}, so {what} repeat: choose among the values by --only",
            legend.title
        )
    })
}

fn drawn((curve, style): (&MeanCurve, Style)) -> Curve {
    let point = |point: &meshfold_comparison::CurvePoint| Point {
        x: point.x,
        y: point.mean,
        low: point.low,
        high: point.high,
    };
    Curve {
        style,
        points: curve.points.iter().map(point).collect(),
    }
}

/// Writes `figure` to the file `out`, a PNG with `dpi` pixels per inch.
///
/// # Errors
/// [`Failure::Refused`] if a PNG would be too large, [`Failure::Broken`] if the file cannot be written.
pub(crate) fn write(figure: &Figure, out: &Out, dpi: u16) -> Result<(), Failure> {
    let path: &Path = &out.path;
    let content = match out.format {
        Format::Svg => figure.svg().into_bytes(),
        Format::Pdf => figure.pdf(),
        Format::Png => {
            let png = figure.png(f64::from(dpi));
            png.map_err(|error| Failure::refused(error.to_string()))?
        }
    };
    write_atomically(path, &content).map_err(|error| Failure::unwritten(path, error))
}
