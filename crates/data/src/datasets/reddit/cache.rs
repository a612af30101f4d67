//! Chosen comments kept in a file of their own, so that a month is read once.
//!
//! A cache holds tokens, no words: a magic number, the key, five counts, the tokens and for each comment its length and
//! owner, all little-endian, and the SHA-256 of all that. One that is damaged, or of another key, counts as absent.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use super::ChosenComments;
use super::comments::{Comments, MOST_WORDS};
use crate::files::hashing::Hashed;
use crate::files::regular;
use crate::files::unfinished;

pub(super) const MAGIC: &[u8; 16] = b"meshfold-words-1";
/// Prefix of the names of unfinished caches.
const UNFINISHED: &str = ".words-";
/// Bytes of a SHA-256.
const SUM: usize = 32;
/// Bytes before the tokens.
const HEADER: usize = MAGIC.len() + SUM + 5 * 8;

/// What the cache at `path` holds, if it is whole and of `key`.
pub(super) fn load(path: &Path, key: &[u8; SUM]) -> Option<ChosenComments> {
    let file = regular::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    read(BufReader::with_capacity(1 << 20, file), length, key)
}

/// Writes `chosen` to `path`, whole or not at all.
pub(super) fn save(path: &Path, key: &[u8; SUM], chosen: &ChosenComments) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    unfinished::remove_leftovers(folder, UNFINISHED);
    let file = unfinished::create(folder, UNFINISHED)?;
    let mut writer = Hashed::of(BufWriter::with_capacity(1 << 20, file));
    write(&mut writer, key, chosen)?;
    let (mut writer, sum) = writer.finish();
    writer.write_all(&sum)?;
    let file = writer
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    file.persist(path)?;
    Ok(())
}

fn write(to: &mut impl Write, key: &[u8; SUM], chosen: &ChosenComments) -> io::Result<()> {
    to.write_all(MAGIC)?;
    to.write_all(key)?;
    let ChosenComments {
        train,
        test,
        tokens,
    } = chosen;
    let counts = [train, test].map(|comments| [comments.tokens.len(), comments.lengths.len()]);
    for count in counts.concat().into_iter().chain([*tokens]) {
        to.write_all(&(count as u64).to_le_bytes())?;
    }
    for comments in [train, test] {
        for token in &comments.tokens {
            to.write_all(&token.to_le_bytes())?;
        }
        for number in comments.lengths.iter().chain(&comments.owners) {
            to.write_all(&number.to_le_bytes())?;
        }
    }
    Ok(())
}

/// Reads a cache of `length` bytes.
pub(super) fn read(from: impl Read, length: u64, key: &[u8; SUM]) -> Option<ChosenComments> {
    let mut from = Hashed::of(from);
    let mut header = [0; HEADER];
    from.read_exact(&mut header).ok()?;
    let (magic, rest) = header.split_at(MAGIC.len());
    let (found, counts) = rest.split_at(SUM);
    if magic != MAGIC || found != key {
        return None;
    }
    let counts: Vec<u64> = counts
        .as_chunks()
        .0
        .iter()
        .map(|bytes| u64::from_le_bytes(*bytes))
        .collect();
    let [
        train_words,
        train_comments,
        test_words,
        test_comments,
        tokens,
    ] = counts[..]
    else {
        return None;
    };
    // Sizes that do not add up to the file's length are rejected, so that no memory is reserved for them.
    let sizes = [
        (train_words, 2),
        (test_words, 2),
        (train_comments, 8),
        (test_comments, 8),
    ];
    let content = sizes
        .iter()
        .try_fold((HEADER + SUM) as u64, |sum, (count, bytes)| {
            count
                .checked_mul(*bytes)
                .and_then(|size| sum.checked_add(size))
        })?;
    // A long file may also be empty, so the sizes are limited as well.
    let most = sizes.iter().map(|(count, _)| *count).max()?;
    if content != length || most > MOST_WORDS as u64 || tokens > 1 << 16 {
        return None;
    }
    let train = comments(&mut from, train_words as usize, train_comments as usize)?;
    let test = comments(&mut from, test_words as usize, test_comments as usize)?;
    let (mut from, found) = from.finish();
    let mut sum = [0; SUM];
    from.read_exact(&mut sum).ok()?;
    let chosen = ChosenComments {
        train,
        test,
        tokens: tokens as usize,
    };
    (found == sum).then_some(chosen)
}

fn comments(from: &mut impl Read, words: usize, comments: usize) -> Option<Comments> {
    let tokens = numbers(from, words, u16::from_le_bytes)?;
    let lengths = numbers(from, comments, u32::from_le_bytes)?;
    let owners = numbers(from, comments, u32::from_le_bytes)?;
    let sum: u64 = lengths.iter().map(|length| u64::from(*length)).sum();
    (sum == words as u64).then_some(Comments {
        tokens,
        lengths,
        owners,
    })
}

fn numbers<const BYTES: usize, T>(
    from: &mut impl Read,
    count: usize,
    of: fn([u8; BYTES]) -> T,
) -> Option<Vec<T>> {
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(count).ok()?;
    let mut block = [0; 1 << 14];
    let mut left = count * BYTES;
    while left > 0 {
        let piece = &mut block[..left.min(1 << 14)];
        from.read_exact(piece).ok()?;
        numbers.extend(piece.as_chunks().0.iter().map(|bytes| of(*bytes)));
        left -= piece.len();
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn chosen() -> ChosenComments {
        let train = Comments {
            tokens: (0..20_000).collect(),
            lengths: vec![5_000, 0, 15_000],
            owners: vec![3, 0, 3],
        };
        let test = Comments {
            tokens: vec![7, 8],
            lengths: vec![2],
            owners: vec![9],
        };
        ChosenComments {
            train,
            test,
            tokens: 20_000,
        }
    }

    #[test]
    fn what_is_saved_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words");
        save(&path, &[1; SUM], &chosen()).unwrap();
        assert_eq!(load(&path, &[1; SUM]), Some(chosen()));
        assert_eq!(load(&path, &[2; SUM]), None);
        assert_eq!(load(&folder.path().join("absent"), &[1; SUM]), None);
        // Nothing is left of the temporary file.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_damaged_cache_counts_as_absent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words");
        save(&path, &[1; SUM], &chosen()).unwrap();
        let whole = fs::read(&path).unwrap();
        for place in (0..HEADER).chain([HEADER + 999, whole.len() - 40, whole.len() - 1]) {
            let mut damaged = whole.clone();
            damaged[place] ^= 0x81;
            assert_eq!(
                read(damaged.as_slice(), damaged.len() as u64, &[1; SUM]),
                None,
                "{place}"
            );
            let cut = &whole[..place];
            assert_eq!(read(cut, cut.len() as u64, &[1; SUM]), None, "{place}");
        }
    }
}
