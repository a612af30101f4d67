//! The forward product and the gradient of the inputs: lines of a [`Panel`] in tiles.

use crate::kernels::amx::{SIDE, Shape, Unit};
use crate::kernels::packing::{PANEL, Packing};
use crate::kernels::panel::{Panel, Place, even_part};
use crate::kernels::start::SumStart;
use pulp::Simd;
use std::ops::Range;

/// Cuts `total` rows or columns into tiles of `size`, two at a time: where the first begins, and how much later the
/// second begins. The last tile may overlap the one before. Both are then in one couple, so that neither starts from
/// sums that the other has written.
fn couples(total: usize, size: usize) -> impl Iterator<Item = (usize, Option<usize>)> {
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
    pub(in crate::kernels) unsafe fn in_tiles<S: Simd, U: Unit>(
        &self,
        simd: S,
        rows: usize,
        lines: &[Place],
    ) {
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
