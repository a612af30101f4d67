//! The steps that all ranks of a run take together: rank 0 announces each, and the others take it.

use meshfold_engine::{Device, Ranks};

/// The next step that all ranks take together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Read the examples of the run with this id, as a number.
    Begin(u64),
    /// Start the run on the examples that were read.
    Start,
    /// Load the models of the checkpoint after this round.
    Restore(u64),
    /// Advance by one round.
    Advance,
    /// Judge the models.
    Evaluate,
    /// Gather the losses of all rows.
    Losses,
    /// Gather the stack at this place.
    Stack(u64),
    /// End the run.
    End,
    /// There are no more runs.
    Over,
}

impl Step {
    fn words(self) -> [u64; 2] {
        match self {
            Self::Begin(run) => [1, run],
            Self::Restore(round) => [2, round],
            Self::Advance => [3, 0],
            Self::Evaluate => [4, 0],
            Self::Losses => [5, 0],
            Self::Stack(place) => [6, place],
            Self::End => [7, 0],
            Self::Over => [8, 0],
            Self::Start => [9, 0],
        }
    }

    /// The step that these words encode; none if they encode none.
    fn of(words: [u64; 2]) -> Option<Self> {
        let [_, value] = words;
        let all = [
            Self::Begin(value),
            Self::Start,
            Self::Restore(value),
            Self::Advance,
            Self::Evaluate,
            Self::Losses,
            Self::Stack(value),
            Self::End,
            Self::Over,
        ];
        all.into_iter().find(|step| step.words() == words)
    }
}

/// Tells the other ranks of `device`, if there are any, that `step` comes next.
pub(crate) fn announce(device: &Device, step: Step) {
    if let Some(ranks) = device.ranks() {
        ranks.broadcast(step.words());
    }
}

/// The step that rank 0 announces next.
pub(crate) fn next(ranks: &Ranks) -> Step {
    let words = ranks.broadcast([0; 2]);
    let none = || ranks.abort(&format!("rank 0 says {words:?}, which is no step of a run"));
    Step::of(words).unwrap_or_else(none)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_told_from_their_words() {
        for step in [
            Step::Begin(7),
            Step::Start,
            Step::Restore(3),
            Step::Advance,
            Step::Evaluate,
            Step::Losses,
            Step::Stack(2),
            Step::End,
            Step::Over,
        ] {
            assert_eq!(Step::of(step.words()), Some(step));
        }
        assert_eq!(Step::of([0, 0]), None);
        assert_eq!(Step::of([3, 1]), None);
    }
}
