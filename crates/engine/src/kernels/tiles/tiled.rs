//! Factors that are stored in tiles.

use crate::kernels::amx::{Row, SIDE, Unit};

impl Row {
    /// The first `width` numbers of `from`, and zeros.
    #[inline(always)]
    fn of(from: &[f32], width: usize) -> Self {
        match from.first_chunk() {
            Some(from) if width == SIDE => Self(*from),
            _ => {
                let mut row = Self::default();
                for (to, from) in row.0.iter_mut().zip(&from[..width]) {
                    *to = *from;
                }
                row
            }
        }
    }
}

/// A factor stored in tiles, with one cache line per row of a tile: for every 16 of its rows or columns, all blocks of
/// pairs in order. Zeros fill the last block and the last tile.
#[derive(Debug, Default)]
pub(in crate::kernels) struct Tiled {
    rows: Vec<Row>,
    blocks: usize,
    /// Rows of a tile.
    height: usize,
}

impl Tiled {
    /// Pairs of a block of sums over `pairs`.
    pub(in crate::kernels) fn depth(pairs: usize) -> usize {
        pairs.clamp(1, SIDE)
    }

    fn empty(tiles: usize, blocks: usize, height: usize) -> Self {
        let rows = Vec::with_capacity(tiles * blocks * height);
        Self {
            rows,
            blocks,
            height,
        }
    }

    /// The factor of the columns of a product: `pairs` rows of `columns` numbers; `row` gives each. A tile has a row
    /// per pair and 16 columns.
    #[inline(always)]
    pub(in crate::kernels) fn of_columns<'a>(
        pairs: usize,
        columns: usize,
        row: impl Fn(usize) -> &'a [f32],
    ) -> Self {
        let depth = Self::depth(pairs);
        let (tiles, blocks) = (columns.div_ceil(SIDE), pairs.div_ceil(depth));
        let mut tiled = Self::empty(tiles, blocks, depth);
        for first in (0..columns).step_by(SIDE) {
            let width = SIDE.min(columns - first);
            for pair in 0..blocks * depth {
                tiled.rows.push(match pair < pairs {
                    true => Row::of(&row(pair)[first..], width),
                    false => Row::default(),
                });
            }
        }
        tiled
    }

    /// The factor of the rows of a product, transposed: `pairs` rows of `inner` numbers; `row` gives each. A tile has
    /// 16 rows, one for each of `inner`, and a column per pair.
    ///
    /// # Safety
    /// The processor has what `U` needs.
    #[inline(always)]
    pub(in crate::kernels) unsafe fn of_rows<'a, U: Unit>(
        pairs: usize,
        inner: usize,
        row: impl Fn(usize) -> &'a [f32],
    ) -> Self {
        let depth = Self::depth(pairs);
        let (tiles, blocks) = (inner.div_ceil(SIDE), pairs.div_ceil(depth));
        let mut tiled = Self::empty(tiles, blocks, SIDE);
        for first in (0..inner).step_by(SIDE) {
            let width = SIDE.min(inner - first);
            for block in (0..blocks * depth).step_by(depth) {
                let mut lines = [Row::default(); SIDE];
                for (line, pair) in lines.iter_mut().zip(block..pairs.min(block + depth)) {
                    *line = Row::of(&row(pair)[first..], width);
                }
                // SAFETY: the caller's promise.
                tiled
                    .rows
                    .extend_from_slice(&unsafe { U::transpose(&lines) });
            }
        }
        tiled
    }

    /// The factor of the rows of a product, not transposed: `rows` rows of `pairs` pairs; `row` gives each. Tiles have
    /// `height` rows and a column per pair. Blocks come first: all tiles of a block are consecutive.
    #[inline(always)]
    pub(in crate::kernels) fn of_product<'a>(
        [rows, pairs, height]: [usize; 3],
        row: impl Fn(usize) -> &'a [f32],
    ) -> Self {
        let tiles = rows.div_ceil(height);
        let mut tiled = Self::empty(tiles, pairs.div_ceil(SIDE), height);
        for first in (0..pairs).step_by(SIDE) {
            let width = SIDE.min(pairs - first);
            for at in 0..tiles * height {
                tiled.rows.push(match at < rows {
                    true => Row::of(&row(at)[first..], width),
                    false => Row::default(),
                });
            }
        }
        tiled
    }

    /// Where block `block` of tile `tile` begins.
    #[inline(always)]
    pub(in crate::kernels) fn tile(&self, tile: usize, block: usize) -> *const f32 {
        let at = (tile * self.blocks + block) * self.height;
        debug_assert!(at + self.height <= self.rows.len());
        self.rows.as_ptr().wrapping_add(at).cast()
    }

    /// Where the tiles of block `block` begin, if blocks come first and there are `tiles` of each.
    #[inline(always)]
    pub(in crate::kernels) fn block(&self, block: usize, tiles: usize) -> *const f32 {
        let at = block * tiles * self.height;
        self.rows.as_ptr().wrapping_add(at).cast()
    }

    /// Blocks of pairs.
    pub(in crate::kernels) fn blocks(&self) -> usize {
        self.blocks
    }
}
