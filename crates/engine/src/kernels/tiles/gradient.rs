//! The gradient of a weight, as an outer product in tiles.

use super::Tiled;
use crate::kernels::amx::{SIDE, Shape, Unit};
use crate::kernels::outer::Outer;
use crate::kernels::update::Update;
use pulp::Simd;

/// Floats of `d` that stay in the second-level cache while the rows of the gradient are computed.
const CACHED: usize = 64 << 10;
/// Columns of two tiles.
pub(in crate::kernels) const WIDE: usize = 2 * SIDE;

/// The sums of two by two tiles, which stay in the first-level cache until they are applied.
#[repr(align(64))]
struct Sums([[f32; WIDE]; WIDE]);

impl<U: Update> Outer<'_, U> {
    /// The gradient in tiles; the caller has asserted that all slices are long enough.
    ///
    /// # Safety
    /// The processor has what `V` needs.
    #[inline(always)]
    pub(in crate::kernels) unsafe fn in_tiles<S: Simd, V: Unit>(&mut self, simd: S) {
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
    pub(in crate::kernels) unsafe fn x_in_tiles<V: Unit>(&self) -> Tiled {
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
    pub(in crate::kernels) fn d_in_tiles(&self) -> Tiled {
        let columns = self.columns;
        Tiled::of_columns(self.rows, columns, |row| &self.d[row * columns..])
    }
}

/// Applies `update` to the first `width` numbers of each row of `sums`: targets begin at float `first`, with `columns`
/// floats per row.
#[inline(always)]
pub(in crate::kernels) fn apply_rows<S: Simd>(
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
