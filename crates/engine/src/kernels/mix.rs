//! Mixing of stacks in host memory: `to = W · from`, in blocks of columns that threads share; sums go in ascending order.

use super::host::mean;
use super::prefetch::prefetch_for_later;
use super::streaming_store::{Written, streaming_store};
use crate::cpu::Cpu;
use crate::stack::mixing::HostMixing;
use rayon::prelude::*;

/// Parameters per block: a block of all rows stays in the second-level cache for a thousand rows.
const BLOCK: usize = 256;

/// Parameters per block where the next is fetched meanwhile and the result is written past the caches.
const STREAMED_BLOCK: usize = 64;

/// Most rows of such a block: the second-level cache holds it and the next.
const STREAMED_ROWS: usize = 4096;

/// Bytes of both stacks from which on that is done: what is mixed would not stay in the caches until the next local step reads
/// it, and to be written there it would be read first.
const STREAMED_BYTES: usize = 128 << 20;

/// Parameters whose sums are kept in registers at once.
const LANES: usize = 64;

/// A pointer that threads may share: each writes floats that no other touches.
#[derive(Clone, Copy)]
struct Shared(*mut f32);
// SAFETY: the kernel below gives every thread floats of its own.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// The floats from `offset`, `count` of them.
    ///
    /// # Safety
    /// They are within the allocation and no other thread uses them meanwhile.
    unsafe fn slice<'a>(self, offset: usize, count: usize) -> &'a mut [f32] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(offset), count) }
    }
}

/// Rows in two pieces of memory.
#[derive(Clone, Copy)]
pub(crate) struct Halved<'a> {
    pub(crate) first: &'a [f32],
    /// Those that follow, which only a sparse matrix reads. They may be none.
    pub(crate) rest: &'a [f32],
}

/// `to = W · from`; `from` is `[columns, width]`, `to` `[rows, width]`.
pub(crate) fn mix(cpu: &Cpu, mixing: &HostMixing, from: Halved<'_>, width: usize, to: &mut [f32]) {
    let Halved { first: from, rest } = from;
    match mixing {
        HostMixing::Identity => to.copy_from_slice(from),
        HostMixing::Sparse {
            row_ptr,
            columns,
            weights,
        } => {
            let matrix = SparseRows {
                row_ptr,
                columns,
                weights,
                chosen: None,
            };
            dispatch(cpu, matrix, Halved { first: from, rest }, width, to);
        }
        HostMixing::Among { weights, members } => {
            let mut shared = vec![0.0; width];
            mean(cpu, from, weights, &mut shared);
            cpu.install(|| {
                let rows = to.par_chunks_exact_mut(width);
                let rows = rows.zip(from.par_chunks_exact(width)).zip(members);
                rows.for_each(|((to, own), member)| {
                    to.copy_from_slice(if *member { &shared } else { own });
                });
            });
        }
        HostMixing::Average { weights } => {
            let (first, rest) = to.split_at_mut(width);
            mean(cpu, from, weights, first);
            cpu.install(|| {
                rest.par_chunks_exact_mut(width)
                    .for_each(|row| row.copy_from_slice(first))
            });
        }
    }
}

/// The rows `chosen` of [`mix`] with a sparse matrix; the others of `to` stay as they are.
///
/// # Panics
/// If the matrix is not sparse, or has no such row.
pub(crate) fn mix_some(
    cpu: &Cpu,
    mixing: &HostMixing,
    chosen: &[u32],
    from: Halved<'_>,
    width: usize,
    to: &mut [f32],
) {
    let HostMixing::Sparse {
        row_ptr,
        columns,
        weights,
    } = mixing
    else {
        panic!("only rows of a sparse matrix are chosen");
    };
    let matrix = SparseRows {
        row_ptr,
        columns,
        weights,
        chosen: Some(chosen),
    };
    dispatch(cpu, matrix, from, width, to);
}

/// A matrix in compressed sparse rows.
#[derive(Clone, Copy)]
struct SparseRows<'a> {
    row_ptr: &'a [usize],
    columns: &'a [u32],
    weights: &'a [f32],
    /// The rows that are computed; all if absent.
    chosen: Option<&'a [u32]>,
}

