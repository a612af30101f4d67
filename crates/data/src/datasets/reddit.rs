//! `reddit`: predicts the next word of a comment.

mod authors;
mod cache;
pub(crate) mod comments;
pub(crate) mod dump;
pub(crate) mod fuzzing;
pub(crate) mod leaf;
mod months;
mod windows;
pub(crate) mod words;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::comments::{Comments, SPECIAL};
use super::Dataset;
use crate::datasets::published::{Published, even_runs};
use crate::files::excerpt::excerpt;
use crate::{DataError, DataFolder, DatasetSummary, Splits};

const NAME: &str = "reddit";
/// Bytes that unpacking a file and parsing a block of its lines take.
const UNPACKING: usize = 12 << 20;
/// Authors of 150 to 500 comments in November 2017 (DFedRW, section VI-A).
const AUTHORS: usize = 83_293;
/// Words of a comment for a plan before the comments are there; in the first months of 2006 they have 37.
const USUAL_WORDS: usize = 30;
/// Longest window: the longest comment is of 10,000 symbols.
const MOST_WINDOW: usize = 1 << 14;
/// The most test comments.
const MOST_TEST: usize = 100_000_000;

/// Settings of Reddit's comments: windows of words, the label being the word that follows.
///
/// A comment is `<bos>`, its words and `<eos>`. An example is a word and the `window` tokens before it in the comment,
/// with `<pad>` on the left where there are fewer, so that the last token of a window is always real. Tokens are
/// `<pad>`, `<unk>`, `<bos>`, `<eos>` and the most frequent words of the training comments. The owner of an example is
/// the author, so that `by_user` makes clients of authors; names are not kept.
///
/// # Source
/// DFedRW, section VI-A: comments of November 2017 by users of 150 to 500 posts, the 50,000 most frequent words, 5,000
/// comments of October 2017 for testing. LEAF (S. Caldas et al., arXiv:1812.01097) for what is a comment of a person and
/// for the words in it.
///
/// # Interpretation
/// Posts are counted after comments of programs, and those that were taken back, have been left out. The 50,000 words
/// include the four tokens that are none. Test comments are drawn uniformly from those of anybody in the test months, by
/// `seed` alone. The paper does not state the length of a window: LEAF's is 10. Authors are numbered in the order of
/// their first comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Reddit {
    /// Where comments come from.
    pub source: RedditSource,
    /// Months of the training comments, such as `2017-11`, read from `RC_2017-11.zst`, `.xz`, `.bz2`, `.gz` or plain.
    pub train_months: Vec<String>,
    /// Months of the test comments.
    pub test_months: Vec<String>,
    /// The fewest comments of an author in the training months; by default 150 of dumps, 1 of LEAF's files.
    pub min_posts: Option<usize>,
    /// The most comments of an author; by default 500 of dumps, any number of LEAF's files.
    pub max_posts: Option<usize>,
    /// Test comments, or fewer if there are not as many.
    pub test_comments: usize,
    /// Tokens, `<pad>`, `<unk>`, `<bos>` and `<eos>` among them.
    pub vocabulary: usize,
    /// Tokens of a window, `T`.
    pub window: usize,
    /// Each `stride`-th next word of an author is an example.
    pub stride: usize,
    /// Which test comments; independent of the run's seed.
    pub seed: u64,
}

/// Where comments come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RedditSource {
    /// Pushshift's dumps of whole months.
    #[default]
    Pushshift,
    /// LEAF's json, the files of the folders `train` and `test`; months say nothing.
    Leaf,
}

impl Default for Reddit {
    fn default() -> Self {
        Self {
            source: RedditSource::Pushshift,
            train_months: vec!["2017-11".into()],
            test_months: vec!["2017-10".into()],
            min_posts: None,
            max_posts: None,
            test_comments: 5000,
            vocabulary: 50_000,
            window: 10,
            stride: 1,
            seed: 0,
        }
    }
}

/// The comments that a dataset consists of, before they are cut into windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChosenComments {
    pub(crate) train: Comments,
    pub(crate) test: Comments,
    /// Tokens of the vocabulary.
    pub(crate) tokens: usize,
}

impl Dataset for Reddit {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Checks the settings.
    fn validate(&self) -> Result<(), DataError> {
        let ranges = [
            ("test_comments", self.test_comments, 1, MOST_TEST),
            ("vocabulary", self.vocabulary, SPECIAL + 1, 1 << 16),
            ("window", self.window, 1, MOST_WINDOW),
            ("stride", self.stride, 1, u32::MAX as usize),
            ("min_posts", self.posts().0, 1, u32::MAX as usize),
            (
                "max_posts",
                self.posts().1,
                self.posts().0,
                u32::MAX as usize,
            ),
        ];
        for (setting, found, least, most) in ranges {
            DataError::expect_between(NAME, setting, found, least..=most)?;
        }
        if self.source == RedditSource::Pushshift {
            months_of("train_months", &self.train_months, &[])?;
            months_of("test_months", &self.test_months, &self.train_months)?;
        }
        Ok(())
    }

