//! Greedy-Swap: swaps of two nodes that lower the skew of their cliques.

use super::LabelDistributions;
use super::skew::skew;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Least decrease of skew that is no rounding error of sums of shares.
const LEAST_DECREASE: f64 = 1e-12;

/// At each of `steps` steps takes two random cliques and, among all swaps of a node of one for a node of the other that
/// lower the sum of both skews, makes one chosen uniformly.
///
/// # Source
/// D-Cliques (Bellet et al.), Fig. 4, lines 6-16.
///
/// # Interpretation
/// The two cliques are different ones. Lower means lower by 1e-12 at least: rounding would otherwise pass off swaps of
/// two like nodes as improvements.
///
/// # Complexity
/// O(M² C) a step: what each clique has in excess of each label is kept, so that a swap is judged in O(C).
pub(super) fn improve(
    cliques: &mut [Vec<u32>],
    labels: &LabelDistributions,
    steps: usize,
    rng: &mut ChaCha8Rng,
) {
    if cliques.len() < 2 {
        return;
    }
    let by = Judged {
        labels,
        global: &labels.global(),
        least_decrease: LEAST_DECREASE,
    };
    let excess_of = |clique: &[u32]| labels.excess(clique, by.global);
    let mut excess: Vec<_> = cliques.iter().map(|clique| excess_of(clique)).collect();
    let mut lowering = Vec::new();
    for _ in 0..steps {
        let pair = two_cliques(cliques.len(), rng);
        let members = pair.map(|clique| cliques[clique].as_slice());
        lowering.clear();
        lowering_swaps(
            members,
            pair.map(|clique| excess[clique].as_slice()),
            by,
            &mut lowering,
        );
        if swap_one(cliques, pair, &lowering, rng) {
            // Summed afresh, so that rounding errors do not add up from swap to swap.
            for clique in pair {
                excess[clique] = excess_of(&cliques[clique]);
            }
        }
    }
}

/// What swaps are judged by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judged<'a> {
    pub(super) labels: &'a LabelDistributions,
    /// The distribution over all nodes, `[C]`.
    pub(super) global: &'a [f64],
    /// By how much the sum of both skews must fall.
    pub(super) least_decrease: f64,
}

/// One step on a `pair` of cliques.
pub(super) fn swap_if_lower(
    cliques: &mut [Vec<u32>],
    pair: [usize; 2],
    by: Judged<'_>,
    rng: &mut ChaCha8Rng,
) {
    let members = pair.map(|clique| cliques[clique].as_slice());
    let excess = members.map(|clique| by.labels.excess(clique, by.global));
    let mut lowering = Vec::new();
    let excess = excess.each_ref().map(Vec::as_slice);
    lowering_swaps(members, excess, by, &mut lowering);
    swap_one(cliques, pair, &lowering, rng);
}

/// Makes one of the swaps `lowering` of places in a `pair` of cliques, chosen uniformly; says whether there was any.
fn swap_one(
    cliques: &mut [Vec<u32>],
    [first, second]: [usize; 2],
    lowering: &[[usize; 2]],
    rng: &mut ChaCha8Rng,
) -> bool {
    if lowering.is_empty() {
        return false;
    }
    let [i, j] = lowering[rng.random_range(0..lowering.len())];
    (cliques[first][i], cliques[second][j]) = (cliques[second][j], cliques[first][i]);
    true
}

/// Two different cliques, uniformly.
fn two_cliques(cliques: usize, rng: &mut ChaCha8Rng) -> [usize; 2] {
    let first = rng.random_range(0..cliques);
    let second = rng.random_range(0..cliques - 1);
    [first, second + usize::from(second >= first)]
}

