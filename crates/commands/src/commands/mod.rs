//! The commands, each a function of its arguments.

pub(crate) mod churn;
pub(crate) mod completions;
pub(crate) mod data;
pub(crate) mod devices;
mod event_logs;
mod experiment_page;
pub(crate) mod figure;
pub(crate) mod manage;
pub(crate) mod overlay;
mod own_runs;
pub(crate) mod partition;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod run;
mod runs;
pub(crate) mod settings;
pub(crate) mod speedup;
pub(crate) mod status;
pub(crate) mod submit;
pub(crate) mod tabulate;
pub(crate) mod tensorboard;
pub(crate) mod watch;
