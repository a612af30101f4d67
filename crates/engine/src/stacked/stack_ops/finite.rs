//! Finds models that are not finite, by their bits: shading languages may assume that no float is infinite or NaN.

use crate::stacked::device::launch::{SHARES, line};
use crate::stacked::device::memory::{Memory, cube, download};
use crate::stacked::device::trace::moves;
use burn::tensor::Tensor;
use cubecl::prelude::*;

/// Whether a float is neither infinite nor NaN.
#[cube]
pub(crate) fn is_finite(value: f32) -> bool {
    (u32::reinterpret(value) & 0x7f80_0000u32) != 0x7f80_0000u32
}

#[cube(launch)]
fn finite_kernel(
    models: &[f32],
    flags: &mut [u32],
    rows: usize,
    width: usize,
    #[comptime] shares: usize,
) {
    let row = ABSOLUTE_POS / shares;
    let share = ABSOLUTE_POS % shares;
    if row >= rows {
        terminate!();
    }
    let mut flag = 1u32;
    let part = width / shares;
    for step in 0..part {
        if !is_finite(models[row * width + step * shares + share]) {
            flag = 0u32;
        }
    }
    flags[ABSOLUTE_POS] = flag;
}

/// Whether every parameter of a row of `models` `[R, P_pad]` is a finite number, row by row. Waits for the device.
pub(crate) fn finite_rows(models: Tensor<2>) -> Vec<bool> {
    let [rows, width] = models.dims();
    assert_eq!(
        width % SHARES,
        0,
        "rows are padded to the alignment of a layout"
    );
    let models = cube(models);
    let client = models.client.clone();
    let flags = Memory::of(&models).words(&[rows, SHARES]);
    let (count, dim) = line(&client, rows * SHARES);
    let (models, out) = (models.into_buffer_arg(), flags.clone().into_buffer_arg());
    moves(rows * width, rows * SHARES);
    finite_kernel::launch(&client, count, dim, models, out, rows, width, SHARES);
    download::<u32>(flags)
        .chunks_exact(SHARES)
        .map(|flags| flags.iter().all(|flag| *flag == 1))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::test_device::{gpu, numbers, stacked};

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn a_row_with_one_bad_number_is_found() {
        let gpu = gpu();
        let mut values = numbers(5 * 192, 1);
        values[192 + 7] = f32::NAN;
        values[3 * 192 + 191] = f32::INFINITY;
        values[4 * 192] = f32::NEG_INFINITY;
        assert_eq!(
            finite_rows(stacked(&gpu, &values, 5)),
            [true, false, true, false, false]
        );
        values[0] = f32::MAX;
        assert_eq!(finite_rows(stacked(&gpu, &values[..192], 1)), [true]);
    }
}
