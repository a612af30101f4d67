//! `shakespeare`: predicts the next character of what Shakespeare's roles say.

pub(crate) mod complete_works;
pub(crate) mod speeches;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Dataset;
use crate::datasets::published::{Published, dealt_evenly, in_turn};
use crate::{DataError, DataFolder, DatasetSummary, Examples, Input, Manifest, Splits};

const NAME: &str = "shakespeare";
/// Characters that the etext has beyond those of a file of today, and room for others.
const MOST_SYMBOLS: usize = 1 << 12;
/// Longest window: a play.
const MOST_WINDOW: usize = 1 << 16;

/// Settings of Shakespeare's roles: windows of characters, the label being the character that follows.
///
/// Windows do not cross from one role to another. The owner of a window is its role, so that `by_role` makes clients of
/// roles. The alphabet is that of the roles' words, in the order of Unicode. Roles of so few words that nothing would
/// be left to test with are left out.
///
/// # Source
/// LEAF (S. Caldas et al., arXiv:1812.01097) after H. B. McMahan et al. (arXiv:1602.05629). With `stride: 1` and
/// `train_percent: 90` the complete works give LEAF's 660 roles.
///
/// # Interpretation
/// Of the `w` windows that a role would have with stride 1 the first `train_percent` are for training, and those are for
/// testing that begin where the last of them ends, as in LEAF; of both the first is taken and then each `stride`-th.
/// LEAF's plain command trains on nine tenths, the one it gives for the full dataset, and FedAvg's authors, on four
/// fifths: the default. LEAF has stride 1; the default is a whole window, so that each character is a target once where
/// a model learns from every position, and an epoch reads the text once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Shakespeare {
    /// Which text.
    pub source: ShakespeareSource,
    /// Characters of a window, `T`.
    pub window: usize,
    /// Characters from the beginning of a window to that of the next; as many as the window has if absent.
    pub stride: Option<usize>,
    /// How much of each role is for training, from its beginning; the rest is for testing.
    pub train_percent: usize,
}

/// A text of Shakespeare's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShakespeareSource {
    /// The complete works, Project Gutenberg's etext 100 of January 1994; a role is a character of a play.
    #[default]
    Complete,
    /// "Tiny Shakespeare" (A. Karpathy, char-rnn): 7,220 speeches; a role is a name, such as `First Citizen`, whatever
    /// the play.
    Tiny,
}

impl ShakespeareSource {
    /// The file's name in the manifest.
    fn file(self) -> &'static str {
        match self {
            Self::Complete => "t8.shakespeare.txt.gz",
            Self::Tiny => "tinyshakespeare_input.txt",
        }
    }

    /// Roles that speak long enough for the usual windows, their characters, and how many of these are different.
    fn extent(self) -> [usize; 3] {
        match self {
            Self::Complete => [799, 4_232_829, 79],
            Self::Tiny => [183, 1_007_202, 64],
        }
    }

    fn roles(self, text: &str) -> Vec<Role> {
        match self {
            Self::Complete => complete_works::roles(text),
            Self::Tiny => speeches::roles(text),
        }
    }
}

/// Somebody who speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Role {
    pub(crate) name: String,
    /// What is said, lines and words one space apart, a space at the end.
    pub(crate) words: String,
}

impl Role {
    /// Appends `line` to what the role says.
    pub(crate) fn say(&mut self, line: &str) {
        for symbol in line.chars().chain([' ']) {
            if symbol != ' ' || !self.words.ends_with(' ') {
                self.words.push(symbol);
            }
        }
    }
}

impl Default for Shakespeare {
    fn default() -> Self {
        Self {
            source: ShakespeareSource::Complete,
            window: 80,
            stride: None,
            train_percent: 80,
        }
    }
}

impl Dataset for Shakespeare {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Checks the settings.
    fn validate(&self) -> Result<(), DataError> {
        let ranges = [
            ("window", self.window, 1, MOST_WINDOW),
            ("stride", self.stride(), 1, MOST_WINDOW),
            ("train_percent", self.train_percent, 1, 99),
        ];
        for (setting, found, least, most) in ranges {
            DataError::expect_between(NAME, setting, found, least..=most)?;
        }
        Ok(())
    }

