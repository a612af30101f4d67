//! Local work: batches, schedules, the learner that has rows train, and what it counts.

pub(crate) mod activations;
pub(crate) mod batches;
pub(crate) mod context;
pub(crate) mod learner;
pub(crate) mod local_work;
pub(crate) mod row_examples;
pub(crate) mod schedule;
pub(crate) mod score;
pub(crate) mod tally;
pub(crate) mod trained_layers;
pub(crate) mod work;
