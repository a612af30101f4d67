//! The weight gradient of a dense layer, `G = Xᵀ · D`, and its use while it is in registers.

use super::column_subset::{ColumnSubset, stretches};
use super::fused::in_double_precision;
use super::mask::first_lanes;
use super::multiply::{Multiply, ProductKernel};
use super::panel::{Columns, even_part, with_rows, with_tile};
use super::update::{GradientPlace, Update, load};
use pulp::Simd;

/// `g[k, j] = Σ_i x[i, k] · d[i, j]` over `i < rows`; `update` is applied to each tile of `g`.
///
/// `d` is `[rows, columns]` contiguous, `g` is `[inner, columns]`. `x` is `[rows, inner]` in lines of `line` rows: rows are
/// `x_stride` apart within a line and lines `line_stride` apart, so that the windows of a convolution are overlapping
/// rows. If there is a `subset` of the columns of `x`, only these rows of `g` are computed.
#[derive(Debug)]
pub(crate) struct Outer<'a, U> {
    pub(crate) x: &'a [f32],
    pub(crate) x_stride: usize,
    pub(crate) line: usize,
    pub(crate) line_stride: usize,
    pub(crate) subset: Option<ColumnSubset<'a>>,
    pub(crate) d: &'a [f32],
    pub(crate) rows: usize,
    pub(crate) inner: usize,
    pub(crate) columns: usize,
    pub(crate) update: U,
}

impl<U: Update> ProductKernel for Outer<'_, U> {
    #[inline(always)]
    fn compute<S: Simd, M: Multiply>(mut self, simd: S, multiply: M) {
        if self.inner == 0 || self.columns == 0 {
            return;
        }
        self.check();
        if const { M::TILES } {
            // SAFETY: the asserts above bound the product, and the maker of `multiply` has ensured that its unit
            // exists.
            return unsafe { self.in_tiles::<S, M::Unit>(simd) };
        }
        let all = Columns::all::<S>(self.columns);
        // Tiles with the same rows of the gradient follow each other as far as their shape is the same.
        for columns in all.chunk_by(|one, next| one.vectors == next.vectors) {
            let part = even_part(self.inner, columns[0].most);
            for rows in stretches(self.subset, self.inner, part) {
                for columns in columns {
                    let tile = Tile {
                        multiply,
                        k: rows.start,
                        rows: rows.len(),
                        column: columns.first,
                        width: columns.width,
                    };
                    // SAFETY: the asserts above bound the tile.
                    unsafe {
                        with_tile!(tile.rows, columns.vectors, self.tile::<S>(simd, &tile));
                    }
                }
            }
        }
    }
}

impl<U: Update> Outer<'_, U> {
    /// Asserts that all slices are long enough.
    #[inline(always)]
    pub(super) fn check(&self) {
        let lines = self.rows / self.line.max(1);
        assert_eq!(lines * self.line, self.rows, "rows come in whole lines");
        if self.rows > 0 {
            let reach = (lines - 1) * self.line_stride + (self.line - 1) * self.x_stride;
            assert!(self.x.len() >= reach + self.inner, "x is too short");
        }
        assert!(self.d.len() >= self.rows * self.columns, "d is too short");
        assert!(
            self.update.holds(self.inner * self.columns),
            "the target of the gradient is too short"
        );
        if let Some(subset) = self.subset {
            assert!(subset.within(self.inner), "a column that x lacks");
        }
    }
}

/// Repeats a body for every row below a constant, with the row's number as a constant. A loop would not be unrolled,
/// and would keep the sums in memory.
macro_rules! each_row {
    ($row:ident < $rows:ident, [$($number:literal)*], $body:block) => {
        $(if const { $number < $rows } {
            let $row = $number;
            $body
        })*
    };
}

/// `rows` rows of the gradient from `k` in the `width` columns from `column`.
struct Tile<M> {
    multiply: M,
    k: usize,
    rows: usize,
    column: usize,
    width: usize,
}

