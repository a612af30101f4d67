//! What a plan needs to know of a dataset: sizes and labels, and whose the examples are, not their features.

use std::borrow::Cow;
use std::iter;

use crate::files::digest::{Digest, Kept};
use crate::{Features, Input, Labelled, Owners, Splits};

/// A dataset without its features.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetSummary {
    /// Labels of the training examples, then of the test examples.
    pub(super) labels: Labels,
    /// Owners, in the order of the labels.
    pub(super) owners: Option<OwnerList>,
    /// Whether the owners of the test examples are those that the dataset names, not stand-ins.
    pub(super) names_test_owners: bool,
    pub(super) train: usize,
    pub(super) test: usize,
    pub(super) validation: usize,
    /// Bytes of memory that the features of all examples take.
    pub(super) feature_bytes: usize,
    pub(super) input: Input,
    pub(super) classes: usize,
    /// Whether labels are ranks: label 0 stands for the smallest label in the user's table.
    pub(super) has_ranked_labels: bool,
    pub(super) digest: Kept,
}

impl DatasetSummary {
    /// The summary of examples that give a model `input` in `classes` classes, with the labels of the training examples
    /// and those of the test examples.
    pub fn new(input: Input, classes: usize, train: &[u16], test: &[u16]) -> Self {
        Self {
            labels: Labels::Listed([train, test].concat()),
            owners: None,
            names_test_owners: true,
            train: train.len(),
            test: test.len(),
            validation: 0,
            feature_bytes: (train.len() + test.len()) * input.features(),
            input,
            classes,
            has_ranked_labels: false,
            digest: Kept::default(),
        }
    }

    /// The summary of `train` and `test` windows of `window` tokens, of a text of `tokens` tokens that nobody has seen.
    /// Labels take turns. `owners` lists runs of examples as owner and length. The summary's size does not grow with
    /// the examples.
    ///
    /// # Panics
    /// If the runs do not sum to the number of examples, or if one run has both training and test examples.
    pub(crate) fn of_unseen_text(
        [window, classes, tokens]: [usize; 3],
        [train, test]: [usize; 2],
        owners: Vec<(u32, u32)>,
    ) -> Self {
        let input = Input::Tokens { window };
        let unseen = Self {
            labels: Labels::InTurn,
            train,
            test,
            owners: Some(OwnerList::Runs(owners)),
            ..Self::new(input, classes, &[], &[])
        };
        unseen.expect_owners();
        unseen.of_text(tokens)
    }

    /// Says that features are stored as numbers of four bytes; without this they are bytes.
    pub(crate) fn of_numbers(self) -> Self {
        Self {
            feature_bytes: self.examples() * self.input.features() * size_of::<f32>(),
            ..self
        }
    }

    /// Says that the examples are windows of one text of so many tokens, two bytes each; where a window starts takes four.
    pub(crate) fn of_text(self, tokens: usize) -> Self {
        Self {
            feature_bytes: tokens * size_of::<u16>() + self.examples() * size_of::<u32>(),
            ..self
        }
    }

    /// Says whether labels are ranks of a table's own labels, which are other numbers or words.
    pub(crate) fn with_ranked_labels(self, has_ranked_labels: bool) -> Self {
        Self {
            has_ranked_labels,
            ..self
        }
    }

    /// Says that so many examples are kept apart for validation. They are as large as the others.
    pub(crate) fn with_validation(self, validation: usize) -> Self {
        let each = self.feature_bytes / self.examples().max(1);
        Self {
            validation,
            feature_bytes: self.feature_bytes + validation * each,
            ..self
        }
    }

    /// Says whose each example is: the training examples, then the test examples.
    ///
    /// # Panics
    /// If there is not one owner per example.
    pub fn with_owners(self, owners: Vec<u32>) -> Self {
        let owned = Self {
            owners: Some(OwnerList::Listed(owners)),
            digest: Kept::default(),
            ..self
        };
        owned.expect_owners();
        owned
    }

    /// Says that the dataset does not name the owners of the test examples: those that are given stand in for them.
    pub fn with_unnamed_test_owners(self) -> Self {
        Self {
            names_test_owners: false,
            ..self
        }
    }

    fn expect_owners(&self) {
        let owners = self.labelled(true).owners.map(Owners::examples);
        assert_eq!(owners, Some(self.examples()), "one owner per example");
    }

