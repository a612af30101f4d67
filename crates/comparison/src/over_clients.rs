//! How a figure is spread over the clients, at one place of the runs.

use meshfold_experiment::results::RecordedRun;
use meshfold_figure::{Axis, Curve, Figure, Point, Unit};
use meshfold_statistics::Spread;

use crate::bars::{bare, centre_at, spread, table_request};
use crate::centre::Centre;
use crate::client_figure::ClientFigure;
use crate::error::TableError;
use crate::horizontal::SHARE_OF_CLIENTS;
use crate::judged::{Judged, known_of_clients};
use crate::panels::Panels;
use crate::plot::{Plot, PlotError, PlotRequest, axis, expect_within, page, repeats, vertical};
use crate::request::Request;
use crate::table::{Outcome, Row, Table, judged};

/// The shares of the clients that a curve has points at, in per cent.
const SHARES: std::ops::RangeInclusive<usize> = 0..=100;

impl Plot {
    /// Draws a curve for each setting that `request` tells apart: the clients from that with the least value of the figure to that
    /// with the largest. At the share `q` of the horizontal axis it has the `q` quantile of the clients, the mean or the median over the runs.
    pub(crate) fn over_clients(
        runs: &[RecordedRun],
        request: &PlotRequest,
    ) -> Result<Self, PlotError> {
        let spread = spread(request)?;
        let shown = table_request(request, request.place()?);
        let asked = quantiles(shown.clone());
        let runs = judged(runs, &asked)?;
        expect_clients(&request.curves.y, &runs)?;
        // What a reader must know is said of the figure, and not of each quantile.
        let table = Table::about(runs.clone(), shown)?;
        let of_quantiles = Table::about(runs, asked)?;
        let keys: Vec<Vec<String>> = table.rows.iter().map(|row| row.keys.clone()).collect();
        let wording = &table.wording;
        let panels = Panels::of(&keys, request, wording)?;
        let (legend, styles) = panels.looks(request, wording, [&table.keys, &keys]);
        let mut notes: Vec<String> = legend.iter().filter_map(repeats).collect();
        notes.extend(panels.note(request));
        if spread.is_some() && bare(&table, "curve").is_some() {
            let over = wording.name(&request.curves.over);
            notes.push(format!(
                "a curve of one {over} has no spread and is drawn without a band"
            ));
        }
        let curves = of_quantiles.rows.iter().zip(styles);
        let curves = curves.map(|(row, style)| Curve {
            style,
            is_marked: false,
            points: points(row, spread),
        });
        let figure = Figure {
            size: page(request, panels.count())?,
            font_size: request.font_size,
            x: horizontal(request, &table)?,
            y: vertical(request, wording, table.loss)?,
            legend,
            panels: panels.filled(curves.collect(), |panel, curve| panel.curves.push(curve)),
        };
        expect_within(&figure)?;
        notes.extend(table.taken());
        notes.extend(table.notes);
        Ok(Self { figure, notes })
    }
}

/// `request` with all quantiles of the clients beside its figure.
fn quantiles(request: Request) -> Request {
    Request {
        also: SHARES
            .map(|share| format!("{}.p{share}", request.metric))
            .collect(),
        ..request
    }
}

/// Requires that `y` is a figure of single clients, and that one of `runs` knows it.
fn expect_clients(y: &str, runs: &[Judged]) -> Result<(), TableError> {
    let known = known_of_clients(runs);
    let is_whole = ClientFigure::parse(y).is_some_and(|figure| figure.of == y);
    let written = y.to_owned();
    match known.is_empty() {
        true => Err(TableError::NoClientTable { written }),
        false if is_whole && known.contains(&written) => Ok(()),
        false => Err(TableError::NoClients { written, known }),
    }
}

/// A point for each share of the clients.
fn points(row: &Row, spread: Option<Spread>) -> Vec<Point> {
    let is_there = matches!(row.outcome, Outcome::Figure(Some(_)));
    let shares = SHARES.map(|share| share as f64 / 100.0);
    let point = |(share, centre): (f64, &Option<Centre>)| {
        let centre = centre.as_ref().filter(|_| is_there)?;
        centre_at(share, centre, spread)
    };
    shares.zip(&row.also).filter_map(point).collect()
}

fn horizontal(request: &PlotRequest, table: &Table) -> Result<Axis, PlotError> {
    let words = table.wording.asked_for(SHARE_OF_CLIENTS);
    let title = words.unwrap_or("Share of clients").to_owned();
    axis(title, Unit::Share, request.x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(settings: &str, quantiles: &[(usize, f64)]) -> Judged {
        let named = |(share, value): &(usize, f64)| (format!("test_accuracy.p{share}"), *value);
        let mut run = Judged::finished(settings, &[&[("test_accuracy", 0.5)]]);
        run.figures[0].extend(quantiles.iter().map(named));
        run
    }

    #[test]
    fn a_curve_has_the_mean_of_each_quantile_over_the_seeds() {
        let all = |least: f64| -> Vec<(usize, f64)> {
            SHARES
                .map(|share| (share, least + 0.001 * share as f64))
                .collect()
        };
        let runs = vec![run("seed: 1", &all(0.2)), run("seed: 2", &all(0.4))];
        let table = Table::about(runs, quantiles(Request::over_seeds())).unwrap();
        let points = points(&table.rows[0], Some(Spread::Error));
        assert_eq!(points.len(), 101);
        let last = points[100];
        assert!((last.x - 1.0).abs() < 1e-12 && (last.y - 0.4).abs() < 1e-12);
        // Half of the difference of two numbers is the standard error of their mean.
        assert!((last.high - 0.5).abs() < 1e-12 && (last.low - 0.3).abs() < 1e-12);
        assert!((points[25].x - 0.25).abs() < 1e-12 && (points[25].y - 0.325).abs() < 1e-12);
    }

    #[test]
    fn the_figure_must_be_one_of_single_clients() {
        let mut run = run("seed: 1", &[]);
        let asked = |y: &str, run: &Judged| expect_clients(y, std::slice::from_ref(run));
        assert!(matches!(
            asked("test_accuracy", &run),
            Err(TableError::NoClientTable { .. })
        ));
        run.of_clients = vec!["test_accuracy".to_owned(), "own_loss".to_owned()];
        assert!(asked("test_accuracy", &run).is_ok() && asked("own_loss", &run).is_ok());
        for y in ["test_accuracy.p10", "consensus_distance", "own.gap"] {
            let error = asked(y, &run).unwrap_err().to_string();
            assert!(error.contains(y) && error.contains("own_loss"), "{error}");
        }
    }
}
