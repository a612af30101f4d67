//! `cargo fuzz run reddit_leaf`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    meshfold_data::fuzzing::reddit_leaf(bytes);
});
