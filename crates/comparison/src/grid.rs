//! A table in words.

use meshfold_experiment::results::more_is_better;
use meshfold_figure::bytes_unit;
use meshfold_statistics::Spread;

use crate::centre::{Centre, Summary};
use crate::cost_figure::CostFigure;
use crate::digits::Digits;
use crate::fields::ABSENT;
use crate::request::Request;
use crate::several::with_unit;
use crate::table::{Outcome, Reaching, Row, Table};

/// Titles, and for each row its cells.
#[derive(Clone, Debug)]
pub struct Grid {
    /// One for each column.
    pub titles: Vec<String>,
    /// How many columns, from the first, hold words; the others hold figures.
    pub words: usize,
    /// In the order of the table.
    pub rows: Vec<GridRow>,
    /// What stands below the table.
    pub notes: Vec<String>,
    /// Whether figures are means or medians.
    pub summary: Summary,
    /// Among which of them those in [`GridRow::best`] are the best.
    pub rivals: &'static str,
}

/// The cells of a row.
#[derive(Clone, Debug)]
pub struct GridRow {
    /// One for each column.
    pub cells: Vec<String>,
    /// The places of the cells whose mean or median is the best among its rivals.
    pub best: Vec<usize>,
}

impl Grid {
    /// The table as people read it: accuracies in per cent, `mean ± half of the 95 % interval` or `median [lower quartile, upper quartile]`.
    pub fn of(table: &Table) -> Self {
        match &table.request.across {
            Some(across) => Self::across(table, across),
            None if table.request.also.is_empty() => Self::long(table),
            None => Self::several(table),
        }
    }

    /// A row for each row of `table`.
    fn long(table: &Table) -> Self {
        let (request, wording) = (&table.request, &table.wording);
        let mut titles = table.setting_titles();
        let words = titles.len();
        let costs = Costs::of(table);
        let (digits, unit) = Digits::of_centres(&request.metric, table.centres());
        titles.extend(match &costs {
            Some(costs) => costs.titles(),
            None => {
                let metric = with_unit(wording.name(&request.metric), unit);
                let sd = has_sd(request).then(|| "sd".to_owned());
                ["n".to_owned(), metric].into_iter().chain(sd).collect()
            }
        });
        if let Some((field, value)) = &request.compare {
            let value = wording.value(field, value);
            let p = match comparisons(table) {
                0 | 1 => "p",
                _ => "p (Holm)",
            };
            let titles_of_it = [&format!("minus {value}"), "effect", p];
            titles.extend(titles_of_it.map(str::to_owned));
        }
        let with_comparison = request.compare.is_some();
        let rows = table.rows.iter().map(|row| {
            let mut cells = cells(row, table, costs.as_ref(), digits);
            if with_comparison {
                cells.extend(comparison(row, digits, request.spread));
            }
            let mean = is_best(row, table).then_some(words + 1);
            GridRow {
                cells,
                best: mean.into_iter().collect(),
            }
        });
        let rows: Vec<GridRow> = rows.collect();
        Self {
            titles,
            words,
            notes: notes(table, &rows),
            rows,
            summary: request.summary,
            rivals: match with_comparison {
                true => "rows that are compared with the same row",
                false => "rows that differ in the last setting only",
            },
        }
    }
}

/// How the columns show what it took to reach a target.
struct Costs {
    /// The bytes that one of the unit has, and its name.
    bytes: (f64, &'static str),
    /// Whether the runs have a simulated network.
    with_seconds: bool,
}

impl Costs {
    /// Those of `table`, if it is about a target.
    fn of(table: &Table) -> Option<Self> {
        let reaching = table.rows.iter().filter_map(|row| match &row.outcome {
            Outcome::Target(reaching) => Some(reaching),
            Outcome::Figure(_) => None,
        });
        let reaching: Vec<&Reaching> = reaching.collect();
        let bytes = reaching.iter().filter_map(|reaching| reaching.bytes);
        let largest = bytes.map(|bytes| bytes.size()).fold(0.0, f64::max);
        (!reaching.is_empty()).then(|| Self {
            bytes: bytes_unit(largest),
            with_seconds: reaching.iter().any(|reaching| reaching.seconds.is_some()),
        })
    }

