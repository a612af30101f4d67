//! Readers of file formats, independent of any dataset. Errors are faults at an offset, and readers reserve no more
//! memory than the bytes at hand justify.

pub(crate) mod idx;
pub(crate) mod leaf_json;
pub(crate) mod mat5;
pub(crate) mod npy;
pub(crate) mod npz;
pub(crate) mod zip_list;
pub(crate) mod zip_member;
