//! Mixing weights that a user's program adds.

use super::weights_spec::{AfterFailures, WeightsSpec, usual};
use crate::{MixingMatrix, Overlay, TopologyError};
use meshfold_own::{OwnKind, OwnPart};
use rand_chacha::ChaCha8Rng;

/// Mixing weights that a user's program adds.
pub trait OwnWeights: Send + Sync {
    /// The N x N mixing matrix of an overlay of N nodes, which may draw from `rng`.
    ///
    /// Row i has the weights that node i gives to what it hears. Rows sum to one. There are weights on the diagonal and on edges of the
    /// overlay alone, and `π_i w_ij = π_j w_ji` for the π of [`OwnWeights::stationary`] unless the overlay is directed. All of this is
    /// checked.
    ///
    /// # Errors
    /// [`TopologyError::Own`], or another one.
    fn matrix(
        &self,
        overlay: &Overlay,
        rng: &mut ChaCha8Rng,
    ) -> Result<MixingMatrix, TopologyError>;

    /// The distribution π over the nodes, `[N]`, that mixing preserves: equal shares for symmetric weights.
    fn stationary(&self, overlay: &Overlay) -> Vec<f64> {
        vec![1.0 / overlay.nodes() as f64; overlay.nodes()]
    }

    /// Whether they are defined on directed overlays, too.
    fn suit_directed(&self) -> bool {
        false
    }

    /// A short name for tables and legends; the name in the configuration if there is none.
    fn label(&self) -> Option<String> {
        None
    }
}

impl OwnKind for dyn OwnWeights {
    const KIND: &'static str = "own weights";
}

/// Largest deviation of a row's sum from one, and of `π_i w_ij` from `π_j w_ji` relative to the larger.
const TOLERANCE: f64 = 1e-9;

impl WeightsSpec for OwnPart<dyn OwnWeights> {
    // They may have any form where the overlay is complete. They may draw, too, but memory is planned as if they did not.
    usual!(each_held, not_drawn, no_list);

    fn label(&self) -> String {
        self.part()
            .label()
            .unwrap_or_else(|| self.name().to_owned())
    }

    /// The matrix of the part, checked.
    fn matrix(
        &self,
        overlay: &Overlay,
        rng: &mut ChaCha8Rng,
    ) -> Result<MixingMatrix, TopologyError> {
        let matrix = self.part().matrix(overlay, rng)?;
        match fault(&matrix, &self.stationary(overlay), overlay) {
            None => Ok(matrix),
            Some(reason) => Err(TopologyError::Own {
                setting: "weights",
                name: self.name().to_owned(),
                reason,
            }),
        }
    }

    fn stationary(&self, overlay: &Overlay) -> Vec<f64> {
        self.part().stationary(overlay)
    }

    fn suit_directed(&self) -> bool {
        self.part().suit_directed()
    }

    /// They may: the overlay knows them.
    fn read_examples(&self) -> bool {
        true
    }

    fn after_failures(&self) -> AfterFailures {
        AfterFailures::ToDiagonal
    }
}

/// What is wrong with `matrix` as the weights of `overlay`, if anything is: see [`OwnWeights::matrix`].
pub(crate) fn fault(
    matrix: &MixingMatrix,
    stationary: &[f64],
    overlay: &Overlay,
) -> Option<String> {
    let nodes = overlay.nodes();
    if (matrix.rows(), matrix.columns()) != (nodes, nodes) || stationary.len() != nodes {
        return Some(format!(
            "its matrix has {} rows and {} columns, but there are {nodes} nodes",
            matrix.rows(),
            matrix.columns()
        ));
    }
    for i in 0..nodes {
        let mut sum = 0.0;
        let linked = overlay.neighbours(i);
        for (column, weight) in matrix.row(i) {
            let j = column as usize;
            if !weight.is_finite() {
                return Some(format!("the weight of row {i}, column {j} is {weight}"));
            }
            sum += weight;
            if weight != 0.0 && i != j && !linked.contains(&column) {
                let linked = match overlay.is_directed() {
                    true => "which does not send to it",
                    false => "to which the overlay does not link it",
                };
                return Some(format!("row {i} has a weight for node {j}, {linked}"));
            }
            if overlay.is_directed() {
                continue;
            }
            let (there, back) = (stationary[i] * weight, stationary[j] * matrix.weight(j, i));
            if (there - back).abs() > TOLERANCE * there.abs().max(back.abs()) {
                return Some(format!(
                    "the weights of {i} and {j} for each other, {weight} and {}, do not balance",
                    matrix.weight(j, i)
                ));
            }
        }
        if (sum - 1.0).abs() > TOLERANCE {
            return Some(format!("row {i} sums to {sum:.9}, not to 1"));
        }
    }
    None
}
