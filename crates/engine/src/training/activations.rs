//! What of a forward pass is looked at.

use crate::error::EngineError;
use crate::network::Network;

/// Numbers that a model computes of each example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activations {
    /// Those of the last layer, before the softmax.
    Outputs,
    /// Those that the last layer reads.
    Representations,
}

impl Activations {
    /// How many there are of a judged position.
    ///
    /// # Errors
    /// [`EngineError::Setting`] if the network has no representations.
    pub(crate) fn of_position(self, network: &Network) -> Result<usize, EngineError> {
        match self {
            Self::Outputs => Ok(network.outputs()),
            Self::Representations => network.representation().ok_or_else(|| {
                let is_own = network.nodes().is_empty();
                let found = match is_own {
                    true => "a model of one's own, whose layers are not known",
                    false => "a model of one layer",
                };
                EngineError::Setting {
                    what: "representations",
                    found: found.to_owned(),
                    needed: "a built-in model with a hidden layer",
                }
            }),
        }
    }
}
