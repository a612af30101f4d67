//! How fast an overlay mixes under its weights.

use crate::{Form, MixingMatrix, Overlay, TopologyError, Weights};
use distance_from_mean::distance_from_mean;
pub(crate) use extremes::Extremes;
use extremes::extremes;
use long_run::second_modulus;
use symmetric::Symmetric;

mod dense;
mod distance_from_mean;
mod effective_neighbours;
mod extremes;
mod lanczos;
mod long_run;
mod shift_invert;
mod symmetric;

pub use dense::largest_eigenvalue;
pub use distance_from_mean::joint_lambda;
pub use effective_neighbours::{DECAYS, effective_neighbours};
pub(crate) use lanczos::STEPS as LANCZOS_STEPS;
pub use long_run::{Differences, rate_in_the_long_run};
pub(crate) use shift_invert::MOST_FACTORISED;

/// Up to this many nodes all eigenvalues are computed, densely; above, only the extreme ones, by Lanczos iterations.
pub const DENSE_NODES: usize = 2000;

/// Asymmetry up to which a matrix counts as symmetric, and distance from one up to which sums count as one.
pub(crate) const ROUNDING: f64 = 1e-10;

/// The spectrum of a mixing matrix W on an overlay of N nodes, and what the papers derive from it.
///
/// # Source
/// Hua et al., Sections 2 and 3; P-FedAvg (Liu et al.), Assumption 5 and Theorem 4.
///
/// # Interpretation
/// Eigenvalues of a W that is not symmetric but reversible (`uniform` on an irregular overlay) are those of the
/// symmetric matrix similar to it. Of a directed overlay, or if W is only doubly stochastic, λ is the second largest modulus of its eigenvalues, the
/// spectral radius of `W - 11ᵀ/N`; κ and θ are not defined on directed overlays, nor is λ unless the rows of W sum to one. A single node has `λ = 0` and
/// `κ = 1`. A disconnected overlay has `λ = 1` and infinite κ. NaN stands for what is not defined or not computed: see
/// each field.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// λ2, the largest eigenvalue of W besides the 1 of equal values. NaN if W is not reversible.
    pub lambda2: f64,
    /// λN, the smallest eigenvalue of W. NaN if W is not reversible.
    pub lambda_n: f64,
    /// `λ = max(|λi|)` over all eigenvalues but the 1 of equal values, by which disagreement shrinks per exchange in the long run.
    pub lambda: f64,
    /// Spectral gap `1 - λ`.
    pub gap: f64,
    /// Reduced condition number `κ = λN(L) / λ2(L)` of the overlay's Laplacian (Hua (3.1)).
    pub kappa: f64,
    /// Expected consensus rate `p = 1 - ‖W - 11ᵀ/N‖₂²` (P-FedAvg, Theorem 4); may be negative if W is not symmetric.
    pub p: f64,
    /// Steady disagreement `Σ λi² / (1 - λi²)` over i ≥ 2 under independent noise of unit variance per node and exchange; infinite
    /// if an eigenvalue has a modulus of 1 or more.
    /// It needs all eigenvalues: NaN unless W is symmetric, and above [`DENSE_NODES`] nodes.
    pub disagreement: f64,
    /// Effective number of neighbours for each of [`DECAYS`], [`effective_neighbours`]; NaN unless W is symmetric.
    /// It needs all eigenvalues: NaN above [`DENSE_NODES`] nodes.
    pub effective_neighbours: [f64; DECAYS.len()],
    /// `θ* = 1/κ`, the best θ for `laplacian` weights.
    pub theta: f64,
    /// `C_λ = 2λ² + 4λ² ln(1/λ) + 2λ + 2 / ln(1/λ)`, 0 at λ = 0 (Hua, Theorem 2.5).
    pub c_lambda: f64,
    /// `(λ + 1) / 2`, the λ_P of a random walk by W (DFedRW, Section III, before Lemma 2).
    pub lambda_walk: f64,
    /// All eigenvalues of W, the 1 of equal values first, the others descending; absent above [`DENSE_NODES`] nodes or if W is not reversible.
    pub eigenvalues: Option<Vec<f64>>,
}

