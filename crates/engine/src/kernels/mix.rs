//! Mixing of stacks in host memory: `to = W · from`, in blocks of columns that threads share; sums go in ascending order.

use super::host::mean;
use super::prefetch::prefetch_for_later;
use super::streaming_store::{Written, streaming_store};
use crate::cpu::Cpu;
use crate::stack::mixing::HostMixing;
use rayon::prelude::*;
use std::ops::Range;

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

/// A pointer that threads, or processes, may share: each writes floats that no other touches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shared(pub(crate) *mut f32);
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

/// Rows that are mixed, and where they go.
#[derive(Clone, Copy)]
enum Rows<'a> {
    /// They follow each other; `count` of them are written.
    Together {
        from: &'a [f32],
        to: Shared,
        count: usize,
    },
    /// Each lies somewhere.
    Apart {
        from: &'a [&'a [f32]],
        to: &'a [Shared],
    },
}

impl Rows<'_> {
    /// How many rows of `width` floats are read, and how many are written.
    fn counts(&self, width: usize) -> (usize, usize) {
        match self {
            Self::Together { from, count, .. } => (from.len() / width.max(1), *count),
            Self::Apart { from, to } => (from.len(), to.len()),
        }
    }
}

/// `to = W · from`; `from` is `[columns, width]`, `to` `[rows, width]`.
pub(crate) fn mix(cpu: &Cpu, mixing: &HostMixing, from: &[f32], width: usize, to: &mut [f32]) {
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
            let count = to.len() / width.max(1);
            let to = Shared(to.as_mut_ptr());
            let rows = Rows::Together { from, to, count };
            // SAFETY: `to` is borrowed, and has as many rows.
            unsafe { dispatch(cpu, matrix, rows, width, 0..width) };
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

/// The rows `chosen` of [`mix`] with a sparse matrix, of rows `from` that each lie somewhere; the others of `to` stay as they are.
///
/// # Panics
/// If the matrix is not sparse, or has no such row.
pub(crate) fn mix_some(
    cpu: &Cpu,
    mixing: &HostMixing,
    chosen: &[u32],
    from: &[&[f32]],
    width: usize,
    to: &mut [f32],
) {
    let rows = to.chunks_exact_mut(width.max(1));
    let to: Vec<Shared> = rows.map(|row| Shared(row.as_mut_ptr())).collect();
    let matrix = SparseRows::of(mixing, Some(chosen));
    let rows = Rows::Apart { from, to: &to };
    // SAFETY: the rows are borrowed.
    unsafe { dispatch(cpu, matrix, rows, width, 0..width) }
}

/// The parameters `columns` of [`mix`] with a sparse matrix, of rows that each lie somewhere, as do those of the result. `columns`
/// begin and end at multiples of the alignment of a layout.
///
/// # Safety
/// `to` are rows of `width` floats, and until this returns nobody else uses `columns` of them.
///
/// # Panics
/// If the matrix is not sparse.
pub(crate) unsafe fn mix_columns(
    cpu: &Cpu,
    mixing: &HostMixing,
    (from, to): (&[&[f32]], &[Shared]),
    width: usize,
    columns: Range<usize>,
) {
    let rows = Rows::Apart { from, to };
    // SAFETY: the caller's promise.
    unsafe { dispatch(cpu, SparseRows::of(mixing, None), rows, width, columns) }
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

impl<'a> SparseRows<'a> {
    /// The rows `chosen` of `mixing`.
    fn of(mixing: &'a HostMixing, chosen: Option<&'a [u32]>) -> Self {
        let HostMixing::Sparse {
            row_ptr,
            columns,
            weights,
        } = mixing
        else {
            panic!("only a sparse matrix is mixed in parts");
        };
        Self {
            row_ptr,
            columns,
            weights,
            chosen,
        }
    }
}

/// [`mix_sparse`] as suits the memory at hand.
///
/// # Safety
/// As for [`mix_sparse`].
unsafe fn dispatch(
    cpu: &Cpu,
    matrix: SparseRows<'_>,
    rows: Rows<'_>,
    width: usize,
    range: Range<usize>,
) {
    let (read, written) = rows.counts(width);
    let bytes = size_of::<f32>() * width * (read + written);
    let streamed = bytes >= STREAMED_BYTES && written <= STREAMED_ROWS;
    // SAFETY: the caller's promise.
    unsafe {
        match (streamed, rows) {
            (true, Rows::Together { .. }) => {
                mix_sparse::<true, false>(cpu, matrix, rows, width, range)
            }
            (true, Rows::Apart { .. }) => mix_sparse::<true, true>(cpu, matrix, rows, width, range),
            (false, Rows::Together { .. }) => {
                mix_sparse::<false, false>(cpu, matrix, rows, width, range)
            }
            (false, Rows::Apart { .. }) => {
                mix_sparse::<false, true>(cpu, matrix, rows, width, range)
            }
        }
    }
}

/// The parameters `span` of the product with a matrix in compressed sparse rows; `STREAMED` past the caches, `APART` if rows do not
/// follow each other.
///
/// # Safety
/// The rows that are written have `width` floats each, and until this returns nobody else uses their parameters `span`.
unsafe fn mix_sparse<const STREAMED: bool, const APART: bool>(
    cpu: &Cpu,
    matrix: SparseRows<'_>,
    all: Rows<'_>,
    width: usize,
    span: Range<usize>,
) {
    let SparseRows {
        row_ptr,
        columns,
        weights,
        chosen,
    } = matrix;
    let rows = row_ptr.len() - 1;
    let count = chosen.map_or(rows, <[u32]>::len);
    let (sources, targets) = all.counts(width);
    let nowhere = Shared(std::ptr::null_mut());
    let (together, apart, to, to_apart): (&[f32], &[&[f32]], Shared, &[Shared]) = match all {
        Rows::Together { from, to, .. } => (from, &[], to, &[]),
        Rows::Apart { from, to } => (&[], from, nowhere, to),
    };
    assert_eq!(
        APART,
        matches!(all, Rows::Apart { .. }),
        "rows follow each other, or each lies somewhere"
    );
    assert_eq!(
        targets, rows,
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
            .all(|column| (*column as usize) < sources),
        "a column is out of range"
    );
    assert!(
        apart.iter().all(|row| row.len() == width),
        "all rows have the same width"
    );
    assert!(
        [width, span.start, span.end]
            .iter()
            .all(|at| at.is_multiple_of(LANES)),
        "rows are padded to the alignment of a layout"
    );
    assert!(span.end <= width, "parameters are out of range");
    let size = if STREAMED { STREAMED_BLOCK } else { BLOCK };
    cpu.install(|| {
        (0..span.len().div_ceil(size))
            .into_par_iter()
            .for_each(|block| {
                let first = span.start + block * size;
                let range = first..(first + size).min(span.end);
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
                                    let column = *column as usize;
                                    // SAFETY: every column and the widths of rows were checked above, and `start + LANES <= width`.
                                    let values = unsafe {
                                        match APART {
                                            true => {
                                                let row = apart.get_unchecked(column);
                                                row.get_unchecked(start..start + LANES)
                                            }
                                            false => {
                                                let at = column * width + start;
                                                together.get_unchecked(at..at + LANES)
                                            }
                                        }
                                    };
                                    for (sum, value) in sums.iter_mut().zip(values) {
                                        *sum += weight * value;
                                    }
                                }
                                // SAFETY: this thread alone writes this block of columns, and there is such a row.
                                let target = unsafe {
                                    match APART {
                                        true => to_apart[row].slice(start, LANES),
                                        false => to.slice(row * width + start, LANES),
                                    }
                                };
                                if STREAMED {
                                    let next = start + size;
                                    match APART {
                                        // A share of all rows beside each row that is computed.
                                        true => (index * sources / count
                                            ..(index + 1) * sources / count)
                                            .for_each(|row| {
                                                prefetch_for_later::<LANES>(apart[row], next)
                                            }),
                                        false => prefetch_for_later::<LANES>(
                                            together,
                                            row * width + next,
                                        ),
                                    }
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
