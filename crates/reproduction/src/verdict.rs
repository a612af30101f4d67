//! The verdict on a comparison.

use serde::Serialize;

use crate::claim::Held;
use crate::outcome::RowOutcome;

/// The verdict on comparing a row with our values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All that is stated holds, numbers within their tolerance.
    Reproduced,
    /// Every number is met or missed by little, and every order holds.
    Close,
    /// An order is stated, and it holds; numbers beside it may be missed.
    OrderingHolds,
    /// A test of the program holds it; no run is needed.
    Tested,
    /// A number or an order is missed.
    Contradicts,
    /// The dataset is not there.
    NeedsData,
    /// The paper's text does not say enough.
    NotDecidable,
    /// Runs are missing.
    NotRun,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Close => "close",
            Self::OrderingHolds => "ordering holds",
            Self::Tested => "held by a test",
            Self::Contradicts => "contradicts",
            Self::NeedsData => "needs data",
            Self::NotDecidable => "not decidable",
            Self::NotRun => "not run",
        }
    }

    /// All of them, the best first.
    const ALL: [Self; 8] = [
        Self::Reproduced,
        Self::Close,
        Self::OrderingHolds,
        Self::Tested,
        Self::Contradicts,
        Self::NeedsData,
        Self::NotDecidable,
        Self::NotRun,
    ];

    /// How many of `outcomes` have each verdict that any of them has, the best first.
    pub(crate) fn counts(outcomes: &[RowOutcome<'_>]) -> Vec<(usize, Self)> {
        let count = |verdict: Self| {
            let verdicts = outcomes.iter().map(|outcome| outcome.verdict);
            let count = verdicts.filter(|found| *found == verdict).count();
            (count > 0).then_some((count, verdict))
        };
        Self::ALL.into_iter().filter_map(count).collect()
    }

    /// How many rows have each verdict, in words: `3 reproduced, 1 close`.
    pub fn counts_in_words(outcomes: &[RowOutcome<'_>]) -> String {
        let counts = Self::counts(outcomes).into_iter();
        let words = counts.map(|(count, verdict)| format!("{count} {}", verdict.words()));
        words.collect::<Vec<_>>().join(", ")
    }

    /// The verdict on claims, each with whether it states a number.
    pub(crate) fn of(claims: &[(bool, Held)]) -> Self {
        let (numbers, orders): (Vec<_>, Vec<_>) =
            claims.iter().partition(|(is_number, _)| *is_number);
        let least = |claims: &[(bool, Held)]| claims.iter().map(|(_, held)| *held).min();
        let orders_hold = least(&orders) == Some(Held::Met);
        match (least(&numbers), orders.is_empty()) {
            (Some(Held::Met), true) => Self::Reproduced,
            (Some(Held::Met), false) if orders_hold => Self::Reproduced,
            (Some(Held::Near), true) => Self::Close,
            (Some(Held::Near), false) if orders_hold => Self::Close,
            (_, false) if orders_hold => Self::OrderingHolds,
            _ => Self::Contradicts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Held::{Met, Missed, Near};

    #[test]
    fn verdicts_follow_from_numbers_and_orders() {
        assert_eq!(Verdict::of(&[(true, Met)]), Verdict::Reproduced);
        assert_eq!(Verdict::of(&[(true, Met), (true, Near)]), Verdict::Close);
        assert_eq!(Verdict::of(&[(true, Missed)]), Verdict::Contradicts);
        assert_eq!(Verdict::of(&[(false, Met)]), Verdict::OrderingHolds);
        assert_eq!(
            Verdict::of(&[(false, Met), (true, Missed)]),
            Verdict::OrderingHolds
        );
        assert_eq!(
            Verdict::of(&[(false, Missed), (true, Met)]),
            Verdict::Contradicts
        );
        assert_eq!(
            Verdict::of(&[(false, Met), (true, Met)]),
            Verdict::Reproduced
        );
    }
}
