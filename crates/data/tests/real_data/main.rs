//! Tests of published files. A test whose dataset is not there is reported as ignored; under `MESHFOLD_CI` it fails.

#![allow(clippy::unwrap_used)]

/// A test by its function, and the folders of the datasets that it reads.
macro_rules! real_data {
    ($test:ident: $($dataset:literal),+) => {
        meshfold_test_needs::Test::new(concat!(module_path!(), "::", stringify!($test)), || {
            $test(&meshfold_data::DataFolder::new(meshfold_test_needs::data_folder()));
        })
        .needs_data(&[$($dataset),+])
    };
}

mod images;
mod parsers;
mod published;
mod texts;

use std::process::ExitCode;

fn main() -> ExitCode {
    let tests = [
        images::tests(),
        parsers::tests(),
        published::tests(),
        texts::tests(),
    ];
    meshfold_test_needs::run(tests.into_iter().flatten().collect())
}
