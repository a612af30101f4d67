//! Two settings compared over the same seeds.

use crate::estimate::Estimate;
use crate::student::two_sided_p_value;

/// What the pairs `(a, b)` say of the difference `a − b`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// The mean of the differences with its interval; `n` counts the pairs.
    pub difference: Estimate,
    /// Absent for one pair, and if all differences are equal but for the rounding of single precision.
    pub test: Option<PairedTest>,
}

/// How far differences may lie apart that count as equal, as a share of the largest number of the pairs: figures are computed in single
/// precision.
const ROUNDING: f64 = 1e-6;

/// The paired t test of "the mean difference is 0".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedTest {
    /// Cohen's d of paired samples, `mean/sd` of the differences.
    pub effect: f64,
    /// `mean/(sd/√n)`, of `n − 1` degrees of freedom.
    pub t: f64,
    /// Two-sided: how often chance alone would give a `t` at least as far from 0.
    pub p_value: f64,
}

impl Paired {
    /// Compares the first numbers of `pairs` with the second; `None` if there are no pairs.
    pub fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let differences: Vec<f64> = pairs.iter().map(|(a, b)| a - b).collect();
        let difference = Estimate::of(&differences)?;
        let largest = |numbers: &mut dyn Iterator<Item = f64>| numbers.fold(0.0, f64::max);
        let size = largest(&mut pairs.iter().flat_map(|(a, b)| [a.abs(), b.abs()]));
        let apart = largest(
            &mut differences
                .iter()
                .map(|other| (other - differences[0]).abs()),
        );
        let sd = difference.sd.filter(|_| apart > ROUNDING * size);
        let test = sd.map(|sd| {
            let n = difference.n;
            let effect = difference.mean / sd;
            let t = effect * (n as f64).sqrt();
            PairedTest {
                effect,
                t,
                p_value: two_sided_p_value(t, n - 1),
            }
        });
        Some(Self { difference, test })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `r = scipy.stats.ttest_rel(x, y)`: `r.statistic`, `r.pvalue`, `r.confidence_interval(0.95)`; the effect is
    /// `(x - y).mean() / (x - y).std(ddof=1)`.
    #[test]
    fn a_comparison_is_that_of_scipy() {
        let x = [0.912, 0.905, 0.931, 0.897, 0.918];
        let y = [0.884, 0.902, 0.909, 0.871, 0.890];
        let pairs: Vec<(f64, f64)> = x.into_iter().zip(y).collect();
        let found = Paired::of(&pairs).unwrap();
        let (test, interval) = (found.test.unwrap(), found.difference.interval.unwrap());
        let numbers = [
            (found.difference.mean, 0.0214),
            (interval.low, 0.008271201259830635),
            (interval.high, 0.034528798740169404),
            (test.effect, 2.0239178075189046),
            (test.t, 4.525617798484606),
            (test.p_value, 0.010612739084358518),
        ];
        for (found, expected) in numbers {
            assert!((found - expected).abs() < 1e-11, "{found} {expected}");
        }
    }

    #[test]
    fn swapped_pairs_turn_the_difference_alone() {
        let there = Paired::of(&[(3.0, 1.0), (2.0, 1.5), (4.0, 1.0)]).unwrap();
        let back = Paired::of(&[(1.0, 3.0), (1.5, 2.0), (1.0, 4.0)]).unwrap();
        assert_eq!(there.difference.mean, -back.difference.mean);
        let p_value = |paired: &Paired| paired.test.unwrap().p_value;
        assert_eq!(p_value(&there), p_value(&back));
    }

    #[test]
    fn equal_differences_and_a_single_pair_allow_no_test() {
        let equal = Paired::of(&[(0.75, 0.5), (0.5, 0.25), (0.25, 0.0)]).unwrap();
        assert_eq!((equal.difference.mean, equal.test), (0.25, None));
        // In binary numbers these differ in their last digits.
        let rounded = Paired::of(&[(0.3, 0.2), (0.4, 0.3), (0.3, 0.2)]).unwrap();
        assert_ne!(0.3 - 0.2, 0.4 - 0.3);
        assert_eq!(rounded.test, None);
        let same = Paired::of(&[(2.300_000_1, 2.3), (2.1, 2.100_000_1), (2.2, 2.2)]).unwrap();
        assert_eq!(same.test, None);
        let small = Paired::of(&[(2.301, 2.3), (2.1, 2.101), (2.203, 2.2)]).unwrap();
        assert!(small.test.is_some());
        let single = Paired::of(&[(0.75, 0.5)]).unwrap();
        assert_eq!((single.difference.n, single.test), (1, None));
        assert_eq!(Paired::of(&[]), None);
    }
}
