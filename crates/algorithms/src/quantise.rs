//! Quantised messages.

use crate::error::AlgorithmError;
use crate::round::{Round, Setting};
use meshfold_engine::{Mixing, NormScope, Purpose, Quantiser, Stack};
use meshfold_topology::Overlay;
use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Quantised messages: differences of models in `b` bits a parameter.
///
/// # Source
/// DFedRW (Wang et al.), (12)-(14); Sun et al., Decentralized federated averaging (2021), Algorithm 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
/// disagreement: on sparse overlays it diverges even with an exact quantiser. `replica` is the reading that converges. A client that
/// hears nobody but itself keeps its model as it is, unquantised, in both.
///
/// `replica` takes each receiver to know the model that a difference is taken from, such as the sender's at the start of the round in
/// `dfedavgm`. That is a mean of models of which the receiver has heard some at most: no protocol of these bytes tells it in general. A
/// method that keeps copies by its messages alone is `choco_sgd`, of the published methods in Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Aggregate {
    /// The receiver knows the model that the difference is taken from, and mixes the sum of both. All such knowledge is exact and costs no
    /// bytes, also where overlays change.
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
    pub fn check(self) -> Result<(), AlgorithmError> {
        if (2..=24).contains(&self.bits) {
            return Ok(());
        }
        let needed = "a parameter is sent in 2 to 24 bits, one of them the sign";
        Err(AlgorithmError::setting("quantise.bits", self.bits, needed))
    }

    /// Bytes of a message of `parameters` parameters, rounded up: `64 + bP` bits, or 64 for each of `blocks`.
    pub fn message_bytes(self, parameters: usize, blocks: usize) -> u64 {
        let norms = match self.norm {
            NormScope::Model => 1,
            NormScope::Layer => blocks as u64,
        };
        (64 * norms + u64::from(self.bits) * parameters as u64).div_ceil(8)
    }

    /// `Q(after − before)` row by row; `visit` tells apart the messages of one round.
    pub fn difference(
        self,
        after: &Stack,
        before: &Stack,
        round: &Round<'_>,
        visit: u32,
    ) -> Result<Stack, AlgorithmError> {
        let mut difference = after.duplicate();
        difference.add_scaled(before, &vec![-1.0; before.rows()])?;
        difference.quantize(&self.quantiser(after.rows(), round, visit));
        Ok(difference)
    }

    /// What quantises the messages of `rows` rows in `round`; `visit` tells apart the messages of one round.
    pub fn quantiser(self, rows: usize, round: &Round<'_>, visit: u32) -> Quantiser {
        let key = |row| {
            let mut rng = round.stream(Purpose::Quantisation, row, visit);
            [rng.next_u32(), rng.next_u32()]
        };
        Quantiser {
            bits: self.bits,
            norm: self.norm,
            keys: (0..rows as u32).map(key).collect(),
        }
    }
}

impl Quantise {
    /// Averages every row of `after` by `mixing` over the rows that it hears, which send quantised differences from
    /// `before`. `unlinked` lists rows that hear no other, and rows that no other hears.
    ///
    /// # Interpretation
    /// Nothing is quantised that is not sent: a row that no other hears counts as it is in its own average, and one that
    /// hears no other keeps its model.
    pub fn average(
        self,
        after: &Stack,
        before: &Stack,
        unlinked: &UnlinkedRows,
        mixing: &Mixing,
        round: &Round<'_>,
    ) -> Result<Stack, AlgorithmError> {
        let ones = vec![1.0; before.rows()];
        let mut sent = self.difference(after, before, round, 0)?; // Q^t(l)
        let exact_rows = &unlinked.without_listeners;
        if !exact_rows.is_empty() {
            let mut exact = after.gather(exact_rows)?;
            exact.add_scaled(&before.gather(exact_rows)?, &vec![-1.0; exact_rows.len()])?;
            sent.scatter(exact_rows, &exact)?;
        }
        if self.aggregate == Aggregate::Replica {
            sent.add_scaled(before, &ones)?;
        }
        sent.mix(mixing)?;
        if self.aggregate == Aggregate::Printed {
            sent.add_scaled(before, &ones)?; // (14)
        }
        let keep = &unlinked.without_senders;
        if !keep.is_empty() {
            sent.scatter(keep, &after.gather(keep)?)?;
        }
        Ok(sent)
    }
}

/// Bytes of one message: of a model, or of a difference that is `quantise`d.
pub fn bytes_of_message(quantise: Option<Quantise>, setting: &Setting) -> u64 {
    quantise.map_or(setting.model_bytes(), |quantise| {
        let layout = &setting.layout;
        quantise.message_bytes(layout.parameters(), layout.blocks().len())
    })
}

/// Rows that hear no other in an exchange, and rows that no other hears.
pub struct UnlinkedRows {
    /// Rows that no other hears, ascending.
    without_listeners: Vec<u32>,
    /// Rows that hear no other, ascending.
    without_senders: Vec<u32>,
}

impl UnlinkedRows {
    /// For an exchange in which row `i` hears the rows `senders[i]`, maybe itself among them.
    pub fn of_senders(senders: &[Vec<u32>]) -> Self {
        let mut sent = vec![false; senders.len()];
        for (to, from) in (0..).zip(senders) {
            let others = from.iter().filter(|from| **from != to);
            others.for_each(|from| sent[*from as usize] = true);
        }
        let without_listeners = (0..).zip(sent).filter(|(_, sent)| !sent);
        let without_senders = (0..)
            .zip(senders)
            .filter(|(row, from)| from.iter().all(|from| from == row));
        Self {
            without_listeners: without_listeners.map(|(row, _)| row).collect(),
            without_senders: without_senders.map(|(row, _)| row).collect(),
        }
    }

    /// For an exchange among all neighbours of an overlay.
    pub fn of_overlay(overlay: &Overlay) -> Self {
        let nodes = 0..overlay.nodes() as u32;
        let unheard = |node: &u32| overlay.listeners(*node as usize).is_empty();
        let hears_none = |node: &u32| overlay.degree(*node as usize) == 0;
        Self {
            without_listeners: nodes.clone().filter(unheard).collect(),
            without_senders: nodes.filter(hears_none).collect(),
        }
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
        assert_eq!(
            bits(1).check().unwrap_err().to_string(),
            "quantise.bits is 1, but a parameter is sent in 2 to 24 bits, one of them the sign"
        );
        assert_eq!(
            bits(25).check().unwrap_err().to_string(),
            "quantise.bits is 25, but a parameter is sent in 2 to 24 bits, one of them the sign"
        );
        bits(2).check().unwrap();
    }
}
