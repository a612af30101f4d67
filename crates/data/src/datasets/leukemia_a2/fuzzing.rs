//! The functions of this dataset that the fuzzer calls.

use sha2::{Digest, Sha256};

use super::cache;

/// Reads a cache with the right magic number, source and sum before `content`; whether it counts.
pub(crate) fn cache(content: &[u8]) -> bool {
    let source = [7; 32];
    let sum = Sha256::digest(content);
    let file = [cache::MAGIC.as_slice(), &source, &sum, content].concat();
    let matrix = cache::read_from(file.as_slice(), file.len() as u64, &source);
    matrix.is_some_and(|matrix| {
        assert_eq!(matrix.values.len(), matrix.samples.len() * matrix.genes());
        assert!(matrix.genes() > 0);
        true
    })
}
