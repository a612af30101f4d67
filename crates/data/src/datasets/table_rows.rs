//! Rows of a user's table or arrays, which go straight to the split that they belong to.
//!
//! Labels and clients are read first. They say how many rows there are and which of them test, so that there is room for
//! exactly their features when these are read: none is moved afterwards.

use std::collections::BTreeSet;
use std::mem;
use std::path::Path;
use std::sync::Arc;

use crate::datasets::standard::{Means, Standard};
use crate::examples::per_piece;
use crate::files::excerpt::listed;
use crate::{DataError, DatasetSummary, Examples, Input, Splits};

/// Bytes of numbers that are held before they are standardised.
pub(crate) const PIECE: usize = 1 << 24;

/// Different labels that even a small table may have, such as marks with halves.
const MOST_RATINGS: usize = 20;

/// Bytes of the numbers that are held in double precision before they are standardised: those of the test rows, and of a piece of the
/// training rows.
pub(crate) fn doubles_of(summary: &DatasetSummary) -> usize {
    let train = summary.train_bytes();
    2 * (summary.feature_bytes() - train) + PIECE.min(2 * train)
}

/// Rows without their features.
#[derive(Debug)]
pub(crate) struct Tagged {
    /// The class of each row, `[M]`.
    pub(crate) labels: Vec<u16>,
    /// Number of classes.
    pub(crate) classes: usize,
    /// Whose each row is, `[M]`.
    pub(crate) clients: Option<Vec<u32>>,
    /// Names of the classes, and of the clients, where they have any.
    pub(crate) label_names: Option<Vec<String>>,
    pub(crate) client_names: Option<Vec<String>>,
    /// The rows that train, ascending.
    pub(crate) train: Vec<u32>,
    /// The rows that test, ascending.
    pub(crate) test: Vec<u32>,
    /// The rows kept apart for validation, ascending.
    pub(crate) validation: Vec<u32>,
}

impl Tagged {
    /// The summary of the examples, whose features are bytes.
    pub(crate) fn summary(&self, input: Input) -> DatasetSummary {
        let (train, test) = (&self.train, &self.test);
        let labels = |rows| at(&self.labels, rows);
        let summary = DatasetSummary::new(input, self.classes, &labels(train), &labels(test));
        let summary = summary.with_ranked_labels(self.label_names.is_some());
        match &self.clients {
            Some(clients) => summary.with_owners([at(clients, train), at(clients, test)].concat()),
            None => summary,
        }
    }

    /// The splits of these rows with the features `dealt`; `of` joins the features of one split with its labels.
    ///
    /// # Errors
    /// Those of `of`.
    pub(crate) fn splits<T>(
        &self,
        dealt: RowsBySplit<'_, T>,
        of: impl Fn(Vec<T>, Vec<u16>) -> Result<Examples, DataError>,
    ) -> Result<Splits, DataError> {
        let owners = self.client_names.clone().map(Arc::new);
        let examples = |features, rows: &[u32]| {
            let examples = of(features, at(&self.labels, rows))?;
            Ok::<_, DataError>(Arc::new(self.with_names(examples, rows, owners.as_ref())))
        };
        Ok(Splits {
            train: examples(dealt.train, &self.train)?,
            test: examples(dealt.test, &self.test)?,
            validation: match self.validation.as_slice() {
                [] => None,
                rows => Some(examples(dealt.validation, rows)?),
            },
        })
    }

