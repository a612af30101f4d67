//! The operations on whole stacks: mixing, copying rows, scaling, quantising, norms.

pub(crate) mod among;
pub(crate) mod average;
pub(crate) mod cleared;
pub(crate) mod distances;
pub(crate) mod finite;
pub(crate) mod mix;
pub(crate) mod mix_sparse;
pub(crate) mod momentum_step;
pub(crate) mod norms;
pub(crate) mod pair_distances;
pub(crate) mod quantize;
pub(crate) mod rows;
pub(crate) mod scaled;
pub(crate) mod shortened;
pub(crate) mod stack_rows;
pub(crate) mod statistics;
