//! The program `meshfold` as a library, for programs with parts of their own.
//!
//! [`program`] is the whole program. One with a method of its own is:
//!
//! ```ignore
//! fn main() -> std::process::ExitCode {
//!     meshfold::program(meshfold::Own::new().method::<Choco>("choco"))
//! }
//! ```
//!
//! Each command is a function in its own file under `commands`. What it prints for people goes to standard output as a
//! table, or with `--json` as one object per line; progress and errors go to standard error. Exit codes: 0 done, 1 a run
//! or a download failed, 2 what was asked for cannot be done, 75 asked to end by the system, 130 interrupted.

mod allocator;
mod arguments;
mod command_line;
mod commands;
mod dispatch;
mod failure;
mod figures;
mod http;
mod interruption;
mod json_lines;
mod lambda;
mod length;
mod progress;
mod ranks;
mod selection;
mod signals;
mod sweep;
mod table;
mod terminal;
mod wrapping;

pub use dispatch::program;
pub use meshfold_experiment::Own;
pub use {
    meshfold_algorithms as algorithms, meshfold_data as data, meshfold_engine as engine,
    meshfold_topology as topology,
};
