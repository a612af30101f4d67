//! Tests of published files, read from the folder that `MESHFOLD_DATA` names, or from `shared/data` beside the repository.
//!
//! A test whose dataset is not there is told as ignored, with the dataset before its name; under `MESHFOLD_CI` it fails.

#![allow(clippy::unwrap_used)]

/// A test by its function, and the folders of the datasets that it reads.
macro_rules! real_data {
    ($test:ident: $($dataset:literal),+) => {
        $crate::RealData {
            name: concat!(module_path!(), "::", stringify!($test)),
            datasets: &[$($dataset),+],
            run: $test,
        }
    };
}

mod images;
mod parsers;
mod published;
mod texts;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use meshfold_data::{DATA_FOLDER_VARIABLE, DataFolder};

/// A test that reads published files.
struct RealData {
    name: &'static str,
    datasets: &'static [&'static str],
    run: fn(&DataFolder),
}

impl RealData {
    /// The test on the datasets in `folder`.
    fn trial(self, folder: &Path) -> Trial {
        let name = self.name.trim_start_matches("real_data::");
        let absent = |dataset: &&&str| !folder.join(dataset).is_dir();
        let Some(missing) = self.datasets.iter().find(absent) else {
            let folder = folder.to_owned();
            return Trial::test(name, move || {
                (self.run)(&DataFolder::new(folder));
                Ok(())
            });
        };
        let reason = format!("no {missing}");
        let must_be_there = std::env::var_os("MESHFOLD_CI").is_some();
        let place = format!("{reason} in {}", folder.display());
        Trial::test(name, move || Err(place.into()))
            .with_kind(reason)
            .with_ignored_flag(!must_be_there)
    }
}

fn main() -> ExitCode {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os(DATA_FOLDER_VARIABLE).map_or(beside, PathBuf::from);
    let tests = [
        images::tests(),
        parsers::tests(),
        published::tests(),
        texts::tests(),
    ];
    let trials = tests.into_iter().flatten();
    let trials = trials.map(|test| test.trial(&folder)).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
