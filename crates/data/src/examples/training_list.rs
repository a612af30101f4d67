//! Training examples without their features, to record a run's examples and to compare them.

use std::borrow::Cow;
use std::sync::Arc;

use super::dataset_summary::outline_digest;
use super::{Examples, Features, Splits, Windows};
use crate::Partition;
use crate::files::digest::Digest;

/// The labels and owners of training examples, and what these are called.
#[derive(Clone, Debug)]
pub struct TrainingList<'a> {
    labels: Cow<'a, [u16]>,
    owners: Option<Cow<'a, [u32]>>,
    classes: usize,
    label_names: Option<Arc<Vec<String>>>,
    owner_names: Option<Arc<Vec<String>>>,
    windows: Option<Windows>,
}

impl<'a> TrainingList<'a> {
    /// The list of `examples`.
    pub fn of(examples: &'a Examples) -> Self {
        Self {
            labels: Cow::Borrowed(&examples.labels),
            owners: examples.owners.as_deref().map(Cow::Borrowed),
            classes: examples.classes,
            label_names: examples.label_names.clone(),
            owner_names: examples.owner_names.clone(),
            windows: match examples.features() {
                Features::Tokens(windows) => Some(windows.clone()),
                Features::Bytes { .. } | Features::Numbers(_) => None,
            },
        }
    }

    /// The list in the order that the indices of `partition` count, as [`Splits::apply_partition`] orders training
    /// examples; `test` are the test examples.
    pub fn apply_partition(self, test: &Examples, partition: &Partition) -> Self {
        if partition.held_out().is_none() {
            return self;
        }
        let owners = self.owners.as_deref().zip(test.owners());
        let owners = owners.map(|(train, test)| Cow::Owned([train, test].concat()));
        let windows = self.windows.map(|train| match test.features() {
            Features::Tokens(test) => train.followed_by(test),
            Features::Bytes { .. } | Features::Numbers(_) => train,
        });
        Self {
            labels: [&self.labels, test.labels()].concat().into(),
            owners,
            windows,
            ..self
        }
    }

    /// The label of each example, `[M]`.
    pub fn labels(&self) -> &[u16] {
        &self.labels
    }

    /// Number of classes `C`.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Whose each example is, `[M]`, where the dataset knows.
    pub fn owners(&self) -> Option<&[u32]> {
        self.owners.as_deref()
    }

    /// Names of the classes `[C]`, where the dataset has any beyond the number.
    pub fn label_names(&self) -> Option<&[String]> {
        self.label_names.as_deref().map(Vec::as_slice)
    }

    /// Names of the owners by their number, where the dataset has any.
    pub fn owner_names(&self) -> Option<&[String]> {
        self.owner_names.as_deref().map(Vec::as_slice)
    }

    /// Where the examples lie in their text, if they are of one.
    pub fn windows(&self) -> Option<&Windows> {
        self.windows.as_ref()
    }
}

/// The list and the digests of training examples that come in pieces.
#[derive(Debug)]
pub struct ListedPieces {
    /// How many examples are to come.
    count: usize,
    digest: Option<Digest>,
    labels: Vec<u16>,
    owners: Option<Vec<u32>>,
    starts: Vec<u32>,
}

impl ListedPieces {
    /// An empty list for `count` examples. If more or fewer come, the digest matches no examples.
    pub fn of(count: usize) -> Self {
        Self {
            count,
            digest: None,
            labels: Vec::with_capacity(count),
            owners: None,
            starts: Vec::new(),
        }
    }

    /// Adds the examples of the next piece.
    pub fn push(&mut self, piece: &Examples) {
        let digest = self.digest.take();
        let digest = digest.unwrap_or_else(|| piece.begun_digest(self.count));
        self.digest = Some(piece.features.digested_more(digest));
        self.labels.extend_from_slice(&piece.labels);
        if let Some(owners) = &piece.owners {
            self.owners
                .get_or_insert_default()
                .extend_from_slice(owners);
        }
        if let Features::Tokens(windows) = &piece.features {
            self.starts.extend_from_slice(&windows.starts);
        }
    }

