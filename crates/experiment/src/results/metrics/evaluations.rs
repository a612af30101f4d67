//! The figures of `metrics.jsonl` that are known, read more leniently than by a run that goes on: a run of another version, or with
//! figures that are not finite, can still be reported.

use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

use crate::results::metrics::record::RecordedFigure;
use crate::results::run_text::lines;

/// One line of `metrics.jsonl`. A figure is absent if it was not measured or is not finite.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Evaluation {
    /// Communication rounds done; 0 is the start.
    pub round: usize,
    /// Local steps of all rows since the start.
    pub local_steps: Option<f64>,
    /// Training examples that those steps saw.
    pub examples_seen: Option<f64>,
    /// Training examples seen, divided by those that the clients hold; absent where nobody wrote who holds what.
    #[serde(skip)]
    pub epochs: Option<f64>,
    /// Fractions of the test examples that the models recognise.
    pub test_accuracy: RecordedSpread,
    /// Mean cross-entropies on the test examples, in nats.
    pub test_loss: RecordedSpread,
    /// Accuracy of the mean of the models.
    pub mean_model_accuracy: Option<f64>,
    /// How far the models are apart.
    pub consensus_distance: Option<f64>,
    /// Bytes sent since the start.
    pub bytes_total: Option<f64>,
    /// Bytes of the busiest node of each round, summed up.
    pub bytes_busiest_node: Option<f64>,
    /// Seconds on the simulated network since the start.
    pub simulated_seconds: Option<f64>,
    /// Seconds that the program has worked.
    pub wall_seconds: Option<f64>,
    /// Clients alive.
    pub alive: Option<usize>,
    /// Quantities of the papers' bounds, by name.
    pub theory: BTreeMap<String, Option<f64>>,
    /// What the method recorded itself, by name: the spread over the rows, or one number, which is mean, least and largest.
    #[serde(deserialize_with = "own_figures")]
    pub own: BTreeMap<String, RecordedSpread>,
}

/// A figure over the models that were evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct RecordedSpread {
    /// The mean.
    pub mean: Option<f64>,
    /// The least.
    pub min: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
}

impl From<RecordedFigure> for RecordedSpread {
    fn from(figure: RecordedFigure) -> Self {
        match figure {
            RecordedFigure::Number(number) => Self {
                mean: number,
                min: number,
                max: number,
            },
            RecordedFigure::Spread(spread) => Self {
                mean: spread.mean,
                min: spread.min,
                max: spread.max,
            },
        }
    }
}

fn own_figures<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, RecordedSpread>, D::Error> {
    let figures = BTreeMap::<String, RecordedFigure>::deserialize(deserializer)?;
    let figures = figures.into_iter();
    Ok(figures
        .map(|(name, figure)| (name, figure.into()))
        .collect())
}

/// Reads the lines in order.
///
/// # Errors
/// The number of the first other line that cannot be read, from 1, and why. Rounds must ascend, and accuracies lie between
/// 0 and 1.
pub(in crate::results) fn parse(text: &str) -> Result<Vec<Evaluation>, String> {
    let mut evaluations: Vec<Evaluation> = Vec::new();
    for line in lines(text) {
        let (number, evaluation) = line?;
        expect_possible(&evaluation, evaluations.last())
            .map_err(|found| format!("line {number}: {found}"))?;
        evaluations.push(evaluation);
    }
    Ok(evaluations)
}

/// Checks what holds of every evaluation, `before` being the one before it.
fn expect_possible(evaluation: &Evaluation, before: Option<&Evaluation>) -> Result<(), String> {
    if let Some(before) = before.filter(|before| before.round >= evaluation.round) {
        return Err(format!(
            "round {} comes after round {}",
            evaluation.round, before.round
        ));
    }
    let RecordedSpread { mean, min, max } = evaluation.test_accuracy;
    let accuracies = [mean, min, max, evaluation.mean_model_accuracy];
    match accuracies
        .into_iter()
        .flatten()
        .find(|accuracy| !(0.0..=1.0).contains(accuracy))
    {
        Some(accuracy) => Err(format!("an accuracy of {accuracy} is not between 0 and 1")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_last_line_is_left_out_and_a_broken_one_is_named() {
        let whole =
            "{\"round\":0,\"test_accuracy\":{\"mean\":0.1,\"min\":0.0,\"max\":0.2,\"std\":0.1}}\n";
        let torn = format!("{whole}{{\"round\":1,\"test_acc");
        let evaluations = parse(&torn).unwrap();
        assert_eq!(evaluations.len(), 1);
        assert_eq!(evaluations[0].test_accuracy.max, Some(0.2));
        let broken = format!("{whole}{{\"round\":}}\n{whole}");
        assert!(parse(&broken).unwrap_err().starts_with("line 2: "));
    }

    #[test]
    fn figures_that_cannot_be_are_named() {
        let refusal = |text: &str| parse(text).unwrap_err();
        assert_eq!(
            refusal("{\"round\":3}\n{\"round\":3}\n"),
            "line 2: round 3 comes after round 3"
        );
        assert_eq!(
            refusal("{\"test_accuracy\":{\"max\":1.5}}\n"),
            "line 1: an accuracy of 1.5 is not between 0 and 1"
        );
    }

    #[test]
    fn a_figure_of_a_method_is_a_spread_or_a_number() {
        let line = "{\"round\":1,\"own\":{\"gap\":0.5,\"lost\":null,\"norm\":{\"mean\":2,\"min\":1,\"max\":null,\"std\":0}}}\n";
        let own = &parse(line).unwrap()[0].own;
        let spread = |mean, min, max| RecordedSpread { mean, min, max };
        let half = Some(0.5);
        assert_eq!(own["gap"], spread(half, half, half));
        assert_eq!(own["norm"], spread(Some(2.0), Some(1.0), None));
        assert_eq!(own["lost"], RecordedSpread::default());
    }

    #[test]
    fn figures_that_are_missing_or_null_are_absent() {
        let line = "{\"round\":3,\"simulated_seconds\":null,\"test_loss\":{\"mean\":null}}\n";
        let evaluations = parse(line).unwrap();
        assert_eq!(evaluations[0].round, 3);
        assert_eq!(evaluations[0].simulated_seconds, None);
        assert_eq!(evaluations[0].test_loss, RecordedSpread::default());
    }
}
