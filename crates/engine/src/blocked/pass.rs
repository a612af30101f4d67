//! What a pass of one row works on: its stages, its inputs, its memory, and where its gradients go.

pub(crate) mod inputs;
pub(crate) mod passes;
pub(crate) mod products;
pub(crate) mod scratch;
pub(crate) mod sink;
pub(crate) mod stage_io;
pub(crate) mod stages;
pub(crate) mod target;