    fn titles(&self) -> Vec<String> {
        let seconds = self.with_seconds.then_some("seconds");
        let titles = ["reached", "rounds", self.bytes.1]
            .into_iter()
            .chain(seconds);
        titles.map(str::to_owned).collect()
    }

    fn cells(&self, reaching: &Reaching, spread: Spread) -> Vec<String> {
        let bytes = Digits::Divided(self.bytes.0);
        let mut cells = vec![
            format!("{} of {}", reaching.reached, reaching.runs),
            Digits::Tenths.centre(reaching.rounds.as_ref(), spread),
            bytes.centre(reaching.bytes.as_ref(), spread),
        ];
        if self.with_seconds {
            cells.push(Digits::Four.centre(reaching.seconds.as_ref(), spread));
        }
        cells
    }
}

/// The notes of `table`, and what the signs in its `rows` mean.
pub(crate) fn notes(table: &Table, rows: &[GridRow]) -> Vec<String> {
    let wording = &table.wording;
    let over = wording.name(&table.request.over);
    let mut notes = table.notes.clone();
    let mut cells = rows.iter().flat_map(|row| &row.cells);
    let request = &table.request;
    if request.summary == Summary::Median {
        notes.extend(of_medians(table, over));
    } else if cells.any(|cell| cell.contains('±')) {
        let what = match request.spread {
            Spread::Interval => "half of the 95 % interval of the mean (Student's t)",
            Spread::Deviation => "the standard deviation (of a sample: n - 1)",
            Spread::Error => "the standard error of the mean (standard deviation / √n)",
        };
        notes.push(format!("± is {what} over {over}"));
    }
    let compare = request.compare.as_ref();
    if let Some((field, value)) = compare.filter(|_| request.across.is_none()) {
        let p = match comparisons(table) {
            0 | 1 => {
                "p: paired t test, two-sided, not corrected for several comparisons".to_owned()
            }
            count => format!(
                "p (Holm): paired t test, two-sided, corrected by Holm's method for the {count} comparisons that have one"
            ),
        };
        let (field, value) = (wording.name(field), wording.value(field, value));
        notes.push(format!(
            "minus {value}: mean difference to the row with {field}={value} over the same {over}; effect: Cohen's d of the \
             pairs; {p}"
        ));
    }
    notes
}

/// What the numbers of a table of medians over the setting `over` are.
fn of_medians(table: &Table, over: &str) -> Vec<String> {
    let centres = table.rows.iter().flat_map(|row| {
        let first = match row.outcome {
            Outcome::Figure(centre) => [centre, None, None],
            Outcome::Target(reaching) => [reaching.rounds, reaching.bytes, reaching.seconds],
        };
        first.into_iter().chain(row.also.iter().copied()).flatten()
    });
    let (mut is_several, mut is_open) = (false, false);
    for centre in centres {
        is_several |= centre.runs() > 1;
        is_open |= centre.is_open();
    }
    let what = is_several.then(|| format!("median [lower quartile, upper quartile] over {over}"));
    let open = is_open.then(|| {
        "a number after > is what runs went through that never reached the target: the median or the quartile is larger".to_owned()
    });
    what.into_iter().chain(open).collect()
}

/// How many rows have a p-value.
pub(crate) fn comparisons(table: &Table) -> usize {
    let rows = table.rows.iter();
    rows.filter(|row| row.corrected.is_some()).count()
}

/// The settings of a row, as their words.
pub(crate) fn of_settings(row: &Row, table: &Table) -> Vec<String> {
    let (request, wording) = (&table.request, &table.wording);
    let mut cells = wording.values(&request.by, &row.keys);
    cells.extend(wording.values(&request.best, &row.chosen));
    cells
}

fn cells(row: &Row, table: &Table, costs: Option<&Costs>, digits: Digits) -> Vec<String> {
    let mut cells = of_settings(row, table);
    let spread = table.request.spread;
    match (&row.outcome, costs) {
        (Outcome::Target(reaching), Some(costs)) => cells.extend(costs.cells(reaching, spread)),
        (Outcome::Target(_), None) => {}
        (Outcome::Figure(centre), _) => {
            cells.push(count(centre.as_ref()));
            cells.push(digits.centre(centre.as_ref(), spread));
            if has_sd(&table.request) {
                let sd = match centre {
                    Some(Centre::Mean(estimate)) => estimate.sd,
                    Some(Centre::Median(_)) | None => None,
                };
                cells.push(sd.map_or_else(dash, |sd| digits.figure(sd)));
            }
        }
    }
    cells
}

/// Whether a column has the standard deviations.
fn has_sd(request: &Request) -> bool {
    request.summary == Summary::Mean && request.spread == Spread::Interval
}

/// How many runs have the figure: `3`, or `2 of 3` where it is the median of all three.
pub(crate) fn count(centre: Option<&Centre>) -> String {
    match centre.map(|centre| (centre.n(), centre.runs())) {
        None => "0".to_owned(),
        Some((n, runs)) if n == runs => n.to_string(),
        Some((n, runs)) => format!("{n} of {runs}"),
    }
}

fn comparison(row: &Row, digits: Digits, spread: Spread) -> [String; 3] {
    let paired = row.comparison.as_ref();
    let test = paired.and_then(|paired| paired.test);
    [
        digits.mean(paired.map(|paired| &paired.difference), spread),
        test.map_or_else(dash, |test| format!("{:.2}", test.effect)),
        row.corrected
            .map_or_else(dash, |p_value| match p_value < 0.001 {
                true => "< 0.001".to_owned(),
                false => format!("{p_value:.3}"),
            }),
    ]
}

fn dash() -> String {
    ABSENT.to_owned()
}

/// Whether the mean of `row` is the best of several that are compared with one row or, if nothing is compared, of those that differ
/// from it in the last setting only.
fn is_best(row: &Row, table: &Table) -> bool {
    let rivals: Vec<&Row> = match table.request.compare {
        Some(_) => {
            let is_rival = |other: &&Row| row.baseline.is_some() && other.baseline == row.baseline;
            table.rows.iter().filter(is_rival).collect()
        }
        None => {
            let rivals = table.rivals(row).into_iter();
            rivals.map(|place| &table.rows[place]).collect()
        }
    };
    is_best_of(row, &rivals, &table.request.metric)
}

/// Whether no mean of `metric` of the `rivals`, of which `row` is one, is better than that of `row`. Nothing is the best by itself.
pub(crate) fn is_best_of(row: &Row, rivals: &[&Row], metric: &str) -> bool {
    let centre = |row: &Row| match row.outcome {
        Outcome::Figure(centre) => centre,
        Outcome::Target(_) => None,
    };
    let others = rivals.iter().map(|other| centre(other));
    is_best_centre(metric, centre(row), &others.collect::<Vec<_>>())
}

/// Whether none of the `rivals`, of which `own` is one, is a better mean or median of `metric`. Of means of what it takes to reach a target,
/// more runs that reach it are better than less of it. One that alone is known is then the best.
pub(crate) fn is_best_centre(metric: &str, own: Option<Centre>, rivals: &[Option<Centre>]) -> bool {
    let sign = if more_is_better(metric) { 1.0 } else { -1.0 };
    let counts = CostFigure::parse(metric).is_some();
    let rank = |centre: &Centre| {
        let there = match centre {
            Centre::Mean(estimate) if counts => estimate.n,
            Centre::Mean(_) | Centre::Median(_) => 0,
        };
        Some((there, sign * centre.number()?))
    };
    let known = || rivals.iter().flatten().filter_map(rank);
    let is_best = |own: Centre| rank(&own).is_some_and(|own| known().all(|other| own >= other));
    let compared = if counts {
        rivals.len()
    } else {
        known().count()
    };
    compared > 1 && own.is_some_and(is_best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judged::Judged;

    fn rows_of(settings: &[(&str, f64)], request: Request) -> Grid {
        let run = |(settings, accuracy): &(&str, f64)| {
            let end = [
                ("test_accuracy", *accuracy),
                ("round", 24.0),
                ("bytes_total", 152_700_000.0),
            ];
            Judged::finished(settings, &[&end])
        };
        let table = Table::about(settings.iter().map(run).collect(), request);
        Grid::of(&table.unwrap())
    }

    fn by(names: &[&str]) -> Request {
        Request {
            by: names.iter().map(|name| (*name).to_owned()).collect(),
            ..Request::over_seeds()
        }
    }

    /// Which rows have a bold cell.
    fn bold(grid: &Grid) -> Vec<bool> {
        grid.rows.iter().map(|row| !row.best.is_empty()).collect()
    }

    const RUNS: [(&str, f64); 4] = [
        ("{seed: 1, topology: ring, partition: iid}", 0.9),
        ("{seed: 1, topology: ring, partition: shards}", 0.5),
        ("{seed: 1, topology: star, partition: iid}", 0.8),
        ("{seed: 1, topology: star, partition: shards}", 0.6),
    ];

    #[test]
    fn the_best_is_that_of_rows_that_are_compared() {
        let plain = rows_of(&RUNS, by(&["topology", "partition"]));
        assert_eq!(bold(&plain), [true, false, true, false]);
        let compared = Request {
            compare: Some(("topology".to_owned(), "ring".to_owned())),
            ..by(&["topology", "partition"])
        };
        assert_eq!(bold(&rows_of(&RUNS, compared)), [true, false, false, true]);
        let alone = rows_of(&RUNS[..1], by(&["topology", "partition"]));
        assert_eq!(bold(&alone), [false]);
    }

    #[test]
    fn several_p_values_are_corrected_and_one_is_not() {
        let runs = |topologies: &[&'static str]| -> Vec<Judged> {
            let accuracies = [0.5, 0.75, 0.625];
            let of = |(place, topology): (usize, &&str)| {
                let settings = |seed: usize| format!("{{seed: {seed}, topology: {topology}}}");
                let run = |seed: usize| {
                    let accuracy = accuracies[seed] + 0.01 * (place * (seed + 1)) as f64;
                    Judged::finished(&settings(seed), &[&[("test_accuracy", accuracy)]])
                };
                [run(0), run(1), run(2)]
            };
            topologies.iter().enumerate().flat_map(of).collect()
        };
        let grid = |topologies: &[&'static str]| {
            let request = Request {
                compare: Some(("topology".to_owned(), "ring".to_owned())),
                ..by(&["topology"])
            };
            Grid::of(&Table::about(runs(topologies), request).unwrap())
        };
        let (one, two) = (grid(&["ring", "star"]), grid(&["ring", "star", "grid"]));
        let title = |grid: &Grid| grid.titles.last().cloned().unwrap();
        assert_eq!(
            (title(&one), title(&two)),
            ("p".to_owned(), "p (Holm)".to_owned())
        );
        assert!(
            one.notes
                .last()
                .unwrap()
                .ends_with("not corrected for several comparisons")
        );
        let note = "corrected by Holm's method for the 2 comparisons that have one";
        assert!(two.notes.last().unwrap().ends_with(note), "{:?}", two.notes);
        // Both rows differ from the first alike, so their p-values are equal, and are doubled.
        let p_value = |grid: &Grid| grid.rows[1].cells.last().unwrap().parse::<f64>().unwrap();
        assert!((p_value(&two) - 2.0 * p_value(&one)).abs() < 0.002);
    }

    #[test]
    fn what_a_target_took_has_units_and_no_seconds_without_a_network() {
        let request = Request {
            at: "target=0.7".parse().unwrap(),
            ..by(&["topology", "partition"])
        };
        let grid = rows_of(&RUNS, request);
        assert_eq!(grid.titles[2..], ["reached", "rounds", "MB"]);
        assert_eq!(grid.rows[0].cells[2..], ["1 of 1", "24.0", "152.7"]);
        assert_eq!(bold(&grid), [false; 4]);
    }
}