    /// Training and test examples.
    fn examples(&self) -> usize {
        self.train + self.test
    }

    /// The summary of examples that are loaded.
    pub fn of(splits: &Splits) -> Self {
        let (train, test) = (&splits.train, &splits.test);
        let mut summary = Self::new(
            train.input(),
            train.classes(),
            train.labels(),
            test.labels(),
        );
        summary.feature_bytes = train.features().bytes() + test.features().bytes();
        if let Features::Tokens(windows) = train.features() {
            // Both lie in one text.
            summary.feature_bytes -= size_of_val(windows.text().as_slice());
        }
        if let Some(validation) = &splits.validation {
            summary = summary.with_validation(validation.len());
        }
        match (train.owners(), test.owners()) {
            (Some(train), Some(test)) => summary.with_owners([train, test].concat()),
            _ => summary,
        }
    }

    /// SHA-256 of labels, classes, owners, the shape of an example, and the number of training examples. It is computed on
    /// first use.
    pub fn digest(&self) -> &str {
        self.digest.or(|| {
            let labels = match &self.labels {
                Labels::Listed(labels) => Cow::Borrowed(labels.as_slice()),
                Labels::InTurn => (0..self.examples()).map(|e| self.label(e)).collect(),
            };
            let (train, test) = labels.split_at(self.train);
            let owners = self.owners.as_ref().map(OwnerList::listed);
            let owners = owners.as_ref().map(|owners| owners.split_at(self.train));
            outline_digest(self.input, self.classes, [train, test], owners)
        })
    }

    /// The [digest](Self::digest) of the summary of `splits`.
    pub fn digest_of(splits: &Splits) -> String {
        let (train, test) = (&splits.train, &splits.test);
        let labels = [train.labels(), test.labels()];
        let owners = train.owners().zip(test.owners());
        outline_digest(train.input(), train.classes(), labels, owners).finish()
    }

    /// Training examples, without those kept apart for validation.
    pub fn train(&self) -> usize {
        self.train
    }

    /// Test examples.
    pub fn test(&self) -> usize {
        self.test
    }

    /// Examples kept apart for validation.
    pub fn validation(&self) -> usize {
        self.validation
    }

    /// Bytes of memory that the features of all examples take, those for validation included.
    pub fn feature_bytes(&self) -> usize {
        self.feature_bytes
    }

    /// Bytes of memory that the features of the training examples take. Windows of a text count only their starts.
    pub fn train_bytes(&self) -> usize {
        match self.input {
            Input::Numbers(_) => {
                let all = self.examples() + self.validation;
                self.feature_bytes / all.max(1) * self.train
            }
            Input::Tokens { .. } => size_of::<u32>() * self.train,
        }
    }

    /// Whether labels are ranks of a user's own labels: `0` stands for the smallest, whatever it is called.
    pub fn has_ranked_labels(&self) -> bool {
        self.has_ranked_labels
    }

    /// Whether it is known whose the examples are.
    pub fn has_owners(&self) -> bool {
        self.owners.is_some()
    }

    /// Whose each test example is; `None` if the dataset does not name them.
    pub fn test_owners(&self) -> Option<Owners<'_>> {
        let owners = self.owners.as_ref().filter(|_| self.names_test_owners)?;
        Some(owners.after(self.train))
    }

    /// The kind of input that one example gives a model.
    pub fn input(&self) -> Input {
        self.input
    }

    /// Number of classes `C`.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The label of an example; the training examples are followed by the test examples.
    ///
    /// # Panics
    /// If there is no such example.
    pub fn label(&self, example: usize) -> u16 {
        match &self.labels {
            Labels::Listed(labels) => labels[example],
            Labels::InTurn => {
                assert!(example < self.examples(), "there is no such example");
                let place = example.checked_sub(self.train).unwrap_or(example);
                (place % self.classes) as u16
            }
        }
    }

    /// What a [`Partitioner`](crate::Partitioner) sees: the training examples, followed by the test examples if it
    /// [`pools`](crate::Partitioner::pools) them.
    pub fn labelled(&self, pools: bool) -> Labelled<'_> {
        let examples = if pools { self.examples() } else { self.train };
        Labelled {
            examples,
            labels: match &self.labels {
                Labels::Listed(labels) => &labels[..examples],
                Labels::InTurn => &[],
            },
            classes: self.classes,
            owners: self.owners.as_ref().map(|owners| owners.first(examples)),
            text: matches!(self.input, Input::Tokens { .. }),
        }
    }
}

