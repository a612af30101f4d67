//! Products in tiles of pairs, where a [`Unit`] multiplies them.
//!
//! The unit sums a block of 16 pairs at once. So the bits of a product depend on where blocks begin: every 16 pairs, and anew with each
//! line of a window. They do not depend on which rows and columns are computed together.

use super::amx::{SIDE, Shape, Unit};
use super::column_subset::stretches;
use super::outer::Outer;
use super::packing::{PANEL, Packing, transpose};
use super::panel::{Panel, Place, even_part};
use super::start::SumStart;
use super::update::Update;
use pulp::Simd;

/// Where a tile begins, and its first row or column that the tile before it does not have.
#[derive(Debug, Clone, Copy)]
struct Part {
    first: usize,
    fresh: usize,
}

/// `total` rows or columns in parts of `size`, of which the last may overlap the one before.
fn parts(total: usize, size: usize) -> impl Iterator<Item = Part> {
    (0..total).step_by(size).map(move |fresh| Part {
        first: fresh.min(total - size),
        fresh,
    })
}

/// Factors of the sums of a tile, in pairs: the rows of `a` are `a_stride` floats apart, those of `b` `b_stride`.
struct Factors {
    a: *const f32,
    a_stride: usize,
    b: *const f32,
    b_stride: usize,
    /// Floats of `b` from the first tile to the second, if there are two.
    second: Option<usize>,
    pairs: usize,
}

impl Factors {
    /// Adds their products to the sums in the registers 0 and 1.
    ///
    /// # Safety
    /// The rows are within their allocations.
    #[inline(always)]
    unsafe fn add(&self, unit: &mut impl Unit) {
        let whole = self.pairs - self.pairs % SIDE;
        // SAFETY: the caller's promise.
        unsafe {
            for pair in (0..whole).step_by(SIDE) {
                let b = self.b.add(pair * self.b_stride);
                unit.load::<2>(self.a.add(pair), self.a_stride);
                unit.load::<3>(b, self.b_stride);
                unit.add::<0, 2, 3>();
                if let Some(second) = self.second {
                    unit.load::<4>(b.add(second), self.b_stride);
                    unit.add::<1, 2, 4>();
                }
            }
            if whole < self.pairs {
                let b = self.b.add(whole * self.b_stride);
                unit.load::<5>(self.a.add(whole), self.a_stride);
                unit.load::<6>(b, self.b_stride);
                unit.add::<0, 5, 6>();
                if let Some(second) = self.second {
                    unit.load::<7>(b.add(second), self.b_stride);
                    unit.add::<1, 5, 7>();
                }
            }
        }
    }
}

/// Columns of a weight that lie together: floats of `w` before the first, and from one row to the next.
struct Strip {
    first: usize,
    width: usize,
    w: usize,
    w_stride: usize,
}

