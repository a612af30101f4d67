//! The charts of the pages, a file for each kind.

pub(crate) mod bound;
pub(crate) mod boxes;
pub(crate) mod churn;
pub(crate) mod curve;
pub(crate) mod degree;
pub(crate) mod heat;
pub(crate) mod partition;
pub(crate) mod spectrum;
pub(crate) mod spread;
pub(crate) mod text;
