//! Experiments: from a YAML file to runs, and from runs to records.
//!
//! A [`Source`] is the text of an experiment with its overrides. [`plan()`] checks every value, expands the sweep and
//! returns one [`RunPlan`] per run; whatever is wrong is a [`ConfigError`] that points at the line where it was
//! written and says what would be right.
//!
//! ```
//! use meshfold_data::DataFolder;
//! use meshfold_experiment::{Source, plan};
//!
//! let yaml = "
//! name: example
//! dataset: {glyphs: {train: 600, test: 100}}
//! partition: {shards: {clients: 10}}
//! topology: ring
//! model: logistic
//! algorithm: {dsgd: {batch_size: 20, learning_rate: 0.1}}
//! rounds: 5
//! sweep: {grid: {topology: [ring, complete]}}
//! ";
//! let folder = DataFolder::new("unused");
//! let plans = plan(&Source::new("example.yaml", yaml), &folder)?;
//! let labels: Vec<String> = plans.iter().map(|plan| plan.label()).collect();
//! assert_eq!(labels, ["topology=ring", "topology=complete"]);
//!
//! let misspelt = Source::new("example.yaml", yaml.replace("[ring,", "[rnig,"));
//! let error = plan(&misspelt, &folder).unwrap_err();
//! assert_eq!(error.to_string(), "topology: unknown choice `rnig`");
//! assert_eq!(error.line(), Some(9));
//! # Ok::<(), meshfold_experiment::ConfigError>(())
//! ```

// Configuration and plan.
mod brief;
mod checks;
mod churn;
mod config;
mod edge_list;
mod effort;
mod error;
mod excerpt;
mod experiment;
mod failing;
mod fault;
mod fault_path;
mod id;
mod joint_union;
mod label;
mod local_work;
mod memory;
mod message_paths;
mod nearest;
mod non_iid_degree;
mod overlay_memory;
mod overrides;
mod plan;
mod planned_network;
mod planned_overlay;
mod planner;
mod population;
mod practice;
mod ramanujan;
mod reader;
mod source;
mod stability;
mod sweep;
mod text_file;
mod tree;
mod unfit;
mod variant;
mod yaml_error;

pub use brief::brief;
pub use churn::{ChurnRun, plan_churn};
pub use config::{Checkpoint, Evaluate, RunConfig, TestExamples};
pub use edge_list::with_edge_lists;
pub use effort::{DAY, about};
pub use error::ConfigError;
pub use fault::Fault;
pub use overlay_memory::check_overlay_memory;
pub use plan::{PlanSummary, RunPlan, plan, plan_on, plan_with, plan_without_data};
pub use planned_overlay::{CliqueSummary, OverlayFigures, PlannedOverlay, ScheduleSummary};
pub use population::Population;
pub use practice::{Measurements, Quantity};
pub use ramanujan::RamanujanBound;
pub use source::Source;

// Runs and their records.
mod checkpoint;
mod clients;
mod connections;
mod course;
mod digests;
mod ending;
mod environment;
mod evaluation;
mod guarded;
mod journal;
mod observer;
mod records;
mod results;
mod run;
mod run_all;
mod run_error;
mod sealed_tensors;
mod summary;
mod sweep_order;
mod write_error;

pub use digests::DataDigests;
pub use ending::{Ending, RunReport};
pub use environment::{Environment, VERSION};
pub use guarded::is_guarded;
pub use observer::{Observer, RoundProgress};
pub use records::{Record, Spread, read_records};
pub use results::Done;
pub use run::{RunOptions, finished, run};
pub use run_all::{Attendant, most_at_once, run_all};
pub use run_error::RunError;
pub use summary::{Milestone, Seconds, Status, Summary, Target};
pub use write_error::plain_write_error;

// The simulated network and its time.
pub mod network;

// The report.
mod report;

pub use report::{
    LeftOut, PAGE, ReportError, prepare_reports, write_churn_report, write_report, write_run_report,
};