    /// Reads and verifies the text, and cuts it into roles and windows.
    fn load(&self, folder: &DataFolder) -> Result<Splits, DataError> {
        self.validate()?;
        let manifest = Manifest::by_name(NAME)?;
        let file = manifest.file(self.source.file());
        let path = manifest.locate(file, folder)?.path();
        let content = manifest.read(file, folder)?;
        // Of the two texts, both are plain ASCII; a byte beyond stands for the letter of Latin-1.
        let text: String = content.into_iter().map(char::from).collect();
        let roles = self.source.roles(&text);
        self.expect_windows(&roles)?;
        self.splits(&roles).map_err(|reason| DataError::Malformed {
            dataset: NAME.into(),
            path,
            offset: 0,
            reason,
        })
    }

    /// What is known of the text: numbers of roles and characters, as if all roles spoke equally much.
    fn published(&self) -> Result<Option<Published>, DataError> {
        self.validate()?;
        let [roles, characters, alphabet] = self.source.extent();
        let windows = (characters / roles).saturating_sub(self.window);
        let Some(cut) = self.cut(windows) else {
            return Ok(None);
        };
        let each = [cut.train, windows - cut.test].map(|windows| windows.div_ceil(self.stride()));
        let [train, test] = each.map(|windows| roles * windows);
        let [labels, other_labels] = [train, test].map(|count| in_turn(count, alphabet));
        let input = Input::Tokens {
            window: self.window,
        };
        let summary =
            DatasetSummary::new(input, alphabet, &labels, &other_labels).of_text(characters);
        let owners = [train, test].map(|count| dealt_evenly(count, roles, 0));
        Ok(Some(Published {
            summary: summary.with_owners(owners.concat()),
            figures: format!("{roles} roles of {characters} characters in all"),
        }))
    }

    /// The file as bytes and as text, and the words of the roles, with the memory that they outgrew.
    fn reading_bytes(&self, _summary: &DatasetSummary, _threads: usize) -> usize {
        let file = Manifest::by_name(NAME).map(|manifest| manifest.file(self.source.file()));
        4 * file.map_or(0, |file| file.content_bytes() as usize)
    }

    fn summary(&self, folder: &DataFolder) -> Result<DatasetSummary, DataError> {
        Ok(DatasetSummary::of(&self.load(folder)?))
    }

    fn own_files(&self, _folder: &DataFolder) -> Result<Vec<PathBuf>, DataError> {
        Ok(Vec::new())
    }
}

impl Shakespeare {
    fn stride(&self) -> usize {
        self.stride.unwrap_or(self.window)
    }

    /// The windows of `roles`.
    fn splits(&self, roles: &[Role]) -> Result<Splits, String> {
        let alphabet: BTreeSet<char> = roles.iter().flat_map(|role| role.words.chars()).collect();
        if alphabet.len() > MOST_SYMBOLS {
            return Err(format!(
                "{} different characters, at most {MOST_SYMBOLS} expected",
                alphabet.len()
            ));
        }
        let alphabet: Vec<char> = alphabet.into_iter().collect();
        let token = |symbol: char| {
            let place = alphabet.binary_search(&symbol);
            place.expect("the alphabet is that of the roles") as u16
        };
        let most = roles.iter().map(|role| role.words.len()).sum();
        let (mut text, mut names) = (Vec::with_capacity(most), Vec::new());
        let (mut train, mut test) = (Starts::default(), Starts::default());
        for role in roles {
            let begin = text.len();
            text.extend(role.words.chars().map(token));
            let windows = self.windows(text.len() - begin);
            let Some(cut) = self.cut(windows) else {
                text.truncate(begin);
                continue;
            };
            let owner = names.len() as u32;
            train.extend(begin, (0..cut.train).step_by(self.stride()), owner);
            test.extend(begin, (cut.test..windows).step_by(self.stride()), owner);
            names.push(role.name.clone());
        }
        let (text, names) = (Arc::new(text), Arc::new(names));
        let examples = |starts: Starts| {
            let windows =
                Examples::windows(text.clone(), starts.starts, self.window, alphabet.len());
            let examples = windows.map_err(|error| error.to_string())?;
            let examples = examples.with_owners(starts.owners);
            Ok::<_, String>(Arc::new(examples.with_owner_names(names.clone())))
        };
        Ok(Splits {
            train: examples(train)?,
            test: examples(test)?,
            validation: None,
        })
    }

