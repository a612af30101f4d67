//! `cargo fuzz run packed`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    meshfold_data::fuzzing::packed(bytes);
});
