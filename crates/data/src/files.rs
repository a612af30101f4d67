//! Files: where they lie, how they are fetched, checked, unpacked and told apart, and what is wrong with them.

pub(crate) mod check;
pub(crate) mod copies;
pub(crate) mod digest;
pub(crate) mod error;
pub(crate) mod excerpt;
pub(crate) mod fault;
pub(crate) mod fetch;
pub(crate) mod folder;
pub(crate) mod hashing;
pub(crate) mod json_files;
pub(crate) mod manifest;
pub(crate) mod own_files;
pub(crate) mod packing;
pub(crate) mod payload;
pub(crate) mod place;
pub(crate) mod regular;
pub(crate) mod suggestion;
pub(crate) mod tar_member;
pub(crate) mod unfinished;
