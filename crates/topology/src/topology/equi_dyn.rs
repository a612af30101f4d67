//! A random shift of a ring in each round.

use super::Snapshot;
use super::overlay_spec::{OverlaySpec, usual};
use super::schedule::{Schedule, Turns, usual_schedule};
use super::shift::{self, arcs, check_share, heard};
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError, Weights};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// The most nodes whose `λ` of the draws is worked out: that takes O(N²).
const MOST_NODES: usize = 10_000;

/// EquiTopo's overlays of one neighbour a round, which mix at a rate that does not depend on N: OD-EquiDyn if `directed`, else
/// OU-EquiDyn. They bring weights of their own, which are doubly stochastic.
///
/// Each round draws a shift a from 1 to N − 1. Directed, every node hears the one a places further on, with the weights
/// `(1 − η) I + η A` and `A = (N − 1)/N P + 1/N I`. Undirected, a start s is drawn, too; from s on, each node i that is still free is paired
/// with node `i + a` if that is free, and the two of a pair give each other `η (N − 1)/N`.
///
/// Differences shrink by `λ = √‖E[WᵀW] − J‖` in each round, in the mean square. With the weight `w = η (N − 1)/N` it is directed
/// `√((1 − w)² + w² − 2 w (1 − w)/(N − 1))`.
///
/// Undirected, no round but those of two nodes is connected. Directed, a round leads from every node to every other if a and N have no
/// common divisor. Several rounds together are connected in both.
///
/// # Source
/// Song, Li, Jin, Shi, Yan, Yin and Yuan, *Communication-efficient topologies for decentralized learning with O(1) consensus rate*
/// (2022): OD-EquiDyn and OU-EquiDyn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EquiDyn {
    /// Whether nodes hear others without being heard by them.
    pub directed: bool,
    /// Share η of the exchange, above 0 and up to 1. If absent `N / (2 (N − 1))`, with which pairs take the mean of their models, and
    /// `E‖(W − J) x‖²` is least if directed. Of 17 nodes that is the .53 of the authors' scripts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta: Option<f64>,
}

impl EquiDyn {
    /// What a node gives to the one that it hears.
    fn weight(&self, nodes: usize) -> f64 {
        self.eta.map_or(0.5, |eta| eta * heard(nodes))
    }

    /// The overlay of a shift and, for pairs, a start.
    fn of(&self, nodes: usize, shift: usize, start: usize) -> Result<Overlay, TopologyError> {
        let weight = self.weight(nodes);
        let weights: Vec<(u32, u32, f64)> = match self.directed {
            true => arcs(nodes, shift, weight).collect(),
            false => pairs(nodes, shift, start)
                .flat_map(|(a, b)| [(a, b, weight), (b, a, weight)])
                .collect(),
        };
        Overlay::weighed(nodes, self.directed, &weights)
    }

    /// `‖E[WᵀW] − J‖` of the directed ones: `E[P] = −I/(N − 1)` on vectors with mean 0.
    fn directed_square(&self, nodes: usize) -> f64 {
        let w = self.weight(nodes);
        (1.0 - w).powi(2) + w * w - 2.0 * w * (1.0 - w) / (nodes - 1) as f64
    }

    /// `‖E[WᵀW] − J‖` of the undirected ones. A matching with the Laplacian L has `W = I − w L` and `L² = 2 L`, so that
    /// `WᵀW = I − 2 w (1 − w) L`; over all starts `E[L]` is circulant, and its eigenvalues are sums of cosines.
    fn undirected_square(&self, nodes: usize) -> f64 {
        let (n, w) = (nodes as f64, self.weight(nodes));
        let of_shift = |shift| pairs(nodes, shift, 0).count() as f64 / (n * (n - 1.0));
        let chances: Vec<f64> = (1..nodes).map(of_shift).collect();
        let cosines: Vec<f64> = (0..nodes)
            .map(|step| (2.0 * PI * step as f64 / n).cos())
            .collect();
        let eigenvalue = |k: usize| {
            let shifts = (1..nodes).zip(&chances);
            let terms = shifts.map(|(a, chance)| chance * (2.0 - 2.0 * cosines[k * a % nodes]));
            terms.sum::<f64>()
        };
        let least = (1..=nodes / 2)
            .map(eigenvalue)
            .fold(f64::INFINITY, f64::min);
        1.0 - 2.0 * w * (1.0 - w) * least
    }

