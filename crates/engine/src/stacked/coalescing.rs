//! What runs side by side share: their launches and their examples.

pub(crate) mod joint;
pub(crate) mod shared_examples;
pub(crate) mod together;
