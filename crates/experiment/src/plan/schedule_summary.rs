//! How overlays that repeat mix together.

use meshfold_topology::{
    Differences, MixingMatrix, TopologyError, joint_lambda, rate_in_the_long_run, rounds_to_connect,
};
use serde::Serialize;

use crate::plan::planned_overlay::Built;

/// The most nodes for which the product of a period's matrices is made.
const MOST_NODES: usize = 2000;
/// Distance from one up to which sums of weights count as one.
const UNEVEN: f64 = 1e-10;
/// How overlays that repeat mix together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ScheduleSummary {
    /// Rounds after which they repeat, `T`.
    pub period: usize,
    /// `σ_max(W_T … W_1 − 11ᵀ/N)` over the period; absent where weights are not doubly stochastic, as models then settle on another
    /// mean, and beyond 2,000 nodes unless it is 0.
    pub joint_lambda: Option<f64>,
    /// `λ` per exchange, which can be compared with that of an overlay that stays the same: the rate at which differences shrink in the
    /// long run, the `T`-th root of the spectral radius of `W_T … W_1 − 11ᵀ/N`; 0 if the exchanges of a period together take the mean.
    /// It is at most the `T`-th root of [`joint_lambda`](Self::joint_lambda).
    pub lambda: Option<f64>,
    /// After how many rounds from the first on all nodes have the same model, whatever their models were; absent if a period does not
    /// bring that about.
    pub rounds_to_consensus: Option<usize>,
    /// After how many rounds the edges that there were connect all nodes, taken together; absent if never.
    pub rounds_to_connect: Option<usize>,
}

impl ScheduleSummary {
    /// Of the overlays of one period among so many `nodes`, in turn.
    ///
    /// # Errors
    /// Those of [`joint_lambda`].
    pub(super) fn of(period: &[Built], nodes: usize) -> Result<Self, TopologyError> {
        let matrices: Vec<&MixingMatrix> = period.iter().map(|built| &built.matrix).collect();
        let overlays: Vec<_> = period.iter().map(|built| &built.overlay).collect();
        let rounds_to_consensus = rounds_to_consensus(&matrices);
        let preserves_mean = |matrix: &&MixingMatrix| matrix.is_doubly_stochastic(UNEVEN);
        let averages = |matrix: &&MixingMatrix| matrix.is_row_stochastic(UNEVEN);
        let joint_lambda = match (nodes <= MOST_NODES, rounds_to_consensus) {
            _ if !matrices.iter().all(preserves_mean) => None,
            (true, _) => Some(joint_lambda(&matrices)?),
            (false, Some(_)) => Some(0.0),
            (false, None) => None,
        };
        let lambda = match rounds_to_consensus {
            Some(_) => Some(0.0),
            None if !matrices.iter().all(averages) => None,
            None => Some(rate_in_the_long_run(&matrices)),
        };
        Ok(Self {
            period: period.len(),
            joint_lambda,
            lambda,
            rounds_to_consensus,
            rounds_to_connect: rounds_to_connect(&overlays),
        })
    }
}