impl Spectrum {
    /// The spectrum of `matrix`, which `weights` made on `overlay`.
    ///
    /// # Errors
    /// [`TopologyError::SpectrumShape`] if the matrix is not N x N; [`TopologyError::NoLambda`] if it is neither
    /// reversible with the stationary distribution of `weights` nor doubly stochastic; [`TopologyError::Eigenvalues`].
    ///
    /// # Complexity
    /// O(N³) up to [`DENSE_NODES`] nodes. Above, some hundred products with W, each O(N + edges), to a relative accuracy
    /// of 1e-9 in `1 - λ2`, `1 - λN` and κ; if the iteration stalls, as on long paths, a sparse factorisation takes over.
    /// Values that neither of them reaches are NaN.
    pub fn of(
        overlay: &Overlay,
        weights: &Weights,
        matrix: &MixingMatrix,
    ) -> Result<Self, TopologyError> {
        let (rows, columns, nodes) = (matrix.rows(), matrix.columns(), overlay.nodes());
        if rows != nodes || columns != nodes {
            return Err(TopologyError::SpectrumShape {
                rows,
                columns,
                nodes,
            });
        }
        let kappa = kappa(overlay)?;
        let mixing = Mixing::of(overlay, weights, matrix)?;
        let lambda = mixing.lambda;
        let is_symmetric = matrix.is_symmetric(ROUNDING);
        let symmetric = mixing.eigenvalues.as_deref().filter(|_| is_symmetric);
        Ok(Self {
            lambda2: mixing.lambda2,
            lambda_n: mixing.lambda_n,
            lambda,
            gap: 1.0 - lambda,
            kappa,
            p: 1.0 - mixing.norm * mixing.norm,
            disagreement: symmetric.map_or(f64::NAN, |values| disagreement(nodes, values)),
            effective_neighbours: DECAYS.map(|decay| {
                symmetric.map_or(f64::NAN, |values| effective_neighbours(values, decay))
            }),
            theta: 1.0 / kappa,
            c_lambda: c_lambda(lambda),
            lambda_walk: (lambda + 1.0) / 2.0,
            eigenvalues: mixing.eigenvalues,
        })
    }
}

/// Smallest non-zero and largest eigenvalue of an overlay's Laplacian `L = D - A`.
///
/// The smallest is 0 if the overlay is disconnected.
///
/// # Errors
/// [`TopologyError::Eigenvalues`] if neither Lanczos nor a sparse factorisation found them.
pub(crate) fn laplacian_extremes(overlay: &Overlay) -> Result<Extremes, TopologyError> {
    let nodes = overlay.nodes();
    if overlay.is_complete() {
        return Ok(Extremes {
            smallest: nodes as f64,
            largest: nodes as f64,
        });
    }
    if overlay.listed_arcs() == 0 {
        // No edges at all, or every two of some nodes are linked, which takes too much memory as a matrix.
        let linked = nodes + 1 - overlay.components().len();
        return Ok(Extremes {
            smallest: 0.0,
            largest: if linked > 1 { linked as f64 } else { 0.0 },
        });
    }
    let extremes = extremes(&Symmetric::laplacian(overlay), overlay.is_connected())?;
    if extremes.smallest.is_nan() || extremes.largest.is_nan() {
        return Err(TopologyError::Eigenvalues { nodes });
    }
    Ok(extremes)
}

fn kappa(overlay: &Overlay) -> Result<f64, TopologyError> {
    if overlay.is_directed() {
        return Ok(f64::NAN);
    }
    match laplacian_extremes(overlay) {
        _ if overlay.nodes() == 1 => Ok(1.0),
        Ok(extremes) if extremes.smallest == 0.0 => Ok(f64::INFINITY),
        Ok(extremes) => Ok(extremes.largest / extremes.smallest),
        Err(TopologyError::Eigenvalues { nodes }) if nodes > DENSE_NODES => Ok(f64::NAN),
        Err(error) => Err(error),
    }
}

