//! The requests of a run to its device.

pub(crate) mod evaluation_request;
pub(crate) mod of_run;
mod same_layers;
pub(crate) mod train_batch_request;
