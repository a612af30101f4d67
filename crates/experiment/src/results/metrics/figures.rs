//! All figures of `metrics.jsonl` by their names.

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::results::recorded_run::RecordedRun;
use crate::results::results_error::ResultsError;
use crate::results::run_folder::METRICS;
use crate::results::run_text::{lines, parsed};

/// The figures of one evaluation by name, such as `round` and `bytes_total`.
///
/// What lies in an object has a dotted name, `test_accuracy.min`; `test_accuracy` alone is its mean. A figure that was not
/// measured or is not finite is absent.
pub type Figures = BTreeMap<String, f64>;

/// What holds the figures of a method's own.
const OWN: &str = "own";

impl RecordedRun {
    /// The figures of each evaluation, in the order of the rounds. They are read when asked for.
    ///
    /// # Errors
    /// [`ResultsError::Read`], and [`ResultsError::Content`] for a line that is no record.
    pub fn figures(&self) -> Result<Vec<Figures>, ResultsError> {
        metrics(&self.folder, flat)
    }
}

/// The result of `of` for each record in `metrics.jsonl` of the run in `folder`, in order; empty if there is no such
/// file. Empty lines, and a last line that an interruption has torn, are left out.
///
/// # Errors
/// [`ResultsError::Read`], and [`ResultsError::Content`] for a line that is no object or that `of` refuses.
pub fn metrics<R: DeserializeOwned, T>(
    folder: &Path,
    of: impl Fn(R) -> Result<T, String>,
) -> Result<Vec<T>, ResultsError> {
    let found = parsed(&folder.join(METRICS), |text| each(text, of))?;
    Ok(found.unwrap_or_default())
}

fn each<R: DeserializeOwned, T>(
    text: &str,
    of: impl Fn(R) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let of_line = |line: Result<(usize, R), String>| {
        let (number, record) = line?;
        of(record).map_err(|found| format!("line {number}: {found}"))
    };
    lines(text).map(of_line).collect()
}

fn flat(record: Map<String, Value>) -> Result<Figures, String> {
    let mut figures = Figures::new();
    for (name, value) in &record {
        add(&mut figures, name, value);
    }
    Ok(figures)
}

/// Adds the figure called `name`, and what lies in it.
fn add(figures: &mut Figures, name: &str, value: &Value) {
    let Value::Object(parts) = value else {
        figures.extend(value.as_f64().map(|value| (name.to_owned(), value)));
        return;
    };
    // Figures of a method's own may have any name.
    let mean = parts.get("mean").filter(|_| name != OWN);
    let mean = mean.and_then(Value::as_f64);
    figures.extend(mean.map(|mean| (name.to_owned(), mean)));
    for (part, value) in parts {
        add(figures, &format!("{name}.{part}"), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_method_have_dotted_names_and_their_means_short_ones() {
        let text = "{\"own\":{\"mean\":3,\"gap\":null,\"norm\":{\"mean\":2,\"std\":null}}}\n";
        let expected = [("own.mean", 3.0), ("own.norm", 2.0), ("own.norm.mean", 2.0)];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(each(text, flat).unwrap(), [Figures::from(expected)]);
    }

    #[test]
    fn figures_go_by_their_names_and_a_torn_line_is_left_out() {
        let text = "{\"round\":2,\"train_loss\":null,\"test_accuracy\":{\"mean\":0.5,\"min\":0.25},\"theory\":{\"gamma\":3}}\n{\"rou";
        let figures = each(text, flat).unwrap();
        let expected = [
            ("round", 2.0),
            ("test_accuracy", 0.5),
            ("test_accuracy.mean", 0.5),
            ("test_accuracy.min", 0.25),
            ("theory.gamma", 3.0),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(figures, [Figures::from(expected)]);
        assert!(each("{\"rou\n", flat).unwrap_err().starts_with("line 1: "));
    }
}
