//! Tests that need what a machine may lack: the files of a dataset, a browser, an instruction set.
//!
//! A test whose need is missing is reported as ignored, with the reason before its name. Under `MESHFOLD_CI` it fails if the need
//! is a dataset. The tests are those of a target with `harness = false`, whose `main` calls [`run`]:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use meshfold_test_needs::{run, test};
//!
//! fn every_digit_is_read() {}
//!
//! fn main() -> ExitCode {
//!     run(vec![test!(every_digit_is_read).needs_data(&["mnist"])])
//! }
//! ```

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// A function as a [`Test`] of its name, its module before it.
#[macro_export]
macro_rules! test {
    ($function:ident) => {
        $crate::Test::new(
            concat!(module_path!(), "::", stringify!($function)),
            $function,
        )
    };
}

/// A test, and what it needs.
pub struct Test {
    name: String,
    missing: Option<Missing>,
    run: Box<dyn FnOnce() + Send>,
}

/// What a test needs and the machine lacks.
struct Missing {
    /// As in `no mnist`.
    reason: String,
    /// Whether the test fails under `MESHFOLD_CI`.
    is_needed_in_ci: bool,
}

impl Test {
    /// A test that needs nothing. `path` is that of its function, from the crate on.
    pub fn new(path: &str, run: impl FnOnce() + Send + 'static) -> Self {
        let name = path.split_once("::").map_or(path, |(_, name)| name);
        Self {
            name: name.to_owned(),
            missing: None,
            run: Box::new(run),
        }
    }

    /// Ignores the test if there is a reason why the machine cannot run it.
    #[must_use]
    pub fn unless(mut self, reason: Option<&str>) -> Self {
        self.missing = self.missing.or_else(|| {
            let reason = reason?.to_owned();
            Some(Missing {
                reason,
                is_needed_in_ci: false,
            })
        });
        self
    }

    /// Ignores the test if a folder of these datasets is not in [`data_folder`]. Under `MESHFOLD_CI` it fails then.
    #[must_use]
    pub fn needs_data(mut self, datasets: &[&str]) -> Self {
        self.missing = self.missing.or_else(|| {
            let missing = missing_dataset(datasets)?;
            Some(Missing {
                reason: format!("no {missing}"),
                is_needed_in_ci: true,
            })
        });
        self
    }

    fn trial(self) -> Trial {
        let Some(Missing {
            reason,
            is_needed_in_ci,
        }) = self.missing
        else {
            return Trial::test(self.name, || {
                (self.run)();
                Ok(())
            });
        };
        let must_run = is_needed_in_ci && std::env::var_os("MESHFOLD_CI").is_some();
        let place = format!("{reason} in {}", data_folder().display());
        let failure = if is_needed_in_ci {
            place
        } else {
            reason.clone()
        };
        Trial::test(self.name, || Err(failure.into()))
            .with_kind(reason)
            .with_ignored_flag(!must_run)
    }
}

/// The folder of the published datasets: that of `MESHFOLD_DATA`, or `shared/data` beside the repository.
pub fn data_folder() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    std::env::var_os("MESHFOLD_DATA").map_or(beside, PathBuf::from)
}

/// The first of these folders of datasets that is not in [`data_folder`].
pub fn missing_dataset<'a>(datasets: &[&'a str]) -> Option<&'a str> {
    let folder = data_folder();
    datasets
        .iter()
        .copied()
        .find(|dataset| !folder.join(dataset).is_dir())
}

/// The program of Chromium on the path, if it is installed.
pub fn chromium() -> Option<PathBuf> {
    let names = [
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
    ];
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|program| program.is_file())
}

/// Runs the tests that the command line asks for.
pub fn run(tests: Vec<Test>) -> ExitCode {
    let trials = tests.into_iter().map(Test::trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
