//! Cuts comments into windows of words.

use std::sync::Arc;

use super::comments::{BEGIN, Comments, END, PAD};
use super::{Chosen, NAME};
use crate::{DataError, Examples, Splits};

/// The examples of `chosen`: windows of `window` tokens, one for each `stride`-th next word of an author.
pub(super) fn splits(chosen: &Chosen, window: usize, stride: usize) -> Result<Splits, DataError> {
    let text_of =
        |comments: &Comments| comments.tokens.len() + comments.lengths.len() * (window + 1);
    let tokens = text_of(&chosen.train) + text_of(&chosen.test);
    if u32::try_from(tokens).is_err() {
        return Err(DataError::Unmet {
            dataset: NAME,
            reason: format!(
                "comments with the padding of their windows make {tokens} tokens, at most {} fit; \
                 take fewer months, a smaller max_posts or a smaller window",
                u32::MAX
            ),
        });
    }
    let mut text = Text {
        tokens: Vec::with_capacity(tokens),
        window,
        stride: stride as u32,
    };
    let train = text.append(&chosen.train);
    let test = text.append(&chosen.test);
    let text = Arc::new(text.tokens);
    let examples = |(starts, owners): (Vec<u32>, Vec<u32>)| {
        let examples = Examples::windows(text.clone(), starts, window, chosen.tokens)?;
        Ok::<_, DataError>(Arc::new(examples.with_owners(owners)))
    };
    Ok(Splits {
        train: examples(train)?,
        test: examples(test)?,
    })
}

/// One comment after another, each with the padding of its first window.
struct Text {
    tokens: Vec<u16>,
    window: usize,
    stride: u32,
}

impl Text {
    /// Appends `comments`; the starts of their windows and whose they are.
    fn append(&mut self, comments: &Comments) -> (Vec<u32>, Vec<u32>) {
        let (mut starts, mut owners) = (Vec::new(), Vec::new());
        let authors = comments
            .owners
            .iter()
            .max()
            .map_or(0, |last| *last as usize + 1);
        // How many next words to pass over before the author's next example.
        let mut wait = vec![0; authors];
        let mut words = comments.tokens.as_slice();
        for (&length, &owner) in comments.lengths.iter().zip(&comments.owners) {
            let begin = self.tokens.len();
            let (comment, others) = words.split_at(length as usize);
            words = others;
            self.tokens.resize(begin + self.window - 1, PAD);
            self.tokens.push(BEGIN);
            self.tokens.extend(comment);
            self.tokens.push(END);
            let wait = &mut wait[owner as usize];
            for start in begin as u32..=begin as u32 + length {
                match wait {
                    0 => {
                        starts.push(start);
                        owners.push(owner);
                        *wait = self.stride - 1;
                    }
                    _ => *wait -= 1,
                }
            }
        }
        (starts, owners)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen() -> Chosen {
        let train = Comments {
            tokens: vec![4, 5, 6, 7],
            lengths: vec![2, 1, 1],
            owners: vec![1, 0, 1],
        };
        let test = Comments {
            tokens: vec![8],
            lengths: vec![1],
            owners: vec![2],
        };
        Chosen {
            train,
            test,
            tokens: 9,
        }
    }

    #[test]
    fn windows_end_in_a_real_token_and_are_padded_on_the_left() {
        let splits = splits(&chosen(), 3, 1).unwrap();
        let (train, test) = (&splits.train, &splits.test);
        assert_eq!(train.labels(), [4, 5, END, 6, END, 7, END]);
        assert_eq!(train.owners().unwrap(), [1, 1, 1, 0, 0, 1, 1]);
        let row = |index| {
            train
                .row(index)
                .iter()
                .map(|token| *token as u16)
                .collect::<Vec<_>>()
        };
        assert_eq!(row(0), [PAD, PAD, BEGIN]);
        assert_eq!(row(1), [PAD, BEGIN, 4]);
        assert_eq!(row(2), [BEGIN, 4, 5]);
        assert_eq!(row(3), [PAD, PAD, BEGIN]);
        assert_eq!(test.labels(), [8, END]);
        assert_eq!(test.owners().unwrap(), [2, 2]);
    }

    #[test]
    fn a_stride_counts_the_next_words_of_an_author_over_comments() {
        let train = splits(&chosen(), 1, 2).unwrap().train;
        // Author 1 has the next words 4, 5, end, 7, end; author 0 has 6, end.
        assert_eq!(train.labels(), [4, END, 6, END]);
        assert_eq!(train.owners().unwrap(), [1, 1, 0, 1]);
    }
}