/// Hua et al., Theorem 2.5; infinite where λ does not contract.
fn c_lambda(lambda: f64) -> f64 {
    if lambda == 0.0 {
        return 0.0;
    }
    if lambda >= 1.0 {
        return f64::INFINITY;
    }
    let log = (1.0 / lambda).ln();
    2.0 * lambda * lambda * (1.0 + 2.0 * log) + 2.0 * lambda + 2.0 / log
}

fn disagreement(nodes: usize, eigenvalues: &[f64]) -> f64 {
    let of = |value: &f64| match value * value {
        square if square < 1.0 => square / (1.0 - square),
        _ => f64::INFINITY,
    };
    match nodes {
        1 => 0.0,
        _ => eigenvalues[1..].iter().map(of).sum(),
    }
}

/// What is known of W's own spectrum.
struct Mixing {
    lambda2: f64,
    lambda_n: f64,
    lambda: f64,
    /// `‖W - 11ᵀ/N‖₂`.
    norm: f64,
    eigenvalues: Option<Vec<f64>>,
}

impl Mixing {
    fn of(
        overlay: &Overlay,
        weights: &Weights,
        matrix: &MixingMatrix,
    ) -> Result<Self, TopologyError> {
        if let Form::Average(shared) = matrix.form() {
            return Ok(Self::of_average(shared));
        }
        if let Form::Among { members, .. } = matrix.form() {
            if !matrix.is_row_stochastic(ROUNDING) {
                let nodes = members.len();
                return Err(TopologyError::NoLambda { nodes });
            }
            return Ok(Self::of_average_among(matrix, members));
        }
        let doubly_stochastic = matrix.is_doubly_stochastic(ROUNDING);
        if overlay.is_directed() {
            return Ok(Self::of_modulus(matrix));
        }
        let symmetric = matrix.is_symmetric(ROUNDING);
        let nodes = overlay.nodes();
        let stationary = if symmetric {
            vec![1.0 / nodes as f64; nodes]
        } else {
            weights.stationary(overlay)
        };
        let Some(deficit) = Symmetric::deficit(matrix, &stationary) else {
            if !doubly_stochastic {
                return Err(TopologyError::NoLambda { nodes });
            }
            return Ok(Self::of_modulus(matrix));
        };
        let connected = overlay.is_connected();
        let eigenvalues = match nodes <= DENSE_NODES {
            true => Some(eigenvalues_of_mixing(&deficit, connected)?),
            false => None,
        };
        let (lambda2, lambda_n) = match eigenvalues.as_deref() {
            Some([_, second, .., last]) => (*second, *last),
            Some([_, second]) => (*second, *second),
            Some(_) => (0.0, 0.0),
            None => {
                let extremes = extremes(&deficit, connected)?;
                (1.0 - extremes.smallest, 1.0 - extremes.largest)
            }
        };
        // f64::max would drop a NaN, and with it the fact that the value is unknown.
        let lambda = if lambda2.is_nan() || lambda_n.is_nan() {
            f64::NAN
        } else {
            lambda2.abs().max(lambda_n.abs())
        };
        let norm = if symmetric && doubly_stochastic {
            lambda
        } else {
            distance_from_mean(&[matrix])
        };
        Ok(Self {
            lambda2,
            lambda_n,
            lambda,
            norm,
            eigenvalues,
        })
    }

    /// Of a W whose eigenvalues may be complex.
    fn of_modulus(matrix: &MixingMatrix) -> Self {
        Self {
            lambda2: f64::NAN,
            lambda_n: f64::NAN,
            lambda: match matrix.is_row_stochastic(ROUNDING) {
                true => second_modulus(matrix),
                // Mixing changes even equal values.
                false => f64::NAN,
            },
            norm: distance_from_mean(&[matrix]),
            eigenvalues: None,
        }
    }