    fn build(&self, nodes: usize, rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        let Some(shift) = shift::draw(nodes, rng) else {
            return Overlay::weighed(nodes, self.directed, &[]);
        };
        let start = match self.directed {
            true => 0,
            false => rng.random_range(0..nodes),
        };
        self.of(nodes, shift, start)
    }
}

/// The pairs of a shift, by a walk once around the ring from `start` on.
fn pairs(nodes: usize, shift: usize, start: usize) -> impl Iterator<Item = (u32, u32)> {
    let mut free = vec![true; nodes];
    let around = (0..nodes).map(move |step| (start + step) % nodes);
    around.filter_map(move |a| {
        let b = (a + shift) % nodes;
        let are_free = free[a] && free[b];
        if are_free {
            (free[a], free[b]) = (false, false);
        }
        are_free.then_some((a as u32, b as u32))
    })
}

impl OverlaySpec for EquiDyn {
    usual!(changing, ignores_labels, quick, values_alone, ready);

    fn label(&self) -> String {
        let directed = if self.directed { " directed" } else { "" };
        let eta = self.eta.map(|eta| format!(" eta={eta}"));
        format!("equi_dyn{directed}{}", eta.unwrap_or_default())
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        let arcs = nodes as f64;
        let edges = if self.directed { arcs } else { arcs / 2.0 };
        OverlaySize::listed(nodes, edges, Paths::Short)
    }

    fn is_directed(&self) -> bool {
        self.directed
    }

    fn prescribes_weights(&self) -> bool {
        true
    }
}

impl Schedule for EquiDyn {
    usual_schedule!(all_nodes, until_connected);

    fn turns(&self, _nodes: usize) -> Turns {
        Turns::Every(1)
    }

    /// Checks the share of the exchange.
    ///
    /// # Errors
    /// [`TopologyError::Setting`].
    fn check(&self, _nodes: usize) -> Result<(), TopologyError> {
        self.eta
            .map_or(Ok(()), |eta| check_share(eta, "equi_dyn.eta"))
    }

