//! What a line of `metrics.jsonl` holds.

use std::collections::BTreeMap;

use meshfold_algorithms::OwnFigure;
use serde::{Deserialize, Serialize};

/// What is measured, by name.
pub type Measurements = BTreeMap<String, f64>;

/// One evaluation of a run: an object of `metrics.jsonl`, its keys in the order of the fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Communication rounds done; 0 is the start.
    pub round: usize,
    /// Local steps of all rows since the start.
    pub local_steps: u64,
    /// Training examples that those steps saw.
    pub examples_seen: u64,
    /// Mean over the rows that trained of their mini-batch losses since the last record, in nats; absent if none did.
    pub train_loss: Option<f64>,
    /// Shares of test examples that the deployed models classify correctly.
    pub test_accuracy: Spread,
    /// Mean cross-entropies of the deployed models on the test examples, in nats.
    pub test_loss: Spread,
    /// Shares of the validation examples that they classify correctly, if the dataset keeps some apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation_accuracy: Option<Spread>,
    /// Their mean cross-entropies on the validation examples, in nats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation_loss: Option<Spread>,
    /// Accuracy of the mean of the deployed models on the same test examples.
    pub mean_model_accuracy: f64,
    /// `sqrt(1/R Σ ‖w_i − w̄‖²)` over the rows alive.
    pub consensus_distance: f64,
    /// Bytes sent since the start, each message counted once.
    pub bytes_total: u64,
    /// Sum over the rounds of the most bytes that a node sent and received.
    pub bytes_busiest_node: u64,
    /// Messages sent since the start.
    pub messages_total: u64,
    /// Simulated seconds since the start, where a network is described.
    pub simulated_seconds: Option<f64>,
    /// Seconds that this program has worked on the run, without work that was lost and done again.
    pub wall_seconds: f64,
    /// Clients alive.
    pub alive: usize,
    /// Parts that the overlay falls into among those alive, whatever messages are lost, where there are failures or the overlay changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub components: Option<usize>,
    /// Messages since the start as the paper counts them, where it counts others than are sent: in D-Cliques, gradients and
    /// models over every edge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages_as_printed: Option<u64>,
    /// Losses of each row on its own training shard, in nats, with `evaluate.train` or
    /// `evaluate.clients: [own]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train_shard_loss: Option<Spread>,
    /// Accuracies of each row on its own training shard, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train_accuracy: Option<Spread>,
    /// Losses of the clients' models on their local test sets, in nats, with `evaluate.local_test`; over the clients alive that
    /// have one. These four figures also have a mean [weighted](Spread::weighted) by the examples of the sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_test_loss: Option<Spread>,
    /// Accuracies of the clients' models on their local test sets, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_test_accuracy: Option<Spread>,
    /// The losses there after each client has [fine-tuned](crate::FineTune) its model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fine_tuned_loss: Option<Spread>,
    /// The accuracies there after fine-tuning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fine_tuned_accuracy: Option<Spread>,
    /// The shares of right guesses of [attackers](crate::Membership) who have the clients' models, with `evaluate.membership`; over the
    /// clients alive that have a model and examples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub membership_accuracy: Option<Spread>,
    /// The areas under the curves of their true-positive over their false-positive rates, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub membership_auc: Option<Spread>,
    /// Their true-positive rates at a false-positive rate of at most 1 %, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub membership_tpr: Option<Spread>,
    /// Accuracies on the test examples of the labels that each client holds, counted as often as it holds them, with
    /// `evaluate.clients: [own]`; over the clients that hold labels that are tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_labels_accuracy: Option<Spread>,
    /// Quantities of the papers' bounds, by name, if any were asked for.
    #[serde(default, skip_serializing_if = "Measurements::is_empty")]
    pub theory: Measurements,
    /// Figures that the method recorded in the round, by name, if it recorded any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own: BTreeMap<String, RecordedFigure>,
}

/// A figure of a method's own. What is not finite is absent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RecordedFigure {
    /// One number.
    Number(Option<f64>),
    /// How the numbers of the rows alive spread.
    Spread(FiniteSpread),
}

/// A [`Spread`] whose parts are absent where they are not finite.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FiniteSpread {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Smallest value.
    pub min: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
    /// Standard deviation, of the population.
    pub std: Option<f64>,
}

impl RecordedFigure {
    /// `figure` over the rows that are `alive`, `[R]`, and have a number; `None` if it is one of rows, and none has.
    pub(crate) fn of(figure: &OwnFigure, alive: &[bool]) -> Option<Self> {
        let finite = |value: f64| value.is_finite().then_some(value);
        let of_rows = match figure {
            OwnFigure::Number(number) => return Some(Self::Number(finite(*number))),
            OwnFigure::Rows(of_rows) => of_rows.iter().zip(alive),
        };
        let living: Vec<f64> = of_rows
            .filter_map(|(value, alive)| (*alive && !value.is_nan()).then_some(*value))
            .collect();
        (!living.is_empty()).then(|| {
            let Spread {
                mean,
                min,
                max,
                std,
                ..
            } = Spread::of(&living);
            Self::Spread(FiniteSpread {
                mean: finite(mean),
                min: finite(min),
                max: finite(max),
                std: finite(std),
            })
        })
    }
}

/// How one figure spreads over models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// Arithmetic mean.
    pub mean: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Standard deviation of the models at hand, `sqrt(1/R Σ (x − mean)²)`: of the population, not a sample's estimate.
    pub std: f64,
    /// Mean weighted by how many examples each model was judged on, `Σ n x / Σ n`, of figures on the clients' local test sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weighted: Option<f64>,
}

