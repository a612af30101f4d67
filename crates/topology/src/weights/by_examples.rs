//! Means over neighbourhoods, weighted by how much each node trained on.

use super::weights_spec::{AfterFailures, WeightsSpec, usual};
use crate::{MixingMatrix, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `w_ij = n_j / Σ_l n_l`, l over `i` itself and its neighbours, for nodes that hold `n_j` training examples:
/// row-stochastic. Mixing preserves the mean weighted by `n_i Σ_l n_l`; on a complete overlay that is the mean over all
/// examples. With equal numbers the weights are [`Uniform`](crate::Uniform).
///
/// # Source
/// DFedRW (Wang et al.), (11), whose `n_l / m_t` are the shares of the devices that take part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ByExamples {}

impl WeightsSpec for ByExamples {
    usual!(mean_when_complete, not_drawn, no_list);

    fn label(&self) -> String {
        "by_examples".to_owned()
    }

    /// The weights of an overlay.
    ///
    /// # Errors
    /// [`TopologyError::UnknownExamples`] if the overlay does not know its examples;
    /// [`TopologyError::NoExamples`] if a node and its neighbours hold none.
    fn matrix(
        &self,
        overlay: &Overlay,
        _rng: &mut ChaCha8Rng,
    ) -> Result<MixingMatrix, TopologyError> {
        let Some(examples) = overlay.examples() else {
            let nodes = overlay.nodes();
            return Err(TopologyError::UnknownExamples { nodes });
        };
        let totals = neighbourhood_totals(overlay, examples);
        if let Some(node) = totals.iter().position(|&total| total == 0.0) {
            return Err(TopologyError::NoExamples { node });
        }
        let weight = |i: usize, j: usize| examples[j] as f64 / totals[i];
        if overlay.is_complete() {
            let shares = (0..overlay.nodes()).map(|j| weight(0, j)).collect();
            return MixingMatrix::average(overlay.nodes(), shares);
        }
        Ok(MixingMatrix::over_neighbours(overlay, weight, |i, _| {
            weight(i, i)
        }))
    }

    /// `π_i ∝ n_i Σ_l n_l`, for which `π_i w_ij = π_j w_ji`; NaN where the overlay has no such weights.
    fn stationary(&self, overlay: &Overlay) -> Vec<f64> {
        let Some(examples) = overlay.examples() else {
            return vec![f64::NAN; overlay.nodes()];
        };
        let mut shares = neighbourhood_totals(overlay, examples);
        for (share, &own) in shares.iter_mut().zip(examples) {
            *share *= own as f64;
        }
        let total: f64 = shares.iter().sum();
        shares.iter().map(|share| share / total).collect()
    }

    fn suit_directed(&self) -> bool {
        false
    }

    fn read_examples(&self) -> bool {
        true
    }

    fn after_failures(&self) -> AfterFailures {
        AfterFailures::FromExamples
    }
}

/// Examples of each node and its neighbours together.
fn neighbourhood_totals(overlay: &Overlay, examples: &[u64]) -> Vec<f64> {
    if overlay.is_complete() {
        // Sums of whole numbers are exact up to 2^53, in any order.
        let all = examples.iter().map(|held| *held as f64).sum();
        return vec![all; overlay.nodes()];
    }
    let held = |node: usize| examples[node] as f64;
    let around = |node: usize| overlay.neighbours(node).iter().map(|&j| held(j as usize));
    (0..overlay.nodes())
        .map(|node| held(node) + around(node).sum::<f64>())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::weights_spec::matrix_of;
    use crate::{Form, Spectrum, Uniform, Weights};

    fn path(examples: &[u64]) -> Overlay {
        let edges = (1..examples.len() as u32).map(|node| (node - 1, node));
        Overlay::from_edges(examples.len(), edges)
            .unwrap()
            .with_examples(examples.to_vec())
            .unwrap()
    }

    #[test]
    fn each_row_is_the_mean_over_the_examples_around() {
        let matrix = matrix_of(&ByExamples {}, &path(&[10, 30, 60])).unwrap();
        assert_eq!(matrix.row(0).collect::<Vec<_>>(), [(0, 0.25), (1, 0.75)]);
        assert_eq!(
            matrix.row(1).collect::<Vec<_>>(),
            [(0, 0.1), (1, 0.3), (2, 0.6)]
        );
        assert_eq!(
            matrix.row(2).collect::<Vec<_>>(),
            [(1, 1.0 / 3.0), (2, 2.0 / 3.0)]
        );
    }

    #[test]
    fn equal_numbers_are_uniform_weights() {
        let overlay = path(&[7; 5]);
        assert_eq!(
            matrix_of(&ByExamples {}, &overlay).unwrap(),
            matrix_of(&Uniform {}, &overlay).unwrap()
        );
    }

    #[test]
    fn the_complete_overlay_averages_over_all_examples_at_once() {
        let overlay = Overlay::from_edges(3, [(0, 1), (0, 2), (1, 2)]).unwrap();
        let overlay = overlay.with_examples(vec![1, 0, 3]).unwrap();
        let matrix = matrix_of(&ByExamples {}, &overlay).unwrap();
        assert_eq!(matrix.form(), Form::Average(&[0.25, 0.0, 0.75]));
        assert_eq!(ByExamples {}.stationary(&overlay), [0.25, 0.0, 0.75]);
    }

    #[test]
    fn mixing_is_reversible_in_the_stationary_distribution() {
        let overlay = path(&[3, 1, 4, 1, 5]);
        let matrix = matrix_of(&ByExamples {}, &overlay).unwrap();
        let shares = ByExamples {}.stationary(&overlay);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        for (i, j) in (0..5).flat_map(|i| (0..5).map(move |j| (i, j))) {
            let flow = |i: usize, j: usize| shares[i] * matrix.weight(i, j);
            assert!((flow(i, j) - flow(j, i)).abs() < 1e-16, "{i} {j}");
        }
    }

    #[test]
    fn nodes_without_examples_only_take() {
        let overlay = path(&[2, 2, 0]);
        let weights = Weights::ByExamples(ByExamples {});
        let matrix = weights.matrix(&overlay).unwrap();
        assert_eq!(matrix.apply(&[1.0, 3.0, 100.0]), [2.0, 2.0, 3.0]);
        // Rows 0 and 1 are alike and row 2 is a copy of row 1's old value: the rank is 2, one eigenvalue is 1.
        let spectrum = Spectrum::of(&overlay, &weights, &matrix).unwrap();
        assert_eq!(spectrum.eigenvalues.unwrap(), [1.0, 0.0, 0.0]);
    }

    #[test]
    fn missing_examples_are_named() {
        let unknown = Overlay::from_edges(3, [(0, 1)]).unwrap();
        assert_eq!(
            matrix_of(&ByExamples {}, &unknown).unwrap_err().to_string(),
            "by_examples: how many examples each of the 3 nodes holds is not known"
        );
        let error = matrix_of(&ByExamples {}, &path(&[0, 0, 5])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "by_examples: node 0 and its neighbours hold no examples, so its weights would be 0 / 0"
        );
    }
}