/// After how many of the exchanges all nodes have the same model.
fn rounds_to_consensus(matrices: &[&MixingMatrix]) -> Option<usize> {
    let mut left = Differences::among(matrices.first()?.rows());
    let equal = matrices
        .iter()
        .position(|matrix| left.shrink(matrix) == 0.0);
    equal.map(|before| before + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshfold_topology::{Overlay, Topology, Uniform, Weights};

    use crate::plan::planned_overlay::PlannedOverlay;

    const RING: &str = r#"{"ring": {}}"#;

    fn lambda(topology: &str, nodes: usize) -> f64 {
        let topology: Topology = serde_json::from_str(topology).unwrap();
        let weights = Weights::suited_to(&topology);
        let planned = PlannedOverlay::of_nodes(topology, weights, nodes, 1).unwrap();
        planned.lambda().unwrap()
    }

    fn in_turn(overlay: &str, times: usize) -> String {
        let list = vec![overlay; times].join(", ");
        format!(r#"{{"periodic": {{"list": [{list}]}}}}"#)
    }

    #[test]
    fn an_overlay_that_is_repeated_has_the_lambda_of_the_overlay() {
        let alone = lambda(RING, 12);
        assert!((alone - 0.910_683_602_5).abs() < 1e-9, "{alone}");
        for times in [2, 4] {
            let repeated = lambda(&in_turn(RING, times), 12);
            assert!((repeated - alone).abs() < 1e-8, "{times}: {repeated}");
        }
    }

    /// The two matchings of a ring of twelve. By NumPy the eigenvalue of `W_2 W_1 − 11ᵀ/N` with the largest modulus is `cos²(π/6)`, and
    /// its largest singular value `cos(π/6)`.
    #[test]
    fn matchings_that_take_turns_have_the_rate_of_their_product() {
        let matching = |turn: u32| {
            let pairs = (turn..12).step_by(2).map(|i| (i, (i + 1) % 12));
            let overlay = Overlay::from_edges(12, pairs).unwrap();
            Weights::default().matrix(&overlay).unwrap()
        };
        let matrices = [matching(0), matching(1)];
        let turns: Vec<&MixingMatrix> = matrices.iter().collect();
        let expected = (std::f64::consts::PI / 6.0).cos();
        let (rate, joint) = (rate_in_the_long_run(&turns), joint_lambda(&turns).unwrap());
        assert!((rate - expected).abs() < 1e-9, "{rate}");
        assert!((joint - expected).abs() < 1e-9, "{joint}");
    }

    /// The mean of two permutations and the identity: by NumPy a pair of complex eigenvalues has the largest modulus. The plain mean over
    /// 4,096 exchanges is .70839.
    #[test]
    fn eigenvalues_that_turn_differences_around_do_not_blur_the_rate() {
        let [p, q] = [[0, 4, 1, 3, 2], [3, 2, 1, 4, 0]];
        let row = |i: usize| {
            let mut row = [0.0; 5];
            row[i] += 0.3;
            row[p[i]] += 0.45;
            row[q[i]] += 0.25;
            let entries = (0..5).zip(row).filter(|(_, weight)| *weight > 0.0);
            entries.collect::<Vec<(u32, f64)>>()
        };
        let matrix = MixingMatrix::from_rows(5, (0..5).map(row).collect()).unwrap();
        let rate = rate_in_the_long_run(&[&matrix]);
        assert!((rate - 0.708_132_092_47).abs() < 1e-8, "{rate}");
    }

    #[test]
    fn a_long_period_of_fast_overlays_keeps_its_lambda() {
        let fast = r#"{"ring": {"hops": 3}}"#;
        let (alone, repeated) = (lambda(fast, 10), lambda(&in_turn(fast, 50), 10));
        assert!(alone.powi(50) < 1e-7, "{alone}");
        assert!((repeated - alone).abs() < 1e-3, "{repeated} {alone}");
    }

    #[test]
    fn consensus_is_exact_after_the_rounds_of_a_cycle() {
        let rounds = |topology: &str, nodes| {
            let topology: Topology = serde_json::from_str(topology).unwrap();
            let weights = Weights::suited_to(&topology);
            let planned = PlannedOverlay::of_nodes(topology, weights, nodes, 1).unwrap();
            planned.schedule.unwrap().rounds_to_consensus
        };
        for (topology, nodes, expected) in [
            (r#"{"base_graph": {}}"#, 25, Some(9)),
            (r#"{"base_graph": {"degree": 3}}"#, 25, Some(5)),
            (r#"{"one_peer": {}}"#, 64, Some(6)),
            (r#"{"one_peer": {}}"#, 25, None),
            (
                r#"{"periodic": {"list": [{"complete": {}}, {"ring": {}}]}}"#,
                9,
                Some(1),
            ),
            (
                r#"{"periodic": {"list": [{"ring": {"hops": 3}}, {"ring": {}}]}}"#,
                9,
                None,
            ),
        ] {
            assert_eq!(rounds(topology, nodes), expected, "{topology}");
        }
        let fast = in_turn(r#"{"ring": {"hops": 3}}"#, 50);
        assert_eq!(rounds(&fast, 10), None);
    }

    #[test]
    fn weights_that_do_not_preserve_the_mean_have_the_rate_of_one_overlay() {
        let of = |topology: &str| {
            let topology: Topology = serde_json::from_str(topology).unwrap();
            PlannedOverlay::of_nodes(topology, Weights::Uniform(Uniform {}), 20, 1).unwrap()
        };
        let star = r#"{"star": {}}"#;
        let (alone, repeated) = (of(star), of(&in_turn(star, 2)));
        let (lambda, period) = (repeated.lambda().unwrap(), repeated.lambda_of_period());
        assert!((lambda - alone.lambda().unwrap()).abs() < 1e-6, "{lambda}");
        assert_eq!(period, None);
        assert!(!repeated.lambda_is_of_round_1());
    }

    #[test]
    fn a_period_that_takes_the_mean_has_none() {
        assert_eq!(lambda(r#"{"one_peer": {}}"#, 4096), 0.0);
        assert_eq!(lambda(r#"{"base_graph": {}}"#, 2500), 0.0);
        assert_eq!(lambda(r#"{"one_peer": {}}"#, 8), 0.0);
        assert_eq!(lambda(r#"{"one_peer": {}}"#, 1024), 0.0);
        let last = r#"{"periodic": {"list": [{"ring": {}}, {"complete": {}}]}}"#;
        assert_eq!(lambda(last, 10), 0.0);
        assert!(lambda(r#"{"one_peer": {}}"#, 10) > 0.1);
    }
}
