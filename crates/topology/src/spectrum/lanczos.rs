//! Extreme eigenvalues of a large symmetric operator, by Lanczos iterations.
//!
//! Parlett, *The Symmetric Eigenvalue Problem* (1998), chapter 13. The three-term recurrence alone is used: lost
//! orthogonality repeats eigenvalues that have converged (Paige 1980) but moves neither end of the spectrum, and
//! a kept basis would cost more than the iterations that it saves: `faer`'s partial eigensolver keeps at least 64 vectors of
//! length N, half a gigabyte for a million nodes, where this keeps three.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{
    ComputeEigenvectors, self_adjoint_evd_scratch, tridiagonal_self_adjoint_evd,
};
use faer::{Col, Mat, Par};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Most iterations.
pub(crate) const STEPS: usize = 1500;
/// Seed of the starting vector: any that is not orthogonal to the extreme eigenvectors will do.
const START_SEED: u64 = 0x6d65_7368;

/// Extreme Ritz values and bounds on their distance from eigenvalues.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ritz {
    pub(super) smallest: f64,
    pub(super) smallest_error: f64,
    pub(super) largest: f64,
    pub(super) largest_error: f64,
}

/// Iterates on the complement of the unit vector `deflated` until `done` or no direction is left.
pub(super) fn run(
    n: usize,
    deflated: Option<&[f64]>,
    mut multiply: impl FnMut(&[f64], &mut [f64]),
    done: impl Fn(&Ritz) -> bool,
) -> Ritz {
    let (mut previous, mut current, mut next) = (vec![0.0; n], start(n, deflated), vec![0.0; n]);
    let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
    let (mut length, mut next_look) = (0.0, 20.min(n));
    loop {
        multiply(&current, &mut next);
        let scale = norm(&next);
        subtract(&mut next, length, &previous);
        let along = dot(&current, &next);
        subtract(&mut next, along, &current);
        if let Some(direction) = deflated {
            let share = dot(direction, &next);
            subtract(&mut next, share, direction);
        }
        length = norm(&next);
        diagonal.push(along);
        beside.push(length);
        let count = diagonal.len();
        let exhausted = length <= 1e-13 * scale;
        if exhausted || count >= next_look {
            let ritz = ritz(&diagonal, &beside);
            if exhausted || count >= STEPS || done(&ritz) {
                return ritz;
            }
            next_look = (count + count / 3 + 1).min(STEPS);
        }
        next.iter_mut().for_each(|value| *value /= length);
        std::mem::swap(&mut previous, &mut current);
        std::mem::swap(&mut current, &mut next);
    }
}

fn start(n: usize, deflated: Option<&[f64]>) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(START_SEED);
    let mut vector: Vec<f64> = (0..n).map(|_| rng.random_range(-1.0..1.0)).collect();
    if let Some(direction) = deflated {
        let share = dot(direction, &vector);
        subtract(&mut vector, share, direction);
    }
    let length = norm(&vector);
    vector.iter_mut().for_each(|value| *value /= length);
    vector
}

fn subtract(vector: &mut [f64], share: f64, direction: &[f64]) {
    vector
        .iter_mut()
        .zip(direction)
        .for_each(|(value, along)| *value -= share * along);
}

/// Ritz values of the tridiagonal matrix with `diagonal` and, beside it, all but the last of `beside`.
fn ritz(diagonal: &[f64], beside: &[f64]) -> Ritz {
    let count = diagonal.len();
    let as_diagonal = |values: &[f64]| Col::from_fn(count, |i| values[i]).into_diagonal();
    let mut values = Diag::<f64>::zeros(count);
    let mut vectors = Mat::<f64>::zeros(count, count);
    let scratch = self_adjoint_evd_scratch::<f64>(
        count,
        ComputeEigenvectors::Yes,
        Par::Seq,
        Default::default(),
    );
    let solved = tridiagonal_self_adjoint_evd(
        as_diagonal(diagonal).as_ref(),
        as_diagonal(beside).as_ref(),
        values.as_mut(),
        Some(vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    );
    if solved.is_err() {
        return Ritz {
            smallest: 0.0,
            smallest_error: f64::INFINITY,
            largest: 0.0,
            largest_error: f64::INFINITY,
        };
    }
    let value = |i: usize| values[i];
    let error = |i: usize, beside_it: usize| {
        let residual = (beside[count - 1] * vectors[(count - 1, i)]).abs();
        // An eigenvalue lies within the residual, and within residual²/gap if it stands alone (Parlett, section 11.7).
        let gap = (value(i) - value(beside_it)).abs();
        if i != beside_it && gap > 4.0 * residual {
            residual * residual / (gap - residual)
        } else {
            residual
        }
    };
    Ritz {
        smallest: value(0),
        smallest_error: error(0, 1.min(count - 1)),
        largest: value(count - 1),
        largest_error: error(count - 1, count.saturating_sub(2)),
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Eight sums side by side, which the compiler turns into vector instructions.
    let mut sums = [0.0; 8];
    let (a_chunks, b_chunks) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a_chunks
        .remainder()
        .iter()
        .zip(b_chunks.remainder())
        .map(|(x, y)| x * y)
        .sum();
    for (x, y) in a_chunks.zip(b_chunks) {
        for lane in 0..8 {
            sums[lane] += x[lane] * y[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

fn norm(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_distinct_eigenvalues_end_the_iteration_exactly() {
        let values = [1.0, 2.0, 5.0];
        let multiply = |x: &[f64], out: &mut [f64]| {
            for (i, result) in out.iter_mut().enumerate() {
                *result = values[i % 3] * x[i];
            }
        };
        let ritz = run(500, None, multiply, |_| false);
        assert!(
            (ritz.smallest - 1.0).abs() < 1e-10 && (ritz.largest - 5.0).abs() < 1e-10,
            "{ritz:?}"
        );
    }

    #[test]
    fn the_deflated_vector_is_never_found() {
        let n = 400;
        let mut top = vec![0.0; n];
        top[n - 1] = 1.0;
        let multiply = |x: &[f64], out: &mut [f64]| {
            for (i, result) in out.iter_mut().enumerate() {
                *result = (i * i) as f64 * x[i];
            }
        };
        let ritz = run(n, Some(&top), multiply, |_| false);
        assert!(
            (ritz.largest - ((n - 2) * (n - 2)) as f64).abs() < 1e-4,
            "{ritz:?}"
        );
    }
}
