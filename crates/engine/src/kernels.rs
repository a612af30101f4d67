//! Host kernels. With `shared_memory` and `ranks::machine`, the only place of the engine with `unsafe` code.
//!
//! Products are computed in tiles of registers, written once over [`pulp`]'s vectors and compiled for each instruction
//! set. Every output is one chain of fused multiply-adds in ascending order of the summed index, so its bits do not
//! depend on tile shape, block size or threads. A processor without fused instructions emulates them exactly.
#![allow(unsafe_code)]

mod affine;
mod amx;
pub(crate) mod channels;
mod column_subset;
mod convolve;
mod elementwise;
mod exp;
mod fused;
pub(crate) mod host;
mod instructions;
pub(crate) mod largest;
mod mask;
mod max_pool;
mod mix;
mod multiply;
mod norm;
mod outer;
mod outer_blocks;
mod packing;
pub(crate) mod pair_distances;
mod pairs;
mod panel;
mod prefetch;
mod sigmoid;
mod softmax;
mod sorting_network;
mod squared_error;
mod start;
pub(crate) mod statistics;
mod step_ahead;
mod streaming_store;
#[cfg(test)]
mod test_numbers;
mod tiles;
mod update;

pub(crate) use affine::Affine;
pub(crate) use column_subset::ColumnSubset;
pub(crate) use convolve::Convolve;
pub(crate) use elementwise::{sigmoid, tanh};
pub use instructions::Instructions;
pub(crate) use max_pool::{Maximum, MaximumBack};
pub(crate) use mix::{Shared, mix, mix_columns, mix_some};
pub(crate) use multiply::ProductKernel;
pub(crate) use norm::norm;
pub(crate) use outer::Outer;
pub(crate) use outer_blocks::{MANY_ROWS, OuterBlocks};
pub(crate) use packing::{Packing, pack, pack_transposed, transpose};
pub(crate) use pairs::{PairAhead, PairColumns, PairRows, to_bf16};
pub(crate) use prefetch::prefetch;
pub(crate) use sigmoid::sigmoid_cross_entropy;
pub(crate) use softmax::{BatchScore, MODELS, cross_entropy, cross_entropy_of_models};
pub(crate) use squared_error::squared_error;
pub(crate) use start::SumStart;
pub(crate) use step_ahead::{NextProduct, StepAhead};
pub(crate) use update::{HeavyBallUpdate, MomentumKind, Moves, Plain, Store, Update};
