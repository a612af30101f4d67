//! Where gradients go: to the node below, to the arena, or straight into the step of the weights.

pub(crate) mod gradient_aliasing;
pub(crate) mod gradient_write;
pub(crate) mod sgd;
pub(crate) mod sink;
