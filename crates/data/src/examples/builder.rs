//! Examples that come in pieces, one after another, so that nobody has to hold all of them.

use std::sync::Arc;

use super::{Examples, Features, Splits};

impl Splits {
    /// Hands the training examples to `see`, in order, in pieces of at most `most` bytes of features; larger examples
    /// come one by one. Returns these splits without training examples.
    pub fn in_pieces(self, most: usize, see: &mut dyn FnMut(&Examples)) -> Self {
        self.train.each_piece(most, see);
        Self {
            train: Arc::new(self.train.selected(&[])),
            ..self
        }
    }
}

impl Examples {
    /// Hands these examples to `see` in pieces, as [`Splits::in_pieces`] does.
    pub fn each_piece(&self, most: usize, see: &mut dyn FnMut(&Self)) {
        let all: Vec<u32> = (0..self.len() as u32).collect();
        for piece in all.chunks(self.per_piece(most)) {
            see(&self.selected(piece));
        }
    }

    /// How many of these examples have at most `most` bytes of features; at least one.
    fn per_piece(&self, most: usize) -> usize {
        let each = match self.features() {
            Features::Bytes { .. } => self.width(),
            Features::Numbers(_) => size_of::<f32>() * self.width(),
            Features::Tokens(_) => size_of::<u32>(),
        };
        per_piece(most, each)
    }
}

/// How many examples of `each` bytes of features make a piece of at most `most`; at least one.
pub(crate) fn per_piece(most: usize, each: usize) -> usize {
    (most / each.max(1)).max(1)
}

/// Joins examples that come in pieces. Memory is reserved once, and nothing is moved.
#[derive(Debug)]
pub struct ExamplesBuilder {
    /// How many are expected.
    room: usize,
    examples: Option<Examples>,
}

impl ExamplesBuilder {
    /// An empty builder with room for `room` examples.
    pub fn of(room: usize) -> Self {
        Self {
            room,
            examples: None,
        }
    }

    /// Appends the examples of the next piece.
    ///
    /// # Panics
    /// If they are of another kind than those before.
    pub fn push(&mut self, piece: &Examples) {
        let room = self.room;
        let gathered = self.examples.get_or_insert_with(|| {
            let mut none = piece.selected(&[]);
            none.reserve(room);
            none
        });
        gathered.append(piece);
    }

    /// The examples of all pieces. They take their names and the text of windows from `like`, which is of the same
    /// dataset: pieces from another process have neither.
    pub fn finish(self, like: &Examples) -> Examples {
        let Some(mut examples) = self.examples else {
            return like.selected(&[]);
        };
        examples.label_names.clone_from(&like.label_names);
        examples.owner_names.clone_from(&like.owner_names);
        if let (Features::Tokens(own), Features::Tokens(like)) =
            (&mut examples.features, &like.features)
        {
            own.text = like.text.clone();
        }
        examples
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scale, Shape};

    #[test]
    fn pieces_make_the_examples_again_and_none_is_larger_than_asked_for() {
        let bytes: Vec<u8> = (0..30).collect();
        let labels = (0..10).map(|label| label % 3).collect();
        let train = Examples::new(bytes, labels, Shape::flat(3), 3, Scale::UNIT).unwrap();
        let train = train
            .with_owners((0..10).collect())
            .with_label_names(&["a", "b", "c"]);
        let splits = Splits {
            test: Arc::new(train.selected(&[1])),
            train: Arc::new(train),
            validation: None,
        };
        for (most, pieces) in [(7, 5), (6, 5), (1, 10), (100, 1)] {
            let (mut builder, mut seen) = (ExamplesBuilder::of(10), Vec::new());
            let left = splits.clone().in_pieces(most, &mut |piece| {
                seen.push(piece.features().bytes());
                builder.push(piece);
            });
            assert_eq!(seen.len(), pieces, "pieces of {most} bytes");
            assert!(seen.iter().all(|bytes| *bytes <= most.max(3)));
            assert!(left.train.is_empty());
            let gathered = builder.finish(&left.train);
            assert_eq!(gathered, *splits.train);
            assert_eq!(gathered.digest(), splits.train.digest());
        }
    }
}
