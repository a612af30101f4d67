//! Bars of a figure at one place of the runs.

use meshfold_experiment::results::RecordedRun;
use meshfold_figure::{
    Axis, Bar, Figure, Legend, Panel, Point, Size, Style, Swatch, Unit, columns,
};
use meshfold_statistics::Spread;

use crate::at::At;
use crate::centre::Centre;
use crate::curves::expect_band;
use crate::panels::{Panels, title};
use crate::plot::{Plot, PlotError, PlotRequest, expect_within, page, repeats, vertical};
use crate::request::Request;
use crate::series::Band;
use crate::table::{Outcome, Row, Table};

/// How much of its place a group of bars takes.
const GROUP: f64 = 0.8;
/// How much of its share of a group a bar takes.
const BAR: f64 = 0.9;
/// The least width of the place of a bar, in points.
const LEAST: f64 = 3.0;

impl Plot {
    /// Draws a bar for each setting that `request` tells apart: the mean or the median over its runs where they are judged, with an error bar.
    pub(crate) fn of_bars(runs: &[RecordedRun], request: &PlotRequest) -> Result<Self, PlotError> {
        let table = Table::of(runs, table_request(request, request.place()?))?;
        let (by, wording) = (&request.curves.by, &table.wording);
        let keys: Vec<Vec<String>> = table.rows.iter().map(|row| row.keys.clone()).collect();
        let panels = Panels::of(&keys, request, wording)?;
        let words = |keys: &Vec<String>| panels.without(wording.values(by, keys));
        let titles = panels.without(by.iter().map(|name| title(name, wording)).collect());
        let all: Vec<Vec<String>> = table.keys.iter().map(words).collect();
        let drawn: Vec<Vec<String>> = keys.iter().map(words).collect();
        let groups = Groups::of(&titles, &all, &drawn);
        let bars = table.rows.iter().enumerate();
        let spread = spread(request)?;
        let bars = bars.map(|(place, row)| groups.bar(place, &drawn[place], row, spread));
        let put = |panel: &mut Panel, bar: Option<Bar>| panel.bars.extend(bar);
        let mut notes: Vec<String> = groups.legend.iter().filter_map(repeats).collect();
        notes.extend(panels.note(request));
        if spread.is_some() {
            notes.extend(bare(&table, "bar"));
            notes.extend(open(&table));
        }
        notes.extend(without_bar(&table));
        let size = page(request, panels.count())?;
        groups.expect_room(request, panels.count(), size)?;
        let figure = Figure {
            size,
            font_size: request.font_size,
            x: Axis {
                names: groups.names.clone(),
                ..Axis::linear(titles.first().cloned().unwrap_or_default(), Unit::Number)
            },
            y: vertical(request, wording, table.loss)?,
            panels: panels.filled(bars.collect(), put),
            legend: groups.legend,
        };
        expect_within(&figure)?;
        notes.extend(table.taken());
        notes.extend(table.notes);
        Ok(Self { figure, notes })
    }
}

/// The table with a row for each bar.
pub(crate) fn table_request(request: &PlotRequest, at: At) -> Request {
    let curves = &request.curves;
    Request {
        by: curves.by.clone(),
        only: curves.only.clone(),
        over: curves.over.clone(),
        best: curves.best.clone(),
        on: curves.on.clone(),
        at,
        unfinished: request.unfinished,
        metric: curves.y.clone(),
        summary: curves.summary,
        words: curves.words.clone(),
        ..Request::over_seeds()
    }
}

/// Where bars stand, and how they look.
struct Groups {
    /// The value of the first setting of each group.
    names: Vec<String>,
    /// The other values, those of one bar of each group.
    members: Vec<Vec<String>>,
    legend: Vec<Legend>,
    styles: Vec<Style>,
}

impl Groups {
    /// Those of bars that differ in the settings `titles`, with the values `drawn` among `all`.
    fn of(titles: &[String], all: &[Vec<String>], drawn: &[Vec<String>]) -> Self {
        let joined = |values: &Vec<String>| match values.get(1..) {
            None | Some([]) => Vec::new(),
            Some(others) => vec![others.join(", ")],
        };
        let [of_all, of_drawn] =
            [all, drawn].map(|keys| keys.iter().map(joined).collect::<Vec<_>>());
        let title = joined(&titles.to_vec());
        let (legend, styles) = Legend::among(&title, &of_all, &of_drawn);
        let firsts = drawn
            .iter()
            .map(|values| values.first().cloned().unwrap_or_default());
        let filled = |legend| Legend {
            swatch: Swatch::Area,
            ..legend
        };
        Self {
            names: distinct(firsts),
            members: distinct(of_drawn.into_iter()),
            legend: legend.into_iter().map(filled).collect(),
            styles,
        }
    }

