//! How far mixing is from taking the mean at once: `‖W - 11ᵀ/N‖₂`, of one matrix or of several in turn.

use super::{DENSE_NODES, lanczos};
use crate::{MixingMatrix, TopologyError};
use faer::Mat;

/// Relative accuracy of the norm's square.
const ACCURACY: f64 = 1e-10;
/// Squares below this are rounding.
const NOTHING: f64 = 1e-24;

/// The joint λ of mixing by each matrix in turn, the first one first: `σ_max(W_B ⋯ W_1 - 11ᵀ/N)`.
///
/// By this factor disagreement shrinks at least over the B exchanges. Below one it says that a schedule mixes even if
/// none of its overlays is connected.
///
/// # Source
/// DeceFL (Yuan et al.), SI 5.2.3, takes the product over a period.
///
/// # Errors
/// [`TopologyError::NoMatrices`]; [`TopologyError::SpectrumShape`] unless all are N x N;
/// [`TopologyError::Eigenvalues`] if the iterations stall above [`DENSE_NODES`] nodes.
pub fn joint_lambda(matrices: &[&MixingMatrix]) -> Result<f64, TopologyError> {
    let nodes = matrices.first().ok_or(TopologyError::NoMatrices)?.rows();
    for matrix in matrices {
        let (rows, columns) = (matrix.rows(), matrix.columns());
        if rows != nodes || columns != nodes {
            return Err(TopologyError::SpectrumShape {
                rows,
                columns,
                nodes,
            });
        }
    }
    let lambda = distance_from_mean(matrices);
    match lambda.is_nan() {
        true => Err(TopologyError::Eigenvalues { nodes }),
        false => Ok(lambda),
    }
}

/// `‖W_B ⋯ W_1 - 11ᵀ/N‖₂`, by Lanczos iterations on `AᵀA`, A being the matrix inside, and densely where those stall; NaN
/// if there are too many nodes for that.
pub(super) fn distance_from_mean(matrices: &[&MixingMatrix]) -> f64 {
    let nodes = matrices.first().map_or(0, |matrix| matrix.rows());
    let product = |x: &[f64], out: &mut [f64]| {
        let mut back = apply(matrices, x);
        let total = mean(&back);
        for matrix in matrices.iter().rev() {
            matrix.apply_transposed(&back, out);
            back.copy_from_slice(out);
        }
        out.iter_mut().for_each(|value| *value -= total);
    };
    let close =
        |ritz: &lanczos::Ritz| ritz.largest_error <= ACCURACY * ritz.largest.abs() + NOTHING;
    let ritz = lanczos::run(nodes, None, product, close);
    if close(&ritz) {
        ritz.largest.max(0.0).sqrt()
    } else if nodes <= DENSE_NODES {
        dense(matrices, nodes)
    } else {
        f64::NAN
    }
}

/// `(W_B ⋯ W_1 - 11ᵀ/N) x`.
fn apply(matrices: &[&MixingMatrix], x: &[f64]) -> Vec<f64> {
    let mut mixed = matrices
        .iter()
        .fold(x.to_vec(), |x, matrix| matrix.apply(&x));
    let mean = mean(x);
    mixed.iter_mut().for_each(|value| *value -= mean);
    mixed
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

/// The largest singular value of the whole matrix; NaN if it cannot be decomposed.
fn dense(matrices: &[&MixingMatrix], nodes: usize) -> f64 {
    let mut away = Mat::<f64>::zeros(nodes, nodes);
    let mut unit = vec![0.0; nodes];
    for j in 0..nodes {
        unit[j] = 1.0;
        for (i, value) in apply(matrices, &unit).into_iter().enumerate() {
            away[(i, j)] = value;
        }
        unit[j] = 0.0;
    }
    away.singular_values()
        .map_or(f64::NAN, |values| values.into_iter().fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overlay, Uniform, Weights};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn iterations_agree_with_the_dense_decomposition() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        for nodes in [1, 2, 3, 40, 130] {
            let matrices: Vec<MixingMatrix> = (0..3)
                .map(|_| {
                    let arcs = (0..3 * nodes).map(|_| {
                        let mut node = || rng.random_range(0..nodes as u32);
                        (node(), node())
                    });
                    let arcs: Vec<_> = arcs.filter(|(a, b)| a != b).collect();
                    let overlay = Overlay::directed(nodes, arcs).unwrap();
                    Weights::Uniform(Uniform {}).matrix(&overlay).unwrap()
                })
                .collect();
            let matrices: Vec<&MixingMatrix> = matrices.iter().collect();
            let (found, expected) = (distance_from_mean(&matrices), dense(&matrices, nodes));
            assert!(
                (found - expected).abs() < 1e-8,
                "{nodes} nodes: {found} {expected}"
            );
        }
    }

    #[test]
    fn what_has_no_joint_lambda_is_named() {
        assert_eq!(joint_lambda(&[]), Err(TopologyError::NoMatrices));
        let (two, three) = (MixingMatrix::identity(2), MixingMatrix::identity(3));
        assert_eq!(
            joint_lambda(&[&three, &two]),
            Err(TopologyError::SpectrumShape {
                rows: 2,
                columns: 2,
                nodes: 3
            })
        );
        assert_eq!(joint_lambda(&[&three, &three]), Ok(1.0));
    }
}