    /// Windows of stride 1 in so many characters.
    fn windows(&self, characters: usize) -> usize {
        characters.saturating_sub(self.window)
    }

    /// Requires a role that speaks long enough.
    fn expect_windows(&self, roles: &[Role]) -> Result<(), DataError> {
        let characters = roles.iter().map(|role| role.words.chars().count());
        let longest = characters.max().unwrap_or_default();
        match self.cut(self.windows(longest)) {
            Some(_) => Ok(()),
            None => {
                let needed = format!(
                    "at least one window to train on and one to test with in the {longest} characters of the longest role"
                );
                Err(DataError::setting(NAME, "window", self.window, needed))
            }
        }
    }

    /// Where training ends and testing begins among a role's `windows` of stride 1; nothing if one of them would be
    /// empty.
    fn cut(&self, windows: usize) -> Option<Cut> {
        let train = (windows * self.train_percent / 100).max(1);
        let test = train + self.window - 1;
        (test < windows).then_some(Cut { train, test })
    }
}

/// The windows of a role that are for training, and the first that is for testing.
struct Cut {
    train: usize,
    test: usize,
}

/// First characters of windows, and whose they are.
#[derive(Default)]
struct Starts {
    starts: Vec<u32>,
    owners: Vec<u32>,
}

impl Starts {
    fn extend(&mut self, begin: usize, offsets: impl Iterator<Item = usize>, owner: u32) {
        self.starts
            .extend(offsets.map(|offset| (begin + offset) as u32));
        self.owners.resize(self.starts.len(), owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(name: &str, words: &str) -> Role {
        Role {
            name: name.into(),
            words: words.into(),
        }
    }

    fn settings(window: usize, stride: Option<usize>) -> Shakespeare {
        Shakespeare {
            window,
            stride,
            ..Shakespeare::default()
        }
    }

    #[test]
    fn training_ends_before_testing_begins() {
        // 20 characters make 17 windows of 3: 13 for training, whose last is followed by character 15.
        let splits = settings(3, Some(1))
            .splits(&[role("A", "abcdefghijklmnopqrst"), role("B", "ab")])
            .unwrap();
        let (train, test) = (&splits.train, &splits.test);
        assert_eq!((train.len(), test.len()), (13, 2));
        assert_eq!(train.labels()[12], 15);
        assert_eq!(test.row(0), [15.0, 16.0, 17.0]);
        assert_eq!(test.labels(), [18, 19]);
        assert_eq!(train.owner_names().unwrap(), ["A"]);
        assert_eq!(train.classes(), 20);
    }

    #[test]
    fn by_default_a_window_begins_where_the_last_one_ended() {
        let words: String = ('a'..='z').collect();
        let splits = settings(4, None).splits(&[role("A", &words)]).unwrap();
        let crate::Features::Tokens(windows) = splits.train.features() else {
            panic!("text")
        };
        assert_eq!(windows.starts(), [0, 4, 8, 12, 16]);
        let crate::Features::Tokens(windows) = splits.test.features() else {
            panic!("text")
        };
        assert_eq!(windows.starts(), [20]);
    }

    #[test]
    fn windows_that_no_role_speaks_long_enough_for_are_refused() {
        let roles = [role("A", "short"), role("B", "shorter")];
        let refusal = settings(80, None).expect_windows(&roles).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "shakespeare: window is 80, at least one window to train on and one to test with in the 7 characters of the longest role \
             needed"
        );
        assert!(settings(1, None).expect_windows(&roles).is_ok());
    }

    #[test]
    fn settings_out_of_range_are_named() {
        let refusal = |settings: Shakespeare| settings.validate().unwrap_err().to_string();
        assert_eq!(
            refusal(settings(0, None)),
            "shakespeare: window is 0, from 1 to 65536 needed"
        );
        assert_eq!(
            refusal(settings(80, Some(0))),
            "shakespeare: stride is 0, from 1 to 65536 needed"
        );
        let all = Shakespeare {
            train_percent: 100,
            ..Shakespeare::default()
        };
        assert_eq!(
            refusal(all),
            "shakespeare: train_percent is 100, from 1 to 99 needed"
        );
    }
}
