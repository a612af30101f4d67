//! The device itself: how it is opened, its memory, its failures, its launches and their count.

pub(crate) mod adapters;
pub(crate) mod failures;
pub(crate) mod gpu;
pub(crate) mod launch;
pub(crate) mod memory;
#[cfg(test)]
pub(crate) mod test_device;
pub(crate) mod threefry;
pub(crate) mod trace;
pub(crate) mod tuning;