    fn snapshot(
        &self,
        _draw: usize,
        nodes: Nodes<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Snapshot, TopologyError> {
        Ok(Snapshot::of_all(self.build(nodes.count, rng)?))
    }

    fn lambda_of_draws(
        &self,
        weights: &Weights,
        nodes: usize,
    ) -> Result<Option<f64>, TopologyError> {
        let is_known = weights.are_prescribed() && nodes <= MOST_NODES;
        let squared = || match (nodes, self.directed) {
            (0 | 1, _) => 0.0,
            (_, true) => self.directed_square(nodes),
            (_, false) => self.undirected_square(nodes),
        };
        Ok(is_known.then(|| squared().max(0.0).sqrt()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MixingMatrix;

    /// Mean over all shifts and starts of `W x`, and of `‖W x‖²`, for an x with mean 0 and length 1.
    fn expected(equi: &EquiDyn, nodes: usize) -> (f64, f64) {
        let mut x: Vec<f64> = (0..nodes).map(|node| (node * node) as f64).collect();
        let mean = x.iter().sum::<f64>() / nodes as f64;
        x.iter_mut().for_each(|value| *value -= mean);
        let length = x.iter().map(|value| value * value).sum::<f64>().sqrt();
        x.iter_mut().for_each(|value| *value /= length);
        let each = (1..nodes).flat_map(|shift| (0..nodes).map(move |start| (shift, start)));
        let all = (nodes * (nodes - 1)) as f64;
        let (mut along, mut squared) = (0.0, 0.0);
        for (shift, start) in each {
            let overlay = equi.of(nodes, shift, start).unwrap();
            let mixed = overlay.weights().unwrap().apply(&x);
            along += mixed.iter().zip(&x).map(|(y, x)| y * x).sum::<f64>() / all;
            squared += mixed.iter().map(|value| value * value).sum::<f64>() / all;
        }
        (along, squared)
    }

    #[test]
    fn weights_are_doubly_stochastic() {
        for directed in [true, false] {
            for eta in [None, Some(0.3), Some(1.0)] {
                let equi = EquiDyn { directed, eta };
                for (nodes, shift) in [(2, 1), (3, 2), (6, 3), (12, 4), (17, 5)] {
                    for start in 0..nodes {
                        let overlay = equi.of(nodes, shift, start).unwrap();
                        let weights = overlay.weights().unwrap();
                        assert!(weights.is_doubly_stochastic(1e-14));
                        assert!((0..nodes).all(|node| overlay.degree(node) <= 1));
                        let weight = eta.map_or(0.5, |eta| eta * heard(nodes));
                        let most = (0..nodes).flat_map(|i| weights.row(i).map(move |e| (i, e)));
                        let apart = most.filter(|(i, (j, _))| *i != *j as usize);
                        assert!(apart.into_iter().all(|(_, (_, found))| found == weight));
                    }
                }
            }
        }
    }

    #[test]
    fn the_directed_contract_at_the_rate_of_the_paper() {
        // On vectors with mean 0, E[A] = 0 and E[AᵀA] = (n - 2)/n.
        for nodes in [2, 3, 8, 17] {
            let share = (nodes as f64 - 2.0) / nodes as f64;
            let rate = |eta: f64| (1.0 - eta).powi(2) + eta * eta * share;
            let of = |eta| {
                let directed = true;
                expected(&EquiDyn { directed, eta }, nodes)
            };
            for eta in [0.2, 0.53, 1.0] {
                let (along, squared) = of(Some(eta));
                assert!((along - (1.0 - eta)).abs() < 1e-12);
                assert!((squared - rate(eta)).abs() < 1e-12, "{nodes} {eta}");
            }
            let best = nodes as f64 / (2.0 * (nodes as f64 - 1.0));
            let (_, squared) = of(None);
            assert!((squared - rate(best)).abs() < 1e-12);
            assert!(rate(best) <= rate(best - 0.01) && rate(best) <= rate(best + 0.01));
        }
        let seventeen = 17.0 / 32.0_f64;
        assert!((seventeen - 0.53).abs() < 0.002);
    }

    #[test]
    fn pairs_contract_at_a_rate_that_hardly_depends_on_the_number_of_nodes() {
        for nodes in [4, 9, 16, 33, 64] {
            let (along, squared) = expected(&EquiDyn::default(), nodes);
            // The matrix of pairs that take their mean is a projection.
            assert!((along - squared).abs() < 1e-12);
            // Whoever is alone lies between two pairs: a third of the nodes at most. Half a pair for each node is the most.
            let share = nodes as f64 / (nodes as f64 - 1.0);
            let (least, most) = (1.0 - share / 2.0, 1.0 - share / 3.0);
            let is_between = squared > least - 1e-12 && squared < most + 1e-12;
            assert!(is_between, "{nodes}: {squared} {least} {most}");
            assert!(squared <= EquiDyn::default().undirected_square(nodes) + 1e-12);
        }
    }

    #[test]
    fn a_walk_pairs_who_is_free() {
        let of = |nodes, shift, start| pairs(nodes, shift, start).collect::<Vec<_>>();
        assert_eq!(of(5, 2, 3), [(3, 0), (4, 1)]);
        assert_eq!(of(6, 3, 1), [(1, 4), (2, 5), (3, 0)]);
        assert_eq!(of(2, 1, 0), [(0, 1)]);
        let alone = EquiDyn::default();
        use rand::SeedableRng;
        let overlay = alone.build(1, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
        assert_eq!(overlay.weights(), Some(&MixingMatrix::identity(1)));
    }
}
