//! Mixing of stacks in host memory: `to = W · from`, in blocks of columns that threads share; sums go in ascending order.

use super::host::mean;
use super::prefetch::prefetch_for_later;
use super::streaming_store::{Written, streaming_store};
use crate::cpu::Cpu;
use crate::stack::mixing::HostMixing;
use rayon::prelude::*;
use std::ops::Range;
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// Parameters per block: a block of all rows stays in the second-level cache for a thousand rows.
const BLOCK: usize = 256;

/// Parameters per block when streaming: the next block is prefetched, and results are written past the caches.
const STREAMED_BLOCK: usize = 64;

/// Most rows for streaming: the second-level cache holds a block and the next one.
const STREAMED_ROWS: usize = 4096;

/// The bytes of both stacks from which streaming pays: so much does not stay in the caches until the next local step
/// reads it, and a cached write would first read the memory.
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

/// The rows to mix and the rows to write; each may lie anywhere.
struct Rows<'a> {
    /// `[sources, width]`.
    from: &'a [&'a [f32]],
    /// `[targets, width]`.
    to: &'a [Shared],
    /// The rows that each computed row reads, one after another, so that blocks need not look them up.
    read: Vec<Source>,
}

/// The first float of a row that is read.
#[derive(Clone, Copy)]
struct Source(*const f32);
// SAFETY: rows that are mixed do not change meanwhile.
unsafe impl Sync for Source {}

impl<'a> Rows<'a> {
    /// Rows of `width` floats, as `matrix` reads them.
    ///
    /// # Panics
    /// If they have another width, or a column has no row.
    fn new(from: &'a [&'a [f32]], to: &'a [Shared], width: usize, matrix: &SparseRows<'_>) -> Self {
        assert!(
            from.iter().all(|row| row.len() == width),
            "all rows have the same width"
        );
        let columns = matrix
            .computed()
            .flat_map(|row| &matrix.columns[matrix.entries(row)]);
        let source = |column: &u32| Source(from[*column as usize].as_ptr());
        Self {
            from,
            to,
            read: columns.map(source).collect(),
        }
    }
}

