//! Distances of models from their mean.

use super::norms::sums_of_shares;
use crate::stacked::device::launch::{SHARES, line};
use crate::stacked::device::memory::{Memory, cube};
use crate::stacked::device::trace::moves;
use burn::tensor::Tensor;
use cubecl::prelude::*;

#[cube(launch)]
fn distances_kernel(
    models: &[f32],
    mean: &[f32],
    sums: &mut [f32],
    rows: usize,
    width: usize,
    #[comptime] shares: usize,
) {
    let row = ABSOLUTE_POS / shares;
    let share = ABSOLUTE_POS % shares;
    if row >= rows {
        terminate!();
    }
    let mut sum = 0.0f32;
    for step in 0..width / shares {
        let at = step * shares + share;
        let difference = models[row * width + at] - mean[at];
        sum += difference * difference;
    }
    sums[ABSOLUTE_POS] = sum;
}

/// `‖row_i − mean‖²` of every row of `models` `[R, P_pad]`. Waits for the device.
pub(crate) fn squared_distances(models: Tensor<2>, mean: Tensor<2>) -> Vec<f64> {
    let [rows, width] = models.dims();
    assert_eq!(
        width % SHARES,
        0,
        "rows are padded to the alignment of a layout"
    );
    let (models, mean) = (cube(models), cube(mean));
    let client = models.client.clone();
    let sums = Memory::of(&models).floats(&[rows, SHARES]);
    let (count, dim) = line(&client, rows * SHARES);
    let (models, mean, out) = (
        models.into_buffer_arg(),
        mean.into_buffer_arg(),
        sums.clone().into_buffer_arg(),
    );
    moves((rows + 1) * width, rows * SHARES);
    distances_kernel::launch(&client, count, dim, models, mean, out, rows, width, SHARES);
    sums_of_shares(sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::test_device::{gpu, numbers, stacked};

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn distances_are_those_of_double_precision() {
        let gpu = gpu();
        for (rows, width) in [(1, 64), (5, 6_400)] {
            let (models, mean) = (numbers(rows * width, 16), numbers(width, 17));
            let found = squared_distances(stacked(&gpu, &models, rows), stacked(&gpu, &mean, 1));
            for (row, found) in models.chunks_exact(width).zip(found) {
                let terms = row
                    .iter()
                    .zip(&mean)
                    .map(|(w, m)| (f64::from(*w) - f64::from(*m)).powi(2));
                let oracle = terms.sum::<f64>();
                assert!(
                    (found - oracle).abs() < 1e-6 * oracle,
                    "{found} but the host has {oracle}"
                );
            }
        }
    }
}
