//! Figures of runs for print: curves, points and bars.

use meshfold_experiment::results::RecordedRun;
use meshfold_figure::{
    Axis, COLOURS, Curve, DASHES, Figure, Legend, Page, PageError, Point, Scale, Size, Style, Unit,
};

use crate::at::At;
use crate::curves::{CurvePoint, CurveRequest, Curves, MeanCurve};
use crate::error::TableError;
use crate::figure_words::{of_figure, of_progress};
use crate::horizontal::Horizontal;
use crate::loss::Loss;
use crate::naming::Wording;
use crate::overlay_figure::OverlayFigure;
use crate::panels::Panels;
use crate::points::Over;
use crate::setting_axis::setting;

/// What a plot is to show, and how.
#[derive(Clone, Debug)]
pub struct PlotRequest {
    /// Which curves.
    pub curves: CurveRequest,
    /// Whether the figure is to show bars and no curves: a group for each value of the first setting of `by`, and a bar for each of the
    /// others.
    pub bars: bool,
    /// Where bars, points over a setting and curves over the clients judge a run; at the last evaluation if absent.
    pub at: Option<At>,
    /// Whether these take runs that are not finished and have not failed, too, with the evaluations that they have.
    pub unfinished: bool,
    /// The setting whose values have a panel each.
    pub panels: Option<String>,
    /// Width of the page in millimetres; a column of a paper has about 85.
    pub width: f64,
    /// Height of the page in millimetres; if absent .72 of the width, at most 90, and with panels .75 of the width of a panel for each
    /// row of them, with 14 for the words.
    pub height: Option<f64>,
    /// Height of the letters in points.
    pub font_size: f64,
    /// The horizontal axis.
    pub x: AxisRequest,
    /// The vertical axis.
    pub y: AxisRequest,
}

/// How an axis is drawn.
#[derive(Clone, Copy, Debug, Default)]
pub struct AxisRequest {
    /// How its numbers are spaced. If absent, evenly, and over a setting whose values differ much by their logarithms.
    pub scale: Option<Scale>,
    /// Where it begins and ends, the smaller number first; where the curves do if absent. Accuracies are fractions.
    pub limits: Option<[f64; 2]>,
}

/// A figure of curves about runs.
#[derive(Clone, Debug)]
pub struct Plot {
    /// What is drawn.
    pub figure: Figure,
    /// What a reader must know: which colours repeat, which runs are missing or ended early, what has no band.
    pub notes: Vec<String>,
}

/// Why there is no plot.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlotError {
    /// The curves cannot be made.
    #[error(transparent)]
    Curves(#[from] TableError),
    /// There is no such page.
    #[error(transparent)]
    Page(#[from] PageError),
    /// A logarithmic axis has no such place.
    #[error("a logarithmic axis cannot begin at {from}: needed more than 0")]
    Start {
        /// Where it was to begin.
        from: f64,
    },
    /// There are more bars than fit on the page.
    #[error(
        "{count} bars do not fit side by side on {width:.0} mm: give more width, or choose among the values by --only"
    )]
    Bars {
        /// How many places for bars a panel has.
        count: usize,
        /// The width of the page in millimetres.
        width: f64,
    },
    /// Bars, or what lies over a setting or the clients, are asked for where runs reach a target, which has no figure.
    #[error(
        "bars, and figures over a setting or the clients, are about one place: found target=, needed round=, steps=, examples=, bytes=, \
         seconds= or last="
    )]
    Target,
    /// A place is asked for in a figure of curves, which go over all places.
    #[error(
        "--at {at}: curves show the runs as a whole; it goes with --bars, and with --x and a setting or share_of_clients"
    )]
    PlaceOfCurves {
        /// The place.
        at: At,
    },
    /// The spread of the clients is asked for around means at one place.
    #[error(
        "--band {band}: --bars, and figures over a setting or the clients, show how the runs spread; needed interval, sd, se or none"
    )]
    Band {
        /// What was asked for.
        band: &'static str,
    },
    /// The part of an axis that was asked for has no curve, and no end of a bar.
    #[error("{axis} limits {from},{to}: nothing is drawn there, as values go from {low} to {high}")]
    Empty {
        /// `x` or `y`.
        axis: &'static str,
        /// Where the axis was to begin.
        from: f64,
        /// Where it was to end.
        to: f64,
        /// The smallest value of a curve.
        low: f64,
        /// The largest.
        high: f64,
    },
}

impl Plot {
    /// Draws the course of a figure in `runs`, or what it is at one place: as bars, over the values of a setting, or over the clients.
    ///
    /// # Errors
    /// [`PlotError`] if a name stands for nothing, the page is too small or the limits leave nothing to draw.
    pub fn of(runs: &[RecordedRun], request: &PlotRequest) -> Result<Self, PlotError> {
        if request.bars {
            return Self::of_bars(runs, request);
        }
        if request.curves.x == Horizontal::Clients {
            return Self::over_clients(runs, request);
        }
        let x = &request.curves.x;
        if let Some(setting) = setting(x, runs)? {
            return Self::of_points(Over::Setting(setting), runs, request);
        }
        match OverlayFigure::named(x.figure()) {
            Some(figure) => Self::of_points(Over::Overlay(figure), runs, request),
            None => Self::of_curves(runs, request),
        }
    }

