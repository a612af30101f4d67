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

/// Arrays that one launch copies from or to.
const AT_ONCE: usize = 4;

/// Each unit copies one vector to where it stands when the arrays follow one another, from `first` on; `ends` are where each
/// of them ends.
#[cube(launch)]
fn collect_kernel<N: Size>(
    a: &[Vector<f32, N>],
    b: &[Vector<f32, N>],
    c: &[Vector<f32, N>],
    d: &[Vector<f32, N>],
    to: &mut [Vector<f32, N>],
    first: usize,
    ends: Ends,
) {
    let at = ABSOLUTE_POS;
    if at < ends.a {
        to[first + at] = a[at];
    } else if at < ends.b {
        to[first + at] = b[at - ends.a];
    } else if at < ends.c {
        to[first + at] = c[at - ends.b];
    } else if at < ends.d {
        to[first + at] = d[at - ends.c];
    }
}

/// The way back.
#[cube(launch)]
fn spread_kernel<N: Size>(
    from: &[Vector<f32, N>],
    a: &mut [Vector<f32, N>],
    b: &mut [Vector<f32, N>],
    c: &mut [Vector<f32, N>],
    d: &mut [Vector<f32, N>],
    first: usize,
    ends: Ends,
) {
    let at = ABSOLUTE_POS;
    if at < ends.a {
        a[at] = from[first + at];
    } else if at < ends.b {
        b[at - ends.a] = from[first + at];
    } else if at < ends.c {
        c[at - ends.b] = from[first + at];
    } else if at < ends.d {
        d[at - ends.c] = from[first + at];
    }
}

/// Vectors up to the end of each of the arrays.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct Ends {
    a: usize,
    b: usize,
    c: usize,
    d: usize,
}

/// The arrays of one launch, and how they follow one another.
struct Span<'a> {
    arrays: [Option<&'a CubeTensor>; AT_ONCE],
    first: usize,
    ends: [usize; AT_ONCE],
}

impl Span<'_> {
    fn vectors(&self) -> usize {
        self.ends[AT_ONCE - 1]
    }

    fn ends(&self) -> EndsLaunch {
        let [a, b, c, d] = self.ends;
        EndsLaunch::new(a, b, c, d)
    }

    /// The arrays, with something else in place of those that are not there.
    fn or(&self, mut other: impl FnMut() -> CubeTensor) -> [CubeTensor; AT_ONCE] {
        self.arrays
            .map(|array| array.cloned().unwrap_or_else(&mut other))
    }
}

/// What to launch for `stacks`, each with its rows of `width` floats, one after the other.
fn spans<'a>(stacks: &[(&'a CubeTensor, usize)], width: usize) -> Vec<Span<'a>> {
    let mut first = 0;
    let span = |stacks: &[(&'a CubeTensor, usize)]| {
        let mut span = Span {
            arrays: [None; AT_ONCE],
            first,
            ends: [0; AT_ONCE],
        };
        let mut end = 0;
        for place in 0..AT_ONCE {
            if let Some((stack, rows)) = stacks.get(place) {
                span.arrays[place] = Some(stack);
                end += rows * width / 4;
            }
            span.ends[place] = end;
        }
        first += end;
        span
    };
    stacks.chunks(AT_ONCE).map(span).collect()
}

/// Writes the rows of all `stacks`, of `width` floats each, into `to`, one stack after the other.
pub(super) fn collect_rows(stacks: &[(&CubeTensor, usize)], to: &CubeTensor, width: usize) {
    for span in spans(stacks, width) {
        let (count, dim) = line(&to.client, span.vectors());
        moves(4 * span.vectors(), 4 * span.vectors());
        let [a, b, c, d] = span.or(|| stacks[0].0.clone());
        collect_kernel::launch(
            &to.client,
            count,
            dim,
            4,
            a.into_buffer_arg(),
            b.into_buffer_arg(),
            c.into_buffer_arg(),
            d.into_buffer_arg(),
            to.clone().into_buffer_arg(),
            span.first,
            span.ends(),
        );
    }
}

/// Overwrites the rows of all `stacks` with those of `from`, where [`collect_rows`] would have them.
pub(super) fn spread_rows(from: &CubeTensor, stacks: &[(&CubeTensor, usize)], width: usize) {
    // A buffer that a kernel writes to must not be bound twice.
    let nothing = || Memory::of(from).floats(&[4]);
    for span in spans(stacks, width) {
        let (count, dim) = line(&from.client, span.vectors());
        moves(4 * span.vectors(), 4 * span.vectors());
        let [a, b, c, d] = span.or(nothing);
        spread_kernel::launch(
            &from.client,
            count,
            dim,
            4,
            from.clone().into_buffer_arg(),
            a.into_buffer_arg(),
            b.into_buffer_arg(),
            c.into_buffer_arg(),
            d.into_buffer_arg(),
            span.first,
            span.ends(),
        );
    }
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
    fn stacks_are_collected_one_after_the_other_and_spread_again() {
        let Some(gpu) = gpu() else { return };
        for rows in [vec![3], vec![1, 2, 3, 1], vec![2, 1, 1, 3, 1, 4]] {
            let all: usize = rows.iter().sum();
            let values: Vec<Vec<f32>> = (0..)
                .zip(&rows)
                .map(|(seed, rows)| numbers(rows * 64, seed))
                .collect();
            let stack = |(values, rows): (&Vec<f32>, &usize)| cube(stacked(&gpu, values, *rows));
            let stacks: Vec<CubeTensor> = values.iter().zip(&rows).map(stack).collect();
            let sources: Vec<(&CubeTensor, usize)> =
                stacks.iter().zip(rows.iter().copied()).collect();
            let arena = cube(stacked(&gpu, &vec![0.0; all * 64], all));
            collect_rows(&sources, &arena, 64);
            assert_eq!(read(tensor(arena.clone())), values.concat());
            let blank = |rows: &usize| cube(stacked(&gpu, &vec![0.0; rows * 64], *rows));
            let targets: Vec<CubeTensor> = rows.iter().map(blank).collect();
            let named: Vec<(&CubeTensor, usize)> =
                targets.iter().zip(rows.iter().copied()).collect();
            spread_rows(&arena, &named, 64);
            let found: Vec<Vec<f32>> = targets.into_iter().map(|to| read(tensor(to))).collect();
            assert_eq!(found, values);
        }
    }
}
