//! The batch that goes through a network, and where it lies.

use crate::network::Network;
use crate::stacked::batches::part::Part;
use crate::stacked::layers::arena::Arena;
use crate::stacked::layers::dropout::Masks;
use burn_cubecl::tensor::CubeTensor;

/// A pass of some rows and examples, besides the examples themselves.
#[derive(Clone, Copy)]
pub(crate) struct Flow<'a> {
    pub(crate) network: &'a Network,
    /// The arena, `[R, P_pad]`.
    pub(crate) models: &'a CubeTensor,
    /// What is left out, in training.
    pub(crate) masks: Option<Masks<'a>>,
    pub(crate) part: &'a Part<'a>,
}

impl<'a> Flow<'a> {
    /// The models of all rows.
    pub(crate) fn arena(&self) -> Arena<'a> {
        Arena {
            models: self.models,
            width: self.network.layout().width(),
        }
    }
}
