//! P-values of several tests, corrected for their number.

/// Holm's correction of `p_values`, each in its place: if all tests whose corrected value is at most `α` are rejected, the
/// probability of rejecting any true hypothesis is at most `α`, however the tests depend on each other.
///
/// The `i`-th smallest of `m` values becomes the largest of `(m − j + 1) · p_j` over the `j ≤ i`, at most 1.
///
/// # Source
/// Holm, A simple sequentially rejective multiple test procedure, 1979; as adjusted p-values in Wright, 1992.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut corrected = vec![0.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (rank, place) in order.into_iter().enumerate() {
        let left = (p_values.len() - rank) as f64;
        largest = largest.max(left * p_values[place]).min(1.0);
        corrected[place] = largest;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `statsmodels.stats.multitest.multipletests(p, method="holm")[1]`, and R's `p.adjust(p, "holm")`.
    #[test]
    fn corrected_values_are_those_of_statsmodels() {
        for (p_values, expected) in [
            (
                &[0.01, 0.04, 0.03, 0.005][..],
                &[0.03, 0.06, 0.06, 0.02][..],
            ),
            (&[0.5, 0.9, 0.4], &[1.0, 1.0, 1.0]),
            (&[0.02, 0.02], &[0.04, 0.04]),
            (&[0.2], &[0.2]),
            (&[], &[]),
        ] {
            let found = holm(p_values);
            assert_eq!(found.len(), expected.len());
            let pairs = found.iter().zip(expected);
            for (found, expected) in pairs {
                assert!((found - expected).abs() < 1e-15, "{found} {expected}");
            }
        }
    }
}
