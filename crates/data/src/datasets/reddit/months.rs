//! Chooses authors and comments from the months of dumps, or from LEAF's files.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

use super::authors::counted;
use super::comments::{Collection, Comments, SPECIAL, Vocabulary};
use super::dump::{self, Comment, DumpFault};
use super::{ChosenComments, NAME, Reddit, RedditSource, cache, leaf, words};
use crate::files::fault::Fault;
use crate::files::hashing::hexadecimal;
use crate::files::json_files::json_files;
use crate::files::packing::{most_content, packed};
use crate::files::payload;
use crate::files::regular;
use crate::{DataError, DataFolder, Manifest};

/// The most bytes of content of a file: the largest month that there is has a third of it.
const MOST_CONTENT: u64 = 1 << 40;
/// Bytes of LEAF's json allowed in any file, besides those that its length suggests.
const FREE_YIELD: u64 = 64 << 20;
/// The most different authors of the training months.
const MOST_AUTHORS: usize = 200_000_000;
/// Files of together fewer bytes are read again rather than kept as a cache.
const WORTH_A_CACHE: u64 = 64 << 20;
/// Counted up when the same files would give other comments.
const VERSION: u32 = 1;

/// The comments that `settings` ask for.
pub(super) fn chosen(settings: &Reddit, folder: &DataFolder) -> Result<ChosenComments, DataError> {
    let home = Manifest::by_name(NAME)?.folder(folder);
    let sources = Sources::find(settings, &home, folder)?;
    if sources.bytes()? < WORTH_A_CACHE {
        return read(settings, &sources);
    }
    let key = sources.key(settings)?;
    let path = home.join(format!("words-{}.cache", hexadecimal(&key[..8])));
    if let Some(chosen) = cache::load(&path, &key) {
        return Ok(chosen);
    }
    let chosen = read(settings, &sources)?;
    if let Err(error) = cache::save(&path, &key, &chosen) {
        tracing::warn!(
            "reddit: the words are read again next time: cannot write {}: {error}",
            path.display()
        );
    }
    Ok(chosen)
}

fn read(settings: &Reddit, sources: &Sources) -> Result<ChosenComments, DataError> {
    match settings.source {
        RedditSource::Pushshift => from_dumps(settings, sources),
        RedditSource::Leaf => from_leaf(settings, sources),
    }
}

/// The files to read.
struct Sources {
    train: Vec<PathBuf>,
    test: Vec<PathBuf>,
}

impl Sources {
    fn find(settings: &Reddit, home: &Path, folder: &DataFolder) -> Result<Self, DataError> {
        let missing = |file: String, looked| DataError::Missing {
            dataset: NAME.into(),
            file,
            looked: vec![looked],
            origin: folder.origin(),
        };
        let months = |months: &[String]| {
            let find = |month: &String| {
                let name = format!("RC_{month}");
                let plain = home.join(&name);
                let found = regular::first(packed(&plain).chain([plain.clone()]))?;
                found.ok_or_else(|| missing(name, plain))
            };
            months.iter().map(find).collect::<Result<Vec<_>, _>>()
        };
        let json = |part: &str| {
            let files = json_files(&home.join(part))?;
            match files.is_empty() {
                true => Err(missing(format!("{part}/*.json"), home.join(part))),
                false => Ok(files),
            }
        };
        Ok(match settings.source {
            RedditSource::Pushshift => Self {
                train: months(&settings.train_months)?,
                test: months(&settings.test_months)?,
            },
            RedditSource::Leaf => Self {
                train: json("train")?,
                test: json("test")?,
            },
        })
    }

    fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.train.iter().chain(&self.test)
    }

    fn bytes(&self) -> Result<u64, DataError> {
        let size = |path: &PathBuf| {
            Ok(fs::metadata(path)
                .map_err(DataError::io("read", path))?
                .len())
        };
        self.files().map(size).sum()
    }

    /// What the chosen comments depend on: settings and files, by size and time of change.
    fn key(&self, settings: &Reddit) -> Result<[u8; 32], DataError> {
        let settings = Reddit {
            // How comments are cut into windows is decided later.
            window: 1,
            stride: 1,
            ..settings.clone()
        };
        let mut hash = Sha256::new();
        hash.update(VERSION.to_le_bytes());
        hash.update(serde_json::to_vec(&settings).expect("settings have text keys"));
        for path in self.files() {
            let io = |error| DataError::io("read", path)(error);
            let metadata = fs::metadata(path).map_err(io)?;
            let changed = metadata.modified().map_err(io)?.duration_since(UNIX_EPOCH);
            let changed = changed.map_or(0, |time| time.as_nanos());
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            hash.update((name.len() as u64).to_le_bytes());
            hash.update(name);
            hash.update(metadata.len().to_le_bytes());
            hash.update(changed.to_le_bytes());
        }
        Ok(hash.finalize().into())
    }
}

