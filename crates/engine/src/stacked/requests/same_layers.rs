//! Which networks can stand in one stack.

use crate::network::Network;
use std::sync::Arc;

impl Network {
    /// Whether both have the same layers over the same examples, so that their rows can share a stack. False for models
    /// of a user's own, whose operations are unknown.
    pub(crate) fn has_the_layers_of(&self, other: &Self) -> bool {
        let is_own = |network: &Self| network.own_model().is_some();
        let reads = |network: &Self| (network.input(), network.classes(), network.positions());
        let learns = |network: &Self| (network.loss(), network.drops_out);
        if is_own(self) || is_own(other) {
            return false;
        }
        Arc::ptr_eq(self.layout(), other.layout())
            || self.nodes() == other.nodes()
                && reads(self) == reads(other)
                && learns(self) == learns(other)
                && self.layout() == other.layout()
    }
}
