//! Points of a figure at one place of the runs, joined to lines over a setting or over a figure of the overlays.

use meshfold_experiment::results::RecordedRun;
use meshfold_figure::{Axis, AxisValue, Curve, Figure, Point, Swatch, Unit};
use meshfold_statistics::Spread;

use crate::bars::{bare, beyond, centre_at, open, spread};
use crate::judged::Judged;
use crate::name::Name;
use crate::overlay_figure::OverlayFigure;
use crate::panels::{Panels, title};
use crate::plot::{
    AxisRequest, Plot, PlotError, PlotRequest, axis, expect_within, page, repeats, vertical,
};
use crate::setting_axis::scale;
use crate::table::{Outcome, Row, Table};

/// What lines go over.
#[derive(Clone, Copy)]
pub(crate) enum Over<'a> {
    /// A setting whose values are numbers.
    Setting(&'a str),
    /// A figure of the overlays.
    Overlay(&'static OverlayFigure),
}

/// What is drawn.
pub(crate) struct Points {
    /// It has a row for each point. Its `by` begins with the settings that tell lines apart.
    pub(crate) table: Table,
    /// What is to be said of the runs that have no place on the axis, and of where the places come from.
    pub(crate) notes: Vec<String>,
}

impl Plot {
    /// Draws a line for each setting that `request` tells apart. Its points are the means or medians over the runs for each value of what it goes
    /// `over`, with error bars: those of the rows of a table.
    pub(crate) fn of_points(
        over: Over<'_>,
        runs: &[RecordedRun],
        request: &PlotRequest,
    ) -> Result<Self, PlotError> {
        let spread = spread(request)?;
        let points = over.points(runs, request)?;
        let table = &points.table;
        let lines = lines(table, request.curves.by.len(), &over, spread);
        let keys: Vec<Vec<String>> = lines.iter().map(|line| line.keys.clone()).collect();
        let wording = &table.wording;
        let panels = Panels::of(&keys, request, wording)?;
        let (mut legend, styles) = panels.looks(request, wording, [&table.keys, &keys]);
        // Marks go with dashes, and these with the last settings.
        if let Some(of_dashes) = legend.last_mut() {
            of_dashes.swatch = Swatch::Marked;
        }
        let horizontal = over.axis(request, &lines, table)?;
        let mut notes: Vec<String> = legend.iter().filter_map(repeats).collect();
        notes.extend(panels.note(request));
        notes.extend(points.notes);
        notes.extend(without_place(&lines, &horizontal, over.written()));
        notes.extend(beyond(table));
        if spread.is_some() {
            notes.extend(bare(table, "point"));
            notes.extend(open(table));
        }
        let vertical = vertical(request, wording, table.loss)?;
        let curves = lines.into_iter().zip(styles).map(|(line, style)| Curve {
            style,
            is_marked: true,
            points: line.points,
        });
        let figure = Figure {
            size: page(request, panels.count())?,
            font_size: request.font_size,
            x: horizontal,
            y: vertical,
            legend,
            panels: panels.filled(curves.collect(), |panel, curve| panel.curves.push(curve)),
        };
        expect_within(&figure)?;
        notes.extend(table.taken());
        notes.extend(points.table.notes);
        Ok(Self { figure, notes })
    }
}

impl Over<'_> {
    /// What it is called on the command line.
    fn written(&self) -> &str {
        match self {
            Self::Setting(name) => name,
            Self::Overlay(figure) => figure.name,
        }
    }

    fn points(&self, runs: &[RecordedRun], request: &PlotRequest) -> Result<Points, PlotError> {
        match self {
            Self::Setting(name) => Points::over_setting(runs, request, name),
            Self::Overlay(figure) => Points::over_overlays(runs, request, figure),
        }
    }

    /// Where the point of `row` is.
    fn place(&self, row: &Row) -> Option<f64> {
        match self {
            Self::Setting(_) => row.settings.get(row.keys.len() - 1)?.as_f64(),
            Self::Overlay(_) => (*row.also.first()?)?.number(),
        }
    }

    fn axis(
        &self,
        request: &PlotRequest,
        lines: &[Line],
        table: &Table,
    ) -> Result<Axis, PlotError> {
        let points = lines.iter().flat_map(|line| &line.points);
        let mut values: Vec<f64> = points.map(|point| point.x).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let asked = AxisRequest {
            scale: Some(scale(request.x, &values)),
            ..request.x
        };
        match self {
            Self::Setting(x) => {
                let axis = axis(title(x, &table.wording), Unit::Number, asked)?;
                let named = |number| AxisValue {
                    number,
                    name: name_of(number, table),
                };
                let values = values.into_iter().map(named).collect();
                Ok(Axis { values, ..axis })
            }
            Self::Overlay(figure) => {
                let words = table.wording.asked_for(figure.name);
                axis(
                    words.unwrap_or(figure.title).to_owned(),
                    Unit::Number,
                    asked,
                )
            }
        }
    }
}

/// Says that the runs `lacking` have no place on an axis of `what`, if there are any, and what `by` tells of them.
pub(crate) fn left_out(
    lacking: &[Judged],
    by: &[Name],
    table: &Table,
    what: &str,
) -> Option<String> {
    let mut keys: Vec<String> = Vec::new();
    for run in lacking {
        let values: Vec<String> = by.iter().map(|name| name.text(&run.fields)).collect();
        let words = table.wording.values(&table.request.by, &values).join(", ");
        if !words.is_empty() && !keys.contains(&words) {
            keys.push(words);
        }
    }
    let what = match lacking.len() {
        0 => return None,
        1 => format!("1 run has no {what} and is not drawn"),
        count => format!("{count} runs have no {what} and are not drawn"),
    };
    Some(match keys.is_empty() {
        true => what,
        false => format!("{what}: {}", keys.join("; ")),
    })
}

