//! The functions of this dataset that the fuzzer calls.

use sha2::{Digest, Sha256};

use std::collections::BTreeSet;
use std::path::Path;

use super::comments::{Collection, Comments};
use super::dump::Comment;
use super::months::each_comment;
use super::{authors, cache, dump, words};
use crate::DataError;

/// Bytes of a block that holds the longest line of most of the fuzzer's files, and of one that holds all of it.
const BLOCKS: [usize; 2] = [1 << 8, 1 << 16];

/// Reads a dump and puts it into a small vocabulary; whether all of it was read. How much is read at a time does not
/// change what is found.
pub(crate) fn dump(content: &[u8]) -> bool {
    let [by_pieces, at_once] = BLOCKS.map(|block| comments(content, block));
    if let (Some(by_pieces), Some(at_once)) = (by_pieces, &at_once) {
        assert_eq!(by_pieces, *at_once);
    }
    at_once.is_some()
}

/// The comments of a dump that is read by blocks of `block` bytes, if all of it can be read.
fn comments(content: &[u8], block: usize) -> Option<Comments> {
    let mut collection = Collection::default();
    let of = |comment: dump::Comment<'_>| {
        let (_, body) = authors::counted(&comment)?;
        let mut words = String::new();
        let count = words::append(body, &mut words);
        assert_eq!(words.split_terminator(' ').count(), count);
        Some(words)
    };
    let read = dump::each_by(block, block, content, of, |words| collection.add(0, &words));
    let (comments, vocabulary) = collection.in_vocabulary(5);
    let tokens = vocabulary.tokens();
    assert!(
        comments
            .tokens
            .iter()
            .all(|token| usize::from(*token) < tokens)
    );
    read.is_ok().then_some(comments)
}

/// Reads a cache with the right magic number, key and sum around `content`; whether it counts.
pub(crate) fn cache(content: &[u8]) -> bool {
    let key = [7; 32];
    let mut file = [cache::MAGIC.as_slice(), &key, content].concat();
    let sum = Sha256::digest(&file);
    file.extend(sum);
    cache::read(file.as_slice(), file.len() as u64, &key).is_some()
}

/// Comments of the dump at `path`, and the authors who are named.
pub(crate) fn counts(path: &Path) -> Result<[usize; 2], DataError> {
    let (mut met, mut named) = (0, BTreeSet::new());
    let author = |comment: Comment<'_>| comment.author.map(String::from);
    each_comment(&[path.to_owned()], author, |author| {
        met += 1;
        named.insert(author);
        Ok(())
    })?;
    named.remove("[deleted]");
    Ok([met, named.len()])
}
