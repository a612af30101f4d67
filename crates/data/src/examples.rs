//! Labelled examples held in host memory, one byte per feature.

use std::sync::Arc;

use burn_dataset::{Dataset, DatasetError};
use serde::{Deserialize, Serialize};

use crate::{DataError, Labelled, Partition};

/// Shape of one example's features, `channels * height * width = D`, stored in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Planes: 1 for greyscale.
    pub channels: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Pixels per row.
    pub width: usize,
}

impl Shape {
    /// Number of features `D` of one example.
    pub fn features(&self) -> usize {
        self.channels * self.height * self.width
    }
}

/// The map from a stored byte to the number that a model sees: `byte * multiply + add`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// Factor on the byte.
    pub multiply: f32,
    /// Offset after the factor.
    pub add: f32,
}

impl Scale {
    /// Bytes to `[0, 1]`: `byte / 255`.
    pub const UNIT: Self = Self {
        multiply: 1.0 / 255.0,
        add: 0.0,
    };

    /// Mean 0 and deviation 1: `(byte / 255 - mean) / deviation`, both taken over `byte / 255`.
    pub fn standardising(mean: f32, deviation: f32) -> Self {
        Self {
            multiply: 1.0 / (255.0 * deviation),
            add: -mean / deviation,
        }
    }

    /// The number that stands for `byte`.
    pub fn apply(&self, byte: u8) -> f32 {
        f32::from(byte) * self.multiply + self.add
    }
}

/// How a dataset's bytes become model input; the dataset knows its own mean and deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scaling {
    /// `(byte / 255 - mean) / deviation` with the figures of the dataset's training images.
    #[default]
    Standard,
    /// `byte / 255`.
    Unit,
}

impl Scaling {
    /// The scale of a dataset whose training images have this mean and deviation (of `byte / 255`).
    pub(crate) fn of(self, mean: f32, deviation: f32) -> Scale {
        match self {
            Self::Standard => Scale::standardising(mean, deviation),
            Self::Unit => Scale::UNIT,
        }
    }
}

/// `M` labelled examples of `D` byte features in `C` classes.
#[derive(Clone, Debug, PartialEq)]
pub struct Examples {
    features: Vec<u8>,
    labels: Vec<u16>,
    shape: Shape,
    classes: usize,
    scale: Scale,
    label_names: Option<&'static [&'static str]>,
    writers: Option<Vec<u32>>,
}

impl Examples {
    /// Joins `features` `[M, D]` (row-major) with `labels` `[M]`.
    ///
    /// # Errors
    /// [`DataError::FeatureCount`] if `features` is not `M * D` bytes long,
    /// [`DataError::LabelRange`] if a label is not below `classes`.
    pub fn new(
        features: Vec<u8>,
        labels: Vec<u16>,
        shape: Shape,
        classes: usize,
        scale: Scale,
    ) -> Result<Self, DataError> {
        if features.len() != labels.len() * shape.features() {
            return Err(DataError::FeatureCount {
                bytes: features.len(),
                examples: labels.len(),
                width: shape.features(),
            });
        }
        if let Some(index) = labels.iter().position(|&l| usize::from(l) >= classes) {
            return Err(DataError::LabelRange {
                index,
                label: labels[index],
                classes,
            });
        }
        Ok(Self {
            features,
            labels,
            shape,
            classes,
            scale,
            label_names: None,
            writers: None,
        })
    }

    /// Names the classes, in the order of the labels. Other than one name per class is ignored.
    pub(crate) fn with_label_names(mut self, names: &'static [&'static str]) -> Self {
        self.label_names = (names.len() == self.classes).then_some(names);
        self
    }

    /// Says who wrote each example, `[M]`.
    pub(crate) fn with_writers(mut self, writers: Vec<u32>) -> Self {
        assert_eq!(writers.len(), self.len(), "one writer per example");
        self.writers = Some(writers);
        self
    }

    /// Number of examples `M`.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there is no example at all.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// All features, `[M, D]` row-major.
    pub fn features(&self) -> &[u8] {
        &self.features
    }

    /// Features per example, `D`.
    pub fn width(&self) -> usize {
        self.shape.features()
    }

    /// The features `[D]` of example `index`.
    ///
    /// # Panics
    /// If `index` is not below [`len`](Self::len), as slices do.
    pub fn row(&self, index: usize) -> &[u8] {
        let width = self.width();
        &self.features[index * width..(index + 1) * width]
    }

    /// All labels, `[M]`, each below [`classes`](Self::classes).
    pub fn labels(&self) -> &[u16] {
        &self.labels
    }

    /// Number of classes `C`.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Shape of one example.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The map from bytes to model input.
    pub fn scale(&self) -> &Scale {
        &self.scale
    }

    /// Names of the classes `[C]`, where the dataset has any beyond the number.
    pub fn label_names(&self) -> Option<&'static [&'static str]> {
        self.label_names
    }

    /// Who wrote each example, `[M]`, where the dataset knows.
    pub fn writers(&self) -> Option<&[u32]> {
        self.writers.as_deref()
    }

    /// What a [`Partitioner`](crate::Partitioner) sees of the examples.
    pub fn labelled(&self) -> Labelled<'_> {
        Labelled {
            labels: &self.labels,
            classes: self.classes,
            writers: self.writers(),
        }
    }

    /// The examples at `indices`, in that order.
    pub(crate) fn selected(&self, indices: &[u32]) -> Self {
        let indices = || indices.iter().map(|&index| index as usize);
        let mut features = Vec::with_capacity(indices().len() * self.width());
        indices().for_each(|index| features.extend_from_slice(self.row(index)));
        let writers = self.writers.as_ref();
        Self {
            features,
            labels: indices().map(|index| self.labels[index]).collect(),
            writers: writers.map(|writers| indices().map(|index| writers[index]).collect()),
            ..*self
        }
    }

    /// These examples, then the `others` of the same dataset.
    pub(crate) fn followed_by(&self, others: &Self) -> Self {
        assert_eq!(
            (self.shape, self.classes, self.scale),
            (others.shape, others.classes, others.scale),
            "splits of one dataset are of one kind"
        );
        let writers = self.writers.as_ref().zip(others.writers.as_ref());
        Self {
            features: [self.features.as_slice(), &others.features].concat(),
            labels: [self.labels.as_slice(), &others.labels].concat(),
            writers: writers.map(|(first, second)| [first.as_slice(), second].concat()),
            ..*self
        }
    }

    /// Cuts the first `count` examples off; the rest is dropped.
    pub(crate) fn truncated(mut self, count: usize) -> Self {
        self.features.truncate(count * self.width());
        self.labels.truncate(count);
        if let Some(writers) = &mut self.writers {
            writers.truncate(count);
        }
        self
    }
}

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
            features: self
                .row(index)
                .iter()
                .map(|&b| self.scale.apply(b))
                .collect(),
            label: self.labels[index],
        })
    }

    fn len(&self) -> usize {
        self.labels.len()
    }
}