/// [`mix_sparse`] as suits the memory at hand.
fn dispatch(cpu: &Cpu, matrix: SparseRows<'_>, from: Halved<'_>, width: usize, to: &mut [f32]) {
    let bytes = size_of_val(from.first) + size_of_val(from.rest) + size_of_val(to);
    let streamed = bytes >= STREAMED_BYTES && to.len() <= STREAMED_ROWS * width;
    match (streamed, from.rest.is_empty()) {
        (true, true) => mix_sparse::<true, false>(cpu, matrix, from, width, to),
        (true, false) => mix_sparse::<true, true>(cpu, matrix, from, width, to),
        (false, true) => mix_sparse::<false, false>(cpu, matrix, from, width, to),
        (false, false) => mix_sparse::<false, true>(cpu, matrix, from, width, to),
    }
}

/// The product with a matrix in compressed sparse rows; `STREAMED` past the caches, `HALVED` if there are rows in the second
/// piece of memory.
fn mix_sparse<const STREAMED: bool, const HALVED: bool>(
    cpu: &Cpu,
    matrix: SparseRows<'_>,
    from: Halved<'_>,
    width: usize,
    to: &mut [f32],
) {
    let SparseRows {
        row_ptr,
        columns,
        weights,
        chosen,
    } = matrix;
    let rows = row_ptr.len() - 1;
    let count = chosen.map_or(rows, <[u32]>::len);
    let Halved { first: from, rest } = from;
    assert_eq!(
        to.len(),
        rows * width,
        "the target of a mixing has one row per row of the matrix"
    );
    assert!(
        chosen.is_none_or(|chosen| chosen.iter().all(|row| (*row as usize) < rows)),
        "a chosen row is out of range"
    );
    let read = |row: usize| &columns[row_ptr[row]..row_ptr[row + 1]];
    assert!(
        (0..count)
            .flat_map(|index| read(chosen.map_or(index, |chosen| chosen[index] as usize)))
            .all(|column| (*column as usize + 1) * width <= from.len() + rest.len()),
        "a column is out of range"
    );
    assert_eq!(
        width % LANES,
        0,
        "rows are padded to the alignment of a layout"
    );
    assert!(
        !HALVED || from.len().is_multiple_of(width),
        "a row lies in one piece of memory"
    );
    let target = Shared(to.as_mut_ptr());
    let size = if STREAMED { STREAMED_BLOCK } else { BLOCK };
    cpu.install(|| {
        (0..width.div_ceil(size)).into_par_iter().for_each(|block| {
            let range = block * size..((block + 1) * size).min(width);
            cpu.instructions().vectorize(
                #[inline(always)]
                || {
                    let written = Written::default();
                    for index in 0..count {
                        let row = chosen.map_or(index, |chosen| chosen[index] as usize);
                        let entries = row_ptr[row]..row_ptr[row + 1];
                        for start in range.clone().step_by(LANES) {
                            let mut sums = [0f32; LANES];
                            for (column, weight) in columns[entries.clone()]
                                .iter()
                                .zip(&weights[entries.clone()])
                            {
                                let at = *column as usize * width + start;
                                let (piece, at) = match HALVED && at >= from.len() {
                                    true => (rest, at - from.len()),
                                    false => (from, at),
                                };
                                // SAFETY: every column was checked above, and `start + LANES <= width`.
                                let values = unsafe { piece.get_unchecked(at..at + LANES) };
                                for (sum, value) in sums.iter_mut().zip(values) {
                                    *sum += weight * value;
                                }
                            }
                            // SAFETY: this thread alone writes this block of columns, and there is such a row.
                            let target = unsafe { target.slice(row * width + start, LANES) };
                            if STREAMED {
                                prefetch_for_later::<LANES>(from, row * width + start + size);
                                streaming_store(target, &sums, &written);
                            } else {
                                target.copy_from_slice(&sums);
                            }
                        }
                    }
                },
            );
        });
    });
}
