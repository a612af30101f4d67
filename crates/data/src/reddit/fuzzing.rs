//! What the fuzzer calls of this dataset.

use sha2::{Digest, Sha256};

use super::comments::Collection;
use super::{authors, cache, dump, words};

/// Reads a dump and puts it into a small vocabulary; whether all of it was read.
pub(crate) fn dump(content: &[u8]) -> bool {
    let mut collection = Collection::default();
    let of = |comment: dump::Comment<'_>| {
        let (_, body) = authors::counted(&comment)?;
        let mut words = String::new();
        let count = words::append(body, &mut words);
        assert_eq!(words.split_terminator(' ').count(), count);
        Some(words)
    };
    let read = dump::each(content, of, |words| collection.add(0, &words));
    let (comments, vocabulary) = collection.in_vocabulary(5);
    let tokens = vocabulary.tokens();
    assert!(
        comments
            .tokens
            .iter()
            .all(|token| usize::from(*token) < tokens)
    );
    read.is_ok()
}

/// Reads a cache with the right magic number, key and sum around `content`; whether it counts.
pub(crate) fn cache(content: &[u8]) -> bool {
    let key = [7; 32];
    let mut file = [cache::MAGIC.as_slice(), &key, content].concat();
    let sum = Sha256::digest(&file);
    file.extend(sum);
    cache::read(file.as_slice(), file.len() as u64, &key).is_some()
}
