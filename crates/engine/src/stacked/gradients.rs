//! Where gradients go: to the node below, to the arena, or straight into the step of the weights.

pub(crate) mod deposit;
pub(crate) mod handed;
pub(crate) mod sgd;
pub(crate) mod sink;
