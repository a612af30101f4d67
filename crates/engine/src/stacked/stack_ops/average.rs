//! Means over all rows, at the cost of one pass.

use crate::stacked::device::launch::line;
use crate::stacked::device::memory::{Memory, cube, tensor};
use crate::stacked::device::trace::moves;
use burn::tensor::Tensor;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Each unit sums one vector over all rows in ascending order, carrying what rounding lost (Kahan).
#[cube(launch)]
fn mean_kernel<N: Size>(
    from: &[Vector<f32, N>],
    weights: &[f32],
    to: &mut [Vector<f32, N>],
    rows: usize,
    width: usize,
) {
    let place = ABSOLUTE_POS;
    if place >= width {
        terminate!();
    }
    let mut sum = Vector::<f32, N>::new(0.0f32);
    let mut lost = Vector::<f32, N>::new(0.0f32);
    for row in 0..rows {
        let weight = weights[row];
        // A weight of zero leaves a row out, even one that is not finite.
        if weight != 0.0f32 {
            let term = Vector::new(weight) * from[row * width + place] - lost;
            let next = sum + term;
            lost = (next - sum) - term;
            sum = next;
        }
    }
    to[place] = sum;
}

/// Copies one row to all.
#[cube(launch)]
fn broadcast_kernel<N: Size>(
    from: &[Vector<f32, N>],
    to: &mut [Vector<f32, N>],
    rows: usize,
    width: usize,
) {
    if ABSOLUTE_POS < rows * width {
        to[ABSOLUTE_POS] = from[ABSOLUTE_POS % width];
    }
}

/// Copies one row to the members, and its own row to every other.
#[cube(launch)]
fn broadcast_among_kernel<N: Size>(
    from: &[Vector<f32, N>],
    own: &[Vector<f32, N>],
    members: &[u32],
    to: &mut [Vector<f32, N>],
    rows: usize,
    width: usize,
) {
    if ABSOLUTE_POS < rows * width {
        if members[ABSOLUTE_POS / width] == 1u32 {
            to[ABSOLUTE_POS] = from[ABSOLUTE_POS % width];
        } else {
            to[ABSOLUTE_POS] = own[ABSOLUTE_POS];
        }
    }
}

/// `to = Σ_i weights[i] · from_i`, `[width]`.
pub(crate) fn mean_into(from: &CubeTensor, weights: &CubeTensor, to: &CubeTensor, width: usize) {
    let (count, dim) = line(&from.client, width / 4);
    let rows = from.meta.shape()[0];
    let weights = weights.clone().into_buffer_arg();
    let (source, target) = (from.clone().into_buffer_arg(), to.clone().into_buffer_arg());
    moves(rows * width, width);
    mean_kernel::launch(
        &from.client,
        count,
        dim,
        4,
        source,
        weights,
        target,
        rows,
        width / 4,
    );
}

/// `to_i = from` for all rows of `to` `[rows, width]`.
pub(crate) fn broadcast(from: &CubeTensor, to: &CubeTensor, rows: usize, width: usize) {
    let (count, dim) = line(&from.client, rows * width / 4);
    let (source, target) = (from.clone().into_buffer_arg(), to.clone().into_buffer_arg());
    moves(width, rows * width);
    broadcast_kernel::launch(&from.client, count, dim, 4, source, target, rows, width / 4);
}

/// `to_i = from` for the rows of `to` `[rows, width]` whose entry of `members` `[rows]` is 1, `to_i = own_i` for the others.
pub(crate) fn broadcast_among(
    from: &CubeTensor,
    own: &CubeTensor,
    members: &CubeTensor,
    to: &CubeTensor,
    rows: usize,
) {
    let width = to.meta.shape()[1];
    let (count, dim) = line(&from.client, rows * width / 4);
    moves((1 + rows) * width, rows * width);
    broadcast_among_kernel::launch(
        &from.client,
        count,
        dim,
        4,
        from.clone().into_buffer_arg(),
        own.clone().into_buffer_arg(),
        members.clone().into_buffer_arg(),
        to.clone().into_buffer_arg(),
        rows,
        width / 4,
    );
}

/// `Σ_i weights[i] · from_i`, `[1, P_pad]`.
pub(crate) fn mean(from: Tensor<2>, weights: &[f64]) -> Tensor<2> {
    let [rows, width] = from.dims();
    assert_eq!(rows, weights.len(), "one weight per row");
    let from = cube(from);
    let memory = Memory::of(&from);
    let weights: Vec<f32> = weights.iter().map(|weight| *weight as f32).collect();
    let to = memory.floats(&[1, width]);
    mean_into(&from, &memory.upload_floats(&weights), &to, width);
    tensor(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::memory::read;
    use crate::stacked::device::test_device::{expect_close, gpu, numbers, stacked};

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn the_mean_is_that_of_double_precision() {
        let gpu = gpu();
        for (rows, width) in [(1, 64), (3, 320), (1_000, 128)] {
            let values = numbers(rows * width, 4);
            let weights: Vec<f64> = (0..rows)
                .map(|row| if row % 3 == 1 { 0.0 } else { 1.5 / rows as f64 })
                .collect();
            let oracle: Vec<f32> = (0..width)
                .map(|place| {
                    let terms = weights
                        .iter()
                        .enumerate()
                        .map(|(row, w)| w * f64::from(values[row * width + place]));
                    terms.sum::<f64>() as f32
                })
                .collect();
            expect_close(
                &read(mean(stacked(&gpu, &values, rows), &weights)),
                &oracle,
                1e-6,
            );
        }
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn a_row_left_out_may_be_broken() {
        let gpu = gpu();
        let values: Vec<f32> = [[1.0; 64], [f32::NAN; 64]].concat();
        assert_eq!(
            read(mean(stacked(&gpu, &values, 2), &[1.0, 0.0])),
            [1.0; 64]
        );
    }
}