/// Reads each dump of `paths` in turn.
pub(super) fn each_comment<T: Send>(
    paths: &[PathBuf],
    of: impl Fn(Comment<'_>) -> Option<T> + Sync,
    mut take: impl FnMut(T) -> Result<(), String>,
) -> Result<(), DataError> {
    for path in paths {
        let content = payload::open(path, MOST_CONTENT)
            .map_err(|error| payload::fault(NAME, path, 0, error))?;
        dump::each(content, &of, &mut take).map_err(|fault| match fault {
            DumpFault::Malformed { offset, reason } => Fault::at(offset, reason).of(NAME, path),
            DumpFault::Unreadable { offset, error } => payload::fault(NAME, path, offset, error),
        })?;
    }
    Ok(())
}

/// Reads the training months twice, to count the comments of each author and to take those of the chosen ones, and the
/// test months once.
fn from_dumps(settings: &Reddit, sources: &Sources) -> Result<ChosenComments, DataError> {
    let mut users = users(settings, &sources.train)?;
    let mut next = 0;
    let mut collection = Collection::default();
    let words_of_chosen = |comment: Comment<'_>| {
        let (author, body) = counted(&comment)?;
        let slot = *users.slots.get(author)?;
        let mut words = String::new();
        words::append(body, &mut words);
        Some((slot, words))
    };
    let numbers = &mut users.numbers;
    each_comment(&sources.train, words_of_chosen, |(slot, words)| {
        let number = *numbers[slot as usize].get_or_insert_with(|| {
            next += 1;
            next - 1
        });
        match words.is_empty() {
            true => Ok(()),
            false => collection.add(number, &words),
        }
    })?;
    if collection.len() == 0 {
        return Err(unmet("no chosen author wrote a word".into()));
    }
    let (train, vocabulary) = collection.in_vocabulary(settings.vocabulary - SPECIAL);
    let test = test_comments(settings, &sources.test, &users, next, &vocabulary)?;
    Ok(ChosenComments {
        train,
        test,
        tokens: vocabulary.tokens(),
    })
}

fn unmet(reason: String) -> DataError {
    DataError::Unmet {
        dataset: NAME,
        reason,
    }
}

/// The authors of training comments.
struct Users {
    /// An arbitrary slot for each author.
    slots: HashMap<Box<str>, u32>,
    /// The author's number by slot, in the order of first comments with words.
    numbers: Vec<Option<u32>>,
}

/// The authors with as many comments as the settings ask for.
fn users(settings: &Reddit, months: &[PathBuf]) -> Result<Users, DataError> {
    let mut posts: HashMap<Box<str>, u32> = HashMap::new();
    let author = |comment: Comment<'_>| Some(Box::<str>::from(counted(&comment)?.0));
    each_comment(months, author, |author| {
        if posts.len() == MOST_AUTHORS {
            return Err(format!("more than {MOST_AUTHORS} authors"));
        }
        *posts.entry(author).or_default() += 1;
        Ok(())
    })?;
    let (fewest, most) = settings.posts();
    let (authors, busiest) = (posts.len(), posts.values().max().copied().unwrap_or(0));
    posts.retain(|_, count| (fewest..=most).contains(&(*count as usize)));
    if posts.is_empty() {
        return Err(unmet(format!(
            "none of the {authors} authors in {} has {fewest} to {most} comments, the busiest has {busiest}: \
             choose other min_posts and max_posts",
            settings.train_months.join(", ")
        )));
    }
    let slots: HashMap<_, _> = posts.into_keys().zip(0..).collect();
    Ok(Users {
        numbers: vec![None; slots.len()],
        slots,
    })
}

