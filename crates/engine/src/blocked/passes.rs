//! What the forward and the backward pass of a row have in common.

use crate::device::Cpu;
use crate::network::Network;

/// The passes of one network on one processor.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passes<'a> {
    pub(super) cpu: &'a Cpu,
    pub(super) network: &'a Network,
    /// Threads share the products of a row.
    pub(super) share: bool,
}
