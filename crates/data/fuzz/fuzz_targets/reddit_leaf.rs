#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| meshfold_data::fuzzing::reddit_leaf(data));
