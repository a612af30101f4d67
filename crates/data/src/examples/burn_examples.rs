//! Examples as one of burn's datasets.

use super::Examples;
use burn_dataset::{Dataset, DatasetError};

/// One example as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// Scaled features, `[D]`.
    pub features: Vec<f32>,
    /// Class, below `C`.
    pub label: u16,
}

impl Dataset<Example> for Examples {
    fn get(&self, index: usize) -> Result<Example, DatasetError> {
        Ok(Example {
            features: self.row(index),
            label: self.labels()[index],
        })
    }

    fn len(&self) -> usize {
        self.labels().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scale, Shape};

    #[test]
    fn burn_finds_every_example_with_its_label() {
        let scale = Scale {
            multiply: 1.0,
            add: 0.0,
        };
        let examples = Examples::new(vec![1, 2, 3, 4], vec![1, 0], Shape::flat(2), 2, scale);
        let found: Vec<Example> = Dataset::iter(&examples.unwrap())
            .map(Result::unwrap)
            .collect();
        let example = |features: [f32; 2], label| Example {
            features: features.to_vec(),
            label,
        };
        assert_eq!(found, [example([1.0, 2.0], 1), example([3.0, 4.0], 0)]);
    }
}