    /// `W = 1 pᵀ` takes everything to one value at once; only p can be away from the mean.
    fn of_average(shared: &[f64]) -> Self {
        let nodes = shared.len() as f64;
        let mean = 1.0 / nodes;
        let squares: f64 = shared.iter().map(|weight| (weight - mean).powi(2)).sum();
        let eigenvalues = (shared.len() <= DENSE_NODES).then(|| {
            let mut values = vec![0.0; shared.len()];
            let sum: f64 = shared.iter().sum();
            values[0] = if (sum - 1.0).abs() <= ROUNDING {
                1.0
            } else {
                sum
            };
            values
        });
        Self {
            lambda2: 0.0,
            lambda_n: 0.0,
            lambda: 0.0,
            norm: (nodes * squares).sqrt(),
            eigenvalues,
        }
    }

    /// The members go to one value at once and all others stay where they are: a one for the members together and for
    /// each of the others, and zeros.
    fn of_average_among(matrix: &MixingMatrix, members: &[bool]) -> Self {
        let nodes = members.len();
        let averaged = members.iter().filter(|member| **member).count();
        let ones = nodes - averaged + 1;
        let eigenvalues = (nodes <= DENSE_NODES).then(|| {
            let value = |place: usize| f64::from(u8::from(place < ones));
            (0..nodes).map(value).collect()
        });
        let is_mean = matrix.is_symmetric(ROUNDING) && matrix.is_doubly_stochastic(ROUNDING);
        Self {
            lambda2: f64::from(u8::from(ones > 1)),
            lambda_n: f64::from(u8::from(averaged < 2)),
            lambda: f64::from(u8::from(ones > 1)),
            norm: match is_mean {
                true => f64::from(u8::from(ones > 1)),
                false => distance_from_mean(&[matrix]),
            },
            eigenvalues,
        }
    }
}

/// All eigenvalues of W, the 1 of equal values first and the others descending, from those of `I - W`; what rounding leaves of the exact −1, 0 and 1 is removed.
fn eigenvalues_of_mixing(deficit: &Symmetric, connected: bool) -> Result<Vec<f64>, TopologyError> {
    let deficits = dense::eigenvalues(deficit)?;
    let rounding = 1e-14 * deficits.len() as f64;
    let exact = |deficit: f64| {
        let near = deficit.round();
        match (deficit - near).abs() < rounding && (0.0..=2.0).contains(&near) {
            true => 1.0 - near,
            false => 1.0 - deficit,
        }
    };
    let mut values: Vec<f64> = deficits.into_iter().map(exact).collect();
    // Negative weights may make others larger.
    let from_one = |place: &usize| (values[*place] - 1.0).abs();
    let of_equal = (0..values.len()).min_by(|a, b| from_one(a).total_cmp(&from_one(b)));
    if let Some(place) = of_equal {
        values[..=place].rotate_right(1);
    }
    if !connected && values.len() > 1 {
        values[1] = 1.0;
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights `a` and `b` of the edges of a path of three: the eigenvalues besides 1 are `1 − μ` with `μ² − 2 (a + b) μ + 3 a b = 0`.
    #[test]
    fn negative_weights_that_drive_values_apart_have_a_lambda_above_1() {
        let path = Overlay::from_edges(3, [(0, 1), (1, 2)]).unwrap();
        let (a, b) = (-0.5, 0.2);
        let rows = vec![
            vec![(0, 1.0 - a), (1, a)],
            vec![(0, a), (1, 1.0 - a - b), (2, b)],
            vec![(1, b), (2, 1.0 - b)],
        ];
        let matrix = MixingMatrix::from_rows(3, rows).unwrap();
        let spectrum = Spectrum::of(&path, &Weights::default(), &matrix).unwrap();
        let root = f64::sqrt((a + b) * (a + b) - 3.0 * a * b);
        let largest = 1.0 - (a + b) + root;
        assert!((spectrum.lambda2 - largest).abs() < 1e-12, "{spectrum:?}");
        assert!((spectrum.lambda - largest).abs() < 1e-12 && largest > 1.9);
        assert!((spectrum.p - (1.0 - largest * largest)).abs() < 1e-12);
        assert_eq!(spectrum.disagreement, f64::INFINITY);
        assert_eq!(spectrum.effective_neighbours, [0.0; DECAYS.len()]);
        assert_eq!(spectrum.eigenvalues.unwrap()[0], 1.0);
    }
}
