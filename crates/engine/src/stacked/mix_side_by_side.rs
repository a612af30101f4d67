//! Mixing of runs side by side, into the stack of all: as many runs a launch as the device can bind.

use super::launch::{arrays, line};
use super::memory::Memory;
use super::mix::BLOCK;
use super::trace::moves;
use crate::mixing::{HostMixing, Matrix};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;
use std::sync::Arc;

/// Each unit holds one vector of one row, summed over the row's neighbours in ascending order as where a run mixes alone.
/// `ends` are the rows at which runs end; `matrix` holds where the entries of each row begin, columns from `columns_at` on,
/// and the bits of weights from `weights_at` on.
#[cube(launch)]
fn mix_side_by_side_kernel<N: Size>(
    from: &Sequence<Box<[Vector<f32, N>]>>,
    ends: &Sequence<usize>,
    matrix: &[u32],
    to: &mut [Vector<f32, N>],
    first: usize,
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
    let mut begin = 0usize;
    #[unroll]
    for run in 0..from.len().comptime() {
        if row >= begin && row < ends[run] {
            let mut sum = Vector::<f32, N>::new(0.0f32);
            for entry in matrix[row] as usize..matrix[row + 1] as usize {
                let weight = f32::reinterpret(matrix[weights_at + entry]);
                let column = matrix[columns_at + entry] as usize;
                sum += Vector::new(weight) * from[run][column * width + place];
            }
            to[(first + row) * width + place] = sum;
        }
        begin = ends[run];
    }
}

/// Several sparse matrices, one after the other, as the kernel reads them.
struct Joined {
    words: Vec<u32>,
    rows: usize,
    entries: usize,
}

impl Joined {
    /// # Panics
    /// If one of `matrices` is not sparse.
    fn of<'a>(matrices: impl Iterator<Item = &'a Arc<Matrix>>) -> Self {
        let (mut begins, mut all_columns, mut bits) = (vec![0], Vec::new(), Vec::new());
        for matrix in matrices {
            let HostMixing::Sparse {
                row_ptr,
                columns,
                weights,
            } = &matrix.host
            else {
                unreachable!("only exchanges over an overlay wait for others")
            };
            let before = all_columns.len();
            let begin = |end: &usize| {
                u32::try_from(before + end).expect("fewer weights than a buffer can hold")
            };
            begins.extend(row_ptr[1..].iter().map(begin));
            all_columns.extend_from_slice(columns);
            bits.extend(weights.iter().map(|weight| weight.to_bits()));
        }
        Self {
            rows: begins.len() - 1,
            entries: all_columns.len(),
            words: [begins, all_columns, bits].concat(),
        }
    }
}

/// Writes `W · stack` of all `runs` into `to` `[R, P_pad]`, one run after the other.
///
/// # Panics
/// If one of the matrices is not sparse.
pub(super) fn mix_side_by_side(runs: &[(&CubeTensor, Arc<Matrix>)], to: &CubeTensor, width: usize) {
    let (memory, vectors) = (Memory::of(to), width / 4);
    let mut first = 0;
    for runs in runs.chunks(arrays(&to.client, 2)) {
        let joined = Joined::of(runs.iter().map(|(_, matrix)| matrix));
        let end = |end: &mut usize, (_, matrix): &(&CubeTensor, Arc<Matrix>)| {
            *end += matrix.rows;
            Some(*end)
        };
        let units = vectors.div_ceil(BLOCK) * BLOCK * joined.rows;
        let (count, dim) = line(&to.client, units);
        let stacks = runs.iter().map(|(stack, _)| (*stack).clone());
        moves(
            joined.entries * (width + 2) + joined.rows,
            joined.rows * width,
        );
        mix_side_by_side_kernel::launch(
            &to.client,
            count,
            dim,
            4,
            stacks.map(CubeTensor::into_buffer_arg).collect(),
            runs.iter().scan(0, end).collect(),
            memory.upload_words(&joined.words).into_buffer_arg(),
            to.clone().into_buffer_arg(),
            first,
            joined.rows,
            vectors,
            joined.rows + 1,
            joined.rows + 1 + joined.entries,
            BLOCK,
        );
        first += joined.rows;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mixing::Mixing;
    use crate::stacked::memory::{cube, read, tensor};
    use crate::stacked::mix::mixed;
    use crate::stacked::test_device::{gpu, numbers, stacked};
    use meshfold_topology::MixingMatrix;

    #[test]
    fn runs_mixed_side_by_side_have_the_bits_of_runs_mixed_alone() {
        let Some(gpu) = gpu() else { return };
        // More runs than one launch takes, of different sizes; a row without neighbours and one of few.
        let width = 320;
        let matrix = |nodes: u32| {
            let row = |node: u32| match node {
                0 => vec![(0, 1.0)],
                1 => vec![(0, 0.25), (1, 0.75)],
                _ => (0..nodes)
                    .map(|other| (other, 1.0 / f64::from(nodes)))
                    .collect(),
            };
            let matrix = MixingMatrix::from_rows(nodes as usize, (0..nodes).map(row).collect());
            Mixing::new(&matrix.unwrap()).matrix().clone()
        };
        let sizes: Vec<usize> = (0..37).map(|run| 1 + run * 7 % 5).collect();
        let stack =
            |(seed, rows): (u32, &usize)| cube(stacked(&gpu, &numbers(rows * width, seed), *rows));
        let stacks: Vec<CubeTensor> = (0..).zip(&sizes).map(stack).collect();
        let matrices = sizes.iter().map(|rows| matrix(*rows as u32));
        let runs: Vec<_> = stacks.iter().zip(matrices).collect();
        let alone =
            |(stack, matrix): &(&CubeTensor, Arc<Matrix>)| read(tensor(mixed(stack, matrix)));
        let alone: Vec<f32> = runs.iter().flat_map(alone).collect();
        let all: usize = sizes.iter().sum();
        let to = cube(stacked(&gpu, &vec![7.0; all * width], all));
        mix_side_by_side(&runs, &to, width);
        assert!(read(tensor(to)) == alone);
    }
}
