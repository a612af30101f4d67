//! The forward pass, the backward pass and the step of one row.

pub(crate) mod backward;
pub(crate) mod by_example;
pub(crate) mod forward;
pub(crate) mod gradient;
pub(crate) mod own;
mod representations;
pub(crate) mod step;
pub(crate) mod terms;