    /// Requires that all bars fit side by side on one of so many panels.
    fn expect_room(
        &self,
        request: &PlotRequest,
        panels: usize,
        page: Size,
    ) -> Result<(), PlotError> {
        let count = self.names.len() * self.members.len();
        let width = page.width / columns(panels, page.width, request.font_size) as f64;
        match LEAST * count as f64 <= width {
            true => Ok(()),
            false => Err(PlotError::Bars {
                count,
                width: request.width,
            }),
        }
    }

    /// The bar at `place` among the rows, with these `values`; none for a row without a figure.
    fn bar(
        &self,
        place: usize,
        values: &[String],
        row: &Row,
        spread: Option<Spread>,
    ) -> Option<Bar> {
        let Outcome::Figure(Some(centre)) = row.outcome else {
            return None;
        };
        let first = values.first().cloned().unwrap_or_default();
        let group = self.names.iter().position(|name| *name == first)?;
        let others = values.get(1..).unwrap_or_default().join(", ");
        let is_own = |member: &Vec<String>| member.join(", ") == others;
        let member = self.members.iter().position(is_own)?;
        let share = GROUP / self.members.len() as f64;
        let middle = group as f64 - 0.5 * GROUP + (member as f64 + 0.5) * share;
        Some(Bar {
            style: self.styles[place],
            width: BAR * share,
            end: centre_at(middle, &centre, spread)?,
        })
    }
}

/// The error bars that are asked for around means or medians; absent if none are.
///
/// # Errors
/// [`PlotError::Band`] for what the clients have, and [`TableError::SpreadOfMedian`](crate::TableError::SpreadOfMedian).
pub(crate) fn spread(request: &PlotRequest) -> Result<Option<Spread>, PlotError> {
    let band = request.curves.band;
    expect_band(request.curves.summary, band)?;
    match band {
        Band::Quantiles => Err(PlotError::Band { band: "quantiles" }),
        Band::Range => Err(PlotError::Band { band: "range" }),
        Band::Interval | Band::Deviation | Band::Error | Band::None => Ok(band.spread()),
    }
}

/// A mean or a median at the place `x` of the horizontal axis, with such an error bar. None if it is not known.
pub(crate) fn centre_at(x: f64, centre: &Centre, spread: Option<Spread>) -> Option<Point> {
    let y = centre.number()?;
    let around = spread.and_then(|spread| centre.around(spread));
    Some(Point {
        x,
        y,
        low: around.map_or(y, |around| around.low),
        high: around.map_or(y, |around| around.high),
    })
}

/// Each of `values` once, in the order in which they are met.
fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// The rows without a figure, which have no bar: a missing bar looks like one of 0.
fn without_bar(table: &Table) -> Option<String> {
    let names = named(table, |row| number(row).is_none());
    (!names.is_empty()).then(|| format!("there is no bar, as there is no figure, of {names}"))
}

/// The mean or the median of a row, if it is known.
fn number(row: &Row) -> Option<f64> {
    match row.outcome {
        Outcome::Figure(centre) => centre?.number(),
        Outcome::Target(_) => None,
    }
}

/// Names the rows whose median lies among runs that never reach the target, which have no point, if there are any.
pub(crate) fn beyond(table: &Table) -> Option<String> {
    let is_beyond = |row: &&Row| {
        let is_there = matches!(row.outcome, Outcome::Figure(Some(_)));
        is_there && number(row).is_none()
    };
    let names = named(table, is_beyond);
    (!names.is_empty()).then(|| {
        format!("the median lies among runs that never reached the target, so there is no point: {names}")
    })
}

/// The rows that are meant, in words.
fn named(table: &Table, is_meant: impl Fn(&&Row) -> bool) -> String {
    let by = &table.request.by;
    let rows = table.rows.iter().filter(is_meant);
    let names = rows.map(|row| table.wording.values(by, &row.keys).join(", "));
    names.collect::<Vec<_>>().join("; ")
}

/// Names the rows whose error bars end where runs ended that never reach the target, if there are any.
pub(crate) fn open(table: &Table) -> Option<String> {
    let is_open = |row: &&Row| match row.outcome {
        Outcome::Figure(Some(centre)) => number(row).is_some() && centre.is_open(),
        Outcome::Figure(None) | Outcome::Target(_) => false,
    };
    let names = named(table, is_open);
    (!names.is_empty()).then(|| {
        format!(
            "the upper quartile lies among runs that never reached the target, and the error bar ends where they ended: {names}"
        )
    })
}

