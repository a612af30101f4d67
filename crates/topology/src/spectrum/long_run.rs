//! How fast exchanges shrink differences in the long run.

use crate::MixingMatrix;
use faer::Mat;

/// Up to this many nodes the eigenvalues of a matrix without symmetry are computed, densely.
const DENSE_NODES: usize = 512;
/// A step that leaves less than this of a difference leaves nothing but rounding.
const NOTHING: f64 = 1e-12;
/// The most exchanges, in whole periods, that bring a vector near the slowest direction, and as many over which its shrinking is
/// measured.
const EXCHANGES: usize = 4096;
/// The fewest.
const FEWEST_EXCHANGES: usize = 128;
/// The most weights that are applied for that, unless it takes more for the fewest exchanges.
const MOST_WEIGHTS: usize = 100_000_000;
/// The fewest periods for that.
const PERIODS: usize = 4;

/// What of a number for each node, `[N]`, differs from its mean, scaled to length one.
#[derive(Clone, Debug)]
pub struct Differences(Vec<f64>);

impl Differences {
    /// Differences that have a part in every direction: the fractional parts of multiples of the golden ratio, as no overlay has such a
    /// pattern.
    #[must_use]
    pub fn among(nodes: usize) -> Self {
        let numbers = (1..=nodes).map(|node| (node as f64 * 0.618_033_988_749_895).fract());
        let mut differences = Self(numbers.collect());
        differences.normalise();
        differences
    }

    /// Mixes by `matrix`, whose rows sum to one. Returns the factor by which the differences become smaller; 0 if nothing is left but
    /// rounding.
    pub fn shrink(&mut self, matrix: &MixingMatrix) -> f64 {
        self.0 = matrix.apply(&self.0);
        let left = self.normalise();
        if left < NOTHING { 0.0 } else { left }
    }

    /// Takes the mean away and scales to length one; returns the length before.
    fn normalise(&mut self) -> f64 {
        let x = &mut self.0;
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        x.iter_mut().for_each(|value| *value -= mean);
        let length = x.iter().map(|value| value * value).sum::<f64>().sqrt();
        x.iter_mut().for_each(|value| *value /= length);
        length
    }
}

/// The factor by which an exchange shrinks differences in the long run, where such `matrices`, whose rows sum to one, take turns: the
/// `T`-th root of the spectral radius of `W_T … W_1 − 11ᵀ/N`.
///
/// It is the geometric mean over periods. Where two eigenvalues turn differences around, periods shrink them by turns more and less: periods
/// weigh less towards both ends, so that this cancels.
#[must_use]
pub fn rate_in_the_long_run(matrices: &[&MixingMatrix]) -> f64 {
    let mut left = Differences::among(matrices.first().map_or(0, |matrix| matrix.rows()));
    let count = matrices.len().max(1);
    let weights: usize = matrices.iter().map(|matrix| matrix.nnz()).sum();
    let exchanges =
        (MOST_WEIGHTS / (2 * weights / count).max(1)).clamp(FEWEST_EXCHANGES, EXCHANGES);
    let periods = exchanges.div_ceil(count).max(PERIODS);
    let mut logarithms = vec![0.0; periods];
    for period in 0..2 * periods {
        for matrix in matrices {
            let factor = left.shrink(matrix);
            if factor == 0.0 {
                return 0.0;
            }
            if period >= periods {
                logarithms[period - periods] += factor.ln();
            }
        }
    }
    let weight = |period: usize| {
        let place = (period + 1) as f64 / (periods + 1) as f64;
        (-1.0 / (place * (1.0 - place))).exp()
    };
    let (mut sum, mut weights) = (0.0, 0.0);
    for (period, logarithm) in logarithms.iter().enumerate() {
        sum += weight(period) * logarithm;
        weights += weight(period);
    }
    (sum / (weights * count as f64)).exp()
}

/// The spectral radius of `W − 11ᵀ/N`, of a `matrix` whose rows sum to one: the second largest modulus of its eigenvalues.
pub(super) fn second_modulus(matrix: &MixingMatrix) -> f64 {
    let nodes = matrix.rows();
    let dense = (nodes <= DENSE_NODES)
        .then(|| dense_modulus(matrix))
        .flatten();
    dense.unwrap_or_else(|| rate_in_the_long_run(&[matrix]))
}

/// The same by all eigenvalues of `(I − 11ᵀ/N) W`, which has a 0 in place of the 1 of equal values; `None` if faer's iteration does not
/// converge.
fn dense_modulus(matrix: &MixingMatrix) -> Option<f64> {
    let nodes = matrix.rows();
    let mut away = Mat::<f64>::zeros(nodes, nodes);
    let mut unit = vec![0.0; nodes];
    for column in 0..nodes {
        unit[column] = 1.0;
        let mixed = matrix.apply(&unit);
        let mean = mixed.iter().sum::<f64>() / nodes as f64;
        for (row, value) in mixed.into_iter().enumerate() {
            away[(row, column)] = value - mean;
        }
        unit[column] = 0.0;
    }
    let values = away.eigenvalues().ok()?;
    let moduli = values.into_iter().map(|value| value.re.hypot(value.im));
    let largest = moduli.fold(0.0, f64::max);
    Some(if largest < NOTHING { 0.0 } else { largest })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.4 I + .35 P + .25 Q` with two permutations that do not commute: doubly stochastic, and not normal.
    fn uneven() -> MixingMatrix {
        let (p, q) = ([1, 2, 3, 4, 5, 0], [1, 0, 3, 5, 2, 4]);
        let row = |i: usize| {
            let mut weights = [0.0; 6];
            weights[i] += 0.4;
            weights[p[i]] += 0.35;
            weights[q[i]] += 0.25;
            let some = (0u32..).zip(weights).filter(|(_, weight)| *weight > 0.0);
            some.collect::<Vec<_>>()
        };
        MixingMatrix::from_rows(6, (0..6).map(row).collect()).unwrap()
    }

    #[test]
    fn eigenvalues_and_iterations_agree() {
        let matrix = uneven();
        let exact = dense_modulus(&matrix).unwrap();
        let rate = rate_in_the_long_run(&[&matrix]);
        assert!((exact - rate).abs() < 1e-6, "{exact} and {rate}");
        // The norm says what the first exchange may do.
        let norm = crate::joint_lambda(&[&matrix]).unwrap();
        assert!(exact < norm - 0.01, "{exact} and {norm}");
    }

    #[test]
    fn nothing_is_left_of_equal_values() {
        let mean = MixingMatrix::from_rows(3, vec![(0..3).map(|j| (j, 1.0 / 3.0)).collect(); 3]);
        let mean = mean.unwrap();
        assert_eq!(second_modulus(&mean), 0.0);
        assert_eq!(rate_in_the_long_run(&[&mean]), 0.0);
    }
}
