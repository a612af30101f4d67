//! A table in words that has several figures side by side.

use crate::at::At;
use crate::centre::Centre;
use crate::digits::Digits;
use crate::error::TableError;
use crate::grid::{Grid, GridRow, count, is_best_centre, notes, of_settings};
use crate::request::Request;
use crate::table::{Outcome, Row, Table};

/// Requires that a table of `request` can show several figures, if it is to.
///
/// # Errors
/// [`TableError::FigureTwice`] or [`TableError::SeveralWith`].
pub(crate) fn expect_several(request: &Request) -> Result<(), TableError> {
    let figures: Vec<&String> = request.figures().collect();
    let is_named_before = |place: &usize| figures[..*place].contains(&figures[*place]);
    if let Some(place) = (0..figures.len()).find(is_named_before) {
        return Err(TableError::FigureTwice {
            written: figures[place].clone(),
        });
    }
    let others = [
        (request.compare.is_some(), "--compare"),
        (request.across.is_some(), "--across"),
        (matches!(request.at, At::Target(_)), "--at target="),
    ];
    let other = others.into_iter().find(|(is_there, _)| *is_there);
    match other.filter(|_| !request.also.is_empty()) {
        Some((_, other)) => Err(TableError::SeveralWith { other }),
        None => Ok(()),
    }
}

/// A figure of a table, and how it is written.
struct Figure<'a> {
    name: &'a str,
    /// The mean or the median of each row.
    centres: Vec<Option<Centre>>,
    digits: Digits,
    /// The unit that the digits are of, if they are not of the figure's own.
    unit: Option<&'static str>,
}

impl<'a> Figure<'a> {
    /// The figure at `place` among those that `table` shows. Bytes are in the unit that suits the largest.
    fn at(place: usize, name: &'a str, table: &Table) -> Self {
        let rows = table.rows.iter();
        let centres: Vec<Option<Centre>> = rows.map(|row| centre(row, place)).collect();
        let (digits, unit) = Digits::of_centres(name, centres.iter().flatten());
        Self {
            name,
            centres,
            digits,
            unit,
        }
    }

    /// Whether that of `row` is the best of those of its `rivals`.
    fn is_best(&self, row: usize, rivals: &[usize]) -> bool {
        let others = rivals.iter().map(|other| self.centres[*other]);
        is_best_centre(self.name, self.centres[row], &others.collect::<Vec<_>>())
    }
}

/// The title of a column of figures.
pub(crate) fn with_unit(name: &str, unit: Option<&str>) -> String {
    match unit {
        Some(unit) => format!("{name}, {unit}"),
        None => name.to_owned(),
    }
}

/// The mean or the median of the figure at `place` in a row.
fn centre(row: &Row, place: usize) -> Option<Centre> {
    match (place.checked_sub(1), row.outcome) {
        (Some(also), _) => row.also[also],
        (None, Outcome::Figure(centre)) => centre,
        (None, Outcome::Target(_)) => None,
    }
}

