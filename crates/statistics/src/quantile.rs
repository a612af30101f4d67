//! Quantiles of a sample.

use std::collections::BTreeMap;

use crate::estimate::Interval;

/// The `share`-quantile of `values`, linear between the two values that it falls between; `None` if there are no values.
///
/// # Source
/// Hyndman and Fan, Sample quantiles in statistical packages, 1996, definition 7: what NumPy and R take by default.
///
/// # Panics
/// If `share` does not lie between 0 and 1.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    assert!((0.0..=1.0).contains(&share), "a share is between 0 and 1");
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let place = share * last as f64;
    let below = sorted[place.floor() as usize];
    let above = sorted[place.ceil() as usize];
    Some(below + place.fract() * (above - below))
}

/// The middle nine tenths of `values`: the interval from their 5 % to their 95 % quantile; `None` if there are none.
pub fn middle_nine_tenths(values: &[f64]) -> Option<Interval> {
    Some(Interval {
        low: quantile(values, 0.05)?,
        high: quantile(values, 0.95)?,
    })
}

/// The [`middle_nine_tenths`] of the values of each key. Values that are not finite do not count; a key without finite
/// values is absent.
pub fn middles_by_key<K: Ord>(values: impl IntoIterator<Item = (K, f64)>) -> BTreeMap<K, Interval> {
    let mut by_key: BTreeMap<K, Vec<f64>> = BTreeMap::new();
    for (key, value) in values.into_iter().filter(|(_, value)| value.is_finite()) {
        by_key.entry(key).or_default().push(value);
    }
    let middle = |(key, values): (K, Vec<f64>)| Some((key, middle_nine_tenths(&values)?));
    by_key.into_iter().filter_map(middle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `numpy.quantile(x, share)`.
    #[test]
    fn quantiles_are_those_of_numpy() {
        let values = [0.912, 0.905, 0.931, 0.897, 0.918];
        let reference = [
            (0.0, 0.897),
            (0.05, 0.8986000000000001),
            (0.25, 0.905),
            (0.5, 0.912),
            (0.9, 0.9258000000000001),
            (1.0, 0.931),
        ];
        for (share, expected) in reference {
            let found = quantile(&values, share).unwrap();
            assert!((found - expected).abs() < 1e-15, "{share}: {found}");
        }
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn only_finite_values_have_a_middle() {
        let middles = middles_by_key([(2, 3.0), (1, f64::NAN), (2, f64::INFINITY), (2, 3.0)]);
        let of_two = Interval {
            low: 3.0,
            high: 3.0,
        };
        assert_eq!(middles, [(2, of_two)].into());
    }
}
