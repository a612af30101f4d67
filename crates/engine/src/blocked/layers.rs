//! The layers of one row.

pub(crate) mod constant_columns;
pub(crate) mod convolution;
pub(crate) mod embedding;
pub(crate) mod fused_next_forward;
pub(crate) mod group_norm;
pub(crate) mod last;
pub(crate) mod lstm;
pub(crate) mod pool;
