//! Few links at a time, whose cycle takes the exact mean of any number of nodes.

use super::Snapshot;
use super::overlay_spec::{OverlaySpec, usual};
use super::schedule::{Schedule, Turns, usual_schedule};
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError};
use links::Links;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use simple_base::SimpleBase;
use std::ops::Range;

mod hyper_hypercube;
mod links;
mod simple_base;

/// The Base-(k+1) Graph: a cycle of overlays, one a round, in which no node has more than k neighbours. Together they take the exact
/// mean, whatever the number of nodes. It brings weights of its own, which are symmetric.
///
/// For N nodes the cycle is the shorter of two. The Simple Base-(k+1) Graph is one. The other has as many groups as the largest
/// divisor of N without a prime factor above k + 1: each group takes its mean by the simple graph of its nodes, and then
/// the groups take the mean of all. With k = 1 the cycle of 5, 6, 7 and 25 nodes has 5, 4, 5 and 9 rounds.
///
/// # Source
/// Takezawa, Sato, Bao, Niwa and Yamada, *Beyond exponential graph: communication-efficient topologies for decentralized
/// learning via finite-time convergence* (2023).
///
/// # Interpretation
/// Where the two cycles are equally long, the second is taken. Nodes keep their numbers in all rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BaseGraph {
    /// Most neighbours of a node in a round, k, at least 1.
    pub degree: usize,
}

impl Default for BaseGraph {
    fn default() -> Self {
        Self { degree: 1 }
    }
}

/// The cycle of so many nodes.
enum Cycle {
    /// The simple graph of all nodes.
    Simple(SimpleBase),
    /// `groups` groups of consecutive nodes run the simple graph of one, and then exchange with each other, node by node.
    Grouped { groups: usize, each: SimpleBase },
}

impl Cycle {
    fn of(nodes: usize, degree: usize) -> Self {
        // No node has more neighbours than there are others, and a clique of one takes part in nothing.
        let most = degree.min(nodes.saturating_sub(1)).max(1) + 1;
        let simple = SimpleBase::of(nodes, most);
        let groups = hyper_hypercube::smooth_part(nodes, most);
        let each = SimpleBase::of(nodes / groups, most);
        let across = hyper_hypercube::rounds(groups, most);
        match simple.rounds() < each.rounds() + across {
            true => Self::Simple(simple),
            false => Self::Grouped { groups, each },
        }
    }

    fn rounds(&self) -> usize {
        match self {
            Self::Simple(simple) => simple.rounds(),
            Self::Grouped { groups, each } => {
                each.rounds() + hyper_hypercube::rounds(*groups, each.most)
            }
        }
    }

    /// The links of the round at place `index` of the cycle.
    fn links(&self, index: usize) -> Links {
        let mut links = Links::default();
        match self {
            Self::Simple(simple) => simple.join(index, 0, &mut links),
            Self::Grouped { groups, each } if index < each.rounds() => {
                for group in 0..*groups {
                    each.join(index, group * each.nodes, &mut links);
                }
            }
            Self::Grouped { groups, each } => {
                let index = index - each.rounds();
                for place in 0..each.nodes {
                    let members = (place..groups * each.nodes).step_by(each.nodes);
                    let members: Vec<usize> = members.collect();
                    hyper_hypercube::join(&members, each.most, index, &mut links);
                }
            }
        }
        links
    }
}

/// All numbers of a range.
fn all(range: Range<usize>) -> Vec<usize> {
    range.collect()
}

impl BaseGraph {
    /// Rounds after which it repeats; 1 for a single node, which has none to exchange with.
    #[must_use]
    pub fn period(&self, nodes: usize) -> usize {
        Cycle::of(nodes.max(1), self.degree).rounds().max(1)
    }

    /// The overlay of the round at place `index` of the period.
    fn build(&self, index: usize, nodes: usize) -> Result<Overlay, TopologyError> {
        let links = Cycle::of(nodes, self.degree).links(index);
        Overlay::weighed(nodes, false, &links.weights)
    }
}

impl OverlaySpec for BaseGraph {
    usual!(
        changing,
        undirected,
        ignores_labels,
        quick,
        values_alone,
        ready
    );

