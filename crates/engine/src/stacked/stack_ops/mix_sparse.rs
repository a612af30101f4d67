//! Mixing over an overlay: one launch for a run, or for as many runs as the device can bind, whose rows go into one
//! common stack.

use crate::stack::mixing::{HostMixing, Matrix};
use crate::stacked::device::launch::{arrays, cubes};
use crate::stacked::device::memory::Memory;
use crate::stacked::device::trace::moves;
use crate::stacked::device::tuning::tuned;
use burn_cubecl::tensor::CubeTensor;
use cubecl::client::Client;
use cubecl::prelude::*;
use std::sync::Arc;

/// How the columns of a stack are dealt to cubes of units. It changes no bit: every sum is one chain over a row's neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Strips {
    /// Vectors of a strip.
    vectors: usize,
    /// Cubes that take a strip through all rows together.
    cubes: usize,
    units: usize,
}

/// Vectors of a strip that many cubes share. All rows are computed for a strip before the next begins, so that rows
/// that several neighbours read are still in the second-level cache.
pub(super) const BLOCK: usize = 64;

/// Bytes of a strip of all rows that the first-level cache of a GPU holds.
const CACHED: usize = 192 << 10;

impl Strips {
    /// The strips of stacks of `rows` rows. If the first-level cache holds all rows of a strip one cache line wide, one
    /// cube takes the strip through all rows, and reads each number from memory once. Otherwise many cubes share a
    /// wider strip, which the second-level cache holds.
    fn of(client: &Client, rows: usize) -> Self {
        let vectors = tuned("MIX_VECTORS", 8);
        let size = 4 * size_of::<f32>();
        if rows * vectors * size <= tuned("MIX_CACHED", CACHED) {
            let most = client.properties().hardware.max_units_per_cube as usize;
            let units = (rows * vectors).next_power_of_two();
            return Self {
                vectors,
                cubes: 1,
                units: units.clamp(64, most.min(tuned("MIX_UNITS", 1024))),
            };
        }
        Self {
            vectors: BLOCK,
            cubes: rows,
            units: BLOCK,
        }
    }
}

/// Entries of a row whose numbers a unit loads at once.
const AHEAD: usize = 4;

/// Each unit holds one vector of some rows, each summed over the row's neighbours in ascending order. `ends` are the rows at which
/// runs end; `matrix` holds where the entries of each row begin, columns within the run from `columns_at` on, and the bits
/// of weights from `weights_at` on.
#[cube(launch)]
fn mix_kernel<N: Size>(
    from: &Sequence<Box<[Vector<f32, N>]>>,
    ends: &Sequence<usize>,
    matrix: &[u32],
    to: &mut [Vector<f32, N>],
    first: usize,
    rows: usize,
    width: usize,
    columns_at: usize,
    weights_at: usize,
    #[comptime] strips: Strips,
    #[comptime] ahead: usize,
) {
    let (vectors, cubes, units) = comptime!((strips.vectors, strips.cubes, strips.units));
    let place = CUBE_POS / cubes * vectors + UNIT_POS as usize % vectors;
    if place >= width {
        terminate!();
    }
    let mut row = CUBE_POS % cubes * (units / vectors) + UNIT_POS as usize / vectors;
    while row < rows {
        let mut begin = 0usize;
        #[unroll]
        for run in 0..from.len().comptime() {
            if row >= begin && row < ends[run] {
                let mut sum = Vector::<f32, N>::new(0.0f32);
                let mut entry = matrix[row] as usize;
                let end = matrix[row + 1] as usize;
                for _ in 0..(end - entry) / ahead {
                    let mut weights = Array::<f32>::new(ahead);
                    let mut values = Array::<Vector<f32, N>>::new(ahead);
                    #[unroll]
                    for a in 0..ahead {
                        weights[a] = f32::reinterpret(matrix[weights_at + entry + a]);
                        let column = matrix[columns_at + entry + a] as usize;
                        values[a] = from[run][column * width + place];
                    }
                    #[unroll]
                    for a in 0..ahead {
                        sum += Vector::new(weights[a]) * values[a];
                    }
                    entry += ahead;
                }
                while entry < end {
                    let weight = f32::reinterpret(matrix[weights_at + entry]);
                    let column = matrix[columns_at + entry] as usize;
                    sum += Vector::new(weight) * from[run][column * width + place];
                    entry += 1;
                }
                to[(first + row) * width + place] = sum;
            }
            begin = ends[run];
        }
        row += cubes * (units / vectors);
    }
}

/// Sparse matrices of some runs, one after the other, on the device.
#[derive(Debug)]
pub(crate) struct Sparse {
    /// As the kernel reads them.
    words: CubeTensor,
    /// The rows at which runs end.
    ends: Vec<usize>,
    entries: usize,
}

