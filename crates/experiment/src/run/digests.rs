//! Digests of the data of a run, by which a resumed or finished run is compared with the data of today.

use std::collections::BTreeMap;
use std::path::Path;

use meshfold_data::{DatasetConfig, Outline, Splits};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::plan::run_plan::RunPlan;
use crate::results::run_error::RunError;
use crate::run::ending::{Ending, RunReport};

/// SHA-256 of the data of a run, in lower-case hexadecimal: the entry `data` of `environment.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataDigests {
    /// Of the training examples: features, labels, classes, the shape of an example, and owners.
    pub train: String,
    /// Of the test examples.
    pub test: String,
    /// Of both without their features.
    pub outline: String,
    /// Of the files of the dataset, if they are the user's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<String>,
    /// Of the partition.
    pub partition: String,
}

impl DataDigests {
    /// The digests of `plan` on `data`, the examples as the dataset gives them.
    ///
    /// # Errors
    /// [`RunError::Unplanned`] if the data have changed since they were planned with.
    pub(crate) fn of(plan: &RunPlan, data: &Splits) -> Result<Self, RunError> {
        let outline = Outline::digest_of(data);
        if outline != plan.dataset.digest() {
            return Err(RunError::Unplanned {
                dataset: name_of(&plan.config.dataset),
            });
        }
        Ok(Self {
            train: data.train.digest().to_owned(),
            test: data.test.digest().to_owned(),
            outline,
            files: plan.files.digest().map(str::to_owned),
            partition: plan.partition.digest().to_owned(),
        })
    }

    /// The digests in the `environment.json` at `path`, if it has any.
    pub(crate) fn recorded(path: &Path) -> Option<Self> {
        let text = std::fs::read(path).ok()?;
        let mut environment: Value = serde_json::from_slice(&text).ok()?;
        serde_json::from_value(environment.get_mut("data")?.take()).ok()
    }

    /// Which data of an interrupted run have changed from `self` to `now`.
    pub(crate) fn changed_in(&self, now: &Self) -> Option<String> {
        words([
            (self.train != now.train, "training examples"),
            (self.test != now.test, "test examples"),
            (self.partition != now.partition, "partition"),
        ])
    }

    /// Which data of a finished run have changed, as far as `plan` knows the data of today.
    pub(crate) fn changed_in_plan(&self, plan: &RunPlan) -> Option<String> {
        let files = plan.files.digest();
        words([
            (self.outline != plan.dataset.digest(), "examples"),
            (
                files.is_some() && self.files.as_deref() != files,
                "files of the dataset",
            ),
            (self.partition != plan.partition.digest(), "partition"),
        ])
    }
}