    fn label(&self) -> String {
        format!("base_graph degree={}", self.degree)
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        let degree = self.degree.min(nodes.saturating_sub(1));
        let size = OverlaySize::listed(nodes, nodes as f64 * degree as f64 / 2.0, Paths::Short);
        OverlaySize {
            // A round for each binary digit and back, about: all are held while they are planned.
            edges_at_once: size.edges * 2.0 * (nodes as f64).log2().max(1.0),
            ..size
        }
    }

    fn prescribes_weights(&self) -> bool {
        true
    }
}

impl Schedule for BaseGraph {
    usual_schedule!(all_nodes, until_connected, no_lambda_of_draws);

    fn turns(&self, nodes: usize) -> Turns {
        Turns::Repeated(self.period(nodes))
    }

    /// Checks that nodes may have a neighbour.
    ///
    /// # Errors
    /// [`TopologyError::Setting`].
    fn check(&self, _nodes: usize) -> Result<(), TopologyError> {
        match self.degree {
            0 => Err(TopologyError::setting(
                "base_graph.degree",
                0,
                "at least one neighbour",
            )),
            _ => Ok(()),
        }
    }

    fn snapshot(
        &self,
        draw: usize,
        nodes: Nodes<'_>,
        _rng: &mut ChaCha8Rng,
    ) -> Result<Snapshot, TopologyError> {
        Ok(Snapshot::of_all(self.build(draw, nodes.count)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_as_long_as_in_the_paper() {
        let period = |nodes, degree| BaseGraph { degree }.period(nodes);
        assert_eq!([5, 6, 7, 25].map(|nodes| period(nodes, 1)), [5, 4, 5, 9]);
        assert_eq!([1, 2, 3, 4].map(|degree| period(25, degree)), [9, 6, 5, 2]);
        // One round for each factor of a number without a prime factor above k + 1.
        assert_eq!([2, 8, 1024].map(|nodes| period(nodes, 1)), [1, 3, 10]);
        assert_eq!(period(1, 1), 1);
        assert_eq!(period(10, usize::MAX), 1);
    }

    #[test]
    fn every_cycle_takes_the_mean_by_few_links_and_symmetric_weights() {
        for degree in 1..=4 {
            for nodes in 1..70 {
                let graph = BaseGraph { degree };
                let period = graph.period(nodes);
                let mut product: Vec<Vec<f64>> = (0..nodes)
                    .map(|i| (0..nodes).map(|j| f64::from(u8::from(i == j))).collect())
                    .collect();
                for index in 0..period {
                    let overlay = graph.build(index, nodes).unwrap();
                    assert!((0..nodes).all(|node| overlay.degree(node) <= degree));
                    let weights = overlay.weights().unwrap();
                    assert!(weights.is_symmetric(1e-15) && weights.is_doubly_stochastic(1e-14));
                    assert!(weights.min_self_weight() > 0.0, "{nodes} {degree}");
                    product = product.iter().map(|row| weights.apply(row)).collect();
                }
                let mean = 1.0 / nodes as f64;
                let furthest = product.iter().flatten().map(|entry| (entry - mean).abs());
                let furthest = furthest.fold(0.0, f64::max);
                assert!(furthest < 1e-14, "{nodes} {degree}: {furthest}");
            }
        }
    }

    #[test]
    fn no_part_of_a_cycle_takes_the_mean() {
        for (nodes, degree) in [(5, 1), (6, 1), (25, 1), (25, 2), (23, 3), (64, 4)] {
            let graph = BaseGraph { degree };
            let x = (0..nodes).map(|node| ((node * node) % 7) as f64);
            let mut x: Vec<f64> = x.collect();
            for index in 0..graph.period(nodes) {
                let spread = x
                    .iter()
                    .fold(0.0_f64, |most, value| most.max((value - x[0]).abs()));
                assert!(spread > 1e-3, "{nodes} {degree} {index}");
                let overlay = graph.build(index, nodes).unwrap();
                x = overlay.weights().unwrap().apply(&x);
            }
        }
    }
}
