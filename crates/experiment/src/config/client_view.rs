//! What may be measured of each model besides its accuracy on all test examples.

use meshfold_data::{DatasetSummary, Input};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A part of a client's own view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClientView {
    /// Accuracy and loss on the client's own training examples, and its accuracy on test examples of its own labels.
    Own,
    /// Accuracy on the test examples of each label.
    Labels,
}

/// The most labels that have a column each.
pub(crate) const MOST_LABELS: usize = 1000;

/// Whether examples have a label each, as all but texts do.
pub(crate) fn has_labels(dataset: &DatasetSummary) -> bool {
    matches!(dataset.input(), Input::Numbers(_))
}