impl Sparse {
    /// Copies `matrices` to the device.
    ///
    /// # Panics
    /// If one of them is not sparse.
    pub(crate) fn upload<'a>(
        matrices: impl Iterator<Item = &'a HostMixing>,
        memory: &Memory,
    ) -> Self {
        let (mut begins, mut all_columns, mut bits) = (vec![0], Vec::new(), Vec::new());
        let mut ends = Vec::new();
        for matrix in matrices {
            let HostMixing::Sparse {
                row_ptr,
                columns,
                weights,
            } = matrix
            else {
                unreachable!("other exchanges have kernels of their own")
            };
            let before = all_columns.len();
            let begin = |end: &usize| {
                u32::try_from(before + end).expect("fewer weights than a buffer can hold")
            };
            begins.extend(row_ptr[1..].iter().map(begin));
            all_columns.extend_from_slice(columns);
            bits.extend(weights.iter().map(|weight| weight.to_bits()));
            ends.push(begins.len() - 1);
        }
        Self {
            ends,
            entries: all_columns.len(),
            words: memory.upload_words(&[begins, all_columns, bits].concat()),
        }
    }

    /// As kernels read them: where the entries of each row begin, their columns, the bits of their weights.
    pub(super) fn words(&self) -> &CubeTensor {
        &self.words
    }

    /// Weights of all rows.
    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    /// Rows of all runs after mixing.
    pub(super) fn rows(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Writes `W · stack` of each of `stacks` into `to` `[R, P_pad]`, one after the other from row `first` on.
    pub(crate) fn mix(&self, stacks: &[&CubeTensor], to: &CubeTensor, first: usize) {
        let (rows, width) = (self.rows(), to.meta.shape()[1]);
        let vectors = width / 4;
        let strips = Strips::of(&to.client, rows);
        let (count, dim) = cubes(
            &to.client,
            vectors.div_ceil(strips.vectors) * strips.cubes,
            strips.units as u32,
        );
        let stack = |stack: &&CubeTensor| (*stack).clone().into_buffer_arg();
        moves(self.entries * (width + 2) + rows, rows * width);
        mix_kernel::launch(
            &to.client,
            count,
            dim,
            4,
            stacks.iter().map(stack).collect(),
            self.ends.iter().copied().collect(),
            self.words.clone().into_buffer_arg(),
            to.clone().into_buffer_arg(),
            first,
            rows,
            vectors,
            rows + 1,
            rows + 1 + self.entries,
            strips,
            tuned("MIX_AHEAD", AHEAD),
        );
    }
}

/// The stack of one run and what it is to be mixed with.
#[derive(Debug, Clone)]
pub(crate) struct Unmixed<'a> {
    /// `[R, P_pad]`.
    pub(crate) stack: &'a CubeTensor,
    pub(crate) matrix: Arc<Matrix>,
}

/// Writes `W · stack` of all `runs` into `to` `[R, P_pad]`, one run after the other.
///
/// # Panics
/// If one of the matrices is not sparse.
pub(crate) fn mix_side_by_side(runs: &[Unmixed<'_>], to: &CubeTensor) {
    let memory = Memory::of(to);
    let mut first = 0;
    for runs in runs.chunks(arrays(&to.client, 2)) {
        let matrices = runs.iter().map(|run| &run.matrix.host);
        let sparse = Sparse::upload(matrices, &memory);
        let stacks: Vec<&CubeTensor> = runs.iter().map(|run| run.stack).collect();
        sparse.mix(&stacks, to, first);
        first += sparse.rows();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::mixing::Mixing;
    use crate::stacked::device::memory::{cube, read, tensor};
    use crate::stacked::device::test_device::{gpu, numbers, stacked};
    use crate::stacked::stack_ops::mix::mixed;
    use meshfold_topology::MixingMatrix;

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn runs_mixed_side_by_side_have_the_bits_of_runs_mixed_alone() {
        let gpu = gpu();
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
        let run = |(stack, matrix)| Unmixed { stack, matrix };
        let runs: Vec<_> = stacks.iter().zip(matrices).map(run).collect();
        let alone = |run: &Unmixed<'_>| read(tensor(mixed(run.stack, &run.matrix)));
        let alone: Vec<f32> = runs.iter().flat_map(alone).collect();
        let all: usize = sizes.iter().sum();
        let to = cube(stacked(&gpu, &vec![7.0; all * width], all));
        mix_side_by_side(&runs, &to);
        assert!(read(tensor(to)) == alone);
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn strips_that_one_cube_or_many_take_give_the_weighted_sums() {
        let gpu = gpu();
        let width = 160;
        for (nodes, cubes) in [(3, 1), (1500, 1), (1700, 1700)] {
            let stack = numbers(nodes * width, 5);
            let strips = Strips::of(&gpu.memory().client(), nodes);
            assert_eq!(strips.cubes, cubes, "{strips:?}");
            // Six neighbours each: more than a unit loads at once.
            let row = |node: usize| {
                let ahead = |step: usize| (((node + step) % nodes) as u32, 0.125);
                let mut row: Vec<(u32, f64)> = (0..6.min(nodes)).map(ahead).collect();
                row[0].1 = 1.0 - 0.125 * (row.len() - 1) as f64;
                row
            };
            let rows = (0..nodes).map(row).collect();
            let matrix = MixingMatrix::from_rows(nodes, rows).unwrap();
            let from = cube(stacked(&gpu, &stack, nodes));
            let found = read(tensor(mixed(&from, Mixing::new(&matrix).matrix())));
            for (at, found) in found.iter().enumerate() {
                let (node, place) = (at / width, at % width);
                let mut terms = row(node);
                terms.sort_by_key(|(column, _)| *column);
                let term = |(column, weight): &(u32, f64)| {
                    *weight as f32 * stack[*column as usize * width + place]
                };
                let sum: f32 = terms.iter().map(term).sum();
                assert!((found - sum).abs() < 1e-5, "{nodes} {at}: {found} {sum}");
            }
        }
    }
}