impl<U: Update> Outer<'_, U> {
    /// One tile of the gradient: `R` rows from `tile.k`, `V` vectors from `tile.column`.
    #[inline(always)]
    unsafe fn tile<S: Simd, const R: usize, const V: usize>(
        &mut self,
        simd: S,
        tile: &Tile<impl Multiply>,
    ) {
        let lanes = S::F32_LANES;
        let mask = (V == 1 && tile.width < lanes).then(|| first_lanes(simd, tile.width));
        let mut sums = [[simd.splat_f32s(0.0); V]; R];
        let lines = self.rows / self.line.max(1);
        for line in 0..lines {
            for place in 0..self.line {
                // SAFETY: the caller bounds the tile within `x` and `d`.
                unsafe {
                    let row = line * self.line + place;
                    let d = self.d.as_ptr().add(row * self.columns + tile.column);
                    let mut deltas = [simd.splat_f32s(0.0); V];
                    for (vector, delta) in deltas.iter_mut().enumerate() {
                        *delta = load(simd, d.add(vector * lanes), mask);
                    }
                    let at = line * self.line_stride + place * self.x_stride + tile.k;
                    let x = self.x.as_ptr().add(at);
                    for (r, sums) in sums.iter_mut().enumerate() {
                        let x = simd.splat_f32s(*x.add(r));
                        for vector in 0..V {
                            sums[vector] = tile.multiply.add(simd, x, deltas[vector], sums[vector]);
                        }
                    }
                }
            }
        }
        let first = tile.k * self.columns + tile.column;
        if const { V > 1 } {
            each_row!(r < R, [0 1 2 3 4 5 6 7 8 9 10 11], {
                for (vector, sum) in sums[r].iter().enumerate() {
                    let offset = first + r * self.columns + vector * lanes;
                    let place = GradientPlace { offset, mask };
                    // SAFETY: the caller bounds the tile within the update's targets.
                    unsafe {
                        let held = self.update.held(simd, place);
                        self.update.apply(simd, place, held, *sum);
                    }
                }
            });
            return;
        }
        // Vectors of narrow rows overlap: a read after a write would wait until the write has reached the cache.
        // SAFETY: the caller bounds the tile within the update's targets.
        unsafe {
            let top = GradientPlace {
                offset: first,
                mask,
            };
            let mut held = [self.update.held(simd, top); R];
            for (r, held) in held.iter_mut().enumerate().skip(1) {
                let offset = first + r * self.columns;
                *held = self.update.held(simd, GradientPlace { offset, mask });
            }
            for ((r, sums), held) in sums.iter().enumerate().zip(held) {
                let offset = first + r * self.columns;
                let place = GradientPlace { offset, mask };
                self.update.apply(simd, place, held, sums[0]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::test_numbers::numbers;
    use crate::kernels::{HeavyBallUpdate, Instructions, MomentumKind, Plain, Store};
    use crate::network::precision::Precision;

    fn expected(x: &[f32], d: &[f32], rows: usize, inner: usize, columns: usize) -> Vec<f64> {
        (0..inner * columns)
            .map(|at| {
                let (k, j) = (at / columns, at % columns);
                (0..rows)
                    .map(|i| f64::from(x[i * inner + k]) * f64::from(d[i * columns + j]))
                    .sum()
            })
            .collect()
    }

    /// The product of `x` `[rows, inner]` and `d` `[rows, columns]`, whose `sizes` are rows, inner and columns.
    fn product<'a, U>(x: &'a [f32], d: &'a [f32], sizes: [usize; 3], update: U) -> Outer<'a, U> {
        let [rows, inner, columns] = sizes;
        Outer {
            x,
            x_stride: inner,
            line: rows,
            line_stride: 0,
            subset: None,
            d,
            rows,
            inner,
            columns,
            update,
        }
    }

    #[test]
    fn every_update_equals_a_host_loop_on_odd_sizes() {
        for sizes in [
            [1, 1, 1],
            [5, 7, 3],
            [13, 31, 10],
            [20, 17, 200],
            [7, 9, 67],
            [2, 13, 64],
        ] {
            let [rows, inner, columns] = sizes;
            let (x, d) = (numbers(rows * inner, 1), numbers(rows * columns, 2));
            let g = expected(&x, &d, rows, inner, columns);
            let (w, v) = (numbers(inner * columns, 3), numbers(inner * columns, 4));
            let (rate, momentum, decay) = (0.1, 0.9, 0.01);
            for set in Instructions::every() {
                let (x, d) = (x.as_slice(), d.as_slice());
                let mut gradient = vec![f32::NAN; inner * columns];
                let store = Store {
                    gradient: &mut gradient,
                    add: false,
                };
                set.multiply(Precision::F32, product(x, d, sizes, store));
                let mut plain = w.clone();
                let step = Plain {
                    weights: &mut plain,
                    rate,
                    decay,
                };
                set.multiply(Precision::F32, product(x, d, sizes, step));
                for (fresh, nesterov) in
                    [(false, false), (true, false), (false, true), (true, true)]
                {
                    let (mut weights, mut velocity) = (w.clone(), v.clone());
                    let step = HeavyBallUpdate {
                        weights: &mut weights,
                        velocity: &mut velocity,
                        rate,
                        momentum,
                        decay,
                        kind: MomentumKind::new(fresh, nesterov),
                    };
                    set.multiply(Precision::F32, product(x, d, sizes, step));
                    for at in 0..g.len() {
                        let old = if fresh {
                            0.0
                        } else {
                            f64::from(momentum) * f64::from(v[at])
                        };
                        let decayed = g[at] + f64::from(decay) * f64::from(w[at]);
                        let now = old + decayed;
                        let along = match nesterov {
                            true => decayed + f64::from(momentum) * now,
                            false => now,
                        };
                        // f32 sums of up to 20 products of numbers below 1.
                        assert!((f64::from(velocity[at]) - now).abs() < 1e-5, "{set}");
                        assert!(
                            (f64::from(weights[at]) - (f64::from(w[at]) - f64::from(rate) * along))
                                .abs()
                                < 1e-5
                        );
                    }
                }
                for at in 0..g.len() {
                    assert!((f64::from(gradient[at]) - g[at]).abs() < 1e-5, "{set}");
                    let step = g[at] + f64::from(decay) * f64::from(w[at]);
                    assert!(
                        (f64::from(plain[at]) - (f64::from(w[at]) - f64::from(rate) * step)).abs()
                            < 1e-5
                    );
                }
            }
        }
    }
}