impl Grid {
    /// A row for each row of `table`, with a mean or median for each figure.
    pub(crate) fn several(table: &Table) -> Self {
        let wording = &table.wording;
        let figures = table.request.figures().enumerate();
        let figures = figures.map(|(place, name)| Figure::at(place, name, table));
        let figures: Vec<Figure<'_>> = figures.collect();
        let mut titles = table.setting_titles();
        let words = titles.len();
        titles.push("n".to_owned());
        titles.extend(
            figures
                .iter()
                .map(|figure| with_unit(wording.name(figure.name), figure.unit)),
        );
        let line = |(place, row): (usize, &Row)| {
            let mut cells = of_settings(row, table);
            cells.push(count(figures[0].centres[place].as_ref()));
            let rivals = table.rivals(row);
            let mut best = Vec::new();
            for figure in &figures {
                if figure.is_best(place, &rivals) {
                    best.push(cells.len());
                }
                let centre = figure.centres[place].as_ref();
                cells.push(figure.digits.centre(centre, table.request.spread));
            }
            GridRow { cells, best }
        };
        let rows: Vec<GridRow> = table.rows.iter().enumerate().map(line).collect();
        Self {
            titles,
            words,
            notes: notes(table, &rows),
            rows,
            summary: table.request.summary,
            rivals: "rows that differ in the last setting only",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judged::Judged;
    use crate::records::csv;

    fn request(figures: &[&str]) -> Request {
        let mut figures = figures.iter().map(|name| (*name).to_owned());
        Request {
            by: vec!["algorithm".to_owned()],
            metric: figures.next().unwrap(),
            also: figures.collect(),
            ..Request::over_seeds()
        }
    }

    fn runs() -> Vec<Judged> {
        let run = |algorithm: &str, seed: usize, accuracy: f64, bytes: f64| {
            let settings = format!("{{seed: {seed}, algorithm: {algorithm}}}");
            let figures = [("test_accuracy", accuracy), ("bytes_total", bytes)];
            Judged::finished(&settings, &[&figures])
        };
        vec![
            run("dsgd", 1, 0.5, 2e6),
            run("dsgd", 2, 0.7, 2e6),
            run("quantised", 1, 0.4, 5e5),
            run("quantised", 2, 0.6, 5e5),
        ]
    }

    const BOTH: [&str; 2] = ["test_accuracy", "bytes_total"];

    #[test]
    fn each_figure_has_a_column_and_a_best_mean_of_its_own() {
        let table = Table::about(runs(), request(&BOTH)).unwrap();
        let grid = Grid::of(&table);
        assert_eq!(
            grid.titles,
            ["algorithm", "n", "test_accuracy", "bytes_total, MB"]
        );
        let cells: Vec<&[String]> = grid.rows.iter().map(|row| row.cells.as_slice()).collect();
        assert_eq!(
            cells,
            [
                ["dsgd", "2", "60.00 ± 127.06 %", "2.000 ± 0"],
                ["quantised", "2", "50.00 ± 127.06 %", "0.5000 ± 0"]
            ]
        );
        assert_eq!([&grid.rows[0].best, &grid.rows[1].best], [&[2], &[3]]);
        let text = csv(&table).unwrap();
        let titles = "algorithm,test_accuracy_n,test_accuracy_mean,test_accuracy_sd,test_accuracy_low,test_accuracy_high,bytes_total_n,\
                      bytes_total_mean,";
        assert!(text.starts_with(titles), "{text}");
        assert!(text.contains("quantised,2,0.5,"), "{text}");
    }

    #[test]
    fn a_run_without_one_of_the_figures_is_named() {
        let mut runs = runs();
        runs[3] = Judged::finished(
            "{seed: 2, algorithm: quantised}",
            &[&[("test_accuracy", 0.6)]],
        );
        let table = Table::about(runs, request(&BOTH)).unwrap();
        let note = "quantised: bytes_total was not measured under seed 2";
        assert_eq!(table.notes, [note]);
        let costs_first = Request {
            best: vec!["algorithm".to_owned()],
            by: Vec::new(),
            metric: "bytes_total".to_owned(),
            also: vec!["test_accuracy".to_owned()],
            ..Request::over_seeds()
        };
        let chosen = Table::about(self::runs(), costs_first).unwrap().notes;
        assert!(
            chosen[0].ends_with("so the same test examples chose the setting and measure it)"),
            "{chosen:?}"
        );
    }

    #[test]
    fn several_figures_do_not_go_with_what_has_several_columns_of_one() {
        let told = |request: Request| Table::about(runs(), request).unwrap_err().to_string();
        let twice = request(&["test_accuracy", "test_accuracy"]);
        assert!(told(twice).contains("`test_accuracy` is named twice in --metric"));
        let compared = Request {
            compare: Some(("algorithm".to_owned(), "dsgd".to_owned())),
            ..request(&BOTH)
        };
        assert!(told(compared).contains("do not go with --compare"));
        let target = Request {
            at: "target=0.7".parse().unwrap(),
            ..request(&BOTH)
        };
        assert!(told(target).contains("do not go with --at target="));
        let across = Request {
            across: Some("algorithm".to_owned()),
            ..request(&BOTH)
        };
        assert!(told(across).contains("do not go with --across"));
        assert!(told(request(&["test_accuracy", "bytes"])).contains("no figure is called `bytes`"));
    }
}
