//! The k-peer Hyper-Hypercube Graph: overlays of cliques whose numbers of nodes multiply to that of all.
//!
//! A node is written with one digit for each factor of the number of nodes. Round l joins the nodes that differ in
//! digit l alone. So each round averages over one digit, and all of them over all nodes.

use super::Links;

/// The factors of `nodes`, each at most `most`, ascending: as few as one finds by dividing by the largest first. `None` if a prime
/// factor is larger.
pub(super) fn factors(nodes: usize, most: usize) -> Option<Vec<usize>> {
    let mut factors = Vec::new();
    let mut rest = nodes;
    for factor in (2..=most.min(nodes)).rev() {
        while rest.is_multiple_of(factor) {
            factors.push(factor);
            rest /= factor;
        }
    }
    factors.reverse();
    (rest == 1).then_some(factors)
}

/// The largest divisor of `nodes` without a prime factor above `most`.
pub(super) fn smooth_part(nodes: usize, most: usize) -> usize {
    let mut rest = nodes;
    for factor in 2..=most.min(nodes) {
        while rest.is_multiple_of(factor) {
            rest /= factor;
        }
    }
    nodes / rest
}

/// The rounds of so many nodes without a prime factor above `most`: none for a single one.
pub(super) fn rounds(nodes: usize, most: usize) -> usize {
    factors(nodes, most).map_or(0, |factors| factors.len())
}

/// Joins `members` as in round `index`, over and over: a number of nodes without a prime factor above `most`.
pub(super) fn join(members: &[usize], most: usize, index: usize, links: &mut Links) {
    let factors = factors(members.len(), most).expect("the number of nodes has small factors");
    if factors.is_empty() {
        return;
    }
    let digit = index % factors.len();
    let size = factors[digit];
    let stride: usize = factors[..digit].iter().product();
    let firsts = (0..members.len()).filter(|place| (place / stride).is_multiple_of(size));
    for first in firsts {
        let clique = (0..size).map(|step| members[first + step * stride]);
        links.clique(&clique.collect::<Vec<_>>());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_few_and_small() {
        assert_eq!(factors(12, 2), None);
        assert_eq!(factors(12, 3), Some(vec![2, 2, 3]));
        assert_eq!(factors(12, 4), Some(vec![3, 4]));
        assert_eq!(factors(12, 12), Some(vec![12]));
        assert_eq!(factors(1, 2), Some(vec![]));
        assert_eq!([6, 25, 36].map(|nodes| smooth_part(nodes, 2)), [2, 1, 4]);
    }

    #[test]
    fn rounds_join_nodes_that_differ_in_one_digit() {
        let pairs = |index| {
            let mut links = Links::default();
            join(&[10, 11, 12, 13, 14, 15], 3, index, &mut links);
            let there = links.weights.into_iter().filter(|(a, b, _)| a < b);
            let mut pairs: Vec<(u32, u32)> = there.map(|(a, b, _)| (a, b)).collect();
            pairs.sort_unstable();
            pairs
        };
        assert_eq!(pairs(0), [(10, 11), (12, 13), (14, 15)]);
        let of_three = [(10, 12), (10, 14), (11, 13), (11, 15), (12, 14), (13, 15)];
        assert_eq!(pairs(1), of_three);
        assert_eq!(pairs(2), pairs(0));
    }
}
