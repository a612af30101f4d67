//! What a run asks of its device in one go.

pub(crate) mod bout;
pub(crate) mod judging;
