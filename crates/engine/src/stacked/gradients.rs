//! Where gradients are written: to the node below, to the arena, or directly into the step of the weights.

pub(crate) mod gradient_aliasing;
pub(crate) mod gradient_write;
pub(crate) mod sgd;
pub(crate) mod sink;
