//! Copying rows between stacks by index.

use crate::stacked::device::launch::{arrays, line};
use crate::stacked::device::memory::{Memory, cube, cube_mut, tensor};
use crate::stacked::device::trace::moves;
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

/// Each unit copies one vector of several arrays to its place in their concatenation, which begins at `first`; `ends`
/// are the ends of the arrays.
#[cube(launch)]
fn collect_kernel<N: Size>(
    from: &Sequence<Box<[Vector<f32, N>]>>,
    ends: &Sequence<usize>,
    to: &mut [Vector<f32, N>],
    first: usize,
) {
    let at = ABSOLUTE_POS;
    let mut begin = 0usize;
    #[unroll]
    for array in 0..from.len().comptime() {
        if at >= begin && at < ends[array] {
            to[first + at] = from[array][at - begin];
        }
        begin = ends[array];
    }
}

/// The inverse of `collect_kernel`.
#[cube(launch)]
fn spread_kernel<N: Size>(
    from: &[Vector<f32, N>],
    to: &mut Sequence<Box<[Vector<f32, N>]>>,
    ends: &Sequence<usize>,
    first: usize,
) {
    let at = ABSOLUTE_POS;
    let mut begin = 0usize;
    #[unroll]
    for array in 0..to.len().comptime() {
        if at >= begin && at < ends[array] {
            to.index_mut(array)[at - begin] = from[first + at];
        }
        begin = ends[array];
    }
}

/// Rows of a stack that lie one after the other from its first on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstRows<'a> {
    /// `[R, P_pad]`.
    pub(crate) stack: &'a CubeTensor,
    pub(crate) rows: usize,
}

/// The arrays of one launch, and how they follow one another.
struct Span<'a> {
    arrays: &'a [FirstRows<'a>],
    first: usize,
    ends: Vec<usize>,
}

impl Span<'_> {
    fn vectors(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn arrays(&self) -> Vec<BufferArg> {
        let array = |array: &FirstRows<'_>| array.stack.clone().into_buffer_arg();
        self.arrays.iter().map(array).collect()
    }
}

/// The launches for `stacks`, whose rows have `width` floats, one after the other, with `most` stacks per launch.
fn spans<'a>(
    stacks: &'a [FirstRows<'a>],
    width: usize,
    most: usize,
) -> impl Iterator<Item = Span<'a>> {
    let mut first = 0;
    stacks.chunks(most).map(move |arrays| {
        let end = |end: &mut usize, array: &FirstRows<'_>| {
            *end += array.rows * width / 4;
            Some(*end)
        };
        let ends: Vec<usize> = arrays.iter().scan(0, end).collect();
        let span = Span {
            arrays,
            first,
            ends,
        };
        first += span.vectors();
        span
    })
}

/// Writes the rows of all `stacks`, of `width` floats each, into `to`, one stack after the other.
pub(crate) fn collect_rows(stacks: &[FirstRows<'_>], to: &CubeTensor, width: usize) {
    for span in spans(stacks, width, arrays(&to.client, 1)) {
        let (count, dim) = line(&to.client, span.vectors());
        moves(4 * span.vectors(), 4 * span.vectors());
        collect_kernel::launch(
            &to.client,
            count,
            dim,
            4,
            span.arrays().into_iter().collect(),
            span.ends.iter().copied().collect(),
            to.clone().into_buffer_arg(),
            span.first,
        );
    }
}

/// Overwrites the rows of all `stacks` with those of `from`: the inverse of [`collect_rows`].
pub(crate) fn spread_rows(from: &CubeTensor, stacks: &[FirstRows<'_>], width: usize) {
    for span in spans(stacks, width, arrays(&from.client, 1)) {
        let (count, dim) = line(&from.client, span.vectors());
        moves(4 * span.vectors(), 4 * span.vectors());
        spread_kernel::launch(
            &from.client,
            count,
            dim,
            4,
            from.clone().into_buffer_arg(),
            span.arrays().into_iter().collect(),
            span.ends.iter().copied().collect(),
            span.first,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::memory::read;
    use crate::stacked::device::test_device::{gpu, numbers, stacked};

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn rows_are_gathered_in_the_order_asked_for() {
        let gpu = gpu();
        let values = numbers(5 * 192, 6);
        let rows = [4, 0, 4, 2];
        let oracle: Vec<f32> = rows
            .iter()
            .flat_map(|row| values[*row as usize * 192..][..192].to_vec())
            .collect();
        assert_eq!(read(gather_rows(stacked(&gpu, &values, 5), &rows)), oracle);
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn scattered_rows_replace_only_their_targets() {
        let gpu = gpu();
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
    #[ignore = "needs a GPU or software Vulkan"]
    fn stacks_are_collected_one_after_the_other_and_spread_again() {
        let gpu = gpu();
        for rows in [vec![3], vec![1, 2, 3, 1], [[2, 1, 1, 3, 1, 4]; 6].concat()] {
            let all: usize = rows.iter().sum();
            let values: Vec<Vec<f32>> = (0..)
                .zip(&rows)
                .map(|(seed, rows)| numbers(rows * 64, seed))
                .collect();
            let stack = |(values, rows): (&Vec<f32>, &usize)| cube(stacked(&gpu, values, *rows));
            let stacks: Vec<CubeTensor> = values.iter().zip(&rows).map(stack).collect();
            let first_rows = |(stack, rows)| FirstRows { stack, rows };
            let given = stacks.iter().zip(rows.iter().copied());
            let sources: Vec<_> = given.map(first_rows).collect();
            let arena = cube(stacked(&gpu, &vec![0.0; all * 64], all));
            collect_rows(&sources, &arena, 64);
            assert_eq!(read(tensor(arena.clone())), values.concat());
            let blank = |rows: &usize| cube(stacked(&gpu, &vec![0.0; rows * 64], *rows));
            let targets: Vec<CubeTensor> = rows.iter().map(blank).collect();
            let given = targets.iter().zip(rows.iter().copied());
            let named: Vec<_> = given.map(first_rows).collect();
            spread_rows(&arena, &named, 64);
            let found: Vec<Vec<f32>> = targets.into_iter().map(|to| read(tensor(to))).collect();
            assert_eq!(found, values);
        }
    }
}
