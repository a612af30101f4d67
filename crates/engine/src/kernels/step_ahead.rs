//! The update of a weight by its gradient, and at once its product with the next batch, both in tiles.
//!
//! Evicting written lines from the first-level cache is slow. So the few kilobytes of intermediate results stay there,
//! and only weights and velocities pass through.

use super::amx::{Row, SIDE, Shape, Unit};
use super::multiply::{Multiply, ProductKernel};
use super::outer::Outer;
use super::pairs::PairBlock;
use super::panel::even_part;
use super::tiles::{Tiled, WIDE, apply_rows};
use super::update::Moves;
use pulp::Simd;

/// `y[i, j] = start[j] + Σ_k x[i, k] · w[k, j]`, then `max(0, ·)` if `relu`, for pairs `x` and a weight that is updated
/// before.
///
/// `x` is `[rows, _]` with rows `x_stride` apart, `y` `[rows, columns]` without gaps. `start` is `[columns]`, or empty for zeros.
#[derive(Debug)]
pub(crate) struct NextProduct<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) x_stride: usize,
    pub(crate) rows: usize,
    pub(crate) start: &'a [f32],
    pub(crate) y: &'a mut [f32],
    pub(crate) relu: bool,
}

/// A gradient of pairs that updates a weight, and a product with the updated weight. Only for products in tiles.
#[derive(Debug)]
pub(crate) struct StepAhead<'a, U> {
    pub(crate) gradient: Outer<'a, U>,
    pub(crate) next: NextProduct<'a>,
}

/// Bytes of the sums, the pairs and the factors of a strip of tiles, half of a first-level cache.
const CACHED: usize = 24 << 10;
/// 16 rows of two tiles: sums of a gradient, or pairs of rows of a weight.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Couple([[f32; WIDE]; SIDE]);

impl<U: Moves> ProductKernel for StepAhead<'_, U> {
    #[inline(always)]
    fn compute<S: Simd, M: Multiply>(self, simd: S, _: M) {
        let (next, columns) = (&self.next, self.gradient.columns);
        self.gradient.check();
        let places = self.gradient.inner.div_ceil(2);
        if next.rows * columns == 0 || places == 0 {
            return;
        }
        assert!(
            next.x.len() >= (next.rows - 1) * next.x_stride + places,
            "x is too short"
        );
        assert!(next.y.len() >= next.rows * columns, "y is too short");
        assert!(
            next.start.is_empty() || next.start.len() >= columns,
            "bias is too short"
        );
        if const { M::TILES } {
            // SAFETY: the asserts bound both products, and the maker of `M` has ensured that its unit exists.
            unsafe { self.in_tiles::<S, M::Unit>(simd) }
        } else {
            unreachable!("products come in tiles");
        }
    }
}

/// What the product reads and writes for a strip of columns.
struct Ahead {
    x: Tiled,
    /// Rows of a tile, and how many tiles there are of all rows.
    height: usize,
    parts: usize,
    /// Sums of each tile of the strip, one part of the rows after another.
    sums: Vec<Row>,
    /// 32 rows of the strip's weights in pairs.
    weights: Vec<Couple>,
}

impl<U: Moves> StepAhead<'_, U> {
    /// Both in tiles.
    ///
    /// # Safety
    /// The processor has what `V` needs.
    #[inline(always)]
    unsafe fn in_tiles<S: Simd, V: Unit>(mut self, simd: S) {
        // SAFETY: the caller's promise.
        let x = unsafe { self.gradient.x_in_tiles::<V>() };
        let d = self.gradient.d_in_tiles();
        let (inner, columns) = (self.gradient.inner, self.gradient.columns);
        let depth = Tiled::depth(self.gradient.rows);
        let tiles = columns.div_ceil(SIDE);
        // Of a tile: 16 rows of pairs, a row for each row of the product, and one for each pair of the gradient.
        let height = even_part(self.next.rows, SIDE);
        let rows = SIDE + self.next.rows.next_multiple_of(height) + x.blocks() * depth;
        let most = CACHED / (rows * size_of::<Row>());
        let together = even_part(tiles, (most - most % 2).max(2)).next_multiple_of(2);
        let mut ahead = self.next.ahead(inner.div_ceil(2), height, together);
        let mut unit = V::default();
        let mut sums = Couple([[0.0; WIDE]; SIDE]);
        // SAFETY: the caller's promise.
        unsafe { unit.shape(&Shape::of_step(depth, ahead.height)) };
        for first in (0..tiles).step_by(together) {
            let count = together.min(tiles - first);
            self.next.begin(first * SIDE, columns, &mut ahead);
            for k in (0..inner).step_by(WIDE) {
                let end = inner.min(k + WIDE);
                if end < k + WIDE {
                    ahead.weights.fill(Couple([[0.0; WIDE]; SIDE]));
                }
                for top in (k..end).step_by(SIDE) {
                    let rows = SIDE.min(end - top);
                    for tile in (0..count).step_by(2) {
                        let column = (first + tile) * SIDE;
                        let width = columns.min((first + count) * SIDE) - column;
                        let width = width.min(WIDE);
                        // SAFETY: the caller's promise; the tiles are within both factors.
                        unsafe { gradient(&mut unit, &x, &d, [top, column, width], &mut sums) };
                        let place = top * columns + column;
                        let update = &mut self.gradient.update;
                        apply_rows(simd, update, [place, columns, width], &sums.0[..rows]);
                        let to = &mut ahead.weights[tile / 2].0[(top - k) / 2..];
                        let pairs = PairBlock {
                            x: &update.weights()[place..],
                            stride: columns,
                            rows,
                            columns: width,
                            to,
                        };
                        // SAFETY: the caller's promise.
                        unsafe { V::pair(pairs) };
                    }
                }
                // SAFETY: the caller's promise.
                unsafe { ahead.add(&mut unit, k / WIDE, count) };
            }
            self.next.leave(first * SIDE, columns, &ahead);
        }
        // SAFETY: the caller's promise.
        unsafe { unit.release() };
    }
}