/// Says that bars, or whatever is `drawn` for the rows, have no error bars, if some have none.
pub(crate) fn bare(table: &Table, drawn: &str) -> Option<String> {
    let is_bare = |row: &Row| match row.outcome {
        Outcome::Figure(Some(centre)) => centre.around(Spread::Interval).is_none(),
        Outcome::Figure(None) | Outcome::Target(_) => false,
    };
    let over = table.wording.name(&table.request.over);
    let text = format!("a {drawn} of one {over} has no interval and is drawn without an error bar");
    table.rows.iter().any(is_bare).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::centre::Summary;
    use crate::cost_figure::CostFigure;
    use crate::judged::Judged;

    #[test]
    fn bars_stand_in_groups_of_the_first_setting() {
        let keys = [["ring", "dsgd"], ["ring", "alone"], ["star", "alone"]];
        let keys = keys.map(|key| key.map(str::to_owned).to_vec());
        let titles = ["topology", "algorithm"].map(str::to_owned);
        let groups = Groups::of(&titles, &keys, &keys);
        assert_eq!(groups.names, ["ring", "star"]);
        assert_eq!(groups.legend[0].title, "algorithm");
        assert_eq!(groups.legend[0].swatch, Swatch::Area);
        let runs = vec![Judged::finished("seed: 1", &[&[("test_accuracy", 0.5)]])];
        let table = Table::about(runs, Request::over_seeds()).unwrap();
        let bar = |place: usize| {
            groups
                .bar(place, &keys[place], &table.rows[0], Some(Spread::Interval))
                .unwrap()
        };
        let middle = |place: usize| (10.0 * bar(place).end.x).round() as i32;
        assert_eq!([middle(0), middle(1), middle(2)], [-2, 2, 12]);
        assert_eq!(bar(1).style, bar(2).style);
        assert_eq!((bar(0).end.low, bar(0).end.y), (0.5, 0.5));
        assert!(bare(&table, "bar").unwrap().contains("a bar of one seed"));
        assert_eq!(without_bar(&table), None);
    }

    #[test]
    fn rows_without_a_figure_are_said_to_have_no_bar() {
        let run = |rate: f64, accuracy: f64| {
            let settings = format!("{{seed: 1, rate: {rate}}}");
            let mut run =
                Judged::finished(&settings, &[&[("round", 3.0), ("test_accuracy", accuracy)]]);
            CostFigure::parse("rounds_to=0.5")
                .unwrap()
                .add("rounds_to=0.5", &mut run);
            run
        };
        let request = Request {
            by: vec!["rate".to_owned()],
            metric: "rounds_to=0.5".to_owned(),
            ..Request::over_seeds()
        };
        let table = Table::about(vec![run(0.1, 0.6), run(0.2, 0.4)], request).unwrap();
        let said = without_bar(&table).unwrap();
        assert_eq!(said, "there is no bar, as there is no figure, of 0.2");
    }

    #[test]
    fn a_bar_of_a_median_ends_between_its_quartiles_and_is_absent_where_it_is_not_known() {
        let run = |rate: f64, seed: usize, rounds: Option<f64>| {
            let settings = format!("{{seed: {seed}, rate: {rate}}}");
            let accuracy = |there: bool| if there { 0.6 } else { 0.4 };
            let early = [
                ("round", rounds.unwrap_or(50.0)),
                ("test_accuracy", accuracy(rounds.is_some())),
            ];
            let late = [
                ("round", 90.0),
                ("test_accuracy", accuracy(rounds.is_some())),
            ];
            let mut run = Judged::finished(&settings, &[&early, &late]);
            let cost = CostFigure::parse("rounds_to=0.5").unwrap();
            cost.add("rounds_to=0.5", &mut run);
            run
        };
        let runs = vec![
            run(0.1, 1, Some(10.0)),
            run(0.1, 2, Some(20.0)),
            run(0.1, 3, None),
            run(0.2, 1, Some(10.0)),
            run(0.2, 2, None),
        ];
        let request = Request {
            by: vec!["rate".to_owned()],
            metric: "rounds_to=0.5".to_owned(),
            summary: Summary::Median,
            ..Request::over_seeds()
        };
        let table = Table::about(runs, request).unwrap();
        let keys = [vec!["0.1".to_owned()], vec!["0.2".to_owned()]];
        let groups = Groups::of(&["rate".to_owned()], &keys, &keys);
        let bar = |place: usize| {
            groups.bar(
                place,
                &keys[place],
                &table.rows[place],
                Some(Spread::Interval),
            )
        };
        let end = bar(0).unwrap().end;
        assert_eq!([end.low, end.y, end.high], [15.0, 20.0, 90.0]);
        assert!(bar(1).is_none());
        assert!(without_bar(&table).unwrap().ends_with("no figure, of 0.2"));
        assert!(open(&table).unwrap().ends_with("where they ended: 0.1"));
        assert!(beyond(&table).unwrap().ends_with("no point: 0.2"));
    }

    #[test]
    fn one_setting_has_a_bar_for_each_value_and_no_legend() {
        let keys = [vec!["ring".to_owned()], vec!["star".to_owned()]];
        let groups = Groups::of(&["topology".to_owned()], &keys, &keys);
        assert!(groups.legend.is_empty());
        assert_eq!(groups.members.len(), 1);
        assert_eq!(groups.styles[0], groups.styles[1]);
    }
}
