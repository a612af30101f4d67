//! The models of clients that take no part in a round, which a method is to leave as they are.

use meshfold_algorithms::AlgorithmError;
use meshfold_engine::Stack;

/// A copy of their rows.
pub(super) struct AbsentRows {
    rows: Vec<u32>,
    before: Vec<f32>,
}

impl AbsentRows {
    /// The rows of `models` of clients that are not `alive`; none if all are, or rows are not those of clients.
    pub(super) fn of(models: &Stack, alive: &[bool]) -> Result<Option<Self>, AlgorithmError> {
        let absent = (0..).zip(alive).filter(|(_, alive)| !**alive);
        let rows: Vec<u32> = absent.map(|(client, _)| client).collect();
        if rows.is_empty() || models.rows() != alive.len() {
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
