//! Scaling each row by a number of its own.

use crate::stacked::device::launch::{line, vector_size};
use crate::stacked::device::memory::{Memory, cube, cube_mut, tensor};
use crate::stacked::device::trace::moves;
use burn::tensor::Tensor;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;
use std::ops::Range;

#[cube(launch)]
fn add_scaled_kernel<N: Size>(
    to: &mut [Vector<f32, N>],
    from: &[Vector<f32, N>],
    scales: &[f32],
    rows: usize,
    width: usize,
) {
    let row = ABSOLUTE_POS / width;
    if row < rows {
        to[ABSOLUTE_POS] += Vector::new(scales[row]) * from[ABSOLUTE_POS];
    }
}

#[cube(launch)]
fn scale_rows_kernel<N: Size>(
    to: &mut [Vector<f32, N>],
    scales: &[f32],
    first: usize,
    rows: usize,
    width: usize,
) {
    let row = ABSOLUTE_POS / width;
    if row < rows {
        let place = first * width + ABSOLUTE_POS;
        to[place] *= Vector::new(scales[row]);
    }
}

/// `to_i <- to_i + scales[i] · from_i`.
pub(crate) fn add_scaled(to: Tensor<2>, from: Tensor<2>, scales: &[f32]) -> Tensor<2> {
    let [rows, width] = to.dims();
    let (to, from) = (cube_mut(to), cube(from));
    let (count, dim) = line(&to.client, rows * width / 4);
    let scales = Memory::of(&to).upload_floats(scales).into_buffer_arg();
    let (target, source) = (to.clone().into_buffer_arg(), from.into_buffer_arg());
    moves(2 * rows * width, rows * width);
    add_scaled_kernel::launch(
        &to.client,
        count,
        dim,
        4,
        target,
        source,
        scales,
        rows,
        width / 4,
    );
    tensor(to)
}

/// `rows_i <- scales[i] · rows_i`.
pub(crate) fn scale_rows(to: Tensor<2>, scales: &[f32]) -> Tensor<2> {
    let [rows, width] = to.dims();
    let to = cube_mut(to);
    scale_by(&to, &Memory::of(&to).upload_floats(scales), 0..rows, width);
    tensor(to)
}

/// As [`scale_rows`], in place, for some of the rows, whose scales are on the device.
pub(crate) fn scale_by(to: &CubeTensor, scales: &CubeTensor, rows: Range<usize>, width: usize) {
    let vector = vector_size(width);
    let (count, dim) = line(&to.client, rows.len() * width / vector);
    let (target, scales) = (
        to.clone().into_buffer_arg(),
        scales.clone().into_buffer_arg(),
    );
    moves(rows.len() * width, rows.len() * width);
    scale_rows_kernel::launch(
        &to.client,
        count,
        dim,
        vector,
        target,
        scales,
        rows.start,
        rows.len(),
        width / vector,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::memory::read;
    use crate::stacked::device::test_device::{expect_close, gpu, numbers, stacked};

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn every_row_is_added_with_its_own_scale() {
        let gpu = gpu();
        for (rows, width) in [(1, 64), (5, 192)] {
            let (to, from) = (numbers(rows * width, 9), numbers(rows * width, 10));
            let scales: Vec<f32> = (0..rows).map(|row| row as f32 - 1.5).collect();
            let oracle: Vec<f32> = to
                .iter()
                .zip(&from)
                .enumerate()
                .map(|(at, (to, from))| to + scales[at / width] * from)
                .collect();
            let out = add_scaled(
                stacked(&gpu, &to, rows),
                stacked(&gpu, &from, rows),
                &scales,
            );
            expect_close(&read(out), &oracle, 1e-6);
            let oracle: Vec<f32> = to
                .iter()
                .enumerate()
                .map(|(at, to)| to * scales[at / width])
                .collect();
            assert_eq!(read(scale_rows(stacked(&gpu, &to, rows), &scales)), oracle);
        }
    }
}
