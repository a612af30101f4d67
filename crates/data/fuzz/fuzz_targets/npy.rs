//! `cargo fuzz run npy`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    meshfold_data::fuzzing::npy(bytes);
});
