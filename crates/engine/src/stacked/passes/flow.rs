//! The batch that goes through a network, and the models it goes through.

use crate::network::Network;
use crate::stacked::batches::part::Part;
use crate::stacked::layers::dropout::DropoutMasks;
use crate::stacked::layers::stack_arena::StackArena;
use burn_cubecl::tensor::CubeTensor;

/// A pass of some rows and examples, besides the examples themselves.
#[derive(Clone, Copy)]
pub(crate) struct Flow<'a> {
    pub(crate) network: &'a Network,
    /// The arena, `[R, P_pad]`.
    pub(crate) models: &'a CubeTensor,
    /// The dropout masks, in training.
    pub(crate) masks: Option<DropoutMasks<'a>>,
    pub(crate) part: &'a Part<'a>,
}

impl<'a> Flow<'a> {
    /// The models of all rows.
    pub(crate) fn arena(&self) -> StackArena<'a> {
        StackArena {
            models: self.models,
            width: self.network.layout().width(),
        }
    }
}
