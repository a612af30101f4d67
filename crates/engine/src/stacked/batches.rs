//! Batches and examples as kernels read them.

pub(crate) mod draws;
pub(crate) mod examples;
pub(crate) mod gather;
pub(crate) mod labels;
pub(crate) mod part;
pub(crate) mod sheet;
pub(crate) mod table;
