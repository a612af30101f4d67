//! `cargo fuzz run mat5`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    meshfold_data::fuzzing::mat5(bytes);
});
