//! The layers of one row.

pub(crate) mod ahead;
pub(crate) mod convolution;
pub(crate) mod embedding;
pub(crate) mod group_norm;
pub(crate) mod last;
pub(crate) mod lstm;
pub(crate) mod parted;
pub(crate) mod pool;
