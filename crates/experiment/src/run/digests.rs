//! Digests of the data of a run, by which a resumed or finished run is compared with the data of today.

use std::path::Path;

use meshfold_data::{DatasetConfig, DatasetSummary, Splits};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::written;
use crate::plan::run_plan::RunPlan;
use crate::results::run_error::RunError;

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
        let outline = DatasetSummary::digest_of(data);
        Self::of_parts(plan, outline, data.train.digest(), data.test.digest())
    }

    /// The same of the digests of the summary, of the training examples and of the test examples.
    ///
    /// # Errors
    /// As [`DataDigests::of`].
    pub(crate) fn of_parts(
        plan: &RunPlan,
        outline: String,
        train: &str,
        test: &str,
    ) -> Result<Self, RunError> {
        if outline != plan.dataset.digest() {
            return Err(RunError::Unplanned {
                dataset: name_of(&plan.config.dataset),
            });
        }
        Ok(Self {
            train: train.to_owned(),
            test: test.to_owned(),
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
    let value = written::json(dataset);
    match value {
        Value::Object(choice) => choice.into_iter().next().map(|(name, _)| name),
        Value::String(name) => Some(name),
        _ => None,
    }
    .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

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
