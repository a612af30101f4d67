//! The trainer of GPUs: stacked. All rows step together, as batched products over the arena `[R, P_pad]`.
//!
//! Every kernel has a file of its own with the plain loop that it must agree with. A kernel takes the whole arena and
//! the offset of the block it works on, so that no view need be aligned. Each of its outputs is one chain of
//! multiplications and additions in ascending order of the summed index, or a sum of several such chains in order.
//! Their number depends on the shape alone. So the bits depend neither on how rows are cut into blocks nor on what else
//! the stack holds. There are no atomics, no cube waits for another, and no kernel is chosen by timing. Models of a
//! user's own use burn's kernels, which are chosen by shape: how rows are cut into blocks may change their rounding.

pub(crate) mod batches;
pub(crate) mod coalescing;
pub(crate) mod device;
mod gpu_backend;
mod gpu_rows;
pub(crate) mod gradients;
pub(crate) mod layers;
pub(crate) mod losses;
pub(crate) mod passes;
mod rank_rows;
pub(crate) mod requests;
pub(crate) mod stack_ops;
mod trainer;

pub use device::failures::is_told_by_runs;
pub use device::trace::{Launched, Trace};
pub(crate) use gpu_backend::{open, open_rank};
