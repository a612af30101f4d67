//! Dividing a whole number in given or drawn proportions, and examples by its parts.

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Splits `total` in proportion to `weights`, each part at least `least`.
///
/// Every part first gets `least`; the rest is divided by the method of largest remainders
/// (Hamilton), ties going to the lower index. The parts sum to `total`.
///
/// # Panics
/// If `total < least * weights.len()`, or if the weights do not sum to a positive finite number.
pub(super) fn apportion(total: usize, weights: &[f64], least: usize) -> Vec<usize> {
    let rest = total
        .checked_sub(least * weights.len())
        .expect("enough for the least parts");
    let sum: f64 = weights.iter().sum();
    assert!(sum > 0.0 && sum.is_finite(), "weights sum to {sum}");
    let quota = |weight: f64| rest as f64 * (weight / sum);
    let mut parts: Vec<usize> = weights.iter().map(|&w| quota(w) as usize).collect();
    let given: usize = parts.iter().sum();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    let remainder = |index: &usize| quota(weights[*index]).fract();
    order.sort_by(|a, b| remainder(b).total_cmp(&remainder(a)).then(a.cmp(b)));
    for &index in order.iter().cycle().take(rest.saturating_sub(given)) {
        parts[index] += 1;
    }
    parts.iter_mut().for_each(|part| *part += least);
    parts
}

/// Gives each of `clients` as many of `examples` as `sizes` says, one client after another.
///
/// # Panics
/// If there are fewer examples.
pub(super) fn hand_out(
    examples: &[u32],
    clients: impl IntoIterator<Item = usize>,
    sizes: impl IntoIterator<Item = usize>,
    shards: &mut [Vec<u32>],
) {
    let mut rest = examples;
    for (client, size) in clients.into_iter().zip(sizes) {
        let (part, others) = rest.split_at(size);
        shards[client].extend_from_slice(part);
        rest = others;
    }
}

/// Draws `count` weights `exp(sigma * z)`, z standard normal.
pub(super) fn lognormal(count: usize, sigma: f64, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut weight = || {
        let z: f64 = StandardNormal.sample(rng);
        (sigma * z).exp()
    };
    (0..count).map(|_| weight()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_sum_to_the_total_and_follow_the_weights() {
        assert_eq!(apportion(10, &[1.0, 1.0, 2.0], 0), [3, 2, 5]);
        assert_eq!(apportion(10, &[0.0, 1.0, 0.0], 2), [2, 6, 2]);
        let weights: Vec<f64> = (1..=999).map(|i| 1.0 / f64::from(i)).collect();
        let parts = apportion(60_000, &weights, 1);
        assert_eq!(parts.iter().sum::<usize>(), 60_000);
        assert!(parts.is_sorted_by(|a, b| a >= b));
    }
}
