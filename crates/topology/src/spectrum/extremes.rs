//! The extreme eigenvalues of a symmetric positive semidefinite matrix whose null vector is known.

use super::symmetric::Symmetric;
use super::{dense, lanczos, shift_invert};
use crate::TopologyError;

/// Up to this many nodes a dense decomposition is quicker than Lanczos iterations.
const DENSE_EXTREMES: usize = 200;
/// Relative accuracy of the extreme eigenvalues.
const ACCURACY: f64 = 1e-9;

/// The smallest eigenvalue beside that of the null vector, and the largest; NaN where it could not be found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extremes {
    /// The smallest.
    pub(crate) smallest: f64,
    /// The largest.
    pub(crate) largest: f64,
}

/// The extreme eigenvalues; the smallest is 0 if the graph behind the matrix is not `connected`.
///
/// # Errors
/// [`TopologyError::Eigenvalues`] from the dense solver.
pub(crate) fn extremes(matrix: &Symmetric, connected: bool) -> Result<Extremes, TopologyError> {
    let mut extremes = match matrix.nodes() {
        0 | 1 => Extremes {
            smallest: 0.0,
            largest: 0.0,
        },
        2..=DENSE_EXTREMES => {
            let values = dense::eigenvalues(matrix)?;
            Extremes {
                smallest: values[1],
                largest: values[values.len() - 1],
            }
        }
        _ => sparse_extremes(matrix, connected),
    };
    if !connected {
        extremes.smallest = 0.0;
    }
    Ok(extremes)
}

/// Lanczos iterations on the complement of the null vector, and a factorisation for what they do not reach.
fn sparse_extremes(matrix: &Symmetric, connected: bool) -> Extremes {
    let small =
        |ritz: &lanczos::Ritz| !connected || ritz.smallest_error <= ACCURACY * ritz.smallest;
    let large = |ritz: &lanczos::Ritz| ritz.largest_error <= ACCURACY * ritz.largest;
    let multiply = |x: &[f64], out: &mut [f64]| matrix.multiply(x, out);
    let ritz = lanczos::run(matrix.nodes(), Some(&matrix.null), multiply, |ritz| {
        small(ritz) && large(ritz)
    });
    let smallest = match small(&ritz) {
        true => Some(ritz.smallest),
        false => shift_invert::smallest(matrix, ACCURACY),
    };
    let largest = match large(&ritz) {
        true => Some(ritz.largest),
        false => shift_invert::largest(matrix, &ritz, ACCURACY),
    };
    Extremes {
        smallest: smallest.unwrap_or(f64::NAN),
        largest: largest.unwrap_or(f64::NAN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overlay, Path, Regular, Star, Topology, Torus, WattsStrogatz};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn overlay(topology: Topology, nodes: usize) -> Overlay {
        topology
            .build(nodes, &mut ChaCha8Rng::seed_from_u64(7))
            .unwrap()
    }

    #[test]
    fn lanczos_agrees_with_the_dense_solver() {
        for topology in [
            Topology::Regular(Regular { degree: 4 }),
            Topology::WattsStrogatz(WattsStrogatz {
                neighbours: 4,
                rewire: 0.1,
            }),
            Topology::Torus(Torus::default()),
            Topology::Star(Star {}),
            Topology::Path(Path {}),
        ] {
            let laplacian = Symmetric::laplacian(&overlay(topology.clone(), 300));
            let dense = dense::eigenvalues(&laplacian).unwrap();
            let sparse = sparse_extremes(&laplacian, true);
            let label = topology.label();
            assert!(
                (sparse.smallest / dense[1] - 1.0).abs() < 1e-8,
                "{label}: {sparse:?} {}",
                dense[1]
            );
            assert!(
                (sparse.largest / dense[299] - 1.0).abs() < 1e-8,
                "{label}: {sparse:?} {}",
                dense[299]
            );
        }
    }

    #[test]
    fn long_paths_are_solved_by_factorisation() {
        let nodes = 20_000;
        let extremes = extremes(&laplacian_of_path(nodes), true).unwrap();
        let eigenvalue = |k: usize| {
            4.0 * (std::f64::consts::PI * k as f64 / (2 * nodes) as f64)
                .sin()
                .powi(2)
        };
        assert!(
            (extremes.smallest / eigenvalue(1) - 1.0).abs() < 1e-8,
            "{extremes:?}"
        );
        assert!(
            (extremes.largest / eigenvalue(nodes - 1) - 1.0).abs() < 1e-8,
            "{extremes:?}"
        );
    }

    fn laplacian_of_path(nodes: usize) -> Symmetric {
        Symmetric::laplacian(&overlay(Topology::Path(Path {}), nodes))
    }
}
