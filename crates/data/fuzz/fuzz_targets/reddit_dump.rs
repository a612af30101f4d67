//! `cargo fuzz run reddit_dump`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    meshfold_data::fuzzing::reddit_dump(bytes);
});