/// Draws comments of anybody from `months`, each equally likely; authors of no training comment are numbered from
/// `next`.
fn test_comments(
    settings: &Reddit,
    months: &[PathBuf],
    users: &Users,
    next: u32,
    vocabulary: &Vocabulary,
) -> Result<Comments, DataError> {
    let mut rng = ChaCha8Rng::seed_from_u64(settings.seed);
    let mut drawn: Vec<(u64, String, String)> = Vec::new();
    let mut met = 0_u64;
    let whole = |comment: Comment<'_>| {
        counted(&comment).map(|(author, body)| (author.to_owned(), body.to_owned()))
    };
    each_comment(months, whole, |(author, body)| {
        // Comment m of those met replaces one of the k drawn with probability k / m (Vitter's algorithm R).
        let place = match drawn.len() < settings.test_comments {
            true => drawn.len(),
            false => rng.random_range(0..=met) as usize,
        };
        met += 1;
        if place == drawn.len() && drawn.len() < settings.test_comments {
            drawn.push((met, author, body));
        } else if let Some(replaced) = drawn.get_mut(place) {
            *replaced = (met, author, body);
        }
        Ok(())
    })?;
    drawn.sort_unstable_by_key(|(order, ..)| *order);
    let mut others: HashMap<String, u32> = HashMap::new();
    let mut comments = Comments::default();
    for (_, author, body) in drawn {
        let mut words = String::new();
        if words::append(&body, &mut words) == 0 {
            continue;
        }
        let known = users
            .slots
            .get(author.as_str())
            .and_then(|slot| users.numbers[*slot as usize]);
        let owner = known.unwrap_or_else(|| {
            let new = next + others.len() as u32;
            *others.entry(author).or_insert(new)
        });
        vocabulary.append(owner, &words, &mut comments);
    }
    match comments.lengths.is_empty() {
        true => Err(unmet(format!(
            "no comment with words in {}",
            settings.test_months.join(", ")
        ))),
        false => Ok(comments),
    }
}

/// Takes the users of LEAF's training files who have as many comments as the settings ask for, and the comments of
/// all users of its test files, as far as `test_comments` allows, in the order of the files.
fn from_leaf(settings: &Reddit, sources: &Sources) -> Result<ChosenComments, DataError> {
    let (fewest, most) = settings.posts();
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut collection = Collection::default();
    each_leaf_user(&sources.train, |user, comments| {
        if !(fewest..=most).contains(&comments.len()) {
            return Ok(());
        }
        let next = numbers.len() as u32;
        let number = *numbers.entry(user.to_owned()).or_insert(next);
        let mut with_words = comments.iter().filter(|words| !words.is_empty());
        with_words.try_for_each(|words| collection.add(number, words))
    })?;
    if collection.len() == 0 {
        return Err(unmet(format!(
            "no user of the training files has {fewest} to {most} comments"
        )));
    }
    let (train, vocabulary) = collection.in_vocabulary(settings.vocabulary - SPECIAL);
    let mut test = Comments::default();
    each_leaf_user(&sources.test, |user, comments| {
        let next = numbers.len() as u32;
        let number = *numbers.entry(user.to_owned()).or_insert(next);
        for words in comments.iter().filter(|words| !words.is_empty()) {
            if test.lengths.len() < settings.test_comments {
                vocabulary.append(number, words, &mut test);
            }
        }
        Ok(())
    })?;
    match test.lengths.is_empty() {
        true => Err(unmet("no comment with words in the test files".into())),
        false => Ok(ChosenComments {
            train,
            test,
            tokens: vocabulary.tokens(),
        }),
    }
}

fn each_leaf_user(
    paths: &[PathBuf],
    mut take: impl FnMut(&str, Vec<String>) -> Result<(), String>,
) -> Result<(), DataError> {
    for path in paths {
        let content = payload::open(path, most_leaf_content(path)?)
            .map_err(|error| payload::fault(NAME, path, 0, error))?;
        leaf::each_user(content, &mut take).map_err(|fault| fault.of(NAME, path))?;
    }
    Ok(())
}

/// Bytes of json that the file at `path` may hold, as far as its length tells.
fn most_leaf_content(path: &Path) -> Result<u64, DataError> {
    let most = most_content(path).map_err(DataError::io("read", path))?;
    Ok(most.saturating_add(FREE_YIELD))
}

#[cfg(test)]
mod tests;
