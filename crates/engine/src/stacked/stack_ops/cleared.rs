//! Setting some parameters of some rows to zero.

use crate::stacked::device::launch::line;
use crate::stacked::device::trace::moves;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;
use std::ops::Range;

#[cube(launch)]
fn clear_kernel(
    values: &mut [f32],
    rows: usize,
    first_row: usize,
    width: usize,
    first: usize,
    count: usize,
) {
    let row = ABSOLUTE_POS / count;
    if row >= rows {
        terminate!();
    }
    values[(first_row + row) * width + first + ABSOLUTE_POS % count] = 0.0f32;
}

/// Sets the floats `range` of each of the `rows` of `values` `[R, width]` to zero.
pub(crate) fn clear(values: &CubeTensor, rows: Range<usize>, width: usize, range: Range<usize>) {
    if rows.is_empty() || range.is_empty() {
        return;
    }
    let (count, dim) = line(&values.client, rows.len() * range.len());
    moves(0, rows.len() * range.len());
    clear_kernel::launch(
        &values.client,
        count,
        dim,
        values.clone().into_buffer_arg(),
        rows.len(),
        rows.start,
        width,
        range.start,
        range.len(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::memory::{cube, download};
    use crate::stacked::device::test_device::{gpu, numbers, stacked};

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn only_the_range_of_the_rows_becomes_zero() {
        let gpu = gpu();
        let (rows, width) = (5, 192);
        let before = numbers(rows * width, 8);
        let values = cube(stacked(&gpu, &before, rows));
        clear(&values, 1..4, width, 64..155);
        clear(&values, 2..2, width, 0..10);
        for (at, (found, before)) in download::<f32>(values).iter().zip(&before).enumerate() {
            let is_cleared = (1..4).contains(&(at / width)) && (64..155).contains(&(at % width));
            assert_eq!(*found, if is_cleared { 0.0 } else { *before }, "{at}");
        }
    }
}
