//! Rows of a user's table or arrays, which go straight to the split that they belong to.
//!
//! Labels and clients are read first. They say how many rows there are and which of them test, so that there is room for
//! exactly their features when these are read: none is moved afterwards.

use std::sync::Arc;

use crate::datasets::own_tables::Standard;
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
        dealt: RowsBySplit<T>,
        of: impl Fn(Vec<T>, Vec<u16>) -> Result<Examples, DataError>,
    ) -> Result<Splits, DataError> {
        let owners = self.client_names.clone().map(Arc::new);
        let examples = |features, rows: &[u32]| {
            let mut examples = of(features, at(&self.labels, rows))?;
            if let Some(names) = &self.label_names {
                examples = examples.with_label_names(names);
            }
            if let Some(clients) = &self.clients {
                examples = examples.with_owners(at(clients, rows));
            }
            if let Some(names) = &owners {
                examples = examples.with_owner_names(Arc::clone(names));
            }
            Ok::<_, DataError>(Arc::new(examples))
        };
        Ok(Splits {
            train: examples(dealt.train, &self.train)?,
            test: examples(dealt.test, &self.test)?,
            validation: None,
        })
    }
}

/// The `values` at `places`.
fn at<T: Copy>(values: &[T], places: &[u32]) -> Vec<T> {
    places.iter().map(|place| values[*place as usize]).collect()
}

/// The features of rows that are read one after another.
#[derive(Debug)]
pub(crate) struct RowsBySplit<T> {
    train: Vec<T>,
    test: Vec<T>,
    /// The rows that test and are to come, the last first.
    testing: Vec<u32>,
    next: u32,
}

impl<T> RowsBySplit<T> {
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
        })
    }

    /// What the features of the next row are appended to.
    pub(crate) fn next_row(&mut self) -> &mut Vec<T> {
        let row = self.next;
        self.next += 1;
        match self.testing.pop_if(|first| *first == row) {
            Some(_) => &mut self.test,
            None => &mut self.train,
        }
    }
}

impl RowsBySplit<f32> {
    /// Gives every one of `width` features mean 0 and deviation 1 over the training rows.
    pub(crate) fn standardise(&mut self, width: usize) {
        let standard = Standard::of(&self.train, width);
        standard.apply(&mut self.train);
        standard.apply(&mut self.test);
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
    fn more_than_there_is_memory_for_is_an_error() {
        let error = RowsBySplit::<f32>::of("csv", &tagged(), usize::MAX / 8).unwrap_err();
        assert!(
            error.to_string().contains("no memory for 2 rows"),
            "{error}"
        );
    }
}
