//! What a plan needs to know of a dataset: sizes and labels, and whose the examples are, not their features.

use crate::{Features, Input, Labelled, Splits};

/// A dataset without its features.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// Of the training examples, then of the test examples.
    labels: Vec<u16>,
    /// In the order of the labels.
    owners: Option<Vec<u32>>,
    train: usize,
    /// Bytes of memory that the features of all examples take.
    feature_bytes: usize,
    input: Input,
    classes: usize,
}

impl Outline {
    /// The outline of examples that give a model `input` in `classes` classes, with the labels of the training examples
    /// and those of the test examples.
    pub fn new(input: Input, classes: usize, train: &[u16], test: &[u16]) -> Self {
        Self {
            labels: [train, test].concat(),
            owners: None,
            train: train.len(),
            feature_bytes: (train.len() + test.len()) * input.features(),
            input,
            classes,
        }
    }

    /// Says that features are stored as numbers of four bytes; without this they are bytes.
    pub(crate) fn of_numbers(self) -> Self {
        Self {
            feature_bytes: self.labels.len() * self.input.features() * size_of::<f32>(),
            ..self
        }
    }

    /// Says that the examples are windows of one text of so many tokens, two bytes each; where a window starts takes four.
    pub(crate) fn of_text(self, tokens: usize) -> Self {
        Self {
            feature_bytes: tokens * size_of::<u16>() + self.labels.len() * size_of::<u32>(),
            ..self
        }
    }

    /// Says whose each example is: the training examples, then the test examples.
    ///
    /// # Panics
    /// If there is not one owner per example.
    pub fn with_owners(self, owners: Vec<u32>) -> Self {
        assert_eq!(owners.len(), self.labels.len(), "one owner per example");
        Self {
            owners: Some(owners),
            ..self
        }
    }

    /// The outline of examples that are loaded.
    pub fn of(splits: &Splits) -> Self {
        let (train, test) = (&splits.train, &splits.test);
        let mut outline = Self::new(
            train.input(),
            train.classes(),
            train.labels(),
            test.labels(),
        );
        outline.feature_bytes = train.features().bytes() + test.features().bytes();
        if let Features::Tokens(windows) = train.features() {
            // Both lie in one text.
            outline.feature_bytes -= size_of_val(windows.text().as_slice());
        }
        match (train.owners(), test.owners()) {
            (Some(train), Some(test)) => outline.with_owners([train, test].concat()),
            _ => outline,
        }
    }

    /// Training examples, without those kept apart for validation.
    pub fn train(&self) -> usize {
        self.train
    }

    /// Test examples.
    pub fn test(&self) -> usize {
        self.labels.len() - self.train
    }

    /// Bytes of memory that the features of all examples take.
    pub fn feature_bytes(&self) -> usize {
        self.feature_bytes
    }

    /// Whether it is known whose the examples are.
    pub fn has_owners(&self) -> bool {
        self.owners.is_some()
    }

    /// What one example gives a model.
    pub fn input(&self) -> Input {
        self.input
    }

    /// Number of classes `C`.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// What a [`Partitioner`](crate::Partitioner) sees: the training examples, followed by the test examples if it
    /// [`pools`](crate::Partitioner::pools) them.
    pub fn labelled(&self, pools: bool) -> Labelled<'_> {
        let count = if pools { self.labels.len() } else { self.train };
        Labelled {
            labels: &self.labels[..count],
            classes: self.classes,
            owners: self.owners.as_ref().map(|owners| &owners[..count]),
            text: matches!(self.input, Input::Tokens { .. }),
        }
    }
}
