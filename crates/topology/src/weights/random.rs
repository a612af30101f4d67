//! Random weights, for comparison.

use super::weights_spec::{AfterFailures, WeightsSpec, usual};
use crate::{MixingMatrix, Overlay, TopologyError};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::Open01;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Symmetric weights: each edge draws `u_ij` uniformly from (0, 1), `w_ij = u_ij / max(1, max_i Σ_j u_ij)`, and the
/// rest of each row stays on the diagonal.
///
/// # Source
/// P-FedAvg (Liu et al.), Section VII-B.5, Fig. 8: "random".
///
/// # Interpretation
/// The paper only says that each server allocates weights randomly among its neighbours. One factor for all edges
/// keeps W symmetric with self weights that are not negative, and draws that need no scaling are left as they are, so
/// that two nodes do not swap their models.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Random {}

impl WeightsSpec for Random {
    usual!(symmetric, each_held, ignore_examples, no_list);

    fn label(&self) -> String {
        "random".to_owned()
    }

    /// The weights of an overlay, one draw for each edge in ascending order.
    fn matrix(
        &self,
        overlay: &Overlay,
        rng: &mut ChaCha8Rng,
    ) -> Result<MixingMatrix, TopologyError> {
        let nodes = overlay.nodes();
        let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); nodes];
        for (a, b) in overlay.edges() {
            let weight: f64 = rng.sample(Open01);
            rows[a as usize].push((b, weight));
            rows[b as usize].push((a, weight));
        }
        let sum = |row: &[(u32, f64)]| row.iter().map(|&(_, weight)| weight).sum::<f64>();
        let scale = rows.iter().map(|row| sum(row)).fold(1.0, f64::max);
        for (node, row) in rows.iter_mut().enumerate() {
            row.iter_mut().for_each(|(_, weight)| *weight /= scale);
            row.push((node as u32, (1.0 - sum(row)).max(0.0)));
        }
        MixingMatrix::from_rows(nodes, rows)
    }

    fn are_drawn(&self) -> bool {
        true
    }

    fn after_failures(&self) -> AfterFailures {
        AfterFailures::ToDiagonal
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Star, Topology, Weights};
    use rand::SeedableRng;

    fn rng(seed: u64) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(seed)
    }

    #[test]
    fn weights_follow_the_stream() {
        let overlay = Topology::Star(Star {}).build(6, &mut rng(0)).unwrap();
        let draw = |seed| {
            Weights::Random(Random {})
                .draw(&overlay, &mut rng(seed))
                .unwrap()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert_eq!(
            draw(0),
            Weights::Random(Random {}).matrix(&overlay).unwrap()
        );
    }

    #[test]
    fn draws_are_uniform_where_none_is_scaled() {
        let pairs = Overlay::from_edges(40_000, (0..20_000).map(|pair| (2 * pair, 2 * pair + 1)));
        let matrix = Random {}.matrix(&pairs.unwrap(), &mut rng(3)).unwrap();
        let mut draws: Vec<f64> = (0..20_000)
            .map(|pair| matrix.weight(2 * pair, 2 * pair + 1))
            .collect();
        draws.sort_by(f64::total_cmp);
        // Kolmogorov-Smirnov: 20,000 uniform draws are within 0.0138 of the diagonal with probability 0.999.
        let furthest = draws
            .iter()
            .enumerate()
            .map(|(rank, draw)| (draw - rank as f64 / 20_000.0).abs())
            .fold(0.0, f64::max);
        assert!(furthest < 0.0138, "{furthest}");
    }

    #[test]
    fn the_fullest_row_keeps_nothing_for_itself() {
        let star = Topology::Star(Star {}).build(20, &mut rng(0)).unwrap();
        let matrix = Random {}.matrix(&star, &mut rng(1)).unwrap();
        assert!(matrix.weight(0, 0) < 1e-15 && matrix.min_self_weight() >= 0.0);
        assert!(matrix.is_symmetric(0.0) && matrix.is_doubly_stochastic(1e-14));
    }
}
