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
//! The commands are in the crate `meshfold-commands`, which leaves the allocator to whoever calls it.

mod allocator;

use std::process::ExitCode;

use meshfold_commands::Start;

pub use meshfold_experiment::Own;
pub use {
    meshfold_algorithms as algorithms, meshfold_data as data, meshfold_engine as engine,
    meshfold_topology as topology,
};

/// The program, with the arguments of this process: configurations may name the parts of `own`.
///
/// It takes mimalloc as the allocator of the process.
pub fn program(own: Own) -> ExitCode {
    allocator::return_memory_soon();
    ExitCode::from(meshfold_commands::program(&own, &Start::of_executable()))
}
