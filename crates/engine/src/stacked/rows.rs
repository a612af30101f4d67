//! Copying rows between stacks by index.

use super::launch::line;
use super::memory::{Memory, cube, cube_mut, tensor};
use super::trace::moves;
use burn::tensor::Tensor;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Each unit copies one vector; the indices name rows of the source, or with `scatter` of the target.
#[cube(launch)]
fn rows_kernel<N: Size>(
    from: &[Vector<f32, N>],
    rows: &[u32],
    to: &mut [Vector<f32, N>],
    count: usize,
    width: usize,
    #[comptime] scatter: bool,
) {
    let row = ABSOLUTE_POS / width;
    let place = ABSOLUTE_POS % width;
    if row >= count {
        terminate!();
    }
    let named = rows[row] as usize * width + place;
    if comptime!(scatter) {
        to[named] = from[ABSOLUTE_POS];
    } else {
        to[ABSOLUTE_POS] = from[named];
    }
}

fn launch(from: Tensor<2>, rows: &[u32], to: Option<Tensor<2>>) -> Tensor<2> {
    let [_, width] = from.dims();
    let from = cube(from);
    let memory = Memory::of(&from);
    let scatter = to.is_some();
    let to = to.map_or_else(|| memory.floats(&[rows.len(), width]), cube_mut);
    if !rows.is_empty() {
        let (count, dim) = line(&from.client, rows.len() * width / 4);
        let client = from.client.clone();
        let (source, target) = (from.into_buffer_arg(), to.clone().into_buffer_arg());
        let indices = memory.upload_words(rows).into_buffer_arg();
        moves(rows.len() * width, rows.len() * width);
        rows_kernel::launch(
            &client,
            count,
            dim,
            4,
            source,
            indices,
            target,
            rows.len(),
            width / 4,
            scatter,
        );
    }
    tensor(to)
}

/// Row `i` of the result is row `rows[i]` of `from`.
pub(crate) fn gather_rows(from: Tensor<2>, rows: &[u32]) -> Tensor<2> {
    launch(from, rows, None)
}

/// Overwrites row `rows[i]` of `target` with row `i` of `source`.
pub(crate) fn scatter_rows(target: Tensor<2>, rows: &[u32], source: Tensor<2>) -> Tensor<2> {
    launch(source, rows, Some(target))
}

/// Each unit copies one vector of a span of rows.
#[cube(launch)]
fn place_kernel<N: Size>(
    from: &[Vector<f32, N>],
    to: &mut [Vector<f32, N>],
    first_from: usize,
    first_to: usize,
    count: usize,
) {
    if ABSOLUTE_POS < count {
        to[first_to + ABSOLUTE_POS] = from[first_from + ABSOLUTE_POS];
    }
}

/// Overwrites `rows` rows of `to` with rows of `from`, each from a first row of its own on; rows are `width` floats.
pub(super) fn place_rows(
    (from, first_from): (&CubeTensor, usize),
    (to, first_to): (&CubeTensor, usize),
    rows: usize,
    width: usize,
) {
    let vectors = width / 4;
    let (count, dim) = line(&from.client, rows * vectors);
    moves(rows * width, rows * width);
    place_kernel::launch(
        &from.client,
        count,
        dim,
        4,
        from.clone().into_buffer_arg(),
        to.clone().into_buffer_arg(),
        first_from * vectors,
        first_to * vectors,
        rows * vectors,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::memory::read;
    use crate::stacked::test_device::{gpu, numbers, stacked};

    #[test]
    fn rows_are_gathered_in_the_order_asked_for() {
        let Some(gpu) = gpu() else { return };
        let values = numbers(5 * 192, 6);
        let rows = [4, 0, 4, 2];
        let oracle: Vec<f32> = rows
            .iter()
            .flat_map(|row| values[*row as usize * 192..][..192].to_vec())
            .collect();
        assert_eq!(read(gather_rows(stacked(&gpu, &values, 5), &rows)), oracle);
    }

    #[test]
    fn scattered_rows_replace_only_their_targets() {
        let Some(gpu) = gpu() else { return };
        let (values, fresh) = (numbers(4 * 64, 7), numbers(2 * 64, 8));
        let mut oracle = values.clone();
        oracle[3 * 64..].copy_from_slice(&fresh[..64]);
        oracle[64..128].copy_from_slice(&fresh[64..]);
        let target = stacked(&gpu, &values, 4);
        assert_eq!(
            read(scatter_rows(target, &[3, 1], stacked(&gpu, &fresh, 2))),
            oracle
        );
    }

    #[test]
    fn rows_are_placed_from_any_row_on() {
        let Some(gpu) = gpu() else { return };
        let (values, fresh) = (numbers(4 * 64, 7), numbers(3 * 64, 8));
        let mut oracle = values.clone();
        oracle[128..].copy_from_slice(&fresh[64..]);
        let (target, source) = (
            cube(stacked(&gpu, &values, 4)),
            cube(stacked(&gpu, &fresh, 3)),
        );
        place_rows((&source, 1), (&target, 2), 2, 64);
        assert_eq!(read(tensor(target)), oracle);
    }
}