impl NextProduct<'_> {
    /// Room for strips of `tiles` tiles.
    #[inline(always)]
    fn ahead(&self, places: usize, height: usize, tiles: usize) -> Ahead {
        let parts = self.rows.div_ceil(height);
        let row = |row: usize| &self.x[row * self.x_stride..];
        Ahead {
            x: Tiled::of_product([self.rows, places, height], row),
            height,
            parts,
            sums: vec![Row::default(); tiles * parts * height],
            weights: vec![Couple([[0.0; WIDE]; SIDE]); tiles.div_ceil(2)],
        }
    }

    /// Begins the sums of the strip from column `first` on.
    #[inline(always)]
    fn begin(&self, first: usize, columns: usize, ahead: &mut Ahead) {
        let sums = ahead.sums.chunks_exact_mut(ahead.parts * ahead.height);
        for (column, rows) in (first..columns).step_by(SIDE).zip(sums) {
            let mut start = Row::default();
            if !self.start.is_empty() {
                let width = SIDE.min(columns - column);
                start.0[..width].copy_from_slice(&self.start[column..column + width]);
            }
            rows.fill(start);
        }
    }

    /// Writes the sums of the strip from column `first` on.
    #[inline(always)]
    fn leave(&mut self, first: usize, columns: usize, ahead: &Ahead) {
        let sums = ahead.sums.chunks_exact(ahead.parts * ahead.height);
        for (column, rows) in (first..columns).step_by(SIDE).zip(sums) {
            let width = SIDE.min(columns - column);
            for (row, sums) in rows[..self.rows].iter().enumerate() {
                let y = &mut self.y[row * columns + column..][..width];
                for (y, sum) in y.iter_mut().zip(&sums.0) {
                    // NaN becomes zero.
                    let keeps = !self.relu || *sum > 0.0;
                    *y = if keeps { *sum } else { 0.0 };
                }
            }
        }
    }
}

impl Ahead {
    /// Adds to the sums of `count` tiles the products of block `block`.
    ///
    /// # Safety
    /// The registers have the shape of a step, and the processor has what `V` needs.
    #[inline(always)]
    unsafe fn add<V: Unit>(&mut self, unit: &mut V, block: usize, count: usize) {
        let size = self.height * SIDE;
        let x = self.x.block(block, self.parts);
        let (sums, weights): (*mut f32, *const f32) =
            (self.sums.as_mut_ptr().cast(), self.weights.as_ptr().cast());
        for part in (0..self.parts).step_by(2) {
            let two = part + 1 < self.parts;
            // SAFETY: the caller's promise; tiles are within the factors and the sums.
            unsafe {
                unit.load::<6>(x.add(part * size), SIDE);
                if two {
                    unit.load::<7>(x.add((part + 1) * size), SIDE);
                }
                for tile in 0..count {
                    let one = sums.add((tile * self.parts + part) * size);
                    let other = one.wrapping_add(size);
                    let weights = weights.add(tile / 2 * SIDE * WIDE + tile % 2 * SIDE);
                    unit.load::<4>(one, SIDE);
                    if two {
                        unit.load::<5>(other, SIDE);
                    }
                    if tile % 2 == 0 {
                        unit.load::<0>(weights, WIDE);
                        unit.add::<4, 6, 0>();
                        if two {
                            unit.add::<5, 7, 0>();
                        }
                    } else {
                        unit.load::<1>(weights, WIDE);
                        unit.add::<4, 6, 1>();
                        if two {
                            unit.add::<5, 7, 1>();
                        }
                    }
                    unit.store::<4>(one, SIDE);
                    if two {
                        unit.store::<5>(other, SIDE);
                    }
                }
            }
        }
    }
}

