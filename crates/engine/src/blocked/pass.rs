//! What a pass of one row works on: its stages, its inputs, its memory and how much that is, and where its gradients go.

pub(crate) mod entry;
pub(crate) mod inputs;
pub(crate) mod memory_size;
pub(crate) mod passes;
pub(crate) mod products;
pub(crate) mod scratch;
pub(crate) mod sink;
pub(crate) mod stage_io;
pub(crate) mod stages;
pub(crate) mod target;
