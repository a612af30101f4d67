//! What a run leaves in its folder, written and read.
//!
//! [`RecordedRun`] reads the folder of any run, also of one that goes on, failed, or was made by another version: it knows
//! settings and figures by their names alone. Whatever shows runs, such as a report, starts from it.

mod appended_file;
pub(crate) mod checkpoint;
pub(crate) mod claim;
pub(crate) mod clients;
pub(crate) mod data_digests;
mod file_states;
mod finished_run;
mod holdings;
mod label_counts;
mod method_state;
pub(crate) mod metrics;
pub(crate) mod names;
mod oscillation;
mod outcome;
mod progress;
mod recorded_run;
mod recorded_schedule;
mod removal;
pub(crate) mod results_error;
mod run_entry;
pub(crate) mod run_error;
pub(crate) mod run_folder;
pub(crate) mod run_folders;
mod run_reader;
mod run_text;
mod settings;
pub(crate) mod summary;
pub mod sweep_order;
mod text_counts;
mod trained_models;

pub use crate::figure_kind::{FigureKind, more_is_better, reaches};
pub use meshfold_algorithms::RowKind;

pub use claim::{Claim, Holder, Process};
pub use clients::all_evaluations::ClientViews;
pub use clients::last_evaluation::RowAccuracy;
pub use clients::row::ClientScore;
pub use file_states::FileStates;
pub use holdings::Holdings;
pub use label_counts::LabelCounts;
pub use method_state::MethodState;
pub use metrics::evaluations::{Evaluation, RecordedSpread};
pub use metrics::figures::{Figures, metrics};
pub use names::Names;
pub use progress::Progress;
pub use recorded_run::RecordedRun;
pub use removal::{Removal, RemovalError};
pub use results_error::ResultsError;
pub use run_entry::{RunEntry, RunStage};
pub use run_folder::DONE;
pub use run_folders::{run_folders, subfolders};
pub use run_reader::{folder_name, is_run};
pub use settings::{Settings, choice, variant};
pub use text_counts::TextCounts;
pub use trained_models::{ModelsError, TrainedModels};
