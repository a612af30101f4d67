//! `cargo fuzz run csv`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    meshfold_data::fuzzing::csv(bytes);
});
