//! The weights of a layer with inputs and outputs exchanged, so that the backward pass reads them as the forward pass does.

use crate::stacked::batches::part::Part;
use crate::stacked::device::launch::{line, vector_size};
use crate::stacked::device::memory::Memory;
use crate::stacked::device::trace::moves;
use crate::stacked::layers::stack_arena::StackArena;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Blocks side by side that neighbouring units move, so that their combined reads and writes are long.
const ACROSS: usize = 8;
/// Blocks one below the other.
const DOWN: usize = 4;

/// Matrices `[height, width]` in the arena, one after the other, in numbers.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct MatricesAt {
    first_row: usize,
    rows: usize,
    /// Numbers per row of the arena.
    arena: usize,
    /// Where the first begins.
    first: usize,
    /// How many a row of the arena has.
    count: usize,
    height: usize,
    width: usize,
}

/// Each unit moves `M` rows by one vector of `N` columns.
#[cube(launch)]
fn transpose_kernel<N: Size, M: Size>(
    from: &[Vector<f32, N>],
    to: &mut [Vector<f32, M>],
    at: MatricesAt,
) {
    let across = at.width / N::value();
    let down = at.height / M::value();
    let groups = across.div_ceil(ACROSS);
    let of_matrix = groups * down.div_ceil(DOWN) * (ACROSS * DOWN);
    let matrix = ABSOLUTE_POS / of_matrix;
    let group = ABSOLUTE_POS % of_matrix / (ACROSS * DOWN);
    let unit = ABSOLUTE_POS % (ACROSS * DOWN);
    let column = group % groups * ACROSS + unit % ACROSS;
    let row = group / groups * DOWN + unit / ACROSS;
    if matrix >= at.rows * at.count || column >= across || row >= down {
        terminate!();
    }
    let model = at.first_row + matrix / at.count;
    let begin =
        (model * at.arena + at.first + matrix % at.count * at.height * at.width) / N::value();
    let mut block = Array::<Vector<f32, N>>::new(M::value());
    #[unroll]
    for m in 0..M::value() {
        block[m] = from[begin + (row * M::value() + m) * across + column];
    }
    #[unroll]
    for n in 0..N::value() {
        let mut values = Vector::<f32, M>::new(0.0f32);
        #[unroll]
        for m in 0..M::value() {
            values.insert(m, block[m].extract(n));
        }
        to[(matrix * at.width + column * N::value() + n) * down + row] = values;
    }
}

/// Matrices of every row to transpose.
pub(crate) struct Transpose {
    /// Where the first begins in a row of the arena.
    pub(crate) first: usize,
    /// How many there are, one after the other.
    pub(crate) count: usize,
    pub(crate) height: usize,
    pub(crate) width: usize,
}

impl Transpose {
    /// `[rows, count, width, height]` of the rows of `part`.
    pub(crate) fn launch(&self, arena: StackArena<'_>, part: &Part<'_>) -> CubeTensor {
        let StackArena { models, width } = arena;
        let (n, m) = (vector_size(self.width), vector_size(self.height));
        let matrices = part.rows * self.count;
        let numbers = matrices * self.height * self.width;
        let to = Memory::of(models).floats(&[part.rows, self.count, self.width, self.height]);
        let groups = (self.width / n).div_ceil(ACROSS) * (self.height / m).div_ceil(DOWN);
        let (count, dim) = line(&models.client, matrices * groups * ACROSS * DOWN);
        moves(numbers, numbers);
        transpose_kernel::launch(
            &models.client,
            count,
            dim,
            n,
            m,
            models.clone().into_buffer_arg(),
            to.clone().into_buffer_arg(),
            MatricesAtLaunch::new(
                part.first_row,
                part.rows,
                width,
                self.first,
                self.count,
                self.height,
                self.width,
            ),
        );
        to
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::memory::{cube, download};
    use crate::stacked::device::test_device::{UnevenBatch, gpu, numbers, stacked};

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn matrices_are_transposed_row_by_row() {
        let gpu = gpu();
        for (height, width, count) in [
            (1usize, 1usize, 1usize),
            (5, 7, 3),
            (8, 4, 1),
            (200, 10, 1),
            (34, 68, 2),
        ] {
            let (first, row) = (8, 8 + (count * height * width).next_multiple_of(4));
            let batch = UnevenBatch::uneven(3, 1);
            let all = 1 + batch.rows();
            let models = numbers(all * row, 1);
            let arena = cube(stacked(&gpu, &models, all));
            let counts = gpu.memory().upload_words(&batch.counts);
            let transpose = Transpose {
                first,
                count,
                height,
                width,
            };
            let arena = StackArena {
                models: &arena,
                width: row,
            };
            let found = download::<f32>(transpose.launch(arena, &batch.part(&counts)));
            let mut oracle: Vec<f32> = Vec::new();
            for model in models.chunks_exact(row).skip(1) {
                for matrix in model[first..][..count * height * width].chunks_exact(height * width)
                {
                    for column in 0..width {
                        oracle.extend(matrix[column..].iter().step_by(width));
                    }
                }
            }
            assert_eq!(found, oracle, "{height} × {width}");
        }
    }
}
