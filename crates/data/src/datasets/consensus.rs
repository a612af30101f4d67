//! `consensus`: examples that are all the same, so that what is left to learn is to agree.

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Dataset;
use crate::DataFolder;
use crate::DatasetSummary;
use crate::datasets::published::Published;
use crate::{DataError, Examples, Scale, Shape, Splits};

const NAME: &str = "consensus";
/// The most examples of a split.
const MOST: usize = 10_000_000;
/// The example's one feature and its label.
const ONE: u8 = 1;
/// Labels 0 and 1, of which only the second occurs.
const CLASSES: usize = 2;

/// Settings of the consensus example: `examples` training examples with one feature of value 1 and label 1, and as many
/// test examples.
///
/// With one example per client, independent starts and the model `{linear: {targets: value, bias: false}}`, client `k`
/// minimises `½ (w_k − 1)²` from a weight of its own.
///
/// # Source
/// DeceFL, Supplementary Information, section 4.5: eight nodes, each with the sample (1, 1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Consensus {
    /// Examples of each split.
    pub examples: usize,
}

impl Default for Consensus {
    fn default() -> Self {
        Self { examples: 8 }
    }
}

impl Dataset for Consensus {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Checks the number asked for.
    fn validate(&self) -> Result<(), DataError> {
        if self.examples == 0 || self.examples > MOST {
            return Err(DataError::ExampleCount {
                dataset: NAME,
                split: "train",
                asked: self.examples,
                most: MOST,
            });
        }
        Ok(())
    }

    /// Makes the examples.
    fn load(&self, _folder: &DataFolder) -> Result<Splits, DataError> {
        self.validate()?;
        let scale = Scale {
            multiply: 1.0,
            add: 0.0,
        };
        let (features, labels) = (
            vec![ONE; self.examples],
            vec![u16::from(ONE); self.examples],
        );
        let examples = Examples::new(features, labels, Shape::flat(1), CLASSES, scale)?;
        let examples = Arc::new(examples);
        Ok(Splits {
            train: Arc::clone(&examples),
            test: examples,
            validation: None,
        })
    }

    fn summary(&self, folder: &DataFolder) -> Result<DatasetSummary, DataError> {
        Ok(DatasetSummary::of(&self.load(folder)?))
    }

    /// Nothing: the program makes it.
    fn published(&self) -> Result<Option<Published>, DataError> {
        self.validate()?;
        Ok(None)
    }

    fn reading_bytes(&self, _summary: &DatasetSummary, _threads: usize) -> usize {
        0
    }

    fn own_files(&self, _folder: &DataFolder) -> Result<Vec<PathBuf>, DataError> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nowhere() -> DataFolder {
        DataFolder::new("unused")
    }

    #[test]
    fn every_example_is_the_papers() {
        let splits = Consensus { examples: 5 }.load(&nowhere()).unwrap();
        for examples in [&splits.train, &splits.test] {
            assert_eq!((examples.len(), examples.width()), (5, 1));
            assert!(examples.labels().iter().all(|label| *label == 1));
            assert!((0..5).all(|index| examples.row(index) == [1.0]));
        }
        assert_eq!(
            Consensus::default().load(&nowhere()).unwrap().train.len(),
            8
        );
    }

    #[test]
    fn none_is_refused() {
        assert!(matches!(
            Consensus { examples: 0 }.validate(),
            Err(DataError::ExampleCount {
                dataset: "consensus",
                ..
            })
        ));
    }
}
