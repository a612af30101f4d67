//! Batches and examples as kernels read them.

pub(crate) mod batch_schedule;
pub(crate) mod block_shape;
pub(crate) mod device_batch_schedule;
mod drawing_threads;
pub(crate) mod draws;
pub(crate) mod examples;
pub(crate) mod gather;
pub(crate) mod labels;
pub(crate) mod part;
