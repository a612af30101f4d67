//! The runs that a page is about: found in their folders, put in order, grouped and labelled.

pub(crate) mod curves;
mod determined;
pub(crate) mod factor;
pub(crate) mod gathering;
pub(crate) mod group;
pub(crate) mod order;
pub(crate) mod setting_label;
