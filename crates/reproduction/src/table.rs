//! The table of a paper's rows in a README, in Markdown.

use crate::outcome::{ReadOut, RowOutcome};
use crate::shown::Unit;
use crate::verdict::Verdict;

/// What stands before and after the table in a README.
const BEGIN: &str = "<!-- rows: written by `meshfold reproduce --record` -->";
const END: &str = "<!-- end of rows -->";

/// `readme` with its table of rows replaced by `table`; `None` if it has no place for one.
pub fn refreshed(readme: &str, table: &str) -> Option<String> {
    let (before, rest) = readme.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{table}\n{END}{after}"))
}

/// The rows of one paper as a table, with a line that counts the verdicts before it.
pub fn table(outcomes: &[RowOutcome<'_>]) -> String {
    let counts = Verdict::counts_in_words(outcomes);
    let mut text = format!("{} rows: {counts}.\n\n", outcomes.len());
    text.push_str(
        "| row | in the paper | what is compared | verdict | why |\n|---|---|---|---|---|\n",
    );
    for outcome in outcomes {
        let row = outcome.row;
        let mut why = vec![with_seeds(outcome)];
        why.extend(outcome.readings.iter().skip(1).filter_map(other));
        why.extend(row.note.clone());
        let cells = [
            &row.id,
            &row.place,
            &row.says,
            outcome.verdict.words(),
            &why.join(". "),
        ];
        let cells = cells.map(|cell| cell.replace('|', "\\|"));
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text
}

/// The reason, and how many seeds it rests on.
pub(crate) fn with_seeds(outcome: &RowOutcome<'_>) -> String {
    let seeds = outcome.readings.first().map_or(0, seeds);
    let spread = outcome
        .readings
        .first()
        .and_then(|reading| spread(reading, outcome.unit()));
    match (outcome.verdict, seeds) {
        (Verdict::Tested | Verdict::NeedsData | Verdict::NotRun, _) | (_, 0) => {
            outcome.reason.clone()
        }
        (_, 1) => format!("{} (one seed)", outcome.reason),
        (_, seeds) => {
            let spread = spread.map_or_else(String::new, |spread| format!(", {spread}"));
            format!("{} ({seeds} seeds{spread})", outcome.reason)
        }
    }
}

/// The fewest seeds of a value.
fn seeds(reading: &ReadOut) -> usize {
    let seeds = reading.values.values().map(|values| values.by_seed().len());
    seeds.min().unwrap_or(0)
}

/// The largest standard deviation of a value over its seeds.
fn spread(reading: &ReadOut, unit: Unit) -> Option<String> {
    let deviations = reading
        .values
        .values()
        .filter_map(|values| values.estimate()?.sd);
    let largest = deviations.reduce(f64::max)?;
    Some(format!(
        "standard deviation at most {}",
        unit.shown(largest)
    ))
}

/// What another reading says.
fn other(reading: &ReadOut) -> Option<String> {
    let name = reading.name.as_ref()?;
    (reading.verdict != Verdict::NotRun).then(|| {
        format!(
            "Read otherwise ({name}): {}, {}",
            reading.verdict.words(),
            reading.reason
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_readme_keeps_what_stands_around_its_table() {
        let readme = format!("# Title\n\n{BEGIN}\nold\n{END}\n\nMore.\n");
        let new = refreshed(&readme, "| a |\n").unwrap();
        assert_eq!(
            new,
            format!("# Title\n\n{BEGIN}\n\n| a |\n\n{END}\n\nMore.\n")
        );
        assert_eq!(refreshed(&new, "| a |\n").unwrap(), new);
        assert_eq!(refreshed("# Title\n", ""), None);
    }
}
