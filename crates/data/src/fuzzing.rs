//! The parsers of texts and signals, given bytes that may be anything: they may refuse them, nothing else.
//!
//! Built with `--cfg fuzzing` alone, for the targets in `fuzz/`:
//! `RUSTC_BOOTSTRAP=1 cargo fuzz run mat5` in `crates/data`.

use crate::{mat5, reddit, shakespeare};

/// A MATLAB file, all of its arrays wanted.
pub fn mat5(file: &[u8]) {
    for array in mat5::arrays(file, |_| true).unwrap_or_default() {
        assert_eq!(
            array.dimensions.iter().product::<usize>(),
            array.values.len()
        );
    }
}

/// A text of plays, and one of speeches.
pub fn shakespeare(text: &[u8]) {
    let text: String = text.iter().copied().map(char::from).collect();
    for role in shakespeare::complete_works::roles(&text) {
        assert!(!role.words.contains("  "));
    }
    shakespeare::speeches::roles(&text);
}

/// A dump of comments: its authors are judged and its words cut.
pub fn reddit_dump(dump: &[u8]) {
    reddit::fuzzing::dump(dump);
}

/// LEAF's json.
pub fn reddit_leaf(file: &[u8]) {
    reddit::leaf::each_user(file, &mut |_, _| Ok(())).ok();
}

/// A cache of chosen comments; the sum at its end is that of the bytes before, so that more than the sum is tested.
pub fn reddit_cache(file: &[u8]) {
    reddit::fuzzing::cache(file);
}
