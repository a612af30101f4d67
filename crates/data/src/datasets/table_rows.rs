//! Rows of a user's table or arrays, which go straight to the split that they belong to.
//!
//! Labels and clients are read first. They say how many rows there are and which of them test, so that there is room for
//! exactly their features when these are read: none is moved afterwards.

use std::mem;
use std::sync::Arc;

use crate::datasets::own_tables::{Means, Standard};
use crate::examples::per_piece;
use crate::{DataError, DatasetSummary, Examples, Input, Splits};

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
}

impl Tagged {
    /// The summary of the examples, whose features are bytes.
    pub(crate) fn summary(&self, input: Input) -> DatasetSummary {
        let (train, test) = (&self.train, &self.test);
        let labels = |rows| at(&self.labels, rows);
        let summary = DatasetSummary::new(input, self.classes, &labels(train), &labels(test));
        match &self.clients {
            Some(clients) => summary.with_owners([at(clients, train), at(clients, test)].concat()),
            None => summary,
        }
    }

    /// The splits of these rows with the features that were `dealt`; `of` joins those of one split with its labels.
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
            validation: None,
        })
    }

    /// As [`Tagged::splits`], with the training rows handed to `see` in pieces of at most `most` bytes of their features, `width` of
    /// them to a row. `read` has all rows read in their order.
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
        let test = dealt.finish();
        if let Some(error) = failed {
            return Err(error);
        }
        Ok(Splits {
            train: Arc::new(examples(Vec::new(), &[])?),
            test: Arc::new(examples(test, &self.test)?),
            validation: None,
        })
    }

    /// [`Tagged::splits_in_pieces`] of numbers, which are standardised if `standardise` says so: `read` is called three times then.
    ///
    /// # Errors
    /// Those of `read` and `of`.
    pub(crate) fn numbers_in_pieces(
        &self,
        [most, width]: [usize; 2],
        standardise: bool,
        read: impl Fn(&mut RowsBySplit<'_, f32>) -> Result<(), DataError>,
        of: impl Fn(Vec<f32>, Vec<u16>) -> Result<Examples, DataError>,
        see: &mut dyn FnMut(&Examples),
    ) -> Result<Splits, DataError> {
        if !standardise {
            return self.splits_in_pieces([most, width], read, of, see);
        }
        let step = per_piece(most, width * size_of::<f32>());
        let each_piece = |see: &mut dyn FnMut(Vec<f32>)| {
            let mut dealt = RowsBySplit::in_pieces(self, [step, width], see);
            read(&mut dealt).map(|()| dealt.finish())
        };
        let mut means = Means::of(width);
        each_piece(&mut |piece| means.add(&piece))?;
        let mut deviations = means.finish();
        each_piece(&mut |piece| deviations.add(&piece))?;
        let standard = deviations.finish();
        let of = |mut numbers: Vec<f32>, labels| {
            standard.apply(&mut numbers, |value| value as f32);
            of(numbers, labels)
        };
        self.splits_in_pieces([most, width], read, of, see)
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

/// The features of rows that are read one after another.
pub(crate) struct RowsBySplit<'a, T> {
    train: Vec<T>,
    test: Vec<T>,
    /// The rows that test and are to come, the last first.
    testing: Vec<u32>,
    next: u32,
    /// Where those for training go on to, if not all of them are kept.
    pieces: Option<Pieces<'a, T>>,
}

/// Whoever takes the features of training rows in pieces.
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
            testing: tagged.test.iter().rev().copied().collect(),
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
            testing: tagged.test.iter().rev().copied().collect(),
            next: 0,
            pieces: Some(Pieces {
                full: step.min(tagged.train.len()) * width,
                see,
            }),
        }
    }

    /// The features of the test rows, once all rows have been read. Those of the last training rows go on as well.
    pub(crate) fn finish(mut self) -> Vec<T> {
        if let Some(pieces) = self.pieces.filter(|_| !self.train.is_empty()) {
            (pieces.see)(mem::take(&mut self.train));
        }
        self.test
    }

    /// What the features of the next row are appended to.
    pub(crate) fn next_row(&mut self) -> &mut Vec<T> {
        let row = self.next;
        self.next += 1;
        match self.testing.pop_if(|first| *first == row) {
            Some(_) => &mut self.test,
            None => {
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

impl RowsBySplit<'_, f32> {
    /// Gives every one of `width` features mean 0 and deviation 1 over the training rows.
    pub(crate) fn standardise(&mut self, width: usize) {
        let standard = Standard::of(&self.train, width);
        standard.apply(&mut self.train, |value| value as f32);
        standard.apply(&mut self.test, |value| value as f32);
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