/// The words whose condition holds; none if none does.
fn words<const N: usize>(parts: [(bool, &str); N]) -> Option<String> {
    let parts: Vec<&str> = parts
        .into_iter()
        .filter_map(|(is_so, word)| is_so.then_some(word))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The name of a dataset in a configuration.
pub(crate) fn name_of(dataset: &DatasetConfig) -> String {
    let value = serde_json::to_value(dataset).expect("settings have text keys");
    match value {
        Value::Object(choice) => choice.into_iter().next().map(|(name, _)| name),
        Value::String(name) => Some(name),
        _ => None,
    }
    .unwrap_or_default()
}

/// Warns of finished runs that were skipped although their examples have changed. That is known if another run has read the
/// examples of the same dataset.
pub(crate) fn report_other_examples(plans: &[RunPlan], reports: &[RunReport]) {
    for plan in of_other_examples(plans, reports) {
        let (label, dataset) = (plan.label(), name_of(&plan.config.dataset));
        tracing::warn!(
            "{label} was skipped, but the examples of {dataset} have changed since it was finished; --again runs it again"
        );
    }
}

/// The plans of skipped runs whose examples are not those that another run has read of the same dataset.
fn of_other_examples<'a>(plans: &'a [RunPlan], reports: &[RunReport]) -> Vec<&'a RunPlan> {
    let by_id = plans.iter().map(|plan| (plan.id.as_str(), plan));
    let by_id: BTreeMap<&str, &RunPlan> = by_id.collect();
    let mut read: Vec<(&DatasetConfig, &DataDigests)> = Vec::new();
    let mut skipped = Vec::new();
    for report in reports {
        let plan = by_id.get(report.id.as_str()).copied();
        let (Some(plan), Some(data)) = (plan, &report.data) else {
            continue;
        };
        let dataset = &plan.config.dataset;
        match &report.ending {
            // The change is reported already.
            Ending::Skipped {
                changed: Some(_), ..
            } => {}
            Ending::Skipped { .. } => skipped.push((plan, data)),
            _ if read.iter().any(|(known, _)| *known == dataset) => {}
            _ => read.push((dataset, data)),
        }
    }
    let differs = |(plan, data): &(&RunPlan, &DataDigests)| {
        let today = read
            .iter()
            .find(|(dataset, _)| **dataset == plan.config.dataset);
        today.is_some_and(|(_, today)| (&today.train, &today.test) != (&data.train, &data.test))
    };
    skipped.retain(differs);
    skipped.into_iter().map(|(plan, _)| plan).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::source::ExperimentSource;
    use crate::results::run_folder::Done;
    use meshfold_data::DataFolder;

    const YAML: &str = "\
name: tiny
dataset: {glyphs: {train: 60, test: 10}}
partition: {iid: {clients: 3}}
topology: ring
model: logistic
algorithm: {dsgd: {batch_size: 20, learning_rate: 0.05}}
rounds: 5
sweep: {grid: {seed: [1, 2, 3]}}
";

    fn report(plan: &RunPlan, ending: Ending, train: &str) -> RunReport {
        RunReport {
            id: plan.id.clone(),
            folder: "unused".into(),
            ending,
            resumed_from: None,
            checkpoint: None,
            data: Some(DataDigests {
                train: train.to_owned(),
                ..DataDigests::default()
            }),
            last: None,
            summary: None,
        }
    }

    fn skipped(changed: Option<&str>) -> Ending {
        let unknown = || "unknown".to_owned();
        Ending::Skipped {
            by: Done {
                meshfold: unknown(),
                device: unknown(),
            },
            differs: false,
            changed: changed.map(str::to_owned),
        }
    }

    #[test]
    fn skipped_runs_are_compared_with_runs_that_read_the_same_dataset() {
        let source = ExperimentSource::new("tiny.yaml", YAML);
        let plans = crate::plan::plan(&source, &DataFolder::new("unused")).unwrap();
        let found = |reports: &[RunReport]| -> Vec<String> {
            let found = of_other_examples(&plans, reports).into_iter();
            found.map(RunPlan::label).collect()
        };
        let first = |changed| report(&plans[0], skipped(changed), "a");
        let second = || report(&plans[1], skipped(None), "b");
        let third = || report(&plans[2], Ending::Finished, "b");
        assert_eq!(found(&[first(None), second(), third()]), ["seed=1"]);
        assert!(found(&[first(None), second()]).is_empty(), "none was read");
        assert!(
            found(&[first(Some("files")), third()]).is_empty(),
            "it is reported already"
        );
    }

    #[test]
    fn what_has_changed_is_named() {
        let first = DataDigests::default();
        assert_eq!(first.changed_in(&first), None);
        let other = DataDigests {
            test: "b".to_owned(),
            partition: "b".to_owned(),
            files: Some("b".to_owned()),
            ..DataDigests::default()
        };
        let changed = first.changed_in(&other).unwrap();
        assert_eq!(changed, "test examples, partition");
    }

    #[test]
    fn a_dataset_has_the_name_that_chooses_it() {
        let choice = serde_json::json!({"mnist": {}});
        assert_eq!(name_of(&serde_json::from_value(choice).unwrap()), "mnist");
    }
}
