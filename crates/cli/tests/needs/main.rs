//! The program with what a machine may lack: the files of a dataset, a browser, a user who may not read everything.

#![allow(clippy::unwrap_used)]

#[cfg(target_os = "linux")]
mod browser;
#[path = "../program/default_signals.rs"]
mod default_signals;
mod real_data;
#[allow(dead_code, reason = "tests of the program use the rest")]
#[path = "../program/sandbox.rs"]
mod sandbox;
#[cfg(unix)]
mod unreadable;
#[cfg(target_os = "linux")]
#[allow(dead_code, reason = "tests of the program use the rest")]
#[path = "../program/watching.rs"]
mod watching;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut tests = real_data::tests();
    #[cfg(target_os = "linux")]
    tests.extend(browser::tests());
    #[cfg(unix)]
    tests.extend(unreadable::tests());
    meshfold_test_needs::run(tests)
}
