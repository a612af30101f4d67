//! `cargo fuzz run leukemia_cache`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    meshfold_data::fuzzing::leukemia_cache(bytes);
});
