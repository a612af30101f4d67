//! The examples of one client.

use std::iter;
use std::ops::Range;
use std::sync::OnceLock;

use rand::seq::index;
use rand_chacha::ChaCha8Rng;

/// Example indices of one client, in their order.
///
/// Where many follow one another, as those of one owner do, only the runs are kept until somebody asks for every index: a
/// plan of hundreds of millions of examples needs none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shard {
    runs: Vec<Range<u32>>,
    length: usize,
    listed: OnceLock<Vec<u32>>,
}

impl Shard {
    /// The indices of `runs`, one run after the other.
    pub(crate) fn of_runs(runs: Vec<Range<u32>>) -> Self {
        let length = runs.iter().map(ExactSizeIterator::len).sum();
        // An index takes half the memory of a run.
        match length < 2 * runs.len() {
            true => Self::from(Vec::from_iter(runs.into_iter().flatten())),
            false => Self {
                runs,
                length,
                listed: OnceLock::new(),
            },
        }
    }

    /// The indices of each client.
    pub(crate) fn all(shards: Vec<Vec<u32>>) -> Vec<Self> {
        shards.into_iter().map(Self::from).collect()
    }

    /// How many they are.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// The first of them.
    pub(crate) fn first(&self) -> Option<u32> {
        self.runs().next().map(|run| run.start)
    }

    /// All of them. Runs are listed on first use.
    pub(crate) fn indices(&self) -> &[u32] {
        self.listed
            .get_or_init(|| self.runs.iter().cloned().flatten().collect())
    }

    /// All of them, taken out of the shard.
    pub(crate) fn into_indices(self) -> Vec<u32> {
        let runs = self.runs;
        let listed = self.listed.into_inner();
        listed.unwrap_or_else(|| runs.into_iter().flatten().collect())
    }

    /// Runs of indices that follow one another, none empty; where indices are listed, each is a run.
    pub(crate) fn runs(&self) -> impl Iterator<Item = Range<u32>> {
        let (runs, indices): (&[_], &[u32]) = match self.runs.is_empty() {
            true => (&[], self.listed.get().map_or(&[], Vec::as_slice)),
            false => (&self.runs, &[]),
        };
        let alone = indices.iter().map(|&index| index..index.saturating_add(1));
        let runs = runs.iter().filter(|run| !run.is_empty()).cloned();
        iter::chain(runs, alone)
    }

    /// This shard without the share `share` of its examples, and these, both in the order of the shard. At least one goes
    /// and one stays, unless there is but one, which stays.
    pub(crate) fn parted(self, share: f64, rng: impl FnOnce() -> ChaCha8Rng) -> (Self, Self) {
        if self.length < 2 {
            return (self, Self::default());
        }
        let all = self.into_indices();
        let count = (share * all.len() as f64).round() as usize;
        let count = count.clamp(1, all.len() - 1);
        let mut is_taken = vec![false; all.len()];
        for place in index::sample(&mut rng(), all.len(), count) {
            is_taken[place] = true;
        }
        let of = |taken: bool| {
            let places = all.iter().zip(&is_taken);
            let chosen = places.filter(|(_, is_taken)| **is_taken == taken);
            Self::from(chosen.map(|(example, _)| *example).collect::<Vec<u32>>())
        };
        (of(false), of(true))
    }

    /// The examples of all `shards`, one shard after the other.
    pub(crate) fn merged(shards: &[Self]) -> Self {
        let runs: Vec<Range<u32>> = shards.iter().flat_map(Self::runs).collect();
        Self::of_runs(runs)
    }
}

impl From<Vec<u32>> for Shard {
    fn from(indices: Vec<u32>) -> Self {
        Self {
            runs: Vec::new(),
            length: indices.len(),
            listed: OnceLock::from(indices),
        }
    }
}

impl PartialEq for Shard {
    fn eq(&self, other: &Self) -> bool {
        self.indices() == other.indices()
    }
}

impl Eq for Shard {}

/// Which of some examples are taken.
pub(super) struct Taken(Vec<u64>);

impl Taken {
    /// None of `examples`.
    pub(super) fn none_of(examples: usize) -> Self {
        Self(vec![0; examples.div_ceil(64)])
    }

    /// Takes the examples of `run`. Returns the first that was taken before, if any.
    pub(super) fn take(&mut self, run: Range<u32>) -> Option<u32> {
        let mut index = run.start;
        while index < run.end {
            let (word, first) = ((index / 64) as usize, index % 64);
            let count = (64 - first).min(run.end - index);
            let bits = (u64::MAX >> (64 - count)) << first;
            let taken = self.0[word] & bits;
            if taken != 0 {
                return Some(index - first + taken.trailing_zeros());
            }
            self.0[word] |= bits;
            index += count;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_lists_of_the_same_examples_are_the_same() {
        let runs = Shard::of_runs(vec![4..8, 0..3]);
        let list = Shard::from(vec![4, 5, 6, 7, 0, 1, 2]);
        assert_eq!((runs.len(), runs.first()), (7, Some(4)));
        assert_eq!((list.len(), list.first()), (7, Some(4)));
        assert!(runs.listed.get().is_none(), "nobody asked for them");
        assert_eq!(runs, list);
        assert_eq!(runs.indices(), list.clone().into_indices());
        let both = Shard::merged(&[runs, list]);
        assert_eq!(both.len(), 14);
        assert_eq!(both.indices()[5..9], [1, 2, 4, 5]);
    }

    #[test]
    fn runs_of_one_are_listed() {
        let shard = Shard::of_runs(vec![3..4, 9..10, 5..6]);
        assert!(shard.runs.is_empty());
        assert_eq!(shard.indices(), [3, 9, 5]);
        assert_eq!(Shard::of_runs(Vec::new()).first(), None);
    }

    #[test]
    fn what_is_taken_twice_is_found_in_any_run() {
        for (first, second, twice) in [
            (0..1, 1..2, None),
            (0..64, 64..300, None),
            (130..131, 5..300, Some(130)),
            (63..66, 10..64, Some(63)),
            (64..65, 0..64, None),
            (100..300, 299..301, Some(299)),
        ] {
            let mut taken = Taken::none_of(400);
            assert_eq!(taken.take(first.clone()), None);
            assert_eq!(taken.take(second.clone()), twice, "{first:?} {second:?}");
        }
    }
}