/// `to = W · from`; `from` is `[columns, width]`, `to` `[rows, width]`.
pub(crate) fn mix(cpu: &Cpu, mixing: &HostMixing, from: &[f32], width: usize, to: &mut [f32]) {
    match mixing {
        HostMixing::Identity => to.copy_from_slice(from),
        HostMixing::Sparse { .. } => {
            let matrix = SparseRows::of(mixing, None);
            let from: Vec<&[f32]> = from.chunks_exact(width.max(1)).collect();
            let to = to.chunks_exact_mut(width.max(1));
            let to: Vec<Shared> = to.map(|row| Shared(row.as_mut_ptr())).collect();
            let rows = Rows::new(&from, &to, width, &matrix);
            // SAFETY: `to` is borrowed, and has as many rows.
            unsafe { dispatch(cpu, matrix, &rows, width, 0..width) };
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

/// As [`mix`] with a sparse matrix, for rows `from` that each may lie anywhere, but only for the rows `chosen`; other
/// rows of `to` stay as they are.
///
/// # Panics
/// If the matrix is not sparse, or lacks a chosen row.
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
    let rows = Rows::new(from, &to, width, &matrix);
    // SAFETY: the rows are borrowed.
    unsafe { dispatch(cpu, matrix, &rows, width, 0..width) }
}

/// As [`mix`] with a sparse matrix, for source and target rows that each may lie anywhere, but only for the parameters
/// `columns`, which begin and end at multiples of the alignment of a layout.
///
/// # Safety
/// `to` are rows of `width` floats, and until this returns no one else accesses their `columns`.
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
    let matrix = SparseRows::of(mixing, None);
    let rows = Rows::new(from, to, width, &matrix);
    // SAFETY: the caller's promise.
    unsafe { dispatch(cpu, matrix, &rows, width, columns) }
}

/// Spreads things evenly over the iterations of a loop, without a division in each.
#[derive(Default)]
struct Spread {
    dealt: usize,
    /// The remainder: a fraction of a thing, in units of one over the length of the loop.
    rest: usize,
}

impl Spread {
    /// The range of `things` for the next of `turns` iterations.
    #[inline(always)]
    fn next(&mut self, things: usize, turns: usize) -> Range<usize> {
        let first = self.dealt;
        self.rest += things;
        while self.rest >= turns {
            self.rest -= turns;
            self.dealt += 1;
        }
        first..self.dealt
    }
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

    /// How many rows are computed.
    fn count(&self) -> usize {
        let all = self.row_ptr.len() - 1;
        self.chosen.map_or(all, <[u32]>::len)
    }

    /// The rows that are computed.
    #[inline(always)]
    fn computed(&self) -> impl Iterator<Item = usize> {
        let row = |index: usize| self.chosen.map_or(index, |chosen| chosen[index] as usize);
        (0..self.count()).map(row)
    }

    /// The places of the entries of a row.
    #[inline(always)]
    fn entries(&self, row: usize) -> Range<usize> {
        self.row_ptr[row]..self.row_ptr[row + 1]
    }
}

/// [`mix_sparse`], streamed past the caches if the stacks are large.
///
/// # Safety
/// As for [`mix_sparse`].
unsafe fn dispatch(
    cpu: &Cpu,
    matrix: SparseRows<'_>,
    rows: &Rows<'_>,
    width: usize,
    range: Range<usize>,
) {
    let bytes = size_of::<f32>() * width * (rows.from.len() + rows.to.len());
    // SAFETY: the caller's promise.
    unsafe {
        match bytes >= STREAMED_BYTES && rows.to.len() <= STREAMED_ROWS {
            true => mix_sparse::<true>(cpu, matrix, rows, width, range),
            false => mix_sparse::<false>(cpu, matrix, rows, width, range),
        }
    }
}

/// Computes the parameters `span` of the product with a matrix in compressed sparse rows; if `STREAMED`, writes them
/// past the caches.
///
/// # Safety
/// All rows have `width` floats. Until this returns, no one else writes to the rows that are read, or accesses the
/// parameters `span` of the rows that are written.
unsafe fn mix_sparse<const STREAMED: bool>(
    cpu: &Cpu,
    matrix: SparseRows<'_>,
    all: &Rows<'_>,
    width: usize,
    span: Range<usize>,
) {
    assert_eq!(
        all.to.len(),
        matrix.row_ptr.len() - 1,
        "the target of a mixing has one row per row of the matrix"
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
        let firsts = span.clone().into_par_iter().step_by(size);
        firsts.for_each(|first| {
            let block = first..(first + size).min(span.end);
            cpu.instructions().vectorize(
                #[inline(always)]
                || {
                    // SAFETY: the widths of rows are checked, and this thread alone writes these parameters.
                    unsafe { mix_block::<STREAMED>(matrix, all, block) }
                },
            );
        });
    });
}

/// The parameters `block` of the product.
///
/// # Safety
/// As for [`mix_sparse`]; no row of the matrix is written elsewhere, and no other thread writes these parameters.
#[inline(always)]
unsafe fn mix_block<const STREAMED: bool>(
    matrix: SparseRows<'_>,
    all: &Rows<'_>,
    block: Range<usize>,
) {
    let count = matrix.count();
    let mut fetched = Spread::default();
    let past_caches = Written::default();
    let mut left = &all.read[..];
    for row in matrix.computed() {
        let weights = &matrix.weights[matrix.entries(row)];
        let (read, others) = left.split_at(weights.len());
        left = others;
        // While a row is computed, a share of all rows is prefetched for the next block.
        let beside = fetched.next(all.from.len(), count);
        for start in block.clone().step_by(LANES) {
            let mut sums = [0f32; LANES];
            for (row, weight) in read.iter().zip(weights) {
                // SAFETY: `start + LANES` is within the row.
                let values = unsafe { from_raw_parts(row.0.add(start), LANES) };
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum += weight * value;
                }
            }
            // SAFETY: as above, and the caller's promise.
            let target = unsafe { from_raw_parts_mut(all.to[row].0.add(start), LANES) };
            if STREAMED {
                for row in &all.from[beside.clone()] {
                    prefetch_for_later::<LANES>(row, start + STREAMED_BLOCK);
                }
                streaming_store(target, &sums, &past_caches);
            } else {
                target.copy_from_slice(&sums);
            }
        }
    }
}
