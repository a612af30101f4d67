//! Labelled examples held in host memory.

mod augment;
mod builder;
#[cfg(feature = "burn")]
mod burn_examples;
mod dataset_summary;
pub(crate) mod features;
mod pieces;
mod splits;
mod summary_pieces;
mod text_shares;
mod training_list;
mod variant;

use std::sync::Arc;

pub use self::augment::{Augment, AugmentError};
pub use self::builder::ExamplesBuilder;
pub(crate) use self::builder::per_piece;
#[cfg(feature = "burn")]
pub use self::burn_examples::Example;
pub use self::dataset_summary::DatasetSummary;
pub use self::features::{Features, Input, Scale, Scaling, Shape, Windows};
pub use self::splits::Splits;
pub use self::text_shares::TextShare;
pub use self::training_list::{ListedPieces, TrainingList};
pub use self::variant::Variant;
use crate::files::digest::{Digest, Kept};
use crate::{DataError, Labelled, Owners};

/// `M` labelled examples of `D` features in `C` classes.
#[derive(Clone, Debug, PartialEq)]
pub struct Examples {
    features: Features,
    labels: Vec<u16>,
    input: Input,
    classes: usize,
    label_names: Option<Arc<Vec<String>>>,
    owners: Option<Vec<u32>>,
    owner_names: Option<Arc<Vec<String>>>,
    digest: Kept,
}

