//! Random pairs of nodes, drawn anew in each round.

use super::Snapshot;
use super::overlay_spec::{OverlaySpec, usual};
use super::schedule::{Schedule, Turns, usual_schedule};
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError, Weights};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Random pairwise gossip: each round links the nodes in pairs, by a matching that is uniformly random among the largest ones. Of an
/// odd number of nodes one is alone.
///
/// No round but those of two nodes is connected; several together are. Under `metropolis_hastings` weights the two of a pair take the
/// mean of their models. The expected matrix of N nodes, N even, has `λ2 = (N − 2) / (2 (N − 1))`; with N odd it is `1 / 2`. Its root is
/// the `λ` of the draws: in the mean square, differences shrink by it in each round.
///
/// # Source
/// Boyd et al., *Randomized gossip algorithms* (2006), in the synchronous form: the pairs of a matching average at the same time.
///
/// # Interpretation
/// Every two nodes may meet: the graph from which the edges are taken is complete.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomMatching {}

impl RandomMatching {
    /// One draw.
    fn build(&self, nodes: usize, rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        let mut order: Vec<u32> = (0..nodes as u32).collect();
        order.shuffle(rng);
        let pairs = order.chunks_exact(2).map(|pair| (pair[0], pair[1]));
        Overlay::from_edges(nodes, pairs)
    }
}

impl OverlaySpec for RandomMatching {
    usual!(changing, plain);

    fn label(&self) -> String {
        "random_matching".to_owned()
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        OverlaySize::listed(nodes, (nodes as f64 / 2.0).floor(), Paths::Short)
    }
}

impl Schedule for RandomMatching {
    usual_schedule!(all_nodes, until_connected);

    fn turns(&self, _nodes: usize) -> Turns {
        Turns::Every(1)
    }

    fn check(&self, _nodes: usize) -> Result<(), TopologyError> {
        Ok(())
    }

    fn snapshot(
        &self,
        _draw: usize,
        nodes: Nodes<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Snapshot, TopologyError> {
        Ok(Snapshot::of_all(self.build(nodes.count, rng)?))
    }

    /// Pairs that take their mean have a matrix that is its own square, so that `E[WᵀW] = E[W]`, whose entries are all alike.
    fn lambda_of_draws(
        &self,
        weights: &Weights,
        nodes: usize,
    ) -> Result<Option<f64>, TopologyError> {
        let take_the_mean = matches!(
            weights,
            Weights::MetropolisHastings(_) | Weights::MaxDegree(_) | Weights::Uniform(_)
        );
        let n = nodes as f64;
        let chance = match nodes {
            0 | 1 => return Ok(take_the_mean.then_some(0.0)),
            even if even % 2 == 0 => 1.0 / (n - 1.0),
            _ => 1.0 / n,
        };
        Ok(take_the_mean.then(|| (1.0 - n * chance / 2.0).max(0.0).sqrt()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Weights;
    use rand::SeedableRng;

    #[test]
    fn every_node_has_one_partner_but_one_of_an_odd_number() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for nodes in [1, 2, 3, 10, 101] {
            let overlay = RandomMatching {}.build(nodes, &mut rng).unwrap();
            let alone = (0..nodes).filter(|node| overlay.degree(*node) == 0).count();
            let paired = (0..nodes).filter(|node| overlay.degree(*node) == 1).count();
            assert_eq!((alone, paired), (nodes % 2, nodes - nodes % 2), "{nodes}");
            assert_eq!(overlay.edge_count(), nodes / 2);
        }
    }

    /// The mean of the mixing matrices of `draws` matchings of N nodes, `[N, N]`.
    fn mean_matrix(nodes: usize, draws: usize) -> Vec<Vec<f64>> {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let mut mean = vec![vec![0.0; nodes]; nodes];
        for _ in 0..draws {
            let overlay = RandomMatching {}.build(nodes, &mut rng).unwrap();
            let matrix = Weights::default().matrix(&overlay).unwrap();
            for (node, row) in mean.iter_mut().enumerate() {
                for (other, weight) in matrix.row(node) {
                    row[other as usize] += weight / draws as f64;
                }
            }
        }
        mean
    }

    /// The largest eigenvalue of a symmetric matrix, `[N, N]`, whose rows sum to 1, apart from that 1: by 200 power iterations.
    fn second_eigenvalue(matrix: &[Vec<f64>]) -> f64 {
        let nodes = matrix.len();
        let mut vector: Vec<f64> = (0..nodes).map(|node| (node * node) as f64).collect();
        let mut length = 0.0;
        for _ in 0..200 {
            let mean = vector.iter().sum::<f64>() / nodes as f64;
            vector.iter_mut().for_each(|value| *value -= mean);
            length = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
            let row = |row: &Vec<f64>| row.iter().zip(&vector).map(|(w, v)| w * v / length).sum();
            vector = matrix.iter().map(row).collect();
        }
        length
    }

    #[test]
    fn the_expected_matrix_has_the_eigenvalue_of_pairwise_gossip() {
        // A weight is 1/2 or 0: its mean over 20,000 draws deviates by at most .0018, so an eigenvalue by less than .01.
        for (nodes, lambda2) in [(6, 4.0 / 10.0), (10, 8.0 / 18.0), (5, 0.5)] {
            let mean = mean_matrix(nodes, 20_000);
            let pair = mean[0][1];
            let expected = match nodes % 2 {
                0 => 0.5 / (nodes - 1) as f64,
                _ => 0.5 / nodes as f64,
            };
            assert!((pair - expected).abs() < 0.008, "{nodes}: {pair}");
            let found = second_eigenvalue(&mean);
            assert!((found - lambda2).abs() < 0.02, "{nodes}: {found}");
        }
    }
}
