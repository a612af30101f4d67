//! What a run asks of its device in one go.

pub(crate) mod evaluation_request;
mod same_layers;
pub(crate) mod train_batch_request;
