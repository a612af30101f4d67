//! `clients.parquet`, a row for each deployed model at each evaluation, and `clients.spool`, where a run gathers them.
//!
//! A parquet file is readable only once its footer is written, and has the same columns in all rows. So evaluations go to the
//! [`spool`] first; the [`writer`] makes the table of it when the run ends.

pub(crate) mod all_evaluations;
pub(crate) mod last_evaluation;
mod parquet_file;
pub(crate) mod row;
pub(crate) mod spool;
pub(crate) mod writer;
