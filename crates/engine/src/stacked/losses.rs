//! Losses, their gradients with respect to the outputs, and sums over a batch.

pub(crate) mod cross_entropy;
pub(crate) mod cross_entropy_of_many;
mod launch;
pub(crate) mod loss_kernels;
pub(crate) mod scores;
pub(crate) mod sigmoid;
pub(crate) mod squared_error;
