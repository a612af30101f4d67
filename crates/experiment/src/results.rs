//! What a run leaves in its folder, written and read.

pub(crate) mod clients;
pub(crate) mod records;
pub(crate) mod run_error;
pub(crate) mod run_folder;
pub(crate) mod summary;
pub(crate) mod sweep_order;
