//! Euclidean norms of rows, or of blocks of rows.

use crate::stacked::device::launch::{SHARES, line};
use crate::stacked::device::memory::{Memory, cube, download};
use crate::stacked::device::trace::moves;
use burn::tensor::Tensor;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;
use std::ops::Range;

/// Each unit sums the squares of every 64th float, carrying what rounding lost (Kahan).
#[cube(launch)]
fn squares_kernel(
    values: &[f32],
    sums: &mut [f32],
    rows: usize,
    start: usize,
    width: usize,
    count: usize,
    #[comptime] shares: usize,
) {
    let row = ABSOLUTE_POS / shares;
    let share = ABSOLUTE_POS % shares;
    if row >= rows {
        terminate!();
    }
    let mut sum = 0.0f32;
    let mut lost = 0.0f32;
    let mut at = share;
    while at < count {
        let value = values[start + row * width + at];
        let term = value * value - lost;
        let next = sum + term;
        lost = (next - sum) - term;
        sum = next;
        at += shares;
    }
    sums[ABSOLUTE_POS] = sum;
}

/// Adds the shares of each row in order and takes the root.
#[cube(launch)]
fn roots_kernel(sums: &[f32], norms: &mut [f32], rows: usize, #[comptime] shares: usize) {
    if ABSOLUTE_POS >= rows {
        terminate!();
    }
    let mut sum = 0.0f32;
    for share in 0..shares {
        sum += sums[ABSOLUTE_POS * shares + share];
    }
    norms[ABSOLUTE_POS] = sum.sqrt();
}

/// Replaces each norm by the factor, at most one, that brings it down to `largest`.
#[cube(launch)]
fn clip_kernel(norms: &mut [f32], rows: usize, largest: f32) {
    if ABSOLUTE_POS < rows {
        let norm = norms[ABSOLUTE_POS];
        let mut scale = 1.0f32;
        if norm > largest {
            scale = largest / norm;
        }
        norms[ABSOLUTE_POS] = scale;
    }
}

/// Sums of the squares of the floats `range` of each of the `rows` of `values` `[R, width]`: `[rows, SHARES]`.
fn squares(
    values: &CubeTensor,
    rows: Range<usize>,
    width: usize,
    range: Range<usize>,
) -> CubeTensor {
    let (first, rows) = (rows.start, rows.len());
    let sums = Memory::of(values).floats(&[rows, SHARES]);
    let (count, dim) = line(&values.client, rows * SHARES);
    let (source, target) = (
        values.clone().into_buffer_arg(),
        sums.clone().into_buffer_arg(),
    );
    moves(rows * range.len(), rows * SHARES);
    squares_kernel::launch(
        &values.client,
        count,
        dim,
        source,
        target,
        rows,
        first * width + range.start,
        width,
        range.len(),
        SHARES,
    );
    sums
}

/// Squared norm of each row of `values` `[R, P_pad]`, its shares added in double precision. Waits for the device.
pub(crate) fn squared_norms(values: Tensor<2>) -> Vec<f64> {
    let [rows, width] = values.dims();
    if rows == 0 {
        return Vec::new();
    }
    sums_of_shares(squares(&cube(values), 0..rows, width, 0..width))
}

/// The sum of each row of `shares` `[rows, SHARES]`, in double precision. Waits for the device.
pub(super) fn sums_of_shares(shares: CubeTensor) -> Vec<f64> {
    download::<f32>(shares)
        .chunks_exact(SHARES)
        .map(|shares| shares.iter().map(|share| f64::from(*share)).sum())
        .collect()
}

/// Norm of the floats `range` of each of the `rows` of `values` `[R, width]`: `[rows]`.
pub(crate) fn norms(
    values: &CubeTensor,
    rows: Range<usize>,
    width: usize,
    range: Range<usize>,
) -> CubeTensor {
    let count = rows.len();
    let sums = squares(values, rows, width, range);
    let (rows, norms) = (count, Memory::of(values).floats(&[count]));
    let (count, dim) = line(&values.client, rows);
    moves(rows * SHARES, rows);
    roots_kernel::launch(
        &values.client,
        count,
        dim,
        sums.into_buffer_arg(),
        norms.clone().into_buffer_arg(),
        rows,
        SHARES,
    );
    norms
}

/// The factor, at most one, for each of the `rows` of `gradients` `[R, width]` that brings its norm down to `largest`:
/// `[rows]`.
pub(crate) fn clip_scales(
    gradients: &CubeTensor,
    rows: Range<usize>,
    width: usize,
    largest: f32,
) -> CubeTensor {
    let count = rows.len();
    let scales = norms(gradients, rows, width, 0..width);
    let (cubes, dim) = line(&scales.client, count);
    moves(count, count);
    clip_kernel::launch(
        &scales.client,
        cubes,
        dim,
        scales.clone().into_buffer_arg(),
        count,
        largest,
    );
    scales
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::test_device::{expect_close, gpu, numbers, stacked};

    fn oracle(values: &[f32], width: usize, range: Range<usize>) -> Vec<f32> {
        let square = |value: &f32| f64::from(*value) * f64::from(*value);
        values
            .chunks_exact(width)
            .map(|row| row[range.clone()].iter().map(square).sum::<f64>().sqrt() as f32)
            .collect()
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn norms_are_those_of_double_precision() {
        let gpu = gpu();
        for (rows, width, range) in [
            (1, 64, 0..64),
            (3, 320, 64..155),
            (7, 20_032, 0..20_032),
            (2, 128, 64..65),
        ] {
            let values = numbers(rows * width, 14);
            let found = norms(
                &cube(stacked(&gpu, &values, rows)),
                0..rows,
                width,
                range.clone(),
            );
            let oracle = oracle(&values, width, range.clone());
            expect_close(&download::<f32>(found), &oracle, 3e-7);
            let last = norms(
                &cube(stacked(&gpu, &values, rows)),
                rows - 1..rows,
                width,
                range,
            );
            expect_close(&download::<f32>(last), &oracle[rows - 1..], 3e-7);
        }
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn squared_norms_are_those_of_double_precision() {
        let gpu = gpu();
        for (rows, width) in [(1, 64), (5, 20_032)] {
            let values = numbers(rows * width, 16);
            let found = squared_norms(stacked(&gpu, &values, rows));
            for (row, found) in values.chunks_exact(width).zip(found) {
                let squares = row.iter().map(|value| f64::from(*value).powi(2));
                let oracle = squares.sum::<f64>();
                assert!((found - oracle).abs() < 2e-7 * oracle, "{found} {oracle}");
            }
        }
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn clipping_scales_only_what_is_too_long() {
        let gpu = gpu();
        let mut values = numbers(3 * 64, 15);
        values[64..128].fill(0.0);
        values[128..].iter_mut().for_each(|value| *value *= 100.0);
        let long = oracle(&values, 64, 0..64);
        let found = clip_scales(&cube(stacked(&gpu, &values, 3)), 0..3, 64, 10.0);
        expect_close(&download::<f32>(found), &[1.0, 1.0, 10.0 / long[2]], 1e-6);
    }
}