    /// As [`Tagged::splits`], but hands the training rows to `see` in pieces of at most `most` bytes; a row has `width`
    /// features. `read` reads all rows in order.
    ///
    /// # Errors
    /// Those of `read` and `of`.
    pub(crate) fn splits_in_pieces<T>(
        &self,
        [most, width]: [usize; 2],
        read: impl FnOnce(&mut RowsBySplit<'_, T>) -> Result<(), DataError>,
        of: impl Fn(Vec<T>, Vec<u16>) -> Result<Examples, DataError>,
        see: &mut dyn FnMut(&Examples),
    ) -> Result<Splits, DataError> {
        let owners = self.client_names.clone().map(Arc::new);
        let examples = |features, rows: &[u32]| {
            let examples = of(features, at(&self.labels, rows))?;
            Ok::<_, DataError>(self.with_names(examples, rows, owners.as_ref()))
        };
        let (mut first, mut failed) = (0, None);
        let mut on = |features: Vec<T>| {
            let rows = &self.train[first..][..features.len() / width];
            first += rows.len();
            match examples(features, rows) {
                Ok(piece) => see(&piece),
                Err(error) => failed = failed.take().or(Some(error)),
            }
        };
        let step = per_piece(most, width * size_of::<T>());
        let mut dealt = RowsBySplit::in_pieces(self, [step, width], &mut on);
        read(&mut dealt)?;
        let [test, validation] = dealt.finish();
        if let Some(error) = failed {
            return Err(error);
        }
        Ok(Splits {
            train: Arc::new(examples(Vec::new(), &[])?),
            test: Arc::new(examples(test, &self.test)?),
            validation: match self.validation.as_slice() {
                [] => None,
                rows => Some(Arc::new(examples(validation, rows)?)),
            },
        })
    }

    /// As [`Tagged::splits`], but gives each of the `width` features mean 0 and deviation 1 over the training rows.
    /// Numbers are rounded to single precision only then, because a feature with a large offset would lose its
    /// differences before. `read` reads all rows in order; it is called three times, so that at most one piece of the
    /// training rows is held in double precision.
    ///
    /// # Errors
    /// [`DataError::Unmet`] if there is not as much memory; those of `read` and `of`.
    pub(crate) fn standardised(
        &self,
        dataset: &'static str,
        width: usize,
        read: impl Fn(&mut RowsBySplit<'_, f64>) -> Result<(), DataError>,
        of: impl Fn(Vec<f32>, Vec<u16>) -> Result<Examples, DataError>,
    ) -> Result<Splits, DataError> {
        let standard = self.standard([PIECE, width], &read)?;
        let mut rows = RowsBySplit::of(dataset, self, width)?;
        let mut keep = |piece| rows.train.extend(standard.of_doubles(piece));
        let [test, validation] = self.each_piece([PIECE, width], &read, &mut keep)?;
        rows.test.extend(standard.of_doubles(test));
        rows.validation.extend(standard.of_doubles(validation));
        self.splits(rows, of)
    }

    /// As [`Tagged::standardised`] and [`Tagged::splits_in_pieces`]: pieces are of at most `most` bytes once they are standardised.
    ///
    /// # Errors
    /// Those of `read` and `of`.
    pub(crate) fn standardised_in_pieces(
        &self,
        [most, width]: [usize; 2],
        read: impl Fn(&mut RowsBySplit<'_, f64>) -> Result<(), DataError>,
        of: impl Fn(Vec<f32>, Vec<u16>) -> Result<Examples, DataError>,
        see: &mut dyn FnMut(&Examples),
    ) -> Result<Splits, DataError> {
        // Double precision takes twice the bytes.
        let sizes = [most.saturating_mul(2), width];
        let standard = self.standard(sizes, &read)?;
        let of = |numbers, labels| of(standard.of_doubles(numbers), labels);
        self.splits_in_pieces(sizes, read, of, see)
    }

    /// Mean and deviation of each feature over the training rows.
    fn standard(
        &self,
        [most, width]: [usize; 2],
        read: impl Fn(&mut RowsBySplit<'_, f64>) -> Result<(), DataError>,
    ) -> Result<Standard, DataError> {
        let mut means = Means::of(width);
        self.each_piece([most, width], &read, &mut |piece| means.add(&piece))?;
        let mut deviations = means.finish();
        self.each_piece([most, width], &read, &mut |piece| deviations.add(&piece))?;
        Ok(deviations.finish())
    }

    /// Gives `see` the numbers of the training rows in pieces of at most `most` bytes; returns those of the test
    /// rows and of the rows kept apart.
    pub(crate) fn each_piece(
        &self,
        [most, width]: [usize; 2],
        read: impl Fn(&mut RowsBySplit<'_, f64>) -> Result<(), DataError>,
        see: &mut dyn FnMut(Vec<f64>),
    ) -> Result<[Vec<f64>; 2], DataError> {
        let step = per_piece(most, width * size_of::<f64>());
        let mut dealt = RowsBySplit::in_pieces(self, [step, width], see);
        read(&mut dealt)?;
        Ok(dealt.finish())
    }

    /// The names of the classes that test examples alone have.
    fn untrained(&self) -> Vec<String> {
        let of = |rows: &[u32]| BTreeSet::from_iter(at(&self.labels, rows));
        let untrained = &of(&self.test) - &of(&self.train);
        let names = self.label_names.as_ref();
        let name = |class: &u16| match names.and_then(|names| names.get(usize::from(*class))) {
            Some(name) => name.clone(),
            None => class.to_string(),
        };
        untrained.iter().map(name).collect()
    }

    /// Warns of classes that test examples alone have; `place` is where the labels are.
    pub(crate) fn warn_of_untrained(&self, dataset: &str, place: &Path) {
        let names = self.untrained();
        if names.is_empty() {
            return;
        }
        tracing::warn!(
            "{dataset}: {}: {} of the {} classes have test examples but none to train on: {}",
            place.display(),
            names.len(),
            self.classes,
            listed(names.iter().map(String::as_str)),
        );
    }

    /// The owners whose examples all test, of the `share` of all examples that was drawn; how many owners there are.
    fn owners_without_training(&self) -> (Vec<String>, usize) {
        let of = |rows: &[u32]| match &self.clients {
            Some(clients) => BTreeSet::from_iter(at(clients, rows)),
            None => BTreeSet::new(),
        };
        let (train, test) = (of(&self.train), of(&self.test));
        let names = self.client_names.as_ref();
        let name = |owner: &u32| match names.and_then(|names| names.get(*owner as usize)) {
            Some(name) => name.clone(),
            None => owner.to_string(),
        };
        let lost: Vec<String> = test.difference(&train).map(name).collect();
        let owners = train.len() + lost.len();
        (lost, owners)
    }

    /// Warns of owners whose examples all test, after a share of all examples was drawn: they would vanish without a word. `place` is
    /// where the owners are.
    pub(crate) fn warn_of_lost_owners(&self, dataset: &str, place: &Path) {
        let (lost, owners) = self.owners_without_training();
        if lost.is_empty() {
            return;
        }
        tracing::warn!(
            "{dataset}: {}: {} of the {owners} owners have test examples but none to train on, as `test.share` took all that they \
             have: {}; partitions by owners leave them out",
            place.display(),
            lost.len(),
            listed(lost.iter().map(String::as_str)),
        );
    }

    /// Whether the labels look like targets of a regression: numbers with fractions, of which most rows have one of their own.
    pub(crate) fn looks_like_regression(&self) -> bool {
        let Some(names) = &self.label_names else {
            return false;
        };
        let number = |name: &String| name.trim().parse::<f64>().ok();
        let numbers: Option<Vec<f64>> = names.iter().map(number).collect();
        let has_fractions = |numbers: Vec<f64>| numbers.iter().any(|number| number.fract() != 0.0);
        self.classes > MOST_RATINGS
            && 2 * self.classes > self.labels.len()
            && numbers.is_some_and(has_fractions)
    }

    fn with_names(
        &self,
        mut examples: Examples,
        rows: &[u32],
        owners: Option<&Arc<Vec<String>>>,
    ) -> Examples {
        if let Some(names) = &self.label_names {
            examples = examples.with_label_names(names);
        }
        if let Some(clients) = &self.clients {
            examples = examples.with_owners(at(clients, rows));
        }
        if let Some(names) = owners {
            examples = examples.with_owner_names(Arc::clone(names));
        }
        examples
    }
}

/// The `values` at `places`.
fn at<T: Copy>(values: &[T], places: &[u32]) -> Vec<T> {
    places.iter().map(|place| values[*place as usize]).collect()
}

/// Sorts the features of rows, read one after another, into their splits.
pub(crate) struct RowsBySplit<'a, T> {
    train: Vec<T>,
    test: Vec<T>,
    validation: Vec<T>,
    /// The test rows that are to come, the last first.
    testing: Vec<u32>,
    /// The rows for validation that are to come, the last first.
    kept_apart: Vec<u32>,
    next: u32,
    /// Where training rows are handed on, if not all of them are kept.
    pieces: Option<Pieces<'a, T>>,
}

/// The receiver of training rows in pieces.
struct Pieces<'a, T> {
    /// Features of a piece.
    full: usize,
    see: &'a mut dyn FnMut(Vec<T>),
}

impl<'a, T> RowsBySplit<'a, T> {
    /// Room for the rows of `tagged`, of `width` features each.
    ///
    /// # Errors
    /// [`DataError::Unmet`] if there is not as much memory.
    pub(crate) fn of(
        dataset: &'static str,
        tagged: &Tagged,
        width: usize,
    ) -> Result<Self, DataError> {
        let room = |rows: usize| {
            let mut features = Vec::new();
            features
                .try_reserve_exact(rows.saturating_mul(width))
                .map_err(|_| DataError::Unmet {
                    dataset,
                    reason: format!("no memory for {rows} rows of {width} features"),
                })?;
            Ok(features)
        };
        Ok(Self {
            train: room(tagged.train.len())?,
            test: room(tagged.test.len())?,
            validation: room(tagged.validation.len())?,
            testing: tagged.test.iter().rev().copied().collect(),
            kept_apart: tagged.validation.iter().rev().copied().collect(),
            next: 0,
            pieces: None,
        })
    }

    /// Gives the features of `step` training rows of `tagged` to `see` at a time, of `width` features each.
    pub(crate) fn in_pieces(
        tagged: &Tagged,
        [step, width]: [usize; 2],
        see: &'a mut dyn FnMut(Vec<T>),
    ) -> Self {
        Self {
            train: Vec::new(),
            test: Vec::new(),
            validation: Vec::new(),
            testing: tagged.test.iter().rev().copied().collect(),
            kept_apart: tagged.validation.iter().rev().copied().collect(),
            next: 0,
            pieces: Some(Pieces {
                full: step.min(tagged.train.len()) * width,
                see,
            }),
        }
    }

    /// The features of the test rows and of those kept apart, once all rows have been read. Also hands on the last
    /// training rows.
    pub(crate) fn finish(mut self) -> [Vec<T>; 2] {
        if let Some(pieces) = self.pieces.filter(|_| !self.train.is_empty()) {
            (pieces.see)(mem::take(&mut self.train));
        }
        [self.test, self.validation]
    }

    /// What the features of the next row are appended to.
    pub(crate) fn next_row(&mut self) -> &mut Vec<T> {
        let row = self.next;
        self.next += 1;
        let is_next = |first: &mut u32| *first == row;
        match (
            self.testing.pop_if(is_next),
            self.kept_apart.pop_if(is_next),
        ) {
            (Some(_), _) => &mut self.test,
            (None, Some(_)) => &mut self.validation,
            (None, None) => {
                if let Some(pieces) = &mut self.pieces
                    && self.train.len() >= pieces.full
                {
                    (pieces.see)(mem::take(&mut self.train));
                }
                if let Some(pieces) = &self.pieces
                    && self.train.is_empty()
                {
                    self.train.reserve_exact(pieces.full);
                }
                &mut self.train
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scale, Shape};

    fn tagged() -> Tagged {
        Tagged {
            labels: vec![0, 1, 2, 1],
            classes: 3,
            clients: Some(vec![7, 8, 9, 8]),
            label_names: None,
            client_names: None,
            train: vec![1, 2],
            test: vec![0, 3],
            validation: Vec::new(),
        }
    }

    #[test]
    fn rows_reach_their_splits_and_find_room_for_exactly_them() {
        let tagged = tagged();
        let mut dealt = RowsBySplit::of("csv", &tagged, 2).unwrap();
        let room = [dealt.train.capacity(), dealt.test.capacity()];
        for row in 0..4 {
            dealt.next_row().extend([row, row + 10]);
        }
        assert_eq!([dealt.train.capacity(), dealt.test.capacity()], room);
        assert_eq!(room, [4, 4]);
        let shape = Shape::flat(2);
        let of = |features, labels| Examples::new(features, labels, shape, 3, Scale::UNIT);
        let splits = tagged.splits(dealt, of).unwrap();
        assert_eq!(splits.train.bytes().unwrap(), [1, 11, 2, 12]);
        assert_eq!(splits.test.bytes().unwrap(), [0, 10, 3, 13]);
        assert_eq!(splits.test.owners(), Some([7, 8].as_slice()));
        assert_eq!(
            tagged.summary(Input::Numbers(shape)),
            DatasetSummary::of(&splits),
            "the summary without features is that of the examples"
        );
    }

    #[test]
    fn classes_that_only_test_examples_have_are_named() {
        let mut tagged = tagged();
        assert_eq!(tagged.untrained(), ["0"]);
        tagged.label_names = Some(["a", "b", "c"].map(str::to_owned).to_vec());
        assert_eq!(tagged.untrained(), ["a"]);
        tagged.test = vec![3];
        assert!(tagged.untrained().is_empty());
    }

    #[test]
    fn owners_whose_examples_all_test_are_named() {
        let mut tagged = tagged();
        assert_eq!(tagged.owners_without_training(), (vec!["7".to_owned()], 3));
        tagged.clients = Some(vec![0, 1, 2, 1]);
        tagged.client_names = Some(["ann", "bob", "cy"].map(str::to_owned).to_vec());
        let (lost, owners) = tagged.owners_without_training();
        assert_eq!((lost.join(" "), owners), ("ann".to_owned(), 3));
        tagged.test = vec![3];
        assert!(tagged.owners_without_training().0.is_empty());
        tagged.clients = None;
        assert_eq!(tagged.owners_without_training(), (Vec::new(), 0));
    }

    #[test]
    fn labels_with_fractions_that_nearly_all_differ_look_like_a_regression() {
        let looks = |names: &dyn Fn(usize) -> String, classes: usize, rows: usize| {
            let tagged = Tagged {
                labels: (0..rows).map(|row| (row % classes) as u16).collect(),
                classes,
                label_names: Some((0..classes).map(names).collect()),
                ..tagged()
            };
            tagged.looks_like_regression()
        };
        let price = |label: usize| format!("{}.25", 60 + label);
        let word = |label: usize| format!("kind {label}");
        let whole = |label: usize| (10 * label).to_string();
        assert!(looks(&price, 299, 300));
        assert!(!looks(&price, 100, 300), "three rows have each");
        assert!(!looks(&price, 10, 12), "they may be marks");
        assert!(!looks(&word, 299, 300));
        assert!(!looks(&whole, 299, 300));
        assert!(!tagged().looks_like_regression());
    }

    #[test]
    fn training_rows_go_on_in_pieces_and_test_rows_stay() {
        let tagged = tagged();
        let shape = Shape::flat(2);
        let of = |features, labels| Examples::new(features, labels, shape, 3, Scale::UNIT);
        for (most, expected) in [(1, vec![1, 1]), (4, vec![2]), (100, vec![2])] {
            let mut seen = Vec::new();
            let read = |dealt: &mut RowsBySplit<'_, u8>| {
                (0..4).for_each(|row| dealt.next_row().extend([row, row + 10]));
                Ok(())
            };
            let splits = tagged.splits_in_pieces([most, 2], read, of, &mut |piece| {
                seen.push(piece.clone());
            });
            let splits = splits.unwrap();
            let lengths: Vec<usize> = seen.iter().map(Examples::len).collect();
            assert_eq!(lengths, expected);
            assert_eq!(seen[0].bytes().unwrap()[..2], [1, 11]);
            assert_eq!(
                seen.iter()
                    .flat_map(Examples::labels)
                    .copied()
                    .collect::<Vec<_>>(),
                [1, 2]
            );
            assert_eq!(splits.test.bytes().unwrap(), [0, 10, 3, 13]);
            assert!(splits.train.is_empty());
        }
    }

    #[test]
    fn more_than_there_is_memory_for_is_an_error() {
        let refused = RowsBySplit::<f32>::of("csv", &tagged(), usize::MAX / 8);
        let error = refused.err().unwrap();
        assert!(
            error.to_string().contains("no memory for 2 rows"),
            "{error}"
        );
    }
}
