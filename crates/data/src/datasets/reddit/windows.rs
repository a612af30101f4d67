//! Cuts comments into windows of words.

use std::iter::StepBy;
use std::ops::Range;
use std::sync::Arc;

use super::comments::{BEGIN, Comments, END, PAD};
use super::{ChosenComments, NAME};
use crate::{DataError, DatasetSummary, Examples, Input, Splits};

/// The examples of `chosen`: windows of `window` tokens, one for each `stride`-th next word of an author.
pub(super) fn splits(
    chosen: &ChosenComments,
    window: usize,
    stride: usize,
) -> Result<Splits, DataError> {
    let mut text = Vec::with_capacity(text_length(chosen, window)?);
    let train = cut(&chosen.train, window, stride, &mut text);
    let test = cut(&chosen.test, window, stride, &mut text);
    let text = Arc::new(text);
    let examples = |(starts, owners): (Vec<u32>, Vec<u32>)| {
        let examples = Examples::windows(text.clone(), starts, window, chosen.tokens)?;
        Ok::<_, DataError>(Arc::new(examples.with_owners(owners)))
    };
    Ok(Splits {
        train: examples(train)?,
        test: examples(test)?,
        validation: None,
    })
}

/// The summary of the examples that [`splits`] would give, without their text.
pub(super) fn summary(
    chosen: &ChosenComments,
    window: usize,
    stride: usize,
) -> Result<DatasetSummary, DataError> {
    let tokens = text_length(chosen, window)?;
    let labelled = |comments: &Comments| {
        let (mut labels, mut owners) = room(comments, stride);
        each_comment(comments, stride, |words, owner, places| {
            for place in places {
                labels.push(words.get(place).copied().unwrap_or(END));
                owners.push(owner);
            }
        });
        (labels, owners)
    };
    let (train, mut owners) = labelled(&chosen.train);
    let (test, others) = labelled(&chosen.test);
    owners.extend(others);
    let input = Input::Tokens { window };
    let summary = DatasetSummary::new(input, chosen.tokens, &train, &test);
    Ok(summary.of_text(tokens).with_owners(owners))
}

/// Tokens of the text that all windows lie in.
fn text_length(chosen: &ChosenComments, window: usize) -> Result<usize, DataError> {
    let of = |comments: &Comments| comments.tokens.len() + comments.lengths.len() * (window + 1);
    let tokens = of(&chosen.train) + of(&chosen.test);
    if u32::try_from(tokens).is_ok() {
        return Ok(tokens);
    }
    Err(DataError::Unmet {
        dataset: NAME,
        reason: format!(
            "comments with the padding of their windows make {tokens} tokens, at most {} fit; \
             take fewer months, a smaller max_posts or a smaller window",
            u32::MAX
        ),
    })
}

/// Appends `comments` to the `text`, each with the padding of its first window. Returns the starts of their windows,
/// and the owners.
fn cut(
    comments: &Comments,
    window: usize,
    stride: usize,
    text: &mut Vec<u16>,
) -> (Vec<u32>, Vec<u32>) {
    let (mut starts, mut owners) = room(comments, stride);
    each_comment(comments, stride, |words, owner, places| {
        let begin = text.len();
        text.resize(begin + window - 1, PAD);
        text.push(BEGIN);
        text.extend(words);
        text.push(END);
        for place in places {
            starts.push((begin + place) as u32);
            owners.push(owner);
        }
    });
    (starts, owners)
}

/// Calls `see` with the words of each comment, its owner, and which of its next words (the end included) are examples.
fn each_comment(
    comments: &Comments,
    stride: usize,
    mut see: impl FnMut(&[u16], u32, StepBy<Range<usize>>),
) {
    // How many next words to pass over before the author's next example.
    let mut wait = vec![0; authors(comments)];
    let mut words = comments.tokens.as_slice();
    for (&length, &owner) in comments.lengths.iter().zip(&comments.owners) {
        let (comment, others) = words.split_at(length as usize);
        words = others;
        let (wait, following) = (&mut wait[owner as usize], comment.len() + 1);
        let places = (*wait..following).step_by(stride);
        *wait = *wait + places.len() * stride - following;
        see(comment, owner, places);
    }
}

/// Room for two numbers of every example.
fn room<A, B>(comments: &Comments, stride: usize) -> (Vec<A>, Vec<B>) {
    let following = comments.tokens.len() + comments.lengths.len();
    let most = following.min(following / stride + authors(comments));
    (Vec::with_capacity(most), Vec::with_capacity(most))
}

fn authors(comments: &Comments) -> usize {
    let last = comments.owners.iter().max();
    last.map_or(0, |last| *last as usize + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen() -> ChosenComments {
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
        ChosenComments {
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

    #[test]
    fn the_outline_is_that_of_the_windows() {
        for (window, stride) in [(3, 1), (1, 2), (2, 3), (4, 100)] {
            let summary = summary(&chosen(), window, stride).unwrap();
            let splits = splits(&chosen(), window, stride).unwrap();
            assert_eq!(summary, DatasetSummary::of(&splits), "{window} {stride}");
        }
    }
}
