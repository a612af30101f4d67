//! A few random shifts of a ring, weighed alike.

use super::overlay_spec::{FixedOverlay, OverlaySpec, usual};
use super::shift::{self, arcs, heard};
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most shifts: with so many, W is the mean matrix but for rounding.
const MOST_LINKS: usize = 1_000_000;

/// EquiTopo's fixed overlays, which mix at a rate that hardly depends on N: D-EquiStatic if `directed`, else U-EquiStatic. They
/// bring weights of their own, which are doubly stochastic.
///
/// M shifts are drawn uniformly from 1 to N − 1, with replacement. For each shift a node hears the one so many places further on, with the
/// matrix `A = (N − 1)/N P + 1/N I`. W is the mean of the M matrices A, and undirected that of all `(A + Aᵀ)/2`. So a node hears at most
/// M others, and undirected 2 M. The expected W is the mean matrix J, and `E‖(W − J) x‖² = (N − 2)/(N M) ‖x − J x‖²` if
/// directed.
///
/// # Source
/// Song, Li, Jin, Shi, Yan, Yin and Yuan, *Communication-efficient topologies for decentralized learning with O(1) consensus rate*
/// (2022): D-EquiStatic and U-EquiStatic.
///
/// # Interpretation
/// All shifts are drawn anew until the overlay is connected: until N and they have no common divisor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EquiStatic {
    /// Shifts that are drawn, M, from 1 to 1,000,000.
    pub links: usize,
    /// Whether nodes hear others without being heard by them.
    #[serde(default)]
    pub directed: bool,
}

impl EquiStatic {
    /// The overlay of M shifts.
    fn of(&self, nodes: usize, shifts: &[usize]) -> Result<Overlay, TopologyError> {
        let weight = heard(nodes) / shifts.len() as f64;
        // By shift: many may be the same.
        let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
        for &shift in shifts {
            if self.directed {
                *weights.entry(shift).or_default() += weight;
            } else {
                for shift in [shift, nodes - shift] {
                    *weights.entry(shift).or_default() += weight / 2.0;
                }
            }
        }
        let arcs = weights
            .iter()
            .flat_map(|(&shift, &weight)| arcs(nodes, shift, weight));
        Overlay::weighed(nodes, self.directed, &arcs.collect::<Vec<_>>())
    }
}

/// Whether nodes so many places apart, at last, reach all others.
fn connect(nodes: usize, shifts: &[usize]) -> bool {
    let divisor = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    shifts.iter().fold(nodes, |all, shift| divisor(all, *shift)) == 1
}

impl OverlaySpec for EquiStatic {
    usual!(fixed, ignores_labels, quick, values_alone, ready);

    fn label(&self) -> String {
        let directed = if self.directed { " directed" } else { "" };
        format!("equi_static links={}{directed}", self.links)
    }

    /// Shifts may be drawn twice, which is rare among many nodes.
    fn size(&self, nodes: usize) -> OverlaySize {
        let shifts = self.links.min(nodes.saturating_sub(1)) as f64;
        OverlaySize::listed(nodes, nodes as f64 * shifts, Paths::Short)
    }

    fn is_directed(&self) -> bool {
        self.directed
    }

    fn prescribes_weights(&self) -> bool {
        true
    }
}

impl FixedOverlay for EquiStatic {
    /// Draws the shifts until they connect the nodes.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] if there is none, or more than [`MOST_LINKS`].
    fn build(&self, nodes: Nodes<'_>, rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        if !(1..=MOST_LINKS).contains(&self.links) {
            let needed = format!("a number from 1 to {MOST_LINKS}");
            return Err(TopologyError::setting(
                "equi_static.links",
                self.links,
                needed,
            ));
        }
        loop {
            let shifts = (0..self.links).map_while(|_| shift::draw(nodes.count, rng));
            let shifts: Vec<usize> = shifts.collect();
            if nodes.count == 1 || connect(nodes.count, &shifts) {
                return self.of(nodes.count, &shifts);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::overlay_spec::built;
    use rand::SeedableRng;

    fn overlays(directed: bool) -> [EquiStatic; 3] {
        [1, 2, 5].map(|links| EquiStatic { links, directed })
    }

    #[test]
    fn weights_are_doubly_stochastic_and_degrees_small() {
        for directed in [true, false] {
            for equi in overlays(directed) {
                for nodes in [1, 2, 3, 4, 12, 17, 60] {
                    let overlay = built(&equi, nodes).unwrap();
                    let weights = overlay.weights().unwrap();
                    assert!(weights.is_doubly_stochastic(1e-14) && overlay.is_connected());
                    assert!(directed || weights.is_symmetric(1e-15));
                    let most = if directed { equi.links } else { 2 * equi.links };
                    assert!((0..nodes).all(|node| overlay.degree(node) <= most));
                    let own = weights.weight(0, 0);
                    assert!((own - 1.0 / nodes as f64).abs() < 1e-15, "{own}");
                }
            }
        }
    }

    #[test]
    fn shifts_connect_if_they_have_no_common_divisor_with_the_nodes() {
        assert!(connect(12, &[4, 9]) && connect(12, &[5]) && connect(1, &[]));
        assert!(!connect(12, &[4, 6]) && !connect(12, &[9]));
        for links in [0, MOST_LINKS + 1, usize::MAX] {
            let directed = true;
            let found = built(&EquiStatic { links, directed }, 5);
            let expected =
                format!("equi_static.links: found {links}, needed a number from 1 to {MOST_LINKS}");
            assert_eq!(found.unwrap_err().to_string(), expected);
        }
    }

    /// The mean of `W x` and of `‖W x‖²` over 20,000 draws for an x with mean 0 and length 1, among 11 nodes: all shifts connect.
    fn of_draws(equi: &EquiStatic) -> (f64, f64) {
        let nodes = 11;
        let mut x: Vec<f64> = (0..nodes)
            .map(|node| ((node * node) % nodes) as f64)
            .collect();
        let mean = x.iter().sum::<f64>() / nodes as f64;
        x.iter_mut().for_each(|value| *value -= mean);
        let length = x.iter().map(|value| value * value).sum::<f64>().sqrt();
        x.iter_mut().for_each(|value| *value /= length);
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let (mut mean, mut squared) = (vec![0.0; nodes], 0.0);
        let draws = 20_000;
        for _ in 0..draws {
            let overlay = equi.build(nodes.into(), &mut rng).unwrap();
            let mixed = overlay.weights().unwrap().apply(&x);
            squared += mixed.iter().map(|value| value * value).sum::<f64>() / f64::from(draws);
            let sums = mean.iter_mut().zip(&mixed);
            sums.for_each(|(mean, value)| *mean += value / f64::from(draws));
        }
        let furthest = mean
            .iter()
            .fold(0.0_f64, |most, value| most.max(value.abs()));
        (furthest, squared)
    }

    #[test]
    fn the_expected_matrix_is_the_mean_and_m_shifts_are_m_times_as_good() {
        for equi in overlays(true) {
            let (mean, squared) = of_draws(&equi);
            // An entry of W x has a standard deviation of at most .4, and its mean one of .003.
            assert!(mean < 0.015, "{mean}");
            let expected = 9.0 / 11.0 / equi.links as f64;
            assert!((squared - expected).abs() < 0.015, "{squared} {expected}");
        }
        for equi in overlays(false) {
            let (mean, squared) = of_draws(&equi);
            assert!(mean < 0.015, "{mean}");
            // U-EquiStatic has no larger bound than D-EquiStatic.
            assert!(
                squared < 9.0 / 11.0 / equi.links as f64 + 0.015,
                "{squared}"
            );
        }
    }
}
