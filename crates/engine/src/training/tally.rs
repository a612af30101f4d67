//! Counts that models keep while they train.

use serde::{Deserialize, Serialize};

/// Work done so far, and the training loss since the tally was last taken.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tally {
    /// Local steps of all rows since the start of the run.
    pub local_steps: u64,
    /// Examples that those steps saw.
    pub examples_seen: u64,
    /// Mean over the rows that trained of the mean loss of each row's mini-batches since the last tally: each batch of a row counts
    /// alike, however many examples it has, and so does each row.
    pub train_loss: Option<f64>,
}

/// Losses of some steps of one row.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LossSum {
    /// Saved as its bits: JSON has no infinity and no NaN.
    #[serde(with = "bits")]
    pub(crate) sum: f64,
    pub(crate) steps: u64,
    pub(crate) examples: u64,
}

impl LossSum {
    pub(crate) fn add(&mut self, mean: f64, examples: usize) {
        self.sum += mean;
        self.steps += 1;
        self.examples += examples as u64;
    }
}

/// What is remembered of one row's training.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowTally {
    /// Losses since the last tally.
    pub(crate) recent: LossSum,
    /// First round in which a loss or the model was not finite.
    pub(crate) broken: Option<usize>,
}

impl RowTally {
    pub(crate) fn add(&mut self, losses: LossSum, round: usize) {
        self.recent.sum += losses.sum;
        self.recent.steps += losses.steps;
        self.recent.examples += losses.examples;
        if !losses.sum.is_finite() {
            self.mark_broken(round);
        }
    }

    pub(crate) fn mark_broken(&mut self, round: usize) {
        self.broken = Some(self.broken.map_or(round, |earlier| earlier.min(round)));
    }
}

/// Losses on a GPU that have not been moved to the host. They are saved as they are, since adding them to the sums of the host
/// early would round differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeviceLosses {
    /// `[2, R]`: the bits of each row's sum, then each row's first round with a loss that was not finite.
    pub(crate) words: Vec<u32>,
    /// Steps and examples of each row, `[R]`.
    pub(crate) seen: Vec<(u64, u64)>,
    /// The last round that was trained in.
    pub(crate) round: usize,
}

impl DeviceLosses {
    /// In place of a round: all losses of the row were finite.
    pub(crate) const NEVER: u32 = u32::MAX;

    /// Those of `rows` rows that have not trained.
    pub(crate) fn none(rows: usize) -> Self {
        Self {
            words: [vec![0.0f32.to_bits(); rows], vec![Self::NEVER; rows]].concat(),
            seen: vec![(0, 0); rows],
            round: 0,
        }
    }

    /// Adds them to `tallies`, one of which each row has.
    pub(crate) fn add_to(&self, tallies: &mut [RowTally]) {
        let (sums, broken) = self.words.split_at(self.seen.len());
        for (row, tally) in tallies.iter_mut().enumerate().take(self.seen.len()) {
            let (steps, examples) = self.seen[row];
            if steps > 0 {
                let round = match broken[row] {
                    Self::NEVER => self.round,
                    round => round as usize,
                };
                let sum = f64::from(f32::from_bits(sums[row]));
                tally.add(
                    LossSum {
                        sum,
                        steps,
                        examples,
                    },
                    round,
                );
            }
        }
    }
}

/// Serialises a float as its bits.
mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(value.to_bits())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        u64::deserialize(from).map(f64::from_bits)
    }
}