/// A dataset ready for use: what clients train on, and what models are judged by.
#[derive(Clone, Debug)]
pub struct Splits {
    /// Training examples, dealt to clients by a [`Partitioner`](crate::Partitioner).
    pub train: Arc<Examples>,
    /// Test examples, seen by evaluation alone.
    pub test: Arc<Examples>,
}

impl Splits {
    /// The examples in the order that the indices of `partition` count.
    ///
    /// Where the partition [holds out](Partition::held_out) its own test set, the training examples are followed by the
    /// test examples, and the test examples are those held out; else nothing changes. The held-out examples stay among
    /// the training examples, of no client.
    ///
    /// # Panics
    /// If the partition holds out an example that there is not.
    pub fn dealt(self, partition: &Partition) -> Self {
        let Some(held_out) = partition.held_out() else {
            return self;
        };
        let pooled = self.train.followed_by(&self.test);
        Self {
            test: Arc::new(pooled.selected(held_out)),
            train: Arc::new(pooled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIXELS: Shape = Shape {
        channels: 1,
        height: 1,
        width: 2,
    };

    fn three() -> Examples {
        Examples::new(
            vec![0, 255, 10, 20, 30, 40],
            vec![0, 1, 1],
            PIXELS,
            2,
            Scale::UNIT,
        )
        .unwrap()
    }

    #[test]
    fn rows_and_scaled_examples_agree() {
        let examples = three();
        assert_eq!(examples.row(1), [10, 20]);
        let first = Dataset::get(&examples, 0).unwrap();
        assert_eq!(first.features, [0.0, 1.0]);
        assert_eq!(first.label, 0);
        assert_eq!(Dataset::iter(&examples).count(), 3);
    }

    #[test]
    fn standardising_centres_the_mean() {
        let scale = Scale::standardising(0.1307, 0.3081);
        assert!((scale.apply(255) - (1.0 - 0.1307) / 0.3081).abs() < 1e-5);
        assert!((scale.apply(0) + 0.1307 / 0.3081).abs() < 1e-6);
    }

    #[test]
    fn wrong_length_and_label_out_of_range_are_refused() {
        let short = Examples::new(vec![0; 5], vec![0, 1, 1], PIXELS, 2, Scale::UNIT).unwrap_err();
        assert_eq!(
            short.to_string(),
            "examples: 5 feature bytes found but 3 examples of 2 features need 6"
        );
        let label = Examples::new(vec![0; 6], vec![0, 1, 2], PIXELS, 2, Scale::UNIT).unwrap_err();
        assert_eq!(
            label.to_string(),
            "examples: label 2 of example 2 is not below the number of classes, 2"
        );
    }

    #[test]
    fn a_partition_that_pools_gives_train_and_test_anew() {
        let splits = Splits {
            train: Arc::new(three().with_writers(vec![7, 8, 9])),
            test: Arc::new(three().truncated(2).with_writers(vec![4, 5])),
        };
        let plain = Partition::new(vec![vec![0, 1, 2]], 3).unwrap();
        assert_eq!(splits.clone().dealt(&plain).test, splits.test);
        let pooling = Partition::new(vec![vec![0, 3]], 5).unwrap();
        let pooling = pooling.holding_out(Some(vec![4, 2])).unwrap();
        let dealt = splits.dealt(&pooling);
        assert_eq!(dealt.train.labels(), [0, 1, 1, 0, 1]);
        assert_eq!(dealt.train.row(3), [0, 255]);
        assert_eq!(dealt.train.writers(), Some([7, 8, 9, 4, 5].as_slice()));
        assert_eq!(dealt.test.features(), [10, 20, 30, 40]);
        assert_eq!(dealt.test.labels(), [1, 1]);
        assert_eq!(dealt.test.writers(), Some([5, 9].as_slice()));
    }

    #[test]
    fn truncation_keeps_the_first_examples() {
        let two = three().truncated(2);
        assert_eq!(two.len(), 2);
        assert_eq!(two.features(), [0, 255, 10, 20]);
    }
}
