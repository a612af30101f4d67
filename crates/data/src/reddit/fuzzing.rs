//! What the fuzzer calls of this dataset.

use sha2::{Digest, Sha256};

use super::comments::Collection;
use super::{authors, cache, dump, words};

/// Reads a dump and puts it into a small vocabulary.
pub(crate) fn dump(content: &[u8]) {
    let mut collection = Collection::default();
    let of = |comment: dump::Comment<'_>| {
        let (_, body) = authors::counted(&comment)?;
        let mut words = String::new();
        let count = words::append(body, &mut words);
        assert_eq!(words.split_terminator(' ').count(), count);
        Some(words)
    };
    dump::each(content, of, |words| collection.add(0, &words)).ok();
    let (comments, vocabulary) = collection.in_vocabulary(5);
    let tokens = vocabulary.tokens();
    assert!(
        comments
            .tokens
            .iter()
            .all(|token| usize::from(*token) < tokens)
    );
}

/// Reads a cache with the right magic number, key and sum around `content`.
pub(crate) fn cache(content: &[u8]) {
    let key = [7; 32];
    let mut file = [cache::MAGIC.as_slice(), &key, content].concat();
    let sum = Sha256::digest(&file);
    file.extend(sum);
    cache::read(file.as_slice(), file.len() as u64, &key);
}
