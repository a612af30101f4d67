//! The figures of a record, as scalars under tags.

use serde_json::Value;

use crate::leaves::leaves;

/// The round of a record; its figures have no other time.
const ROUND: &str = "round";

/// A line of `metrics.jsonl`, as plain values: whatever figures a version writes are shown.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    pub(crate) round: u64,
    /// Seconds that the program had worked on the run.
    pub(crate) worked: f64,
    /// `test_accuracy/mean` for `{"test_accuracy": {"mean": ...}}`: TensorBoard groups tags by what precedes the stroke.
    pub(crate) scalars: Vec<(String, f32)>,
}

impl Figures {
    /// The figures of `record`; what was not measured is left out.
    ///
    /// # Errors
    /// What is wrong with it, if it is no record.
    pub(crate) fn of(record: &Value) -> Result<Self, String> {
        let figures = record
            .as_object()
            .ok_or("found no object, needed a record")?;
        let round = figures.get(ROUND).and_then(Value::as_u64);
        let mut scalars = Vec::new();
        for (tag, figure) in leaves(record, '/') {
            // TensorBoard's scalars have single precision.
            let number = figure.as_f64().filter(|_| tag != ROUND);
            scalars.extend(number.map(|number| (tag, number as f32)));
        }
        Ok(Self {
            round: round.ok_or("found no round, needed a whole number")?,
            worked: figures
                .get("wall_seconds")
                .and_then(Value::as_f64)
                .unwrap_or_default(),
            scalars,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_number_is_a_scalar_and_what_was_not_measured_is_none() {
        let record = json!({
            "round": 3, "train_loss": null, "test_accuracy": {"mean": 0.25, "min": 0}, "wall_seconds": 1.5,
            "theory": {"dissimilarity": 2.0},
        });
        let figures = Figures::of(&record).unwrap();
        assert_eq!((figures.round, figures.worked), (3, 1.5));
        let expected = [
            ("test_accuracy/mean", 0.25),
            ("test_accuracy/min", 0.0),
            ("wall_seconds", 1.5),
            ("theory/dissimilarity", 2.0),
        ];
        assert_eq!(
            figures.scalars,
            expected.map(|(tag, n)| (tag.to_owned(), n))
        );
    }

    #[test]
    fn what_is_no_record_is_refused() {
        let error = |record| Figures::of(&record).unwrap_err();
        assert_eq!(error(json!([1])), "found no object, needed a record");
        assert_eq!(
            error(json!({"round": -1})),
            "found no round, needed a whole number"
        );
    }
}
