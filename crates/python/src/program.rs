//! The program `meshfold`, in a process that Python was started in.

use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};
use std::process;

use meshfold_commands::Start;
use pyo3::prelude::*;

use crate::own::{OwnClass, own};

/// The exit code of a program in Rust that met a bug.
const BUG: i32 = 101;

/// The program with these `arguments`: it ends the process, with the program's exit code. `command` starts the program again if arguments
/// follow. Configurations may name `classes`.
///
/// Python does nothing at its end: the process ends as that of the program does, and what is left in buffers is the program's.
#[pyfunction]
pub(crate) fn program(
    py: Python<'_>,
    arguments: Vec<OsString>,
    command: Vec<OsString>,
    classes: Vec<OwnClass>,
) {
    let start = Start::of_command(arguments, command);
    let program = AssertUnwindSafe(|| meshfold_commands::program(&own(&classes, &[]), &start));
    let done = py.detach(|| panic::catch_unwind(program));
    process::exit(done.map_or(BUG, i32::from))
}
