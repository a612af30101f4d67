//! What runs side by side share: their launches and their examples.

pub(crate) mod launch_coalescer;
pub(crate) mod merged_launch;
pub(crate) mod shared_examples;
pub(crate) mod shared_gpu;
