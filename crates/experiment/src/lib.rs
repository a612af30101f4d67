//! Experiments: from a YAML file to runs, and from runs to records.
//!
//! A [`ExperimentSource`] is the text of an experiment with its overrides. [`plan()`] checks every value, expands the sweep and
//! returns one [`RunPlan`] per run; whatever is wrong is a [`ConfigError`] that points at the line where it was
//! written and says what would be right.
//!
//! ```
//! use meshfold_data::DataFolder;
//! use meshfold_experiment::{ExperimentSource, plan};
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
//! let plans = plan(&ExperimentSource::new("example.yaml", yaml), &folder)?;
//! let labels: Vec<String> = plans.iter().map(|plan| plan.label()).collect();
//! assert_eq!(labels, ["topology=ring", "topology=complete"]);
//!
//! let misspelt = ExperimentSource::new("example.yaml", yaml.replace("[ring,", "[rnig,"));
//! let error = plan(&misspelt, &folder).unwrap_err();
//! assert_eq!(error.to_string(), "topology: unknown choice `rnig`");
//! assert_eq!(error.line(), Some(9));
//! # Ok::<(), meshfold_experiment::ConfigError>(())
//! ```

mod bounds;
mod config;
mod figure_kind;
pub mod files;
pub mod network;
mod non_iid_degree;
mod plan;
mod rank_steps;
pub mod results;
mod run;

pub use config::brief::brief;
pub use config::budget::Budget;
pub use config::client_view::ClientView;
pub use config::edge_list::{nodes_of_edge_lists, with_edge_lists, with_weight_list};
pub use config::error::{ConfigError, MOST_MISTAKES};
pub use config::evaluate::Evaluate;
pub use config::fault::ConfigFault;
pub use config::fine_tune::FineTune;
pub use config::local_test::LocalTest;
pub use config::membership::{AttackedModels, Membership, NonMembers};
pub use config::own::{Own, OwnFault, OwnName};
pub use config::quantity::Quantity;
pub use config::run_config::{Checkpoint, RunConfig};
pub use config::schema::settings_schema;
pub use config::seeds::Seeds;
pub use config::source::ExperimentSource;
pub use config::test_examples::TestExamples;
pub use files::guarded::is_guarded;
pub use files::write_error::plain_write_error;
pub use plan::churn::{ChurnRun, plan_churn};
pub use plan::division::{divide, work};
pub use plan::memory::overlay::check_overlay_memory;
pub use plan::over_ranks::OverRanks;
pub use plan::overlays_of_rounds::OverlaysOfRounds;
pub use plan::placement::Placement;
pub use plan::planned_overlay::{CliqueSummary, OverlayFigures, PlannedOverlay, first_overlay};
pub use plan::population::Population;
pub use plan::ramanujan::RamanujanBound;
pub use plan::run_plan::{PlanSummary, RunPlan};
pub use plan::schedule_summary::ScheduleSummary;
pub use plan::selection::{Part, Selection, SelectionError};
pub use plan::warnings::warnings;
pub use plan::{plan, plan_elsewhere, plan_on, plan_without_data};
pub use results::data_digests::DataDigests;
pub use results::metrics::record::{FiniteSpread, Measurements, Record, RecordedFigure, Spread};
pub use results::metrics::writer::read_records;
pub use results::run_error::RunError;
pub use results::run_folder::Done;
pub use results::summary::{Milestone, Seconds, Status, Summary, Target};
pub use run::ending::{Ending, RunReport};
pub use run::environment::{EarlierRounds, Environment, VERSION};
pub use run::observer::{Observer, Resumed, RoundProgress};
pub use run::ranks::{LeaderGuard, expect_same_plans, follow};
pub use run::run_all::{RunHost, most_at_once, run_all, run_part};
pub use run::shared_datasets::SharedDatasets;
pub use run::timing::{RunTiming, time_run};
pub use run::{RunOptions, finished, run};