/// The labels of examples.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Labels {
    Listed(Vec<u16>),
    /// Labels of a text that nobody has seen: they take turns within each split.
    InTurn,
}

/// The owners of examples.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OwnerList {
    Listed(Vec<u32>),
    /// Runs of consecutive examples: the owner and the number of examples of each.
    Runs(Vec<(u32, u32)>),
}

impl OwnerList {
    /// The owners of the first `examples` examples, which must end where a run does.
    fn first(&self, examples: usize) -> Owners<'_> {
        match self {
            Self::Listed(owners) => Owners::Listed(&owners[..examples]),
            Self::Runs(runs) => {
                let mut rest = examples;
                let whole = runs.iter().take_while(|(_, run)| {
                    let is_whole = *run as usize <= rest;
                    rest = rest.saturating_sub(*run as usize);
                    is_whole
                });
                Owners::Runs(&runs[..whole.count()])
            }
        }
    }

    /// The owners of the examples after the first `examples`, which must end where a run does.
    fn after(&self, examples: usize) -> Owners<'_> {
        match (self, self.first(examples)) {
            (Self::Runs(runs), Owners::Runs(first)) => Owners::Runs(&runs[first.len()..]),
            (Self::Listed(owners), _) => Owners::Listed(&owners[examples..]),
            (Self::Runs(_), Owners::Listed(_)) => unreachable!("the first runs are runs"),
        }
    }

    /// The owner of each example.
    fn listed(&self) -> Cow<'_, [u32]> {
        match self {
            Self::Listed(owners) => Cow::Borrowed(owners),
            Self::Runs(runs) => {
                let repeated = |&(owner, run): &(u32, u32)| iter::repeat_n(owner, run as usize);
                runs.iter().flat_map(repeated).collect()
            }
        }
    }
}

/// The digest of training and test examples without their features.
pub(super) fn outline_digest(
    input: Input,
    classes: usize,
    labels: [&[u16]; 2],
    owners: Option<(&[u32], &[u32])>,
) -> Digest {
    let digest = input.digested(Digest::of("outline")).count(classes);
    let digest = digest.labels(labels[0]).labels(labels[1]);
    let (train, test) = owners.unzip();
    digest.owners(train).owners(test)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Examples, Scale, Shape};
    use std::sync::Arc;

    #[test]
    fn the_digest_is_that_of_the_loaded_examples_and_ignores_features() {
        let examples = |features: u8, labels: Vec<u16>| {
            let features = vec![features; labels.len()];
            let examples = Examples::new(features, labels, Shape::flat(1), 3, Scale::UNIT);
            examples.unwrap()
        };
        let splits = |features, train, test| Splits {
            train: Arc::new(examples(features, train)),
            test: Arc::new(examples(features, test)),
            validation: None,
        };
        let first = splits(1, vec![0, 1], vec![2]);
        let summary = DatasetSummary::of(&first);
        assert_eq!(DatasetSummary::digest_of(&first), summary.digest());
        let same = splits(2, vec![0, 1], vec![2]);
        assert_eq!(DatasetSummary::digest_of(&same), summary.digest());
        for other in [
            splits(1, vec![0], vec![1, 2]),
            splits(1, vec![1, 0], vec![2]),
        ] {
            assert_ne!(DatasetSummary::digest_of(&other), summary.digest());
        }
        let with_owners = |owners: [u32; 3]| summary.clone().with_owners(owners.to_vec());
        assert_ne!(with_owners([0, 0, 1]).digest(), summary.digest());
        assert_ne!(
            with_owners([0, 0, 1]).digest(),
            with_owners([0, 1, 1]).digest()
        );
        let owned = Splits {
            train: Arc::new(examples(1, vec![0, 1]).with_owners(vec![0, 0])),
            test: Arc::new(examples(1, vec![2]).with_owners(vec![1])),
            validation: None,
        };
        assert_eq!(
            DatasetSummary::digest_of(&owned),
            with_owners([0, 0, 1]).digest()
        );
    }
}
