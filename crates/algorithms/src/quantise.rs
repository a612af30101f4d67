//! What a method sends when its messages are quantised.

use crate::error::AlgorithmError;
use crate::round::Round;
use meshfold_engine::{Key, NormScope, Purpose, Quantiser, Stack, stream};
use rand::Rng;
use serde::{Deserialize, Serialize};

/// Quantised messages: differences of models in `b` bits a parameter.
///
/// # Source
/// DFedRW (Wang et al.), (12)-(14); Sun et al., Decentralized federated averaging (2021), Algorithm 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantise {
    /// Bits per parameter, sign included: 2 to 24.
    pub bits: u32,
    /// What one norm is sent for.
    #[serde(default)]
    pub norm: NormScope,
    /// What a receiver does with a difference.
    #[serde(default)]
    pub aggregate: Aggregate,
}

/// What a receiver does with a quantised difference.
///
/// # Interpretation
/// As printed, (14) adds the mean of quantised differences to the client's own old model, which never contracts
/// disagreement: on sparse overlays it diverges even with an exact quantiser. `replica` is the reading that converges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregate {
    /// The receiver knows the model that the difference is taken from, and mixes the sum of both.
    #[default]
    Replica,
    /// The receiver adds the difference to its own model, as (13) and (14) are printed.
    Printed,
}

impl Quantise {
    /// Checks every value.
    ///
    /// # Errors
    /// [`AlgorithmError::Setting`].
    pub(crate) fn check(self) -> Result<(), AlgorithmError> {
        if (2..=24).contains(&self.bits) {
            return Ok(());
        }
        Err(AlgorithmError::Setting {
            key: "quantise.bits",
            found: self.bits.to_string(),
            needed: "a parameter is sent in 2 to 24 bits, one of them the sign",
        })
    }

    /// Bytes of a message of `parameters` parameters, rounded up: `64 + bP` bits, or 64 for each of `blocks`.
    pub(crate) fn message_bytes(self, parameters: usize, blocks: usize) -> u64 {
        let norms = match self.norm {
            NormScope::Model => 1,
            NormScope::Layer => blocks as u64,
        };
        (64 * norms + u64::from(self.bits) * parameters as u64).div_ceil(8)
    }

    /// `Q(after − before)` row by row; `visit` tells apart the messages of one round.
    pub(crate) fn difference(
        self,
        after: &Stack,
        before: &Stack,
        round: &Round<'_>,
        visit: u32,
    ) -> Result<Stack, AlgorithmError> {
        let mut difference = after.duplicate();
        difference.add_scaled(before, &vec![-1.0; before.rows()])?;
        let keys = (0..after.rows() as u32)
            .map(|row| {
                let key = Key {
                    round: round.number as u64,
                    row,
                    step: visit,
                    layer: 0,
                };
                let mut rng = stream(round.seed, Purpose::Quantisation, key);
                [rng.next_u32(), rng.next_u32()]
            })
            .collect();
        difference.quantize(&Quantiser {
            bits: self.bits,
            norm: self.norm,
            keys,
        });
        Ok(difference)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_64_bits_and_b_for_each_parameter() {
        let quantise = |bits, norm| Quantise {
            bits,
            norm,
            aggregate: Aggregate::Replica,
        };
        assert_eq!(quantise(8, NormScope::Model).message_bytes(7850, 2), 7858);
        assert_eq!(quantise(8, NormScope::Layer).message_bytes(7850, 2), 7866);
        assert_eq!(quantise(3, NormScope::Model).message_bytes(1, 1), 9);
    }

    #[test]
    fn a_sign_alone_is_no_quantiser() {
        let bits = |bits| Quantise {
            bits,
            norm: NormScope::Model,
            aggregate: Aggregate::Replica,
        };
        assert!(bits(1).check().is_err() && bits(25).check().is_err());
        assert!(bits(2).check().is_ok());
    }
}
