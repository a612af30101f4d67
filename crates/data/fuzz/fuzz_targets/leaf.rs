//! `cargo fuzz run leaf`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    meshfold_data::fuzzing::leaf(bytes);
});
