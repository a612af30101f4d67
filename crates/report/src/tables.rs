//! The tables of the page: summary, configuration and what quantised training did.

pub(crate) mod configuration;
pub(crate) mod quantised;
pub(crate) mod sortable;
pub(crate) mod summary;