    /// Draws a curve for each setting that `request` tells apart, over the progress of the runs.
    fn of_curves(runs: &[RecordedRun], request: &PlotRequest) -> Result<Self, PlotError> {
        let curves = Curves::of(runs, &request.curves)?;
        if let Some(at) = request.at.clone() {
            return Err(PlotError::PlaceOfCurves { at });
        }
        let wording = &curves.wording;
        let keys: Vec<Vec<String>> = curves
            .curves
            .iter()
            .map(|curve| curve.keys.clone())
            .collect();
        let panels = Panels::of(&keys, request, wording)?;
        let size = page(request, panels.count())?;
        let [x, y] = axes(request, &curves)?;
        let (legend, styles) = panels.looks(request, wording, [&curves.keys, &keys]);
        let repeating: Vec<String> = legend.iter().filter_map(repeats).collect();
        let unseen = y.scale == Scale::Logarithmic;
        let unseen = unseen.then(|| never_above_0(request, &curves)).flatten();
        let drawn = curves.curves.iter().zip(styles).map(drawn);
        let everywhere = panels.note(request);
        let figure = Figure {
            size,
            font_size: request.font_size,
            x,
            y,
            legend,
            panels: panels.filled(drawn.collect(), |panel, curve| panel.curves.push(curve)),
        };
        expect_within(&figure)?;
        Ok(Self {
            figure,
            notes: repeating
                .into_iter()
                .chain(everywhere)
                .chain(unseen)
                .chain(curves.notes)
                .collect(),
        })
    }
}

/// The curves that a logarithmic axis cannot show.
fn never_above_0(request: &PlotRequest, curves: &Curves) -> Option<String> {
    let by = &request.curves.by;
    let is_unseen = |curve: &&MeanCurve| curve.points.iter().all(|point| point.y <= 0.0);
    let unseen = curves.curves.iter().filter(is_unseen);
    let names = unseen.map(|curve| curves.wording.values(by, &curve.keys).join(", "));
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| {
        format!(
            "{}: no value is above 0, so a logarithmic axis does not show the curve",
            names.join("; ")
        )
    })
}

impl PlotRequest {
    /// Where bars and points judge a run.
    ///
    /// # Errors
    /// [`PlotError::Target`].
    pub(crate) fn place(&self) -> Result<At, PlotError> {
        match &self.at {
            Some(At::Target(_)) => Err(PlotError::Target),
            at => Ok(at.clone().unwrap_or_default()),
        }
    }
}

/// The size of the page with so many panels.
pub(crate) fn page(request: &PlotRequest, panels: usize) -> Result<Size, PlotError> {
    let page = Page {
        width: request.width,
        height: request.height,
        font_size: request.font_size,
    };
    Ok(page.size(panels)?)
}

fn axes(request: &PlotRequest, curves: &Curves) -> Result<[Axis; 2], PlotError> {
    let x = &request.curves.x;
    let words = |name: &str| curves.wording.asked_for(name).map(str::to_owned);
    let x_words = words(&x.to_string()).or_else(|| words(x.figure()));
    let (title, unit) = of_progress(x, curves.loss);
    let horizontal = axis(x_words.unwrap_or(title), unit, request.x)?;
    Ok([horizontal, vertical(request, &curves.wording, curves.loss)?])
}

/// The axis of the figure that is drawn.
pub(crate) fn vertical(
    request: &PlotRequest,
    wording: &Wording,
    loss: Loss,
) -> Result<Axis, PlotError> {
    let name = &request.curves.y;
    let (title, unit) = of_figure(name, loss);
    let words = wording.asked_for(name).map(str::to_owned);
    axis(words.unwrap_or(title), unit, request.y)
}

/// An axis, linear unless a scale is asked for.
pub(crate) fn axis(title: String, unit: Unit, request: AxisRequest) -> Result<Axis, PlotError> {
    let scale = request.scale.unwrap_or(Scale::Linear);
    match request.limits {
        Some([from, _]) if !scale.holds(from) => Err(PlotError::Start { from }),
        limits => Ok(Axis {
            title,
            unit,
            scale,
            limits,
            names: Vec::new(),
            values: Vec::new(),
        }),
    }
}

/// Requires that some curve or bar reaches the part of each axis that was asked for.
pub(crate) fn expect_within(figure: &Figure) -> Result<(), PlotError> {
    let curves = || figure.panels.iter().flat_map(|panel| &panel.curves);
    let points = || curves().flat_map(|curve| &curve.points);
    let bars = figure.panels.iter().flat_map(|panel| &panel.bars);
    let xs: Vec<f64> = points().map(|point| point.x).collect();
    let ys = points().map(|point| point.y);
    let ys: Vec<f64> = ys.chain(bars.map(|bar| bar.end.y)).collect();
    for (name, axis, values) in [("x", &figure.x, xs), ("y", &figure.y, ys)] {
        let (low, high) = (
            values.iter().copied().fold(f64::INFINITY, f64::min),
            values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        );
        if let Some([from, to]) = axis.limits
            && low <= high
            && (high < from || to < low)
        {
            return Err(PlotError::Empty {
                axis: name,
                from,
                to,
                low,
                high,
            });
        }
    }
    Ok(())
}

/// Says that colours or dashes repeat, if they do.
pub(crate) fn repeats(legend: &Legend) -> Option<String> {
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
            "{} has {count} values and there are {most} {what}, so {what} repeat: choose among the values by `only`",
            legend.title
        )
    })
}

fn drawn((curve, style): (&MeanCurve, Style)) -> Curve {
    let point = |point: &CurvePoint| Point {
        x: point.x,
        y: point.y,
        low: point.low,
        high: point.high,
    };
    Curve {
        style,
        is_marked: false,
        points: curve.points.iter().map(point).collect(),
    }
}
