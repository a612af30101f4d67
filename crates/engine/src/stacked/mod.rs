//! The trainer of GPUs: stacked. All rows step together, as batched products over the arena `[R, P_pad]`.
//!
//! Every kernel has a file of its own with the plain loop that it must agree with. A kernel takes the whole arena and
//! the offset of the block it works on, so that no view need be aligned. Each of its outputs is one chain of
//! multiplications and additions in ascending order of the summed index, or of as many chains as the shape alone says,
//! added in order: the bits depend neither on how rows are cut into blocks nor on what else the stack holds. There are no
//! atomics, no cube waits for another, and no kernel is chosen by timing. Models of a
//! user's own go through burn's kernels, which are chosen by the shape of what they work on: how rows are cut into blocks
//! may change their rounding.

mod add;
mod affine;
mod average;
mod backward;
mod bout;
mod convolve;
mod convolve_delta;
mod convolve_outer;
mod cross_entropy;
mod cross_entropy_of_many;
mod delta;
mod deposit;
mod distances;
mod draws;
mod dropout;
mod embedding;
mod embedding_gradient;
mod evaluate;
mod examples;
mod failing;
mod finite;
mod flow;
mod forward;
mod gather;
mod gpu;
mod group_norm;
mod group_norm_delta;
mod handed;
mod heavy_ball;
mod joint;
mod judgement;
mod judging;
mod labels;
mod last;
mod launch;
mod layer;
mod lstm;
mod lstm_delta;
mod max_pool;
mod mean_pool;
mod memory;
mod mix;
mod mix_sparse;
mod norms;
mod outer;
mod own;
mod part;
mod quantize;
mod relu;
mod rows;
mod scaled;
mod scores;
mod sgd;
mod shared_examples;
mod sheet;
mod sigmoid;
mod sink;
mod squared_error;
mod stack_rows;
mod steps;
mod table;
mod tallies;
#[cfg(test)]
mod test_device;
mod threefry;
mod together;
mod trace;
mod trainer;
mod window;
mod workspace;

pub(crate) use average::mean;
pub(crate) use distances::squared_distances;
pub use failing::is_told_by_runs;
pub(crate) use finite::finite_rows;
pub(crate) use gpu::Gpu;
pub(crate) use heavy_ball::heavy_ball;
pub(crate) use memory::{Memory, copy, read};
pub(crate) use mix::{GpuMixing, mix};
pub(crate) use norms::squared_norms;
pub(crate) use quantize::quantize;
pub(crate) use rows::{gather_rows, scatter_rows};
pub(crate) use scaled::{add_scaled, scale_rows};
pub(crate) use stack_rows::StackRows;
pub use trace::{Launched, Trace};
pub(crate) use trainer::{Stacked, bytes};
