//! `consensus`: examples whose one feature is always 1, so that all that is left to learn is to agree.

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

/// Default number of examples, that of the paper.
const PAPERS: usize = 8;

/// Settings of the consensus example: `examples` training examples with one feature of value 1 and label 1, and as many
/// test examples.
///
/// With one example per client, independent starts and the model `{linear: {targets: value, bias: false}}`, client `k`
/// minimises `½ (w_k − 1)²` from a weight of its own. With private `values` it minimises `f_k(w) = ½ (w − w_k(0))²`; with
/// `start: label` it also begins at `w_k(0)`. The mean of all is the minimum of `F` (7), and what `F` comes to there is half
/// the variance of the values, so that `loss − ½ variance` is the performance gap.
///
/// # Source
/// DeceFL (Yuan et al.), section C, (7); Supplementary Information, section 4, (16), where `X = 1` and `y = [w_k(0)]`, and
/// section 4.5: eight nodes, each with the sample (1, 1).
///
/// # Interpretation
/// Private values are whole numbers. Updates (8), (9) and (25) are linear in them, so other values are the same problem in
/// another unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Consensus {
    /// Examples of each split.
    pub examples: usize,
    /// The labels of the examples, of which there are as many: private values `w_k(0)`, whole numbers. All are 1 if absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(range(max = 65534)), extend("default" = []))]
    pub values: Vec<u16>,
}

impl Default for Consensus {
    fn default() -> Self {
        Self {
            examples: PAPERS,
            values: Vec::new(),
        }
    }
}

impl Consensus {
    /// The label of each example.
    fn labels(&self) -> Vec<u16> {
        match self.values.is_empty() {
            true => vec![u16::from(ONE); self.examples],
            false => self.values.clone(),
        }
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
        let values = self.values.len();
        if values > 0 && ![PAPERS, values].contains(&self.examples) {
            let needed = format!("{values}, the number of `values`, or none");
            return Err(DataError::setting(NAME, "examples", self.examples, needed));
        }
        match self.values.iter().find(|value| **value == u16::MAX) {
            Some(value) => {
                let needed = format!("whole numbers below {}", u16::MAX);
                Err(DataError::setting(NAME, "values", value, needed))
            }
            None => Ok(()),
        }
    }

    /// Makes the examples.
    fn load(&self, _folder: &DataFolder) -> Result<Splits, DataError> {
        self.validate()?;
        let scale = Scale {
            multiply: 1.0,
            add: 0.0,
        };
        let labels = self.labels();
        let largest = labels.iter().copied().max().map_or(0, usize::from);
        let (features, classes) = (vec![ONE; labels.len()], CLASSES.max(largest + 1));
        let examples = Examples::new(features, labels, Shape::flat(1), classes, scale)?;
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
        let five = Consensus {
            examples: 5,
            ..Consensus::default()
        };
        let splits = five.load(&nowhere()).unwrap();
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

    fn of_values(values: &[u16]) -> Consensus {
        Consensus {
            values: values.to_vec(),
            ..Consensus::default()
        }
    }

    #[test]
    fn private_values_are_the_labels() {
        let splits = of_values(&[3, 0, 7]).load(&nowhere()).unwrap();
        for examples in [&splits.train, &splits.test] {
            assert_eq!(examples.labels(), [3, 0, 7]);
            assert_eq!((examples.classes(), examples.width()), (8, 1));
            assert!((0..3).all(|index| examples.row(index) == [1.0]));
        }
        assert_eq!(of_values(&[0]).load(&nowhere()).unwrap().train.classes(), 2);
    }

    #[test]
    fn as_many_examples_as_private_values_or_none_are_asked_for() {
        let asked = |examples| Consensus {
            examples,
            ..of_values(&[3, 0, 7])
        };
        assert!(asked(3).validate().is_ok());
        assert!(asked(PAPERS).validate().is_ok());
        let wrong = asked(4).validate();
        assert!(matches!(
            wrong,
            Err(DataError::Setting {
                setting: "examples",
                ..
            })
        ));
        let wrong = of_values(&[1, u16::MAX]).validate();
        assert!(matches!(
            wrong,
            Err(DataError::Setting {
                setting: "values",
                ..
            })
        ));
    }

    #[test]
    fn none_is_refused() {
        let none = Consensus {
            examples: 0,
            ..Consensus::default()
        };
        assert!(matches!(
            none.validate(),
            Err(DataError::ExampleCount {
                dataset: "consensus",
                ..
            })
        ));
    }
}