    /// The list of all examples, with the names and the text of `left.train`; their [digest](Examples::digest); and the
    /// [summary's digest](crate::DatasetSummary::digest_of) of them and the test examples of `left`.
    pub fn finish(self, left: &Splits) -> (TrainingList<'static>, String, String) {
        let (like, owners) = (&left.train, self.owners);
        let digest = self.digest;
        let digest = digest.unwrap_or_else(|| like.begun_digest(self.count));
        let digest = like.ended_digest(digest, &self.labels, owners.as_deref());
        let labels = [self.labels.as_slice(), left.test.labels()];
        let both = owners.as_deref().zip(left.test.owners());
        let outline = outline_digest(like.input, like.classes, labels, both);
        let list = TrainingList {
            windows: match &like.features {
                Features::Tokens(windows) => Some(Windows {
                    starts: self.starts,
                    ..windows.clone()
                }),
                Features::Bytes { .. } | Features::Numbers(_) => None,
            },
            labels: self.labels.into(),
            owners: owners.map(Cow::Owned),
            classes: like.classes,
            label_names: like.label_names.clone(),
            owner_names: like.owner_names.clone(),
        };
        (list, digest.finish(), outline.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DatasetSummary, Scale, Shape};

    /// The pieces of `splits` have its list and its digests.
    fn expect_same(splits: &Splits) {
        for most in [1, 9, 1000] {
            let mut listed = ListedPieces::of(splits.train.len());
            let left = splits
                .clone()
                .in_pieces(most, &mut |piece| listed.push(piece));
            let (list, train, outline) = listed.finish(&left);
            assert_eq!(train, splits.train.digest());
            assert_eq!(outline, DatasetSummary::digest_of(splits));
            assert_eq!(list.labels(), splits.train.labels());
            assert_eq!(list.owners(), splits.train.owners());
            assert_eq!(list.label_names(), splits.train.label_names());
            let whole = TrainingList::of(&splits.train);
            assert_eq!(list.windows(), whole.windows());
        }
    }

    #[test]
    fn pieces_of_every_kind_have_the_digests_of_the_whole() {
        let shape = Shape::flat(2);
        let bytes = |bytes: Vec<u8>, labels: Vec<u16>| {
            let examples = Examples::new(bytes, labels, shape, 2, Scale::UNIT).unwrap();
            let owners = (0..examples.len() as u32).collect();
            Arc::new(
                examples
                    .with_label_names(&["no", "yes"])
                    .with_owners(owners),
            )
        };
        expect_same(&Splits {
            train: bytes(vec![1, 2, 3, 4, 5, 6], vec![0, 1, 1]),
            test: bytes(vec![7, 8], vec![1]),
            validation: None,
        });
        let numbers = |values: Vec<f32>| {
            let labels = vec![0; values.len() / 2];
            Arc::new(Examples::numbers(values, labels, shape, 1).unwrap())
        };
        expect_same(&Splits {
            train: numbers(vec![0.5, -1.0, 3.0, 4.0]),
            test: numbers(vec![1.0, 2.0]),
            validation: None,
        });
        let text = Arc::new(vec![0, 1, 2, 1, 0, 2, 2]);
        let windows = |starts| Arc::new(Examples::windows(text.clone(), starts, 2, 3).unwrap());
        expect_same(&Splits {
            train: windows(vec![0, 4, 1]),
            test: windows(vec![2]),
            validation: None,
        });
    }

    #[test]
    fn a_test_set_of_the_partition_follows_the_training_examples() {
        let of = |labels: Vec<u16>| {
            let bytes = vec![0; labels.len()];
            let examples = Examples::new(bytes, labels, Shape::flat(1), 4, Scale::UNIT);
            Arc::new(examples.unwrap().with_owners(vec![7]))
        };
        let splits = Splits {
            train: of(vec![1]),
            test: of(vec![3]),
            validation: None,
        };
        let dealt = Partition::new(vec![vec![1]], 2).unwrap();
        let list = TrainingList::of(&splits.train);
        let unchanged = list.clone().apply_partition(&splits.test, &dealt);
        assert_eq!(unchanged.labels(), [1]);
        let pooled = dealt.holding_out(Some(vec![0])).unwrap();
        let list = list.apply_partition(&splits.test, &pooled);
        assert_eq!(list.labels(), [1, 3]);
        assert_eq!(list.owners(), Some(&[7, 7][..]));
    }
}
