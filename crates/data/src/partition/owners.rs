//! The owner of each example.

use std::ops::Range;

/// The owner of each of `M` examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owners<'a> {
    /// The owner of each example, `[M]`.
    Listed(&'a [u32]),
    /// Owners of examples that follow one another, and how many examples each of these runs has.
    Runs(&'a [(u32, u32)]),
}

impl<'a> Owners<'a> {
    /// Number of examples `M`.
    pub fn examples(self) -> usize {
        match self {
            Self::Listed(owners) => owners.len(),
            Self::Runs(runs) => runs.iter().map(|(_, examples)| *examples as usize).sum(),
        }
    }

    /// Runs of examples that follow one another and have one owner.
    pub fn runs(self) -> impl Iterator<Item = (u32, Range<u32>)> + use<'a> {
        let (listed, runs): (&[u32], &[_]) = match self {
            Self::Listed(owners) => (owners, &[]),
            Self::Runs(runs) => (&[], runs),
        };
        let listed = listed.chunk_by(|a, b| a == b);
        let lengths = listed.map(|run| (run[0], run.len() as u32));
        let lengths = std::iter::chain(lengths, runs.iter().copied());
        lengths.scan(0, |first, (owner, examples)| {
            let start = *first;
            *first += examples;
            Some((owner, start..*first))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_runs_say_the_same() {
        let (listed, runs) = ([7, 7, 2, 7], [(7, 2), (2, 1), (7, 1)]);
        let (listed, runs) = (Owners::Listed(&listed), Owners::Runs(&runs));
        assert_eq!((listed.examples(), runs.examples()), (4, 4));
        let expected = [(7, 0..2), (2, 2..3), (7, 3..4)];
        assert!(listed.runs().eq(expected.clone()));
        assert!(runs.runs().eq(expected));
    }
}
