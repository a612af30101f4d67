//! The forward and the backward pass of a block of rows, and the memory that they use.

pub(crate) mod backward;
pub(crate) mod flow;
pub(crate) mod forward;
pub(crate) mod own;
pub(crate) mod steps;
pub(crate) mod tallies;
pub(crate) mod workspace;
