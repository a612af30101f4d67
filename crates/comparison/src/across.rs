//! A table in words that has the values of a setting side by side.

use crate::at::At;
use crate::digits::Digits;
use crate::error::TableError;
use crate::fields::ABSENT;
use crate::grid::{Grid, GridRow, comparisons, is_best_of, notes};
use crate::request::Request;
use crate::several::with_unit;
use crate::table::{Outcome, Row, Table};

/// The sign of a mean that is significantly other than the one that it is compared with.
const SIGNIFICANT: char = '*';
/// Below which p-value it stands.
const LEVEL: f64 = 0.05;

/// Requires that a table of `request` can stand with the values of a setting side by side, if it is to.
///
/// # Errors
/// [`TableError::NoColumnAcross`] or [`TableError::AcrossTarget`].
pub(crate) fn expect_across(request: &Request) -> Result<(), TableError> {
    let Some(across) = &request.across else {
        return Ok(());
    };
    if matches!(request.at, At::Target(_)) {
        return Err(TableError::AcrossTarget);
    }
    match request.by.contains(across) {
        true => Ok(()),
        false => Err(TableError::NoColumnAcross {
            written: across.clone(),
        }),
    }
}

impl Grid {
    /// A row for each value of the other settings, with a mean or median for each value of the setting `across`.
    pub(crate) fn across(table: &Table, across: &str) -> Self {
        let request = &table.request;
        let column = request.by.iter().position(|name| name == across);
        let column = column.expect("the request was checked");
        let wording = &table.wording;
        let mut settings = request.by.clone();
        settings.remove(column);
        let titles = settings.iter().map(|name| wording.name(name).to_owned());
        let mut titles: Vec<String> = titles.collect();
        let words = titles.len();
        let columns = firsts(table, |row| row.keys[column].clone());
        titles.extend(
            columns
                .iter()
                .map(|row| wording.value_alone(across, &row.keys[column])),
        );
        let lines = firsts(table, |row| others(row, column));
        let line = |first: &&Row| {
            let mut cells = wording.values(&settings, &others(first, column));
            let mut best = Vec::new();
            for of_column in &columns {
                let in_column = |row: &&Row| row.keys[column] == of_column.keys[column];
                let rivals: Vec<&Row> = table.rows.iter().filter(in_column).collect();
                let is_here = |row: &&&Row| others(row, column) == others(first, column);
                let row = rivals.iter().find(is_here);
                if row.is_some_and(|row| is_best_of(row, &rivals, &request.metric)) {
                    best.push(cells.len());
                }
                cells.push(row.map_or_else(|| ABSENT.to_owned(), |row| cell(row, table)));
            }
            GridRow { cells, best }
        };
        let rows: Vec<GridRow> = lines.iter().map(line).collect();
        let mut notes = notes(table, &rows);
        notes.insert(0, what(table));
        notes.extend(table.taken());
        notes.extend(significance(table));
        Self {
            titles,
            words,
            rows,
            notes,
            summary: request.summary,
            rivals: "those of its column",
        }
    }
}

/// The first row of each value of `of`.
fn firsts<T: PartialEq>(table: &Table, of: impl Fn(&Row) -> T) -> Vec<&Row> {
    let mut firsts: Vec<&Row> = Vec::new();
    for row in &table.rows {
        if !firsts.iter().any(|first| of(first) == of(row)) {
            firsts.push(row);
        }
    }
    firsts
}

/// The values of the settings other than that at `column`.
fn others(row: &Row, column: usize) -> Vec<String> {
    let mut keys = row.keys.clone();
    keys.remove(column);
    keys
}

fn cell(row: &Row, table: &Table) -> String {
    let Outcome::Figure(centre) = &row.outcome else {
        return ABSENT.to_owned();
    };
    let (digits, _) = digits(table);
    let mut cell = digits.centre(centre.as_ref(), table.request.spread);
    if is_significant(row) {
        cell.push(SIGNIFICANT);
    }
    cell
}

fn is_significant(row: &Row) -> bool {
    row.corrected.is_some_and(|p_value| p_value < LEVEL)
}

/// What [`SIGNIFICANT`] stands for, where means are compared.
fn significance(table: &Table) -> Option<String> {
    let (field, value) = table.request.compare.as_ref()?;
    let wording = &table.wording;
    let over = wording.name(&table.request.over);
    let with = format!("{}={}", wording.name(field), wording.value(field, value));
    let corrected = match comparisons(table) {
        0 => {
            return Some(format!(
                "no mean could be compared with that of {with}: a paired t test needs two values of {over} that both have"
            ));
        }
        1 => "not corrected for several comparisons".to_owned(),
        count => format!("corrected by Holm's method for {count} comparisons"),
    };
    let found = match table.rows.iter().any(is_significant) {
        true => format!("{SIGNIFICANT} differs"),
        false => "no mean differs".to_owned(),
    };
    Some(format!(
        "{found} from the mean of {with} and the same other settings (p < {LEVEL}, paired t test over {over}, two-sided, {corrected})"
    ))
}

/// How the means or medians are written, and their unit if it is not that of the figure.
fn digits(table: &Table) -> (Digits, Option<&'static str>) {
    Digits::of_centres(&table.request.metric, table.centres())
}

