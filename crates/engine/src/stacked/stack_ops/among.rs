//! Copying and mixing rows of a rank, followed by rows of other ranks.

use super::mix_sparse::{BLOCK, Sparse};
use crate::stacked::device::launch::line;
use crate::stacked::device::memory::{Memory, tensor};
use crate::stacked::device::trace::moves;
use burn::tensor::Tensor;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// The rows of a rank, and others that follow them.
#[derive(Debug)]
pub(crate) struct Among {
    /// `[N, P_pad]`.
    pub(crate) own: CubeTensor,
    /// How many there are, `N`.
    pub(crate) count: usize,
    /// `[F, P_pad]`.
    pub(crate) foreign: CubeTensor,
}

impl Among {
    fn width(&self) -> usize {
        self.own.meta.shape()[1]
    }
}

/// Vector `place` of row `row` of both.
#[cube]
fn of_both<N: Size>(
    own: &[Vector<f32, N>],
    foreign: &[Vector<f32, N>],
    count: usize,
    row: usize,
    place: usize,
    width: usize,
) -> Vector<f32, N> {
    if row < count {
        own[row * width + place]
    } else {
        foreign[(row - count) * width + place]
    }
}

/// Each unit copies one vector.
#[cube(launch)]
fn pick_kernel<N: Size>(
    own: &[Vector<f32, N>],
    foreign: &[Vector<f32, N>],
    picks: &[u32],
    to: &mut [Vector<f32, N>],
    count: usize,
    rows: usize,
    width: usize,
) {
    let row = ABSOLUTE_POS / width;
    let place = ABSOLUTE_POS % width;
    if row >= rows {
        terminate!();
    }
    let pick = picks[row] as usize;
    to[ABSOLUTE_POS] = of_both::<N>(own, foreign, count, pick, place, width);
}

/// Each unit holds one vector of one row, summed over the row's neighbours in the order of the matrix, which is stored
/// as in [`Sparse`]. The sum is, term by term, that of the kernel for a stack on one device.
#[cube(launch)]
fn mix_among_kernel<N: Size>(
    own: &[Vector<f32, N>],
    foreign: &[Vector<f32, N>],
    matrix: &[u32],
    to: &mut [Vector<f32, N>],
    count: usize,
    rows: usize,
    width: usize,
    columns_at: usize,
    weights_at: usize,
    #[comptime] block: usize,
) {
    let row = ABSOLUTE_POS / block % rows;
    let place = ABSOLUTE_POS / (block * rows) * block + ABSOLUTE_POS % block;
    if place >= width {
        terminate!();
    }
    let mut sum = Vector::<f32, N>::new(0.0f32);
    for entry in matrix[row] as usize..matrix[row + 1] as usize {
        let weight = f32::reinterpret(matrix[weights_at + entry]);
        let column = matrix[columns_at + entry] as usize;
        sum += Vector::new(weight) * of_both::<N>(own, foreign, count, column, place, width);
    }
    to[row * width + place] = sum;
}

/// Row `i` of the result is row `picks[i]` of `from`.
pub(crate) fn pick_among(from: &Among, picks: &[u32]) -> Tensor<2> {
    let (memory, width) = (Memory::of(&from.own), from.width());
    let to = memory.floats(&[picks.len(), width]);
    if !picks.is_empty() {
        let (cubes, dim) = line(&to.client, picks.len() * width / 4);
        moves(picks.len() * width, picks.len() * width);
        pick_kernel::launch(
            &to.client,
            cubes,
            dim,
            4,
            from.own.clone().into_buffer_arg(),
            from.foreign.clone().into_buffer_arg(),
            memory.upload_words(picks).into_buffer_arg(),
            to.clone().into_buffer_arg(),
            from.count,
            picks.len(),
            width / 4,
        );
    }
    tensor(to)
}

/// Writes `matrix · from` to `to` `[R, P_pad]`, where `R > 0`.
pub(crate) fn mix_among(from: &Among, matrix: &Sparse, to: &CubeTensor) {
    let (rows, entries, vectors) = (matrix.rows(), matrix.entries(), from.width() / 4);
    let (cubes, dim) = line(&to.client, vectors.div_ceil(BLOCK) * BLOCK * rows);
    moves(entries * (4 * vectors + 2) + rows, 4 * rows * vectors);
    mix_among_kernel::launch(
        &to.client,
        cubes,
        dim,
        4,
        from.own.clone().into_buffer_arg(),
        from.foreign.clone().into_buffer_arg(),
        matrix.words().clone().into_buffer_arg(),
        to.clone().into_buffer_arg(),
        from.count,
        rows,
        vectors,
        rows + 1,
        rows + 1 + entries,
        BLOCK,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::mixing::{HostMixing, Matrix};
    use crate::stacked::device::memory::{cube, read};
    use crate::stacked::device::test_device::{gpu, numbers, stacked};
    use crate::stacked::stack_ops::mix::{mixed, on_device};
    use crate::stacked::stack_ops::rows::gather_rows;

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn rows_in_two_places_are_copied_and_mixed_with_the_bits_of_one() {
        let gpu = gpu();
        // A row without neighbours, one of own rows alone, one of others alone, and both; widths beside the block of 256 floats.
        let entries: [&[u32]; 5] = [&[], &[0, 2], &[3, 5, 6], &[0, 1, 2, 3, 4, 5, 6], &[6]];
        let ends = entries.iter().scan(0, |end, row| {
            *end += row.len();
            Some(*end)
        });
        let columns = entries.concat();
        let matrix = Matrix::new(
            entries.len(),
            HostMixing::Sparse {
                row_ptr: [0].into_iter().chain(ends).collect(),
                weights: numbers(columns.len(), 5),
                columns,
            },
        );
        for width in [64, 320, 1_088] {
            let values = numbers(7 * width, 3);
            let all = stacked(&gpu, &values, 7);
            let picks = [6, 0, 3, 3];
            let picked = read(gather_rows(all.clone(), &picks));
            let together = read(tensor(mixed(&cube(all), &matrix)));
            for count in [7, 4, 1] {
                let (own, foreign) = values.split_at(count * width);
                let of = |values: &[f32]| gpu.memory().upload_stack(values, width);
                let among = Among {
                    own: of(own),
                    count,
                    foreign: of(foreign),
                };
                assert_eq!(read(pick_among(&among, &picks)), picked);
                let to = gpu.memory().floats(&[entries.len(), width]);
                let words = on_device(&matrix, gpu.memory());
                mix_among(&among, words.sparse(), &to);
                assert_eq!(read(tensor(to)), together, "{count} own rows of {width}");
            }
        }
    }
}
