//! Products in tiles of pairs, where a [`Unit`] multiplies them.
//!
//! The unit sums a block of 16 pairs at once. So the bits of a product depend on where blocks begin: every 16 pairs,
//! and at each line of a window. They do not depend on which rows and columns are computed together, nor on zeros that
//! fill a block.
//!
//! A tile is read at full speed if each of its rows is a cache line. Factors that are read often are stored so; see
//! [`Tiled`].

use super::amx::{Row, SIDE, Shape, Unit};
use super::outer::Outer;
use super::packing::{PANEL, Packing};
use super::panel::{Panel, Place, even_part};
use super::start::SumStart;
use super::update::Update;
use pulp::Simd;
use std::ops::Range;

/// Cuts `total` rows or columns into tiles of `size`, two at a time: where the first begins, and how much later the
/// second begins. The last tile may overlap the one before. Both are then in one couple, so that neither starts from
/// sums that the other has written.
pub(super) fn couples(total: usize, size: usize) -> impl Iterator<Item = (usize, Option<usize>)> {
    let count = total.div_ceil(size);
    let alone = count % 2;
    let begin = move |tile: usize| (tile * size).min(total - size);
    (0..count.div_ceil(2)).map(move |couple| match (alone, couple) {
        (1, 0) => (0, None),
        _ => {
            let first = begin(2 * couple - alone);
            (first, Some(begin(2 * couple - alone + 1) - first))
        }
    })
}

/// Blocks of the same depth, which a product sums before the registers are reshaped.
#[derive(Debug, Clone)]
struct Pass {
    segments: Range<usize>,
    /// The first pair of each segment.
    from: usize,
    blocks: usize,
    /// Pairs of a block.
    depth: usize,
    first: bool,
}

/// Neighbouring columns of a weight: `w` floats come before the first, and rows are `w_stride` floats apart.
struct Strip {
    first: usize,
    width: usize,
    w: usize,
    w_stride: usize,
}

/// Up to two by two tiles of sums: the first row and column, and how much later those of the second tiles are, if any.
#[derive(Clone, Copy)]
struct Square {
    line: Place,
    row: usize,
    next_row: usize,
    column: usize,
    next_column: usize,
}