/// Appends to `found` the places `[i, j]` in the two cliques whose nodes it helps to swap.
fn lowering_swaps(
    [first, second]: [&[u32]; 2],
    [excess_first, excess_second]: [&[f64]; 2],
    by: Judged<'_>,
    found: &mut Vec<[usize; 2]>,
) {
    let sizes = [first.len() as f64, second.len() as f64];
    let limit =
        skew(excess_first, first.len()) + skew(excess_second, second.len()) - by.least_decrease;
    for (i, &node) in first.iter().enumerate() {
        let given = by.labels.of(node);
        for (j, &other) in second.iter().enumerate() {
            let (mut distance_first, mut distance_second) = (0.0, 0.0);
            let excess = excess_first.iter().zip(excess_second);
            for ((a, b), (given, taken)) in excess.zip(given.iter().zip(by.labels.of(other))) {
                let moved = taken - given;
                distance_first += (a + moved).abs();
                distance_second += (b - moved).abs();
            }
            if distance_first / sizes[0] + distance_second / sizes[1] < limit {
                found.push([i, j]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Nodes;
    use crate::topology::d_cliques::random_cliques;
    use rand::SeedableRng;

    fn random_labels(nodes: usize, rng: &mut ChaCha8Rng) -> LabelDistributions {
        let mut counts = || (0..5).map(|_| rng.random_range(1..60_u64).pow(2)).collect();
        let label_counts: Vec<Vec<u64>> = (0..nodes).map(|_| counts()).collect();
        LabelDistributions::new(Nodes {
            count: nodes,
            label_counts: &label_counts,
        })
        .unwrap()
    }

    /// (3), as it is written.
    fn skew_by_definition(clique: &[u32], labels: &LabelDistributions) -> f64 {
        let mean = |label: usize| {
            clique
                .iter()
                .map(|&node| labels.of(node)[label])
                .sum::<f64>()
                / clique.len() as f64
        };
        let global = labels.global();
        (0..global.len())
            .map(|label| (mean(label) - global[label]).abs())
            .sum()
    }

    fn total(cliques: &[Vec<u32>], labels: &LabelDistributions) -> f64 {
        cliques
            .iter()
            .map(|clique| skew_by_definition(clique, labels))
            .sum()
    }

    #[test]
    fn the_swaps_found_are_those_of_the_definition() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let labels = random_labels(23, &mut rng);
        let cliques = random_cliques(23, 9, &mut rng);
        let global = labels.global();
        for pair in [[0, 1], [1, 0], [2, 1]] {
            let members = pair.map(|clique: usize| cliques[clique].as_slice());
            let excess = members.map(|clique| labels.excess(clique, &global));
            let mut found = Vec::new();
            lowering_swaps(
                members,
                excess.each_ref().map(Vec::as_slice),
                Judged {
                    labels: &labels,
                    global: &global,
                    least_decrease: LEAST_DECREASE,
                },
                &mut found,
            );
            let before = total(&members.map(<[u32]>::to_vec), &labels);
            let mut expected = Vec::new();
            for i in 0..members[0].len() {
                for j in 0..members[1].len() {
                    let mut swapped = members.map(<[u32]>::to_vec);
                    (swapped[0][i], swapped[1][j]) = (members[1][j], members[0][i]);
                    if total(&swapped, &labels) < before {
                        expected.push([i, j]);
                    }
                }
            }
            assert_eq!(found, expected);
            assert!(!found.is_empty() && found.len() < members[0].len() * members[1].len());
        }
    }

    #[test]
    fn greedy_swap_never_raises_skew() {
        for seed in 0..20 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let labels = random_labels(47, &mut rng);
            let mut cliques = random_cliques(47, 6, &mut rng);
            let start = total(&cliques, &labels);
            let mut last = start;
            for _ in 0..100 {
                improve(&mut cliques, &labels, 1, &mut rng);
                let next = total(&cliques, &labels);
                assert!(next <= last, "seed {seed}: from {last} to {next}");
                last = next;
            }
            assert!(last < 0.6 * start, "seed {seed}: from {start} to {last}");
        }
    }

    #[test]
    fn every_lowering_swap_is_as_likely() {
        // Two cliques of labels 0 0 1 1 | 2 2 3 3, whose swaps of any node for any other all lower the skew.
        let label_counts: Vec<Vec<u64>> = [0, 0, 1, 1, 2, 2, 3, 3]
            .map(|label| (0..4).map(|other| u64::from(other == label)).collect())
            .to_vec();
        let labels = LabelDistributions::new(Nodes {
            count: 8,
            label_counts: &label_counts,
        })
        .unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut counts = [[0.0; 4]; 4];
        for _ in 0..16_000 {
            let mut cliques = [vec![0, 1, 2, 3], vec![4, 5, 6, 7]];
            improve(&mut cliques, &labels, 1, &mut rng);
            let given = (0..4).find(|&place| cliques[0][place] >= 4).unwrap();
            counts[given][cliques[0][given] as usize - 4] += 1.0;
        }
        let deviation = |count: f64| (count - 1000.0).powi(2) / 1000.0;
        let chi_squared: f64 = counts.iter().flatten().map(|&count| deviation(count)).sum();
        // 15 degrees of freedom: a fair choice stays below 37.7 in 999 of 1,000 cases.
        assert!(chi_squared < 37.7, "{chi_squared}");
    }

    #[test]
    fn like_nodes_are_not_swapped_and_a_single_clique_stays() {
        let label_counts = vec![vec![1, 2, 4]; 12];
        let labels = LabelDistributions::new(Nodes {
            count: 12,
            label_counts: &label_counts,
        })
        .unwrap();
        for size in [1, 5, 12] {
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            let cliques = random_cliques(12, size, &mut rng);
            let mut improved = cliques.clone();
            improve(&mut improved, &labels, 50, &mut rng);
            assert_eq!(improved, cliques);
        }
    }
}
