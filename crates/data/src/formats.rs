//! Readers of file formats that know nothing of a dataset. What is wrong is a fault at an offset, and no more memory is
//! asked for than the bytes at hand warrant.

pub(crate) mod idx;
pub(crate) mod leaf_json;
pub(crate) mod mat5;
pub(crate) mod npy;
pub(crate) mod npz;
pub(crate) mod zip_list;
pub(crate) mod zip_member;
