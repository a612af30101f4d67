//! The commands, each a function of its arguments.

pub(crate) mod churn;
pub(crate) mod completions;
pub(crate) mod data;
pub(crate) mod devices;
pub(crate) mod figure;
pub(crate) mod overlay;
pub(crate) mod partition;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod run;
mod runs;
pub(crate) mod speedup;
pub(crate) mod tabulate;