impl<T> Panel<'_, T> {
    /// [`Panel::lines`] in tiles.
    ///
    /// # Safety
    /// As for [`Panel::lines`]; and the processor has what `U` needs.
    #[inline(always)]
    pub(super) unsafe fn in_tiles<S: Simd, U: Unit>(&self, simd: S, rows: usize, lines: &[Place]) {
        let mut unit = U::default();
        let height = even_part(rows, SIDE);
        for strip in self.strips() {
            let width = strip.width.min(SIDE);
            for pass in self.passes() {
                // SAFETY: the caller's promise.
                unsafe { unit.shape(&Shape::square(height, width, pass.depth)) };
                for line in lines {
                    for (row, next_row) in couples(rows, height) {
                        for (column, next_column) in couples(strip.width, width) {
                            let square = Square {
                                line: *line,
                                row,
                                next_row: next_row.unwrap_or_default(),
                                column,
                                next_column: next_column.unwrap_or_default(),
                            };
                            let unit = &mut unit;
                            // SAFETY: the caller's promise; tiles are within the rows and the columns.
                            unsafe {
                                match (next_row, next_column) {
                                    (None, None) => {
                                        self.square::<U, 1, 1>(unit, &square, &strip, &pass)
                                    }
                                    (None, Some(_)) => {
                                        self.square::<U, 1, 2>(unit, &square, &strip, &pass)
                                    }
                                    (Some(_), None) => {
                                        self.square::<U, 2, 1>(unit, &square, &strip, &pass)
                                    }
                                    (Some(_), Some(_)) => {
                                        self.square::<U, 2, 2>(unit, &square, &strip, &pass)
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        // SAFETY: the caller's promise.
        unsafe {
            unit.release();
            if self.relu {
                self.drop_negative(simd, rows, lines);
            }
        }
    }

    /// The columns of `w` as they lie.
    fn strips(&self) -> impl Iterator<Item = Strip> {
        let (inner, columns) = (self.inner, self.columns);
        let wide = match self.packing {
            Packing::Rows => columns.max(1),
            Packing::Panels { .. } => PANEL,
        };
        let strip = move |first: usize| {
            let width = wide.min(columns - first);
            Strip {
                first,
                width,
                w: first * inner,
                w_stride: width,
            }
        };
        (0..columns).step_by(wide).map(strip)
    }

    /// The blocks in their order. Where a segment ends with a shorter block, it takes two passes.
    fn passes(&self) -> impl Iterator<Item = Pass> {
        let (whole, rest) = (self.segment / SIDE, self.segment % SIDE);
        let mixed = whole > 0 && rest > 0;
        let pieces = if mixed { 2 * self.segments } else { 1 };
        let segments = self.segments;
        (0..pieces).map(move |piece| {
            let short = if mixed { piece % 2 == 1 } else { whole == 0 };
            Pass {
                segments: match mixed {
                    true => piece / 2..piece / 2 + 1,
                    false => 0..segments,
                },
                from: if short { whole * SIDE } else { 0 },
                blocks: if short { rest.min(1) } else { whole },
                depth: if short { rest.max(1) } else { SIDE },
                first: piece == 0,
            }
        })
    }

    /// The sums of one, two or four tiles, of `R` rows of them and `C` columns.
    #[inline(always)]
    unsafe fn square<U: Unit, const R: usize, const C: usize>(
        &self,
        unit: &mut U,
        square: &Square,
        strip: &Strip,
        pass: &Pass,
    ) {
        let (next_row, next_column) = (square.next_row, square.next_column);
        let column = strip.first + square.column;
        // SAFETY: the caller's promise.
        unsafe {
            self.begin::<U, 0>(unit, pass, square.line, square.row, column);
            if C > 1 {
                self.begin::<U, 1>(unit, pass, square.line, square.row, column + next_column);
            }
            if R > 1 {
                let row = square.row + next_row;
                self.begin::<U, 2>(unit, pass, square.line, row, column);
                if C > 1 {
                    self.begin::<U, 3>(unit, pass, square.line, row, column + next_column);
                }
            }
            for segment in pass.segments.clone() {
                let x = square.line.x + square.row * self.x_stride + pass.from;
                let x = self.x.add(x + segment * self.segment_stride);
                let row = segment * self.segment + pass.from;
                let w = self.w.add(strip.w + row * strip.w_stride + square.column);
                for block in 0..pass.blocks {
                    let a = x.add(block * pass.depth);
                    let b = w.add(block * pass.depth * strip.w_stride);
                    unit.load::<4>(a, self.x_stride);
                    unit.load::<6>(b, strip.w_stride);
                    unit.add::<0, 4, 6>();
                    if C > 1 {
                        unit.load::<7>(b.add(next_column), strip.w_stride);
                        unit.add::<1, 4, 7>();
                    }
                    if R > 1 {
                        unit.load::<5>(a.add(next_row * self.x_stride), self.x_stride);
                        unit.add::<2, 5, 6>();
                        if C > 1 {
                            unit.add::<3, 5, 7>();
                        }
                    }
                }
            }
            let y = square.line.y + square.row * self.y_stride + column;
            let y = self.y.add(y);
            unit.store::<0>(y, self.y_stride);
            if C > 1 {
                unit.store::<1>(y.add(next_column), self.y_stride);
            }
            if R > 1 {
                let y = y.add(next_row * self.y_stride);
                unit.store::<2>(y, self.y_stride);
                if C > 1 {
                    unit.store::<3>(y.add(next_column), self.y_stride);
                }
            }
        }
    }

    /// What the sums of a tile begin with.
    #[inline(always)]
    unsafe fn begin<U: Unit, const SUM: usize>(
        &self,
        unit: &mut U,
        pass: &Pass,
        line: Place,
        row: usize,
        column: usize,
    ) {
        // SAFETY: the caller's promise; a stride of zero reads the bias for every row.
        unsafe {
            match (pass.first, self.start) {
                (true, SumStart::Zero) => unit.zero::<SUM>(),
                (true, SumStart::Bias(bias)) => unit.load::<SUM>(bias.as_ptr().add(column), 0),
                (true, SumStart::Target) | (false, _) => {
                    let y = line.y + row * self.y_stride + column;
                    unit.load::<SUM>(self.y.add(y), self.y_stride);
                }
            }
        }
    }

    /// `max(0, ·)` of all sums. NaN becomes zero, as it does when sums come vector by vector.
    #[inline(always)]
    unsafe fn drop_negative<S: Simd>(&self, simd: S, rows: usize, lines: &[Place]) {
        for line in lines {
            for row in 0..rows {
                // SAFETY: the caller's promise.
                let y = unsafe {
                    let y = self.y.add(line.y + row * self.y_stride);
                    std::slice::from_raw_parts_mut(y, self.columns)
                };
                let (vectors, rest) = S::as_mut_simd_f32s(y);
                for y in vectors {
                    *y = simd.max_f32s(*y, simd.splat_f32s(0.0));
                }
                for y in rest {
                    *y = if *y > 0.0 { *y } else { 0.0 };
                }
            }
        }
    }
}

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
pub(super) struct Tiled {
    rows: Vec<Row>,
    blocks: usize,
    /// Rows of a tile.
    height: usize,
}

impl Tiled {
    /// Pairs of a block of sums over `pairs`.
    pub(super) fn depth(pairs: usize) -> usize {
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
    pub(super) fn of_columns<'a>(
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
    pub(super) unsafe fn of_rows<'a, U: Unit>(
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
    pub(super) fn of_product<'a>(
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
    pub(super) fn tile(&self, tile: usize, block: usize) -> *const f32 {
        let at = (tile * self.blocks + block) * self.height;
        debug_assert!(at + self.height <= self.rows.len());
        self.rows.as_ptr().wrapping_add(at).cast()
    }

    /// Where the tiles of block `block` begin, if blocks come first and there are `tiles` of each.
    #[inline(always)]
    pub(super) fn block(&self, block: usize, tiles: usize) -> *const f32 {
        let at = block * tiles * self.height;
        self.rows.as_ptr().wrapping_add(at).cast()
    }

    /// Blocks of pairs.
    pub(super) fn blocks(&self) -> usize {
        self.blocks
    }
}

/// Floats of `d` that stay in the second-level cache while the rows of the gradient are computed.
const CACHED: usize = 64 << 10;
/// Columns of two tiles.
pub(super) const WIDE: usize = 2 * SIDE;

/// The sums of two by two tiles, which stay in the first-level cache until they are applied.
#[repr(align(64))]
struct Sums([[f32; WIDE]; WIDE]);

impl<U: Update> Outer<'_, U> {
    /// The gradient in tiles; the caller has asserted that all slices are long enough.
    ///
    /// # Safety
    /// The processor has what `V` needs.
    #[inline(always)]
    pub(super) unsafe fn in_tiles<S: Simd, V: Unit>(&mut self, simd: S) {
        assert!(self.subset.is_none(), "a subset of pairs");
        let (pairs, inner, columns) = (self.rows, self.inner, self.columns);
        // SAFETY: the caller's promise.
        let (x, d) = (unsafe { self.x_in_tiles::<V>() }, self.d_in_tiles());
        let mut unit = V::default();
        // SAFETY: the caller's promise.
        unsafe { unit.shape(&Shape::square(SIDE, SIDE, Tiled::depth(pairs))) };
        let mut sums = Sums([[0.0; WIDE]; WIDE]);
        // All columns of some rows are applied together, unless `d` is too large to be read again for each.
        let together = match pairs * columns {
            0..=CACHED => columns,
            _ => WIDE,
        };
        for first in (0..columns).step_by(together) {
            let last = columns.min(first + together);
            for k in (0..inner).step_by(WIDE) {
                let rows = WIDE.min(inner - k);
                for column in (first..last).step_by(WIDE) {
                    let width = WIDE.min(last - column);
                    // SAFETY: the caller's promise.
                    unsafe { gradient(&mut unit, &x, &d, [k, rows, column, width], &mut sums) };
                    let place = [k * columns + column, columns, width];
                    apply_rows(simd, &mut self.update, place, &sums.0[..rows]);
                }
            }
        }
        // SAFETY: the caller's promise.
        unsafe { unit.release() };
    }

    /// `x` as the factor of rows.
    ///
    /// # Safety
    /// The processor has what `V` needs.
    #[inline(always)]
    pub(super) unsafe fn x_in_tiles<V: Unit>(&self) -> Tiled {
        let lines = 0..self.rows / self.line.max(1);
        let begins = lines.flat_map(|line| {
            let begin = move |place: usize| line * self.line_stride + place * self.x_stride;
            (0..self.line).map(begin)
        });
        let begins: Vec<usize> = begins.collect();
        // SAFETY: the caller's promise.
        unsafe { Tiled::of_rows::<V>(self.rows, self.inner, |row| &self.x[begins[row]..]) }
    }

    /// `d` as the factor of columns.
    #[inline(always)]
    pub(super) fn d_in_tiles(&self) -> Tiled {
        let columns = self.columns;
        Tiled::of_columns(self.rows, columns, |row| &self.d[row * columns..])
    }
}

/// Applies `update` to the first `width` numbers of each row of `sums`: targets begin at float `first`, with `columns`
/// floats per row.
#[inline(always)]
pub(super) fn apply_rows<S: Simd>(
    simd: S,
    update: &mut impl Update,
    [first, columns, width]: [usize; 3],
    sums: &[[f32; WIDE]],
) {
    if width == WIDE {
        // With a row length known to the compiler, no lane is masked.
        for (row, sums) in sums.iter().enumerate() {
            update.apply_all(simd, first + row * columns, sums);
        }
    } else if width == columns {
        // Narrow rows are consecutive: their vectors would overlap, and reads would wait for writes.
        let mut close = [0.0; WIDE * WIDE];
        for (sums, to) in sums.iter().zip(close.chunks_exact_mut(width)) {
            to.copy_from_slice(&sums[..width]);
        }
        update.apply_all(simd, first, &close[..sums.len() * width]);
    } else {
        for (row, sums) in sums.iter().enumerate() {
            update.apply_all(simd, first + row * columns, &sums[..width]);
        }
    }
}

/// Writes the gradient of `rows` rows from `k` on and `width` columns from `column` on to `sums`.
///
/// # Safety
/// The registers have the shape of such sums, and the processor has what `V` needs.
#[inline(always)]
unsafe fn gradient<V: Unit>(
    unit: &mut V,
    x: &Tiled,
    d: &Tiled,
    [k, rows, column, width]: [usize; 4],
    sums: &mut Sums,
) {
    let (top, left) = (k / SIDE, column / SIDE);
    let (below, beside) = (rows > SIDE, width > SIDE);
    // SAFETY: the caller's promise; the tiles are within both factors and the sums.
    unsafe {
        unit.zero::<0>();
        unit.zero::<1>();
        unit.zero::<2>();
        unit.zero::<3>();
        for block in 0..x.blocks() {
            unit.load::<4>(x.tile(top, block), SIDE);
            unit.load::<6>(d.tile(left, block), SIDE);
            unit.add::<0, 4, 6>();
            if beside {
                unit.load::<7>(d.tile(left + 1, block), SIDE);
                unit.add::<1, 4, 7>();
            }
            if below {
                unit.load::<5>(x.tile(top + 1, block), SIDE);
                unit.add::<2, 5, 6>();
                if beside {
                    unit.add::<3, 5, 7>();
                }
            }
        }
        let to: *mut f32 = sums.0.as_mut_ptr().cast();
        unit.store::<0>(to, WIDE);
        if beside {
            unit.store::<1>(to.add(SIDE), WIDE);
        }
        if below {
            unit.store::<2>(to.add(SIDE * WIDE), WIDE);
            if beside {
                unit.store::<3>(to.add(SIDE * WIDE + SIDE), WIDE);
            }
        }
    }
}
