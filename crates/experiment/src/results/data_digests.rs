//! Digests of the data of a run, as `environment.json` and checkpoints have them.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// The digests in the `environment.json` at `path`, if it has any.
    pub(crate) fn recorded(path: &Path) -> Option<Self> {
        let text = std::fs::read(path).ok()?;
        let mut environment: Value = serde_json::from_slice(&text).ok()?;
        serde_json::from_value(environment.get_mut("data")?.take()).ok()
    }

    /// Which data of an interrupted run have changed from `self` to `now`.
    pub(crate) fn changed_in(&self, now: &Self) -> Option<String> {
        listed([
            (self.train != now.train, "training examples"),
            (self.test != now.test, "test examples"),
            (self.partition != now.partition, "partition"),
        ])
    }
}

/// The words whose condition holds; none if none does.
pub(crate) fn listed<const N: usize>(parts: [(bool, &str); N]) -> Option<String> {
    let parts: Vec<&str> = parts
        .into_iter()
        .filter_map(|(is_so, word)| is_so.then_some(word))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
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
}
