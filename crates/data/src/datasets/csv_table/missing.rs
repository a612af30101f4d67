//! What empty cells of features become.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::datasets::standard::ValueRange;

/// What an empty cell of a feature becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CsvMissing {
    /// The mean of the feature over the training rows that have it. For a word of `categories` this is the share of the rows that have it.
    Mean,
}

impl CsvMissing {
    /// Whether `cell`, where a number is needed, has none.
    pub(super) fn is_no_number(cell: &str) -> bool {
        let signs = ["", "?", "NA", "N/A", "NaN", "null"];
        signs.iter().any(|sign| cell.eq_ignore_ascii_case(sign))
    }

    /// What is wrong with an empty cell where `what` is needed, if the settings do not say what it becomes.
    pub(super) fn refused(what: &str) -> String {
        format!(
            "found an empty cell, {what} is needed: fill it in, leave the row out, or say `missing: mean`"
        )
    }
}

/// The means of features over the rows that have them. The others have NaN in their place.
pub(super) struct PresentMeans {
    sums: Vec<f64>,
    ranges: Vec<ValueRange>,
    counts: Vec<u32>,
}

impl PresentMeans {
    /// The means of `width` features, before the first row.
    pub(super) fn of(width: usize) -> Self {
        Self {
            sums: vec![0.0; width],
            ranges: vec![ValueRange::EMPTY; width],
            counts: vec![0; width],
        }
    }

    /// Adds rows, `[M, D]`.
    pub(super) fn add(&mut self, values: &[f64]) {
        for row in values.chunks_exact(self.sums.len()) {
            let features = self.sums.iter_mut().zip(&mut self.ranges);
            let features = features.zip(&mut self.counts);
            for (((sum, range), count), value) in features.zip(row) {
                if !value.is_nan() {
                    *sum += value;
                    range.add(*value);
                    *count += 1;
                }
            }
        }
    }

    /// The mean of each feature; none of one that no row has. That of a feature which never varies is its value.
    pub(super) fn finish(self) -> Vec<Option<f64>> {
        let features = self.sums.into_iter().zip(self.ranges).zip(self.counts);
        let mean = |((sum, range), count): ((f64, ValueRange), u32)| {
            (count > 0).then(|| range.hold(sum / f64::from(count)))
        };
        features.map(mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_those_of_the_rows_that_have_the_feature() {
        let mut means = PresentMeans::of(3);
        means.add(&[1.0, f64::NAN, f64::NAN, 3.0, f64::NAN, 5.0]);
        means.add(&[5.0, f64::NAN, 6.0]);
        assert_eq!(means.finish(), [Some(3.0), None, Some(5.5)]);
    }

    #[test]
    fn the_mean_of_a_constant_is_the_constant() {
        for rows in 1..100 {
            let mut means = PresentMeans::of(1);
            means.add(&[f64::NAN]);
            means.add(&vec![3.3; rows]);
            assert_eq!(means.finish(), [Some(3.3)], "{rows} rows");
        }
    }

    #[test]
    fn signs_of_a_missing_number_are_known_in_any_case() {
        for sign in ["", "?", "na", "NaN", "nan", "NULL", "n/a"] {
            assert!(CsvMissing::is_no_number(sign), "{sign}");
        }
        for other in ["0", "inf", "none of them", "-"] {
            assert!(!CsvMissing::is_no_number(other), "{other}");
        }
    }
}
