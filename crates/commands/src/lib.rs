//! The commands of the program `meshfold`.
//!
//! [`program`] is the whole program but for its allocator, of which a process has one: the crate `meshfold` and the Python package each
//! bring their own.
//!
//! Each command is a function in its own file under `commands`. What it prints for people goes to standard output as a
//! table, or with `--json` as one object per line; progress and errors go to standard error. Exit codes: 0 done, 1 a run
//! or a download failed, 2 what was asked for cannot be done, 75 asked to end by the system, 130 interrupted.

mod arguments;
mod command_line;
mod commands;
mod dispatch;
pub mod drawn;
mod failure;
mod figures;
mod gathered;
mod http;
mod interruption;
mod json_lines;
mod lambda;
mod length;
mod page;
mod progress;
mod ranks;
mod selection;
mod signals;
mod start;
mod sweep;
mod table;
mod table_names;
mod terminal;
mod wrapping;

pub use dispatch::program;
pub use start::Start;

/// The commit that this was built from; none without git.
pub const COMMIT: Option<&str> = option_env!("MESHFOLD_COMMIT");
