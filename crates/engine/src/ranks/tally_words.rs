//! Tallies of training losses as words that ranks send to each other.

use crate::training::tally::{LossSum, RowTally};

/// Words of a tally.
pub(crate) const WORDS: usize = 4;

/// A tally as words, for other ranks.
pub(crate) fn words(tally: &RowTally) -> [u64; WORDS] {
    let RowTally { recent, broken } = tally;
    let broken = broken.map_or(0, |round| round as u64 + 1);
    [recent.sum.to_bits(), recent.steps, recent.examples, broken]
}

/// The inverse of [`words`].
pub(crate) fn of_words([sum, steps, examples, broken]: [u64; WORDS]) -> RowTally {
    RowTally {
        recent: LossSum {
            sum: f64::from_bits(sum),
            steps,
            examples,
        },
        broken: broken.checked_sub(1).map(|round| round as usize),
    }
}