/// Writes the gradient of 16 rows from `top` on and `width` columns from `column` on to `sums`.
///
/// # Safety
/// The registers have the shape of a step, and the processor has what `V` needs.
#[inline(always)]
unsafe fn gradient<V: Unit>(
    unit: &mut V,
    x: &Tiled,
    d: &Tiled,
    [top, column, width]: [usize; 3],
    sums: &mut Couple,
) {
    let (row, left, beside) = (top / SIDE, column / SIDE, width > SIDE);
    let to: *mut f32 = sums.0.as_mut_ptr().cast();
    // SAFETY: the caller's promise; the tiles are within both factors and the sums.
    unsafe {
        unit.zero::<0>();
        unit.zero::<1>();
        for block in 0..x.blocks() {
            unit.load::<2>(x.tile(row, block), SIDE);
            unit.load::<3>(d.tile(left, block), SIDE);
            unit.add::<0, 2, 3>();
            if beside {
                unit.load::<3>(d.tile(left + 1, block), SIDE);
                unit.add::<1, 2, 3>();
            }
        }
        unit.store::<0>(to, WIDE);
        if beside {
            unit.store::<1>(to.add(SIDE), WIDE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::test_numbers::numbers;
    use crate::kernels::{
        Affine, HeavyBallUpdate, Instructions, MomentumKind, Packing, PairColumns, PairRows,
        SumStart,
    };
    use crate::network::precision::Precision;

    fn bits(values: &[f32]) -> Vec<u32> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    /// The gradient of pairs of rows, `batch` of them, which moves a weight and its velocity.
    fn gradient<'a>(
        [x, d]: [&'a [f32]; 2],
        [batch, inner, columns]: [usize; 3],
        [weights, velocity]: [&'a mut [f32]; 2],
        kind: MomentumKind,
    ) -> Outer<'a, HeavyBallUpdate<'a>> {
        Outer {
            x,
            x_stride: inner,
            line: batch.div_ceil(2),
            line_stride: 0,
            subset: None,
            d,
            rows: batch.div_ceil(2),
            inner,
            columns,
            update: HeavyBallUpdate {
                weights,
                velocity,
                rate: 0.1,
                momentum: 0.9,
                decay: 0.01,
                kind,
            },
        }
    }

    #[test]
    fn a_step_ahead_is_the_update_and_then_the_product() {
        // Rows of the gradient's sums and of the product, rows and columns of the weight.
        for [batch, next, inner, columns] in [
            [1, 1, 1, 1],
            [20, 20, 70, 200],
            [50, 7, 33, 40],
            [13, 50, 96, 67],
            [67, 33, 129, 250],
        ] {
            let (x, d) = (numbers(batch * inner, 1), numbers(batch * columns, 2));
            let (w, v) = (numbers(inner * columns, 3), numbers(inner * columns, 4));
            let (bias, ahead) = (numbers(columns, 5), numbers(next * inner, 6));
            let rows = |x: &[f32], [rows, columns]: [usize; 2]| {
                let mut to = vec![0.0; rows.div_ceil(2) * columns];
                Instructions::detect().pair(PairRows {
                    x,
                    stride: columns,
                    rows,
                    columns,
                    to: &mut to,
                });
                to
            };
            let (x_pairs, d_pairs) = (rows(&x, [batch, inner]), rows(&d, [batch, columns]));
            let places = inner.div_ceil(2);
            let mut ahead_pairs = vec![0.0; next * places];
            Instructions::detect().pair(PairColumns {
                x: &ahead,
                stride: inner,
                columns: inner,
                to: &mut ahead_pairs,
            });
            let sets = Instructions::every().into_iter();
            let sets = sets.filter(|set| set.in_tiles(Precision::Bf16));
            for (set, nesterov) in sets.flat_map(|set| [(set, false), (set, true)]) {
                let kind = MomentumKind::new(false, nesterov);
                let (factors, sizes) = ([&x_pairs[..], &d_pairs], [batch, inner, columns]);
                let (mut weights, mut velocity) = (w.clone(), v.clone());
                let apart = gradient(factors, sizes, [&mut weights, &mut velocity], kind);
                set.multiply(Precision::Bf16, apart);
                let mut y = vec![f32::NAN; next * columns];
                let product = Affine {
                    x: &ahead_pairs,
                    x_stride: places,
                    subset: None,
                    w: &rows(&weights, [inner, columns]),
                    packing: Packing::Rows,
                    start: SumStart::Bias(&bias),
                    y: &mut y,
                    y_stride: columns,
                    rows: next,
                    inner: places,
                    columns,
                    relu: true,
                };
                set.multiply(Precision::Bf16, product);
                let (mut moved, mut speed) = (w.clone(), v.clone());
                let mut found = vec![f32::NAN; next * columns];
                let step = StepAhead {
                    gradient: gradient(factors, sizes, [&mut moved, &mut speed], kind),
                    next: NextProduct {
                        x: &ahead_pairs,
                        x_stride: places,
                        rows: next,
                        start: &bias,
                        y: &mut found,
                        relu: true,
                    },
                };
                set.multiply(Precision::Bf16, step);
                assert!(bits(&moved) == bits(&weights), "{set}: weights");
                assert!(bits(&speed) == bits(&velocity), "{set}: velocity");
                assert!(bits(&found) == bits(&y), "{set}: product");
            }
        }
    }
}
