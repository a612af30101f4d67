//! Figures of runs for print.

use std::path::PathBuf;

use meshfold_commands::drawn::Drawn;
use meshfold_comparison::{AxisRequest, Band, CurveRequest, Horizontal, Plot, PlotRequest};
use meshfold_experiment::files::whole_file::write_to;
use meshfold_figure::{Drawing, Format, Scale};
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::compared::{chosen, in_python, place, summary, words};
use crate::errors::Failure;
use crate::recorded::Recorded;
use crate::threads;

/// What a figure is to show.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct FigureRequest {
    by: Vec<String>,
    over: String,
    only: Vec<(String, Vec<String>)>,
    best: Vec<String>,
    on: Option<String>,
    x: String,
    y: String,
    summary: String,
    band: Option<String>,
    log: Vec<String>,
    linear: Vec<String>,
    x_limits: Option<[f64; 2]>,
    y_limits: Option<[f64; 2]>,
    width: f64,
    height: Option<f64>,
    font_size: f64,
    bars: bool,
    at: Option<String>,
    unfinished: bool,
    panels: Option<String>,
    names: Vec<(String, String)>,
}

impl FigureRequest {
    fn request(self) -> Result<PlotRequest, Failure> {
        let Ok(x) = self.x.parse::<Horizontal>();
        let band = match self.band.as_deref() {
            None => Band::None,
            Some("interval") => Band::Interval,
            Some("sd") => Band::Deviation,
            Some("se") => Band::Error,
            Some("quantiles") => Band::Quantiles,
            Some("range") => Band::Range,
            Some(other) => {
                let needed = "interval, sd, se, quantiles, range or None";
                return Err(argument("band", other, needed));
            }
        };
        let [x_scale, y_scale] = [self.scale("x")?, self.scale("y")?];
        let is_of_curves = self.x != "rounds";
        let has_numbers = self.x_limits.is_some() || x_scale.is_some();
        if self.bars && (is_of_curves || has_numbers) {
            let found = "x, x_limits, or log or linear of x with bars";
            let needed = "none of them, which are those of curves";
            return Err(argument("bars", found, needed));
        }
        let at = self.at.as_deref().map(|at| place(Some(at))).transpose()?;
        for (name, limits) in [("x_limits", self.x_limits), ("y_limits", self.y_limits)] {
            if let Some([from, to]) = limits
                && !(from < to && from.is_finite() && to.is_finite())
            {
                let found = format!("({from}, {to})");
                let needed = "two numbers, the smaller one first, such as (0.5, 1)";
                return Err(argument(name, &found, needed));
            }
        }
        Ok(PlotRequest {
            x: AxisRequest {
                scale: x_scale,
                limits: self.x_limits,
            },
            y: AxisRequest {
                scale: y_scale,
                limits: self.y_limits,
            },
            curves: CurveRequest {
                by: self.by,
                over: self.over,
                only: chosen(self.only),
                best: self.best,
                on: self.on,
                x,
                y: self.y,
                summary: summary(&self.summary)?,
                band,
                words: words(self.names),
            },
            bars: self.bars,
            at,
            unfinished: self.unfinished,
            panels: self.panels,
            width: self.width,
            height: self.height,
            font_size: self.font_size,
        })
    }

    /// The scale that is asked for of an axis, if one is.
    fn scale(&self, axis: &str) -> Result<Option<Scale>, Failure> {
        for (name, axes) in [("log", &self.log), ("linear", &self.linear)] {
            if let Some(other) = axes.iter().find(|axis| *axis != "x" && *axis != "y") {
                return Err(argument(name, other, "x or y"));
            }
        }
        let [log, linear] = [&self.log, &self.linear].map(|axes| axes.iter().any(|of| of == axis));
        match (log, linear) {
            (true, true) => Err(argument(
                "log",
                &format!("{axis} in linear, too"),
                "one of them",
            )),
            (true, false) => Ok(Some(Scale::Logarithmic)),
            (false, true) => Ok(Some(Scale::Linear)),
            (false, false) => Ok(None),
        }
    }
}

fn argument(name: &str, found: &str, needed: &str) -> Failure {
    Failure::Argument(format!("{name}: found {found}, needed {needed}"))
}

#[doc = documented!("Figure")]
#[pyclass(name = "Figure", module = "meshfold", frozen)]
pub(crate) struct PyFigure {
    drawing: Drawing,
    notes: Vec<String>,
    /// What is drawn, such as `3 curves`.
    content: String,
}

impl From<Plot> for PyFigure {
    fn from(plot: Plot) -> Self {
        let panels = plot.figure.panels.iter();
        let counts = panels.map(|panel| (panel.curves.len(), panel.bars.len()));
        let (curves, bars) = counts.fold((0, 0), |(curves, bars), (more, others)| {
            (curves + more, bars + others)
        });
        let content = match bars {
            0 => counted(curves, "curve"),
            _ => counted(bars, "bar"),
        };
        Self {
            drawing: plot.figure.drawing(),
            notes: plot.notes,
            content,
        }
    }
}

impl PyFigure {
    /// A figure with a panel for each of several things that are `what`.
    pub(crate) fn of_panels(drawn: Drawn, what: &str) -> Self {
        Self {
            drawing: drawn.drawing,
            notes: drawn.notes,
            content: counted(drawn.panels, what),
        }
    }
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

#[pymethods]
impl PyFigure {
    #[doc = documented!("Figure.notes")]
    #[getter]
    fn notes(&self) -> Vec<&str> {
        self.notes.iter().map(String::as_str).collect()
    }

    #[doc = documented!("Figure.svg")]
    fn svg(&self, py: Python<'_>) -> String {
        py.detach(|| self.drawing.svg())
    }

    #[doc = documented!("Figure.save")]
    #[pyo3(signature = (path, *, dpi=300.0))]
    fn save(&self, py: Python<'_>, path: PathBuf, dpi: f64) -> PyResult<()> {
        let format = Format::of(&path).ok_or_else(|| {
            PyValueError::new_err(format!(
                "save: found {}, needed a name that ends in .svg, .pdf or .png",
                path.display()
            ))
        })?;
        py.detach(|| {
            let file = self.drawing.file(format, dpi);
            let file = file.map_err(|error| PyValueError::new_err(error.to_string()))?;
            write_to(&path, &file)
                .map_err(|error| PyOSError::new_err(format!("{}: {error}", path.display())))
        })
    }

    /// The figure in notebooks.
    fn _repr_svg_(&self, py: Python<'_>) -> String {
        self.svg(py)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a Figure cannot be pickled: `figure.svg()` is its text, and `figure.save(...)` writes it",
        ))
    }

    fn __repr__(&self) -> String {
        format!("<Figure of {}>", self.content)
    }
}

/// A figure of the runs at `places`.
#[pyfunction]
pub(crate) fn plot(
    py: Python<'_>,
    recorded: &Recorded,
    places: Vec<usize>,
    request: FigureRequest,
) -> PyResult<PyFigure> {
    let plot = py.detach(|| {
        let request = request.request()?;
        let runs = recorded.some(&places)?;
        let plot = threads::shared(|| Plot::of(&runs, &request));
        let plot = plot.map_err(|error| Failure::Argument(in_python(&error.to_string())))?;
        Ok(PyFigure::from(plot))
    });
    plot.map_err(|error: Failure| error.raise(py))
}
