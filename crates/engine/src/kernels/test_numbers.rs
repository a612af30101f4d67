//! Numbers for the kernels' tests.

/// `count` numbers in `[-1, 1)`, others for another `salt`.
pub(super) fn numbers(count: usize, salt: usize) -> Vec<f32> {
    (0..count)
        .map(|i| ((i * 7919 + salt * 104_729) % 1000) as f32 / 500.0 - 1.0)
        .collect()
}
