//! The models of clients that take no part in a round, which a method is to leave as they are.

use meshfold_algorithms::{AlgorithmError, Round};
use meshfold_engine::{Mixing, Stack};

/// A copy of their rows.
pub(super) struct AbsentRows {
    rows: Vec<u32>,
    before: Vec<f32>,
}

impl AbsentRows {
    /// The rows of `models` of clients that take no part in `round`, nor receive models as stragglers may; none if there are none, or rows are
    /// not those of clients.
    pub(super) fn of(models: &Stack, round: &Round<'_>) -> Result<Option<Self>, AlgorithmError> {
        let receives = |client: u32| {
            let hears = |mixing: &Mixing| {
                let mut weights = mixing.row(client as usize).into_iter();
                weights.any(|(other, _)| other != client)
            };
            round.mixing.is_some_and(hears)
        };
        let absent = (0..).zip(round.alive).filter(|(_, alive)| !**alive);
        let absent = absent.map(|(client, _)| client);
        let rows: Vec<u32> = absent.filter(|client| !receives(*client)).collect();
        if rows.is_empty() || models.rows() != round.alive.len() {
            return Ok(None);
        }
        let before = models.gather(&rows)?.to_host();
        Ok(Some(Self { rows, before }))
    }

    /// Whether some of them are other ones in `models`.
    pub(super) fn differ_in(&self, models: &Stack) -> bool {
        let after = models.gather(&self.rows).map(|rows| rows.to_host());
        after.is_ok_and(|after| {
            let bits = |rows: &[f32]| {
                rows.iter()
                    .map(|value| value.to_bits())
                    .collect::<Vec<u32>>()
            };
            bits(&after) != bits(&self.before)
        })
    }
}