impl Examples {
    /// Joins bytes `[M, D]` (row-major), all of one `scale`, with `labels` `[M]`.
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
        Self::scaled_by_channel(features, labels, shape, classes, vec![scale])
    }

    /// As [`new`](Self::new) with one scale per channel, or one for all.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// # Panics
    /// If there is neither one scale nor one per channel.
    pub fn scaled_by_channel(
        features: Vec<u8>,
        labels: Vec<u16>,
        shape: Shape,
        classes: usize,
        scales: Vec<Scale>,
    ) -> Result<Self, DataError> {
        assert!(
            scales.len() == 1 || scales.len() == shape.channels,
            "one scale, or one per channel"
        );
        expect_count(features.len(), labels.len(), shape)?;
        let values = features;
        let input = Input::Numbers(shape);
        Self::of(Features::Bytes { values, scales }, labels, input, classes)
    }

    /// Joins numbers `[M, D]` (row-major), as a model is to see them, with `labels` `[M]`.
    ///
    /// # Errors
    /// [`DataError::FeatureCount`] if `features` is not `M * D` numbers long, [`DataError::LabelRange`] if a label is
    /// not below `classes`.
    pub fn numbers(
        features: Vec<f32>,
        labels: Vec<u16>,
        shape: Shape,
        classes: usize,
    ) -> Result<Self, DataError> {
        expect_count(features.len(), labels.len(), shape)?;
        let input = Input::Numbers(shape);
        Self::of(Features::Numbers(features), labels, input, classes)
    }

    /// Windows of `length` tokens of `text`, one from each of `starts`; the label of a window is the token that follows
    /// it. The tokens are below `classes`.
    ///
    /// # Errors
    /// [`DataError::LabelRange`] if a token that follows a window is not below `classes`.
    ///
    /// # Panics
    /// If a window, or what follows it, leaves the text, or if a token is not below `classes`.
    pub fn windows(
        text: Arc<Vec<u16>>,
        starts: Vec<u32>,
        length: usize,
        classes: usize,
    ) -> Result<Self, DataError> {
        let fits = |start: &u32| *start as usize + length < text.len();
        assert!(starts.iter().all(fits), "windows lie in the text");
        assert!(
            text.iter().all(|token| usize::from(*token) < classes),
            "tokens are below the number of classes"
        );
        let following = |start: &u32| text[*start as usize + length];
        let labels = starts.iter().map(following).collect();
        let windows = Windows {
            text,
            starts,
            length,
        };
        let input = Input::Tokens { window: length };
        Self::of(Features::Tokens(windows), labels, input, classes)
    }

    fn of(
        features: Features,
        labels: Vec<u16>,
        input: Input,
        classes: usize,
    ) -> Result<Self, DataError> {
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
            input,
            classes,
            label_names: None,
            owners: None,
            owner_names: None,
            digest: Kept::default(),
        })
    }

    /// Names the classes, in the order of the labels. Other than one name per class is ignored.
    pub fn with_label_names<S: AsRef<str>>(mut self, names: &[S]) -> Self {
        let owned = || names.iter().map(|name| name.as_ref().to_owned()).collect();
        self.label_names = (names.len() == self.classes).then(|| Arc::new(owned()));
        self
    }

    /// Says whose each example is, `[M]`: its writer, role, user or whatever the dataset knows.
    ///
    /// # Panics
    /// If there is not one owner per example.
    pub fn with_owners(mut self, owners: Vec<u32>) -> Self {
        assert_eq!(owners.len(), self.len(), "one owner per example");
        self.owners = Some(owners);
        self.digest = Kept::default();
        self
    }

    /// Names the owners, in the order of their numbers.
    pub fn with_owner_names(mut self, names: Arc<Vec<String>>) -> Self {
        self.owner_names = Some(names);
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

    /// All features.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The features as bytes, `[M, D]` row-major, if that is what they are.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.features {
            Features::Bytes { values, .. } => Some(values),
            Features::Numbers(_) | Features::Tokens(_) => None,
        }
    }

    /// The kind of input that one example gives a model.
    pub fn input(&self) -> Input {
        self.input
    }

    /// Features per example, `D`.
    pub fn width(&self) -> usize {
        self.input.features()
    }

    /// Writes the features of example `index` as a model sees them into `to`, `[D]`; tokens as their numbers. From [`len`](Self::len) on,
    /// `index` means a [`Variant`] of an image, by [`Variant::index_of`].
    ///
    /// Inlined, so that it is compiled for the instruction set of its caller.
    ///
    /// # Panics
    /// If `index` is neither below [`len`](Self::len) nor of a variant of an image, or `to` is not `D` long.
    #[inline(always)]
    pub fn read(&self, index: usize, to: &mut [f32]) {
        let width = self.width();
        assert_eq!(to.len(), width, "room for one example");
        if index >= self.len() {
            return self.read_variant(index, to);
        }
        let place = index * width..(index + 1) * width;
        match &self.features {
            Features::Bytes { values, scales } => {
                let plane = width / scales.len();
                let planes = to.chunks_exact_mut(plane);
                let bytes = values[place].chunks_exact(plane);
                for ((to, bytes), scale) in planes.zip(bytes).zip(scales) {
                    for (to, byte) in to.iter_mut().zip(bytes) {
                        *to = scale.apply(*byte);
                    }
                }
            }
            Features::Numbers(values) => to.copy_from_slice(&values[place]),
            Features::Tokens(windows) => {
                for (to, token) in to.iter_mut().zip(windows.window(index)) {
                    *to = f32::from(*token);
                }
            }
        }
    }

    /// The features `[D]` of example `index` as a model sees them, or of a variant of an image, as [`read`](Self::read) has it.
    ///
    /// # Panics
    /// If there is no such example or variant.
    pub fn row(&self, index: usize) -> Vec<f32> {
        let mut row = vec![0.0; self.width()];
        self.read(index, &mut row);
        row
    }

    /// All labels, `[M]`, each below [`classes`](Self::classes).
    pub fn labels(&self) -> &[u16] {
        &self.labels
    }

    /// Number of classes `C`.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Names of the classes `[C]`, where the dataset has any beyond the number.
    pub fn label_names(&self) -> Option<&[String]> {
        self.label_names.as_deref().map(Vec::as_slice)
    }

    /// Whose each example is, `[M]`, where the dataset knows.
    pub fn owners(&self) -> Option<&[u32]> {
        self.owners.as_deref()
    }

    /// Names of the owners by their number, where the dataset has any.
    pub fn owner_names(&self) -> Option<&[String]> {
        self.owner_names.as_deref().map(Vec::as_slice)
    }

    /// SHA-256 of features, labels, classes, the shape of an example, and owners. It is computed on first use.
    pub fn digest(&self) -> &str {
        self.digest.or(|| {
            let digest = self.features.digested_more(self.begun_digest(self.len()));
            self.ended_digest(digest, &self.labels, self.owners())
        })
    }

    /// A digest of `count` examples like these, begun up to their features.
    fn begun_digest(&self, count: usize) -> Digest {
        let digest = self.input.digested(Digest::of("examples"));
        let values = match &self.features {
            Features::Tokens(_) => count,
            Features::Bytes { .. } | Features::Numbers(_) => count * self.width(),
        };
        self.features
            .digested_first(digest.count(self.classes), values)
    }

    /// Ends a [begun](Self::begun_digest) digest after the last of the features.
    fn ended_digest(&self, digest: Digest, labels: &[u16], owners: Option<&[u32]>) -> Digest {
        self.features
            .digested_last(digest)
            .labels(labels)
            .owners(owners)
    }

    /// What a [`Partitioner`](crate::Partitioner) sees of the examples.
    pub fn labelled(&self) -> Labelled<'_> {
        Labelled {
            examples: self.len(),
            labels: &self.labels,
            classes: self.classes,
            owners: self.owners().map(Owners::Listed),
            text: matches!(self.input, Input::Tokens { .. }),
        }
    }

    /// The examples at `indices`, in that order.
    ///
    /// # Panics
    /// If there is no such example.
    pub fn selected(&self, indices: &[u32]) -> Self {
        let of = |index: &u32| *index as usize;
        let owners = self.owners.as_ref();
        Self {
            features: self.features.selected(indices, self.width()),
            labels: indices.iter().map(|index| self.labels[of(index)]).collect(),
            owners: owners.map(|owners| indices.iter().map(|index| owners[of(index)]).collect()),
            owner_names: self.owner_names.clone(),
            label_names: self.label_names.clone(),
            digest: Kept::default(),
            ..*self
        }
    }

    /// Appends the `others`, which are of the same dataset.
    fn append(&mut self, others: &Self) {
        assert_eq!(
            (self.input, self.classes, self.owners.is_some()),
            (others.input, others.classes, others.owners.is_some()),
            "pieces of one dataset are of one kind"
        );
        self.features.append(&others.features);
        self.labels.extend_from_slice(&others.labels);
        if let (Some(owners), Some(others)) = (&mut self.owners, &others.owners) {
            owners.extend_from_slice(others);
        }
        self.digest = Kept::default();
    }

    /// Makes room for exactly `count` examples more.
    fn reserve(&mut self, count: usize) {
        self.features.reserve(count, self.width());
        self.labels.reserve_exact(count);
        if let Some(owners) = &mut self.owners {
            owners.reserve_exact(count);
        }
    }

    /// These examples, then the `others` of the same dataset.
    pub(crate) fn followed_by(&self, others: &Self) -> Self {
        assert_eq!(
            (self.input, self.classes),
            (others.input, others.classes),
            "splits of one dataset are of one kind"
        );
        let owners = self.owners.as_ref().zip(others.owners.as_ref());
        Self {
            features: self.features.followed_by(&others.features),
            labels: [self.labels.as_slice(), &others.labels].concat(),
            owners: owners.map(|(first, second)| [first.as_slice(), second].concat()),
            owner_names: self.owner_names.clone(),
            label_names: self.label_names.clone(),
            digest: Kept::default(),
            ..*self
        }
    }

    /// The first `count` examples, and the others if there are any.
    ///
    /// # Panics
    /// If there are fewer.
    #[must_use]
    pub fn cut(mut self, count: usize) -> (Self, Option<Self>) {
        let others: Vec<u32> = (count as u32..self.len() as u32).collect();
        let others = (!others.is_empty()).then(|| self.selected(&others));
        self.features.truncate(count, self.width());
        self.labels.truncate(count);
        if let Some(owners) = &mut self.owners {
            owners.truncate(count);
        }
        self.digest = Kept::default();
        (self, others)
    }
}

/// Checks that `found` features make `examples` examples of `shape`.
fn expect_count(found: usize, examples: usize, shape: Shape) -> Result<(), DataError> {
    let width = shape.features();
    match found == examples * width {
        true => Ok(()),
        false => Err(DataError::FeatureCount {
            found,
            examples,
            width,
        }),
    }
}

#[cfg(test)]
mod tests;
