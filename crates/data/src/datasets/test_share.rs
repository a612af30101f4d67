//! The share of a table's examples that tests: its check, and the draw.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::DataError;
use crate::files::fault::Fault;

/// Checks that the `share` of a setting leaves something on both sides.
pub(crate) fn check(
    dataset: &'static str,
    setting: &'static str,
    share: f64,
) -> Result<(), DataError> {
    if share > 0.0 && share < 1.0 {
        return Ok(());
    }
    Err(DataError::setting(
        dataset,
        setting,
        share,
        "a share between 0 and 1",
    ))
}

/// The indices of `count` examples that train, and those of the `share` that tests: `round(share * count)` of them, drawn
/// with `seed`, at least one on either side, both ascending.
///
/// # Errors
/// A [`Fault`] if there is not one for either side.
pub(crate) fn drawn(count: usize, share: f64, seed: u64) -> Result<(Vec<u32>, Vec<u32>), Fault> {
    if count < 2 {
        let reason =
            format!("examples found: {count}, at least 2 needed, one to train and one to test");
        return Err(Fault::at(0_u64, reason));
    }
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let held_out = ((share * count as f64).round() as usize).clamp(1, count - 1);
    let mut train = order.split_off(held_out);
    train.sort_unstable();
    order.sort_unstable();
    Ok((train, order))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_drawn_once_and_for_all() {
        let (train, test) = drawn(10, 0.3, 4).unwrap();
        assert_eq!((train.len(), test.len()), (7, 3));
        let mut all = [train, test.clone()].concat();
        all.sort_unstable();
        assert_eq!(all, Vec::from_iter(0..10));
        assert_eq!(drawn(10, 0.3, 4).unwrap().1, test);
        assert_ne!(drawn(10, 0.3, 5).unwrap().1, test);
        assert_eq!(drawn(2, 0.9, 1).unwrap().1.len(), 1);
        let refusal = drawn(1, 0.5, 1).unwrap_err().reason;
        assert!(refusal.starts_with("examples found: 1, at least 2 needed"));
    }
}