/// A line of the figure.
struct Line {
    /// The values of the settings that tell lines apart.
    keys: Vec<String>,
    /// Ascending by `x`.
    points: Vec<Point>,
}

/// The lines of `table` that the first `by` settings of its rows tell apart, in the order of their first rows.
fn lines(table: &Table, by: usize, over: &Over<'_>, spread: Option<Spread>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for row in &table.rows {
        let keys = &row.keys[..by];
        let known = lines.iter().position(|line| line.keys == keys);
        let place = known.unwrap_or(lines.len());
        if known.is_none() {
            lines.push(Line {
                keys: keys.to_vec(),
                points: Vec::new(),
            });
        }
        lines[place].points.extend(point(row, over, spread));
    }
    for line in &mut lines {
        line.points.sort_by(|one, other| one.x.total_cmp(&other.x));
    }
    lines
}

/// The point of a row; none for a row without a figure.
fn point(row: &Row, over: &Over<'_>, spread: Option<Spread>) -> Option<Point> {
    let Outcome::Figure(Some(centre)) = row.outcome else {
        return None;
    };
    centre_at(over.place(row)?, &centre, spread)
}

/// The words that were asked for in place of a value of the setting of the axis.
fn name_of(number: f64, table: &Table) -> Option<String> {
    let setting = table.request.by.last()?;
    let value = |row: &Row| row.settings.get(row.keys.len() - 1)?.as_f64();
    let row = table.rows.iter().find(|row| value(row) == Some(number))?;
    let words = table.wording.of_value(setting, row.keys.last()?)?;
    Some(words.to_owned())
}

/// Says that a logarithmic axis has no place for some points over `x`, if that is so.
fn without_place(lines: &[Line], axis: &Axis, x: &str) -> Option<String> {
    let points = lines.iter().flat_map(|line| &line.points);
    let values = points.map(|point| point.x);
    let mut values: Vec<f64> = values.filter(|value| !axis.scale.holds(*value)).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let values: Vec<String> = values.iter().map(f64::to_string).collect();
    let text = || {
        let values = values.join(", ");
        format!("{x} {values}: not drawn, as a logarithmic axis has numbers above 0 alone")
    };
    (!values.is_empty()).then(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;

    /// A table of the method and of alpha, which methods have in another order than that of numbers.
    fn table() -> Table {
        let run = |method: &str, alpha: f64, seed: usize, accuracy: f64| {
            let settings = format!("{{algorithm: {method}, alpha: {alpha}, seed: {seed}}}");
            Judged::finished(&settings, &[&[("test_accuracy", accuracy)]])
        };
        let runs = vec![
            run("dsgd", 10.0, 1, 0.7),
            run("dsgd", 10.0, 2, 0.9),
            run("fedavg", 0.1, 1, 0.4),
            run("dsgd", 9.0, 1, 0.5),
            run("dsgd", 9.0, 2, 0.5),
        ];
        let request = Request {
            by: ["algorithm", "alpha"].map(str::to_owned).to_vec(),
            ..Request::over_seeds()
        };
        Table::about(runs, request).unwrap()
    }

    #[test]
    fn lines_go_over_the_numbers_in_their_order() {
        let lines = lines(&table(), 1, &Over::Setting("alpha"), Some(Spread::Interval));
        let keys: Vec<&str> = lines.iter().map(|line| line.keys[0].as_str()).collect();
        assert_eq!(keys, ["dsgd", "fedavg"]);
        let places = |line: &Line| -> Vec<(f64, f64)> {
            let points = line.points.iter();
            points.map(|point| (point.x, point.y)).collect()
        };
        assert_eq!(places(&lines[0]), [(9.0, 0.5), (10.0, 0.8)]);
        assert_eq!(places(&lines[1]), [(0.1, 0.4)]);
        let [same, wide] = lines[0].points[..] else {
            panic!("two values")
        };
        assert_eq!((same.low, same.high), (0.5, 0.5));
        assert!(wide.low < 0.7 && wide.high > 0.9);
    }

    #[test]
    fn points_have_no_error_bars_where_none_are_asked_for() {
        let lines = lines(&table(), 1, &Over::Setting("alpha"), None);
        let mut points = lines.iter().flat_map(|line| &line.points);
        assert!(points.all(|point| point.low == point.y && point.high == point.y));
    }

    #[test]
    fn runs_without_the_setting_are_told() {
        let run = |method: &str| Judged::finished(&format!("algorithm: {method}"), &[]);
        let lacking = [run("local"), run("central"), run("local")];
        let fields: Vec<_> = lacking.iter().map(|run| run.fields.clone()).collect();
        let by = [Name::find("algorithm", &fields).unwrap()];
        let said = |lacking: &[Judged], by: &[Name]| left_out(lacking, by, &table(), "alpha");
        assert_eq!(
            said(&lacking, &by).unwrap(),
            "3 runs have no alpha and are not drawn: local; central"
        );
        assert_eq!(
            said(&lacking[..1], &[]).unwrap(),
            "1 run has no alpha and is not drawn"
        );
        assert_eq!(said(&[], &by), None);
    }
}