impl Spread {
    /// The spread of `values`, summed in their order.
    ///
    /// # Panics
    /// If there are none.
    pub fn of(values: &[f64]) -> Self {
        assert!(
            !values.is_empty(),
            "a spread is taken over at least one model"
        );
        let count = values.len() as f64;
        let (min, max) = values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(*value), high.max(*value))
            });
        let mean = values.iter().sum::<f64>() / count;
        // The sum is rounded: the mean of equal values could lie beside them.
        let mean = if mean.is_finite() {
            mean.clamp(min, max)
        } else {
            mean
        };
        let variance = values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>()
            / count;
        Self {
            mean,
            min,
            max,
            std: variance.sqrt(),
            weighted: None,
        }
    }

    /// The spread of `values`, each of which is judged on so many examples, of which there are some in all: with the weighted mean.
    ///
    /// # Panics
    /// As [`of`](Self::of).
    pub fn weighted(values: &[f64], examples: &[usize]) -> Self {
        let spread = Self::of(values);
        let products = values.iter().zip(examples);
        let sum: f64 = products.map(|(value, count)| value * *count as f64).sum();
        let mean = sum / examples.iter().sum::<usize>() as f64;
        // As of the plain mean.
        let mean = match mean.is_finite() {
            true => mean.clamp(spread.min, spread.max),
            false => mean,
        };
        Self {
            weighted: Some(mean),
            ..spread
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn record(round: usize) -> Record {
        let spread = Spread::of(&[0.1, 0.2 + round as f64 / 3.0]);
        Record {
            round,
            local_steps: 3,
            examples_seen: 4,
            test_accuracy: spread,
            test_loss: spread,
            mean_model_accuracy: 0.3,
            consensus_distance: 1.0 / 3.0,
            bytes_total: 5,
            bytes_busiest_node: 6,
            messages_total: 7,
            wall_seconds: 0.7,
            alive: 2,
            ..Record::default()
        }
    }

    fn keys(record: &Record) -> Vec<String> {
        let value = serde_json::to_value(record).unwrap();
        value.as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn a_line_has_exactly_the_documented_keys_in_their_order() {
        let documented = "round local_steps examples_seen train_loss test_accuracy test_loss mean_model_accuracy \
                          consensus_distance bytes_total bytes_busiest_node messages_total simulated_seconds wall_seconds alive";
        let documented: Vec<&str> = documented.split_whitespace().collect();
        assert_eq!(keys(&record(0)), documented);
        let spread = Some(Spread::of(&[1.0]));
        let with_train = Record {
            train_shard_loss: spread,
            train_accuracy: spread,
            ..record(0)
        };
        assert_eq!(
            keys(&with_train)[14..],
            ["train_shard_loss", "train_accuracy"]
        );
        let text = serde_json::to_string(&record(0).test_loss).unwrap();
        assert!(
            text.starts_with(r#"{"mean":"#) && text.contains(r#","std":"#),
            "{text}"
        );
    }

    #[test]
    fn the_deviation_is_that_of_the_population() {
        let spread = Spread::of(&[1.0, 3.0, 5.0, 7.0]);
        assert_eq!((spread.mean, spread.min, spread.max), (4.0, 1.0, 7.0));
        let equal = Spread::of(&[0.9825; 10]);
        assert_eq!((equal.mean, equal.std), (0.9825, 0.0));
        assert!((spread.std - 5.0_f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn a_weighted_mean_counts_examples_alike() {
        let spread = Spread::weighted(&[1.0, 0.5, 0.0], &[1, 6, 3]);
        assert_eq!((spread.mean, spread.weighted), (0.5, Some(0.4)));
        let equal = Spread::weighted(&[0.9825; 3], &[7, 11, 3]);
        assert_eq!((equal.mean, equal.weighted), (0.9825, Some(0.9825)));
        let text = serde_json::to_string(&spread).unwrap();
        assert!(text.ends_with(r#","weighted":0.4}"#), "{text}");
        let plain = serde_json::to_string(&Spread::of(&[1.0])).unwrap();
        assert!(!plain.contains("weighted"), "{plain}");
    }

    #[test]
    fn figures_of_a_method_are_spreads_over_rows_alive_that_have_a_number() {
        let of = |numbers: &[f64], alive: &[bool]| {
            let figure = RecordedFigure::of(&OwnFigure::Rows(numbers.to_vec()), alive);
            figure.map(|figure| serde_json::to_string(&figure).unwrap())
        };
        let some = of(&[1.0, 9.0, 3.0], &[true, false, true]);
        assert_eq!(
            some.as_deref(),
            Some(r#"{"mean":2.0,"min":1.0,"max":3.0,"std":1.0}"#)
        );
        let broken = of(&[1.0, f64::NAN, f64::INFINITY], &[true; 3]);
        assert_eq!(
            broken.as_deref(),
            Some(r#"{"mean":null,"min":1.0,"max":null,"std":null}"#)
        );
        let some_have_none = of(&[f64::NAN, 1.0, 3.0], &[true; 3]);
        assert_eq!(some_have_none, some);
        assert_eq!(
            [of(&[1.0], &[false]), of(&[f64::NAN], &[true])],
            [None, None]
        );
        let number = RecordedFigure::of(&OwnFigure::Number(f64::NAN), &[]);
        assert_eq!(number, Some(RecordedFigure::Number(None)));
    }
}
