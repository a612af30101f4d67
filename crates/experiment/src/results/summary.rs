//! What a run comes to: `summary.json`.

use meshfold_topology::OverlaySummary;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config::evaluate::Evaluate;
use crate::figure_kind::reaches;
use crate::results::metrics::record::{Record, Spread};
use crate::results::oscillation::oscillation;

/// The facts of a run's plan and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Name of the experiment.
    pub name: String,
    /// Hash of the resolved configuration.
    pub id: String,
    /// What this run has different from others of its sweep, or the name.
    pub label: String,
    /// The settings that the sweep varies, by their paths, with the values of this run; absent from summaries of earlier
    /// versions.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// How the run ended.
    pub status: Status,
    /// Why it ended, if it failed.
    pub error: Option<String>,
    /// Clients `N`.
    pub clients: usize,
    /// Models between rounds, `R`.
    pub rows: usize,
    /// Parameters of one model, `P`.
    pub parameters: usize,
    /// Rounds asked for.
    pub rounds: usize,
    /// The overlay's figures, if the method exchanges over one; of one that changes, as it is in round 1.
    pub overlay: Option<OverlaySummary>,
    /// `λ` of an exchange: of overlays that repeat, the root of `lambda_of_period` if that was found; of overlays that are drawn in
    /// each round, that of the draws if it is known; otherwise that of the overlay in round 1. Absent from summaries of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// `λ` of the overlays of a period together, if they change, repeat, and are small enough to find it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda_of_period: Option<f64>,
    /// The last record.
    pub last: Option<Milestone>,
    /// The first record of the best mean accuracy, of those judged on the examples that `evaluate.examples` asks for: with
    /// `evaluate.last` not the last one.
    pub best: Option<Milestone>,
    /// How far the mean accuracy goes up and down from one record to the next: the mean distance of an accuracy from the line
    /// between its neighbours, over the later half of the records judged on the same examples. Absent where that has fewer
    /// than three, and from summaries of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oscillation: Option<f64>,
    /// For each target the first record whose mean accuracy reaches it, of those judged on the same examples.
    pub targets: Vec<Target>,
    /// Where the time went; absent from summaries of earlier versions.
    #[serde(default)]
    pub seconds: Option<Seconds>,
}

/// Seconds that a run took on the clock, those before a checkpoint included.
///
/// # Interpretation
/// A GPU works on while the host goes on: what is left to do of a round counts as judging, which waits for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seconds {
    /// Rounds: local steps, exchanges, and what the method does between them.
    pub rounds: f64,
    /// Judging the models.
    pub judging: f64,
    /// Everything: also bringing the data to the device, records and checkpoints, but not reading the data, which the
    /// runs of a sweep share, nor writing the report.
    pub all: f64,
    /// Seconds of processor time of all threads in the same span; absent where other runs shared the program for a while, so
    /// that nobody can tell whose they were.
    #[serde(default)]
    pub processor: Option<f64>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// After all its rounds.
    Finished,
    /// After fewer rounds, because it was asked to stop.
    Interrupted,
    /// After fewer rounds, because a model or the device failed.
    Failed,
}

/// A mean accuracy to reach.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The mean accuracy asked for, a fraction.
    pub accuracy: f64,
    /// The first record that reaches it.
    pub reached: Option<Milestone>,
}

/// What a record cost and how well its models did; keys as in `metrics.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Milestone {
    /// Communication rounds done.
    pub round: usize,
    /// Training examples seen.
    pub examples_seen: u64,
    /// Local steps of all rows; absent from summaries of earlier versions, as the next two are.
    #[serde(default)]
    pub local_steps: u64,
    /// Bytes sent.
    pub bytes_total: u64,
    /// Sum over rounds of the most bytes that a node sent and received.
    #[serde(default)]
    pub bytes_busiest_node: u64,
    /// Messages sent.
    #[serde(default)]
    pub messages_total: u64,
    /// Simulated seconds, where a network is described.
    pub simulated_seconds: Option<f64>,
    /// Seconds that this program has worked.
    pub wall_seconds: f64,
    /// Accuracies of the deployed models.
    pub test_accuracy: Spread,
    /// Their accuracies on the validation examples, if the dataset keeps some apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation_accuracy: Option<Spread>,
    /// Accuracies of the clients' models on their local test sets, if they have any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_test_accuracy: Option<Spread>,
    /// The accuracies there after fine-tuning, if models are fine-tuned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fine_tuned_accuracy: Option<Spread>,
    /// Accuracy of their mean.
    pub mean_model_accuracy: f64,
}

