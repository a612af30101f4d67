//! Runs as TensorBoard shows them: event files with every figure of every record.
//!
//! The crate depends on `meshfold-experiment`, never the other way round: it reads what runs left in their folders. A
//! [`LogFolder`] is what `tensorboard --logdir` is given. Each run has a folder in it, `NAME/LABEL`, with one event
//! file. That file depends only on the run's folder: [`LogFolder::begin`] writes it anew with all records of a new,
//! resumed or finished run, and [`RunLog::append`] appends later ones. So a run that was interrupted has no point
//! twice, and none that its checkpoint took back.
//!
//! `record_file` is the framing of TFRecord files, `event` their messages in protobuf; both as TensorBoard's `.proto` files
//! define them.

mod error;
mod event;
mod figures;
mod hyperparameters;
mod leaves;
mod log_folder;
mod logged_run;
mod record_file;
mod run_log;

pub use error::TensorboardError;
pub use log_folder::LogFolder;
pub use run_log::{End, RunLog};

/// The folder of event files in the folder of all results, where nobody names another.
pub const FOLDER: &str = "tensorboard";
