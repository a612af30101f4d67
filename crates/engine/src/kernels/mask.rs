//! Masks of vectors that reach beyond the columns of a matrix.

use pulp::{MemMask, Simd};

/// A mask of the first `count` lanes, for the instruction set's own masked loads and stores.
///
/// `pulp`'s own masks load and store through a table of functions, and around each call a tile would have to save all
/// its sums.
#[inline(always)]
pub(super) fn first_lanes<S: Simd>(simd: S, count: usize) -> MemMask<S::m32s> {
    MemMask::new(simd.mask_between_m32s(0, count as u32).mask())
}
