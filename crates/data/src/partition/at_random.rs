//! Dealing examples in random order: what `iid` and `quantity` have in common.

use std::ops::Range;

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::{Labelled, Shard};

/// Shuffles the examples and deals them in the `sizes` of the clients, which sum to the number of examples.
///
/// Examples of a text that nobody has seen are all alike. They are dealt in their order, for hundreds of millions of them
/// would take gigabytes to shuffle.
pub(super) fn deal(
    examples: Labelled<'_>,
    sizes: impl IntoIterator<Item = usize>,
    rng: &mut ChaCha8Rng,
) -> Vec<Shard> {
    let mut next = 0;
    let ranges = sizes.into_iter().map(|size| {
        let start = next;
        next += size;
        start..next
    });
    if examples.are_unseen() {
        let run = |range: Range<usize>| range.start as u32..range.end as u32;
        return ranges
            .map(|range| Shard::of_runs(vec![run(range)]))
            .collect();
    }
    let mut order: Vec<u32> = (0..examples.examples as u32).collect();
    order.shuffle(rng);
    ranges
        .map(|range| Shard::from(order[range].to_vec()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn examples_that_nobody_has_seen_are_dealt_in_the_same_sizes_without_a_list_of_them() {
        let seen = Labelled {
            text: true,
            ..Labelled::new(&[0; 10], 1)
        };
        let unseen = Labelled {
            labels: &[],
            ..seen
        };
        let dealt = |examples| deal(examples, [3, 0, 7], &mut ChaCha8Rng::seed_from_u64(1));
        let sizes = |shards: &[Shard]| shards.iter().map(Shard::len).collect::<Vec<_>>();
        assert_eq!(sizes(&dealt(seen)), sizes(&dealt(unseen)));
        let runs: Vec<_> = dealt(unseen).iter().flat_map(Shard::runs).collect();
        assert_eq!(runs, [0..3, 3..10]);
        let mut all: Vec<u32> = dealt(seen)
            .iter()
            .flat_map(Shard::indices)
            .copied()
            .collect();
        assert!(!all.is_sorted());
        all.sort_unstable();
        assert!(all.into_iter().eq(0..10));
    }
}