/// What the cells are, and how many runs each is about.
fn what(table: &Table) -> String {
    let n = table.rows.iter().map(|row| match &row.outcome {
        Outcome::Figure(Some(centre)) => centre.runs(),
        Outcome::Figure(None) | Outcome::Target(_) => 0,
    });
    let least = n.clone().filter(|n| *n > 0).min().unwrap_or(0);
    let most = n.max().unwrap_or(0);
    let runs = match (least == most, most) {
        (true, 1) => "1 run".to_owned(),
        (true, _) => format!("{most} runs"),
        (false, _) => format!("{least} to {most} runs"),
    };
    let metric = with_unit(table.wording.name(&table.request.metric), digits(table).1);
    let summary = table.request.summary.name();
    format!("{metric}: the {summary} of {runs} in each cell")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judged::Judged;

    fn request(across: &str) -> Request {
        Request {
            by: ["algorithm", "alpha"].map(str::to_owned).to_vec(),
            across: Some(across.to_owned()),
            ..Request::over_seeds()
        }
    }

    fn runs() -> Vec<Judged> {
        let run = |algorithm: &str, alpha: f64, seed: usize, accuracy: f64| {
            let settings = format!(
                "{{seed: {seed}, algorithm: {algorithm}, partition: {{dirichlet: {{alpha: {alpha}}}}}}}"
            );
            Judged::finished(&settings, &[&[("test_accuracy", accuracy)]])
        };
        vec![
            run("dsgd", 0.1, 1, 0.5),
            run("dsgd", 0.1, 2, 0.5),
            run("dsgd", 1.0, 1, 0.9),
            run("dsgd", 1.0, 2, 0.9),
            run("alone", 0.1, 1, 0.6),
            run("alone", 0.1, 2, 0.6),
        ]
    }

    #[test]
    fn values_of_a_setting_stand_side_by_side() {
        let grid = Grid::of(&Table::about(runs(), request("alpha")).unwrap());
        assert_eq!(grid.titles, ["algorithm", "alpha=0.1", "alpha=1"]);
        assert_eq!(grid.words, 1);
        let cells: Vec<&[String]> = grid.rows.iter().map(|row| row.cells.as_slice()).collect();
        assert_eq!(
            cells,
            [
                ["dsgd", "50.00 ± 0.00 %", "90.00 ± 0.00 %"],
                ["alone", "60.00 ± 0.00 %", "–"]
            ]
        );
        let best: Vec<&[usize]> = grid.rows.iter().map(|row| row.best.as_slice()).collect();
        let (nothing, first): (&[usize], &[usize]) = (&[], &[1]);
        assert_eq!(best, [nothing, first], "one mean alone is not the best");
        assert_eq!(
            grid.notes[0],
            "test_accuracy: the mean of 2 runs in each cell"
        );
        let turned = Grid::of(&Table::about(runs(), request("algorithm")).unwrap());
        assert_eq!(turned.titles, ["alpha", "dsgd", "alone"]);
    }

    #[test]
    fn the_best_values_of_each_cell_stand_below() {
        let run = |alpha: f64, rate: f64, momentum: f64, accuracy: f64| {
            let settings = format!(
                "{{seed: 1, algorithm: {{dsgd: {{rate: {rate}, momentum: {momentum}}}}}, alpha: {alpha}}}"
            );
            Judged::finished(&settings, &[&[("test_accuracy", accuracy)]])
        };
        let runs = || {
            vec![
                run(0.1, 0.5, 0.9, 0.8),
                run(0.1, 0.2, 0.9, 0.7),
                run(1.0, 0.5, 0.9, 0.7),
                run(1.0, 0.2, 0.9, 0.8),
            ]
        };
        let last = |best: &[&str]| {
            let request = Request {
                best: best.iter().map(|name| (*name).to_owned()).collect(),
                ..request("alpha")
            };
            let grid = Grid::of(&Table::about(runs(), request).unwrap());
            grid.notes.last().cloned().unwrap()
        };
        assert_eq!(last(&["rate"]), "rate: 0.5 (dsgd, 0.1), 0.2 (dsgd, 1)");
        assert_eq!(
            last(&["rate", "momentum"]),
            "rate and momentum: 0.5, 0.9 (dsgd, 0.1); 0.2, 0.9 (dsgd, 1)"
        );
    }

    #[test]
    fn what_has_several_columns_does_not_stand_side_by_side() {
        let told = |request: Request| Table::about(runs(), request).unwrap_err().to_string();
        assert!(told(request("seed")).contains("name it in --by"));
        let target = Request {
            at: "target=0.7".parse().unwrap(),
            ..request("alpha")
        };
        assert!(told(target).contains("leave out --at target="));
    }

    #[test]
    fn a_star_marks_what_differs_significantly_from_the_compared_mean() {
        let grid = |last: f64| {
            let mut all = runs();
            let settings = |seed: usize, algorithm: &str| {
                format!(
                    "{{seed: {seed}, algorithm: {algorithm}, partition: {{dirichlet: {{alpha: 0.1}}}}}}"
                )
            };
            for (algorithm, accuracy) in [("dsgd", 0.501), ("alone", last)] {
                let settings = settings(3, algorithm);
                all.push(Judged::finished(
                    &settings,
                    &[&[("test_accuracy", accuracy)]],
                ));
            }
            let request = Request {
                compare: Some(("algorithm".to_owned(), "dsgd".to_owned())),
                ..request("alpha")
            };
            Grid::of(&Table::about(all, request).unwrap())
        };
        let near = grid(0.603);
        let starred = |grid: &Grid| grid.rows[1].cells[1].ends_with(" %*");
        assert!(starred(&near), "{:?}", near.rows[1].cells);
        assert!(!near.rows[0].cells[1].contains('*'));
        let note = near.notes.last().unwrap();
        assert_eq!(
            note,
            "* differs from the mean of algorithm=dsgd and the same other settings (p < 0.05, paired t test over seed, two-sided, not \
             corrected for several comparisons)"
        );
        assert!(
            !starred(&grid(0.3)),
            "differences of .1, .1 and -.2 are chance"
        );
    }
}