impl Milestone {
    pub(crate) fn of(record: &Record) -> Self {
        Self {
            round: record.round,
            examples_seen: record.examples_seen,
            local_steps: record.local_steps,
            bytes_total: record.bytes_total,
            bytes_busiest_node: record.bytes_busiest_node,
            messages_total: record.messages_total,
            simulated_seconds: record.simulated_seconds,
            wall_seconds: record.wall_seconds,
            test_accuracy: record.test_accuracy,
            validation_accuracy: record.validation_accuracy,
            local_test_accuracy: record.local_test_accuracy,
            fine_tuned_accuracy: record.fine_tuned_accuracy,
            mean_model_accuracy: record.mean_model_accuracy,
        }
    }
}

/// The records that were judged on the same test examples: without the last one if the run is at its end (`is_finished`) and
/// `evaluate` has other examples for it.
pub(crate) fn judged_alike<'a>(
    records: &'a [Record],
    evaluate: &Evaluate,
    is_finished: bool,
) -> &'a [Record] {
    let other_end = evaluate.last.is_some_and(|last| last != evaluate.examples);
    match records.split_last() {
        Some((_, others)) if other_end && is_finished => others,
        _ => records,
    }
}

/// The first of the records with the highest mean accuracy.
pub(crate) fn best(records: &[Record]) -> Option<&Record> {
    records.iter().reduce(|best, record| {
        if record.test_accuracy.mean > best.test_accuracy.mean {
            record
        } else {
            best
        }
    })
}

/// How far the mean accuracy of the later half of the records goes up and down, see [`oscillation`].
pub(crate) fn oscillation_of(records: &[Record]) -> Option<f64> {
    let later = records[records.len() / 2..].iter();
    let points: Vec<(usize, f64)> = later
        .map(|record| (record.round, record.test_accuracy.mean))
        .collect();
    oscillation(&points)
}

/// For each of the `accuracies` the first of the records that reaches it.
pub(crate) fn targets(accuracies: &[f64], records: &[Record]) -> Vec<Target> {
    let first = |accuracy: f64| {
        records
            .iter()
            .find(|record| reaches("test_accuracy", record.test_accuracy.mean, accuracy))
    };
    let target = |accuracy: &f64| Target {
        accuracy: *accuracy,
        reached: first(*accuracy).map(Milestone::of),
    };
    accuracies.iter().map(target).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(round: usize, accuracy: f64) -> Record {
        let spread = Spread::of(&[accuracy]);
        Record {
            round,
            examples_seen: 10 * round as u64,
            test_accuracy: spread,
            test_loss: spread,
            mean_model_accuracy: accuracy,
            bytes_total: 100 * round as u64,
            wall_seconds: 0.5 * round as f64,
            alive: 1,
            ..Record::default()
        }
    }

    #[test]
    fn a_target_names_the_first_record_that_reaches_it() {
        let records = [
            record(0, 0.1),
            record(5, 0.7),
            record(10, 0.6),
            record(15, 0.7),
        ];
        let targets = targets(&[0.65, 0.7, 0.75], &records);
        let rounds: Vec<_> = targets
            .iter()
            .map(|target| target.reached.as_ref().map(|milestone| milestone.round))
            .collect();
        assert_eq!(rounds, [Some(5), Some(5), None]);
        let reached = targets[0].reached.as_ref().unwrap();
        assert_eq!(
            (
                reached.examples_seen,
                reached.bytes_total,
                reached.wall_seconds
            ),
            (50, 500, 2.5)
        );
    }

    #[test]
    fn the_later_half_of_the_records_oscillates() {
        let records = [
            record(0, 0.1),
            record(5, 0.9),
            record(10, 0.1),
            record(15, 0.5),
            record(20, 0.75),
            record(25, 0.5),
        ];
        assert_eq!(oscillation_of(&records), Some(0.25));
        assert_eq!(oscillation_of(&records[..4]), None);
    }

    #[test]
    fn a_last_record_on_other_examples_is_told_apart() {
        let records = [record(0, 0.1), record(5, 0.7), record(7, 0.9)];
        let count = |evaluate: &str| {
            let evaluate: Evaluate = serde_json::from_str(evaluate).unwrap();
            [true, false].map(|is_finished| judged_alike(&records, &evaluate, is_finished).len())
        };
        assert_eq!(count(r#"{"examples": 50, "last": "all"}"#), [2, 3]);
        assert_eq!(count(r#"{"examples": 50}"#), [3, 3]);
        assert_eq!(count(r#"{"examples": "all", "last": "all"}"#), [3, 3]);
    }

    #[test]
    fn the_best_record_is_the_first_of_its_accuracy() {
        let records = [
            record(0, 0.1),
            record(5, 0.7),
            record(10, 0.6),
            record(15, 0.7),
        ];
        assert_eq!(best(&records).unwrap().round, 5);
        assert!(best(&[]).is_none());
    }
}