impl<T> Panel<'_, T> {
    /// [`Panel::lines`] in tiles.
    ///
    /// # Safety
    /// As there; and the processor has what `U` needs.
    #[inline(always)]
    pub(super) unsafe fn in_tiles<U: Unit>(&self, rows: usize, lines: &[Place]) {
        let mut unit = U::default();
        let height = even_part(rows, SIDE);
        for strip in self.strips() {
            let width = strip.width.min(SIDE);
            // SAFETY: the caller's promise; parts are within the rows and the columns.
            unsafe {
                unit.shape(&Shape::new(height, width, self.segment % SIDE));
                for line in lines {
                    for row in parts(rows, height) {
                        let mut columns = parts(strip.width, width);
                        while let Some(one) = columns.next() {
                            let other = columns.next();
                            self.sum(&mut unit, *line, row, &strip, one, other);
                            let size = [height, width];
                            self.leave::<U, 0>(&mut unit, *line, row, &strip, one, size);
                            if let Some(other) = other {
                                self.leave::<U, 1>(&mut unit, *line, row, &strip, other, size);
                            }
                        }
                    }
                }
                unit.release();
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

    /// The sums of the rows from `row.first` on in one or two tiles.
    #[inline(always)]
    unsafe fn sum(
        &self,
        unit: &mut impl Unit,
        line: Place,
        row: Part,
        strip: &Strip,
        one: Part,
        other: Option<Part>,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            self.begin::<_, 0>(unit, line, row, strip.first + one.first);
            if let Some(other) = other {
                self.begin::<_, 1>(unit, line, row, strip.first + other.first);
            }
            for segment in 0..self.segments {
                let x = line.x + row.first * self.x_stride + segment * self.segment_stride;
                let w = strip.w + segment * self.segment * strip.w_stride + one.first;
                let factors = Factors {
                    a: self.x.add(x),
                    a_stride: self.x_stride,
                    b: self.w.add(w),
                    b_stride: strip.w_stride,
                    second: other.map(|other| other.first - one.first),
                    pairs: self.segment,
                };
                factors.add(unit);
            }
        }
    }

    /// What the sums of a tile begin with.
    #[inline(always)]
    unsafe fn begin<U: Unit, const SUM: usize>(
        &self,
        unit: &mut U,
        line: Place,
        row: Part,
        column: usize,
    ) {
        // SAFETY: the caller's promise; a stride of zero reads the bias for every row.
        unsafe {
            match self.start {
                SumStart::Zero => unit.zero::<SUM>(),
                SumStart::Bias(bias) => unit.load::<SUM>(bias.as_ptr().add(column), 0),
                SumStart::Target => {
                    let y = line.y + row.first * self.y_stride + column;
                    unit.load::<SUM>(self.y.add(y), self.y_stride);
                }
            }
        }
    }

    /// Writes what is fresh of a tile of sums.
    #[inline(always)]
    unsafe fn leave<U: Unit, const SUM: usize>(
        &self,
        unit: &mut U,
        line: Place,
        row: Part,
        strip: &Strip,
        column: Part,
        [height, width]: [usize; 2],
    ) {
        let y = line.y + row.first * self.y_stride + strip.first + column.first;
        // SAFETY: the caller's promise.
        unsafe {
            let y = self.y.add(y);
            if row.first == row.fresh && column.first == column.fresh && !self.relu {
                return unit.store::<SUM>(y, self.y_stride);
            }
            let mut sums = [[0.0f32; SIDE]; SIDE];
            unit.store::<SUM>(sums.as_mut_ptr().cast(), SIDE);
            let from = column.fresh - column.first;
            for (at, sums) in sums[..height]
                .iter()
                .enumerate()
                .skip(row.fresh - row.first)
            {
                let y = y.add(at * self.y_stride + from);
                for (at, sum) in sums[from..width].iter().enumerate() {
                    // As the vectors of the other tiles have it: what is no number becomes zero.
                    let keeps = !self.relu || *sum > 0.0;
                    y.add(at).write(if keeps { *sum } else { 0.0 });
                }
            }
        }
    }
}

/// Floats of `d` that stay in the second-level cache while the rows of the gradient go past it.
const CACHED: usize = 64 << 10;

impl<U: Update> Outer<'_, U> {
    /// The gradient in tiles; the caller has asserted that everything is as long as it must be.
    ///
    /// # Safety
    /// The processor has what `V` needs.
    #[inline(always)]
    pub(super) unsafe fn in_tiles<S: Simd, V: Unit>(&mut self, simd: S) {
        let (pairs, inner, columns) = (self.rows, self.inner, self.columns);
        let mut rows = Vec::with_capacity(pairs * inner);
        for line in 0..pairs / self.line.max(1) {
            for place in 0..self.line {
                let row = &self.x[line * self.line_stride + place * self.x_stride..];
                rows.extend_from_slice(&row[..inner]);
            }
        }
        let mut x = vec![0.0; inner * pairs];
        transpose(&rows, pairs, inner, &mut x);
        let mut unit = V::default();
        let (height, width) = (inner.min(SIDE), columns.min(SIDE));
        // SAFETY: the caller's promise.
        unsafe { unit.shape(&Shape::new(height, width, pairs % SIDE)) };
        // All columns of some rows are handed on together, unless `d` is too large to be read for each.
        let together = match pairs * columns {
            0..=CACHED => columns.next_multiple_of(width),
            _ => 2 * SIDE,
        };
        let tiles: Vec<Part> = parts(columns, width).collect();
        let mut sums = Vec::new();
        for tiles in tiles.chunks(together / width) {
            let (begin, fresh) = (tiles[0].first, tiles[0].fresh);
            let span = tiles[tiles.len() - 1].first + width - begin;
            sums.resize(SIDE * span, 0.0);
            for rows in stretches(self.subset, inner, SIDE) {
                let first = rows.start.min(inner - height);
                for tiles in tiles.chunks(2) {
                    let (one, other) = (tiles[0].first, tiles.get(1).map(|tile| tile.first));
                    // SAFETY: parts are within `x`, transposed, and `d`.
                    unsafe {
                        let factors = Factors {
                            a: x.as_ptr().wrapping_add(first * pairs),
                            a_stride: pairs,
                            b: self.d.as_ptr().wrapping_add(one),
                            b_stride: columns,
                            second: other.map(|other| other - one),
                            pairs,
                        };
                        unit.zero::<0>();
                        unit.zero::<1>();
                        factors.add(&mut unit);
                        let to = sums.as_mut_ptr();
                        unit.store::<0>(to.add(one - begin), span);
                        if let Some(other) = other {
                            unit.store::<1>(to.add(other - begin), span);
                        }
                    }
                }
                for row in rows {
                    let sums = &sums[(row - first) * span..][fresh - begin..span];
                    self.update.apply_all(simd, row * columns + fresh, sums);
                }
            }
        }
        // SAFETY: the caller's promise.
        unsafe { unit.release() };
    }
}
