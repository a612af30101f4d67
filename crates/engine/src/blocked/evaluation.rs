//! Judging every row.

pub(crate) mod distinct;
pub(crate) mod evaluate;
pub(crate) mod judged;
