//! What goes through a network.

use super::dropout::Masks;
use super::part::Part;
use crate::network::Network;
use burn_cubecl::tensor::CubeTensor;

/// A pass of some rows and examples, besides the examples themselves.
#[derive(Clone, Copy)]
pub(super) struct Flow<'a> {
    pub(super) network: &'a Network,
    /// The arena, `[R, P_pad]`.
    pub(super) models: &'a CubeTensor,
    /// Examples of every entry of the table.
    pub(super) counts: &'a CubeTensor,
    /// What is left out, in training.
    pub(super) masks: Option<Masks<'a>>,
    pub(super) part: &'a Part,
}

impl<'a> Flow<'a> {
    /// The arena and how many floats make a row of it.
    pub(super) fn arena(&self) -> (&'a CubeTensor, usize) {
        (self.models, self.network.layout().width())
    }
}