    /// Reads the comments and cuts them into windows.
    fn load(&self, folder: &DataFolder) -> Result<Splits, DataError> {
        self.validate()?;
        let chosen = months::chosen(self, folder)?;
        windows::splits(&chosen, self.window, self.stride)
    }

    /// Reads the comments without cutting them.
    fn summary(&self, folder: &DataFolder) -> Result<DatasetSummary, DataError> {
        self.validate()?;
        let chosen = months::chosen(self, folder)?;
        windows::summary(&chosen, self.window, self.stride)
    }

    /// DFedRW's figures, if these are its months. Each author has the fewest comments, each of the usual number of
    /// words.
    fn published(&self) -> Result<Option<Published>, DataError> {
        self.validate()?;
        let usual = Self::default();
        let asked = (self.source, &self.train_months, self.posts());
        if asked != (usual.source, &usual.train_months, usual.posts()) {
            return Ok(None);
        }
        let fewest = usual.posts().0;
        let windows = |comments: usize| (comments * (USUAL_WORDS + 1)).div_ceil(self.stride);
        let (train, test) = (AUTHORS * windows(fewest), windows(self.test_comments));
        let tokens = (AUTHORS * fewest + self.test_comments) * (USUAL_WORDS + 1 + self.window);
        let owners = [
            even_runs(train, AUTHORS, 0),
            even_runs(test, self.test_comments, AUTHORS),
        ];
        let sizes = [self.window, self.vocabulary, tokens];
        Ok(Some(Published {
            summary: DatasetSummary::of_unseen_text(sizes, [train, test], owners.concat()),
            figures: format!(
                "{AUTHORS} authors (DFedRW, section VI-A) of {fewest} comments, the fewest that they have, of \
                 {USUAL_WORDS} words, which nobody states"
            ),
        }))
    }

    /// The comments as words, before they are cut into windows, which are at most half as long; and what unpacking and
    /// parsing files takes.
    fn reading_bytes(&self, summary: &DatasetSummary, _threads: usize) -> usize {
        summary.feature_bytes() / 2 + UNPACKING
    }

    fn own_files(&self, _folder: &DataFolder) -> Result<Vec<PathBuf>, DataError> {
        Ok(Vec::new())
    }
}

impl Reddit {
    /// The fewest and the most comments of an author.
    fn posts(&self) -> (usize, usize) {
        let (fewest, most) = match self.source {
            RedditSource::Pushshift => (150, 500),
            RedditSource::Leaf => (1, u32::MAX as usize),
        };
        (
            self.min_posts.unwrap_or(fewest),
            self.max_posts.unwrap_or(most),
        )
    }
}

/// Checks that there are `months`, that they are well formed, and that none is among the `others`.
fn months_of(setting: &'static str, months: &[String], others: &[String]) -> Result<(), DataError> {
    let wrong = |found: String, needed: &str| DataError::setting(NAME, setting, found, needed);
    if months.is_empty() {
        return Err(wrong("empty".into(), "a month such as 2017-11"));
    }
    for (index, month) in months.iter().enumerate() {
        let digits =
            |part: &str, count| part.len() == count && part.bytes().all(|b| b.is_ascii_digit());
        let dates = |(year, month)| digits(year, 4) && digits(month, 2);
        if !month.split_once('-').is_some_and(dates) {
            let found = format!("{:?}", excerpt(month));
            return Err(wrong(found, "a month such as 2017-11"));
        }
        if others.contains(month) || months[..index].contains(month) {
            return Err(wrong(month.clone(), "a month that is not named before"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(change: impl FnOnce(&mut Reddit)) -> String {
        let mut settings = Reddit::default();
        change(&mut settings);
        settings.validate().unwrap_err().to_string()
    }

    #[test]
    fn settings_out_of_range_are_named() {
        Reddit::default().validate().unwrap();
        assert_eq!(
            refusal(|r| r.vocabulary = 4),
            "reddit: vocabulary is 4, from 5 to 65536 needed"
        );
        assert_eq!(
            refusal(|r| r.max_posts = Some(10)),
            "reddit: max_posts is 10, from 150 to 4294967295 needed"
        );
        assert_eq!(
            refusal(|r| r.train_months = vec!["2017-11/../x".into()]),
            "reddit: train_months is \"2017-11/../x\", a month such as 2017-11 needed"
        );
        assert_eq!(
            refusal(|r| r.test_months = vec!["2017-11".into()]),
            "reddit: test_months is 2017-11, a month that is not named before needed"
        );
        assert_eq!(
            refusal(|r| r.test_months.clear()),
            "reddit: test_months is empty, a month such as 2017-11 needed"
        );
    }
}
