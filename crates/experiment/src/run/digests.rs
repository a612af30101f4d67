//! The digests of the data of today, with which those of a resumed or finished run are compared.

use meshfold_data::{DatasetConfig, DatasetSummary, Splits};
use serde_json::Value;

use crate::config::written;
use crate::plan::run_plan::RunPlan;
use crate::results::data_digests::{DataDigests, listed};
use crate::results::run_error::RunError;

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

    /// Which data of a finished run have changed, as far as `plan` knows the data of today.
    pub(crate) fn changed_in_plan(&self, plan: &RunPlan) -> Option<String> {
        let files = plan.files.digest();
        listed([
            (self.outline != plan.dataset.digest(), "examples"),
            (
                files.is_some() && self.files.as_deref() != files,
                "files of the dataset",
            ),
            (self.partition != plan.partition.digest(), "partition"),
        ])
    }
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
    fn a_dataset_has_the_name_that_chooses_it() {
        let choice = serde_json::json!({"mnist": {}});
        assert_eq!(name_of(&serde_json::from_value(choice).unwrap()), "mnist");
    }
}
