//! The compiled part of the Python package `meshfold`.
//!
//! `run` carries out an experiment as the program does: the same runs, with the same ids, records and bits. `Recorded`
//! holds runs that have been read from their folders. `program` is the program itself.
//! What Python's users see is in `python/meshfold`, which calls these. All work is done detached from the interpreter, so that other Python
//! threads go on.

/// The documentation of a compiled class or method, from the package's type stub.
macro_rules! documented {
    ($name:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/", $name))
    };
}

mod allocator;
mod arrow;
mod compared;
mod drawn;
mod errors;
mod event_logs;
mod events;
mod gate;
mod host;
mod own;
mod plotted;
mod program;
mod recorded;
mod running;
mod threads;
mod warned;

use pyo3::prelude::*;

/// The compiled part of meshfold.
#[pymodule]
mod _meshfold {
    #[pymodule_export]
    use crate::arrow::Table;
    #[pymodule_export]
    use crate::compared::compare;
    #[pymodule_export]
    use crate::drawn::draw_overlays;
    #[pymodule_export]
    use crate::drawn::draw_partitions;
    #[pymodule_export]
    use crate::event_logs::EventLog;
    #[pymodule_export]
    use crate::event_logs::EventLogs;
    #[pymodule_export]
    use crate::gate::end;
    #[pymodule_export]
    use crate::own::PyBatch;
    #[pymodule_export]
    use crate::own::PyMixing;
    #[pymodule_export]
    use crate::own::PyNetwork;
    #[pymodule_export]
    use crate::own::PyPlannedRound;
    #[pymodule_export]
    use crate::own::PyRound;
    #[pymodule_export]
    use crate::own::PyStart;
    #[pymodule_export]
    use crate::own::part::PyPart;
    #[pymodule_export]
    use crate::own::stack::PyStack;
    #[pymodule_export]
    use crate::plotted::PyFigure;
    #[pymodule_export]
    use crate::plotted::plot;
    #[pymodule_export]
    use crate::program::program;
    #[pymodule_export]
    use crate::recorded::Recorded;
    #[pymodule_export]
    use crate::running::plan;
    #[pymodule_export]
    use crate::running::run;

    /// Parameters of a row begin at multiples of so many numbers.
    #[pymodule_export]
    const ALIGNMENT: usize = meshfold_engine::ALIGNMENT;

    /// The version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
