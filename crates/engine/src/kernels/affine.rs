//! The forward product of a dense layer, `Y = X · W + b`.

use pulp::{Simd, WithSimd};

/// `y[i, j] = bias[j] + Σ_k x[i, k] · w[k, j]`, then `max(0, ·)` if `relu`.
///
/// `x` is `[rows, inner]` with rows `x_stride` apart, `w` `[inner, columns]` and `bias` `[columns]` contiguous, `y`
/// `[rows, columns]` with rows `y_stride` apart.
#[derive(Debug)]
pub(crate) struct Affine<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) x_stride: usize,
    pub(crate) w: &'a [f32],
    pub(crate) bias: Option<&'a [f32]>,
    pub(crate) y: &'a mut [f32],
    pub(crate) y_stride: usize,
    pub(crate) rows: usize,
    pub(crate) inner: usize,
    pub(crate) columns: usize,
    pub(crate) relu: bool,
}

/// Most rows of a tile that is several vectors wide.
pub(super) const WIDE_ROWS: usize = 6;
/// Most rows of a tile that is one vector wide.
pub(super) const NARROW_ROWS: usize = 12;

/// Cuts `total` into as few nearly equal parts as `most` allows.
#[inline(always)]
pub(super) fn even_part(total: usize, most: usize) -> usize {
    total.div_ceil(total.div_ceil(most).max(1)).max(1)
}

/// Calls a method for tiles of `S` with its row count as a constant.
macro_rules! with_rows {
    ($rows:expr, [$($count:literal)*], $receiver:ident.$tile:ident::<$simd:ident, $vectors:literal>$arguments:tt) => {
        match $rows {
            $($count => $receiver.$tile::<$simd, $count, $vectors>$arguments,)*
            rows => unreachable!("a tile of {rows} rows"),
        }
    };
}
pub(super) use with_rows;

impl WithSimd for Affine<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if self.rows == 0 || self.columns == 0 {
            return;
        }
        assert!(
            self.x.len() >= (self.rows - 1) * self.x_stride + self.inner,
            "x is too short"
        );
        assert!(self.w.len() >= self.inner * self.columns, "w is too short");
        assert!(
            self.bias.is_none_or(|bias| bias.len() >= self.columns),
            "bias is too short"
        );
        assert!(
            self.y.len() >= (self.rows - 1) * self.y_stride + self.columns,
            "y is too short"
        );
        let lanes = S::F32_LANES;
        let vectors = if S::REGISTER_COUNT >= 32 { 4 } else { 2 };
        let mut column = 0;
        while column < self.columns {
            let left = self.columns - column;
            let wide = left >= vectors * lanes;
            let part = even_part(self.rows, if wide { WIDE_ROWS } else { NARROW_ROWS });
            let width = if wide {
                vectors * lanes
            } else {
                left.min(lanes)
            };
            let mut row = 0;
            while row < self.rows {
                let rows = part.min(self.rows - row);
                let tile = Tile {
                    // SAFETY: the asserts above bound every address that a tile of `rows` rows from `row` and
                    // `width` columns from `column` reads or writes.
                    x: unsafe { self.x.as_ptr().add(row * self.x_stride) },
                    x_stride: self.x_stride,
                    w: unsafe { self.w.as_ptr().add(column) },
                    bias: self.bias.map(|bias| unsafe { bias.as_ptr().add(column) }),
                    y: unsafe { self.y.as_mut_ptr().add(row * self.y_stride + column) },
                    y_stride: self.y_stride,
                    inner: self.inner,
                    columns: self.columns,
                    width,
                    relu: self.relu,
                };
                // SAFETY: as above.
                unsafe {
                    if !wide {
                        with_rows!(rows, [1 2 3 4 5 6 7 8 9 10 11 12], tile.compute::<S, 1>(simd));
                    } else if vectors == 4 {
                        with_rows!(rows, [1 2 3 4 5 6], tile.compute::<S, 4>(simd));
                    } else {
                        with_rows!(rows, [1 2 3 4 5 6], tile.compute::<S, 2>(simd));
                    }
                }
                row += rows;
            }
            column += width;
        }
    }
}

struct Tile {
    x: *const f32,
    x_stride: usize,
    w: *const f32,
    bias: Option<*const f32>,
    y: *mut f32,
    y_stride: usize,
    inner: usize,
    columns: usize,
    width: usize,
    relu: bool,
}

impl Tile {
    /// One tile of `R` rows and `V` vectors; a tile of one vector may be narrower than the vector.
    #[inline(always)]
    unsafe fn compute<S: Simd, const R: usize, const V: usize>(&self, simd: S) {
        let lanes = S::F32_LANES;
        let last = if V == 1 { self.width } else { lanes };
        let mask = simd.mask_between_m32s(0, last as u32);
        let load = |pointer: *const f32, vector: usize| {
            // SAFETY: the caller keeps `width` columns readable; lanes beyond them are masked.
            unsafe {
                if V > 1 {
                    pointer
                        .add(vector * lanes)
                        .cast::<S::f32s>()
                        .read_unaligned()
                } else {
                    simd.mask_load_ptr_f32s(mask, pointer)
                }
            }
        };
        let mut sums = [[simd.splat_f32s(0.0); V]; R];
        if let Some(bias) = self.bias {
            for sums in &mut sums {
                for (vector, sum) in sums.iter_mut().enumerate() {
                    *sum = load(bias, vector);
                }
            }
        }
        for k in 0..self.inner {
            let mut weights = [simd.splat_f32s(0.0); V];
            for (vector, weight) in weights.iter_mut().enumerate() {
                // SAFETY: `k < inner`.
                *weight = load(unsafe { self.w.add(k * self.columns) }, vector);
            }
            for (row, sums) in sums.iter_mut().enumerate() {
                // SAFETY: row and k are within `x`.
                let x = simd.splat_f32s(unsafe { *self.x.add(row * self.x_stride + k) });
                for vector in 0..V {
                    sums[vector] = simd.mul_add_e_f32s(x, weights[vector], sums[vector]);
                }
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            for (vector, sum) in sums.iter().enumerate() {
                let value = if self.relu {
                    simd.max_f32s(*sum, simd.splat_f32s(0.0))
                } else {
                    *sum
                };
                // SAFETY: the caller keeps `width` columns of each row writable.
                unsafe {
                    let target = self.y.add(row * self.y_stride + vector * lanes);
                    if V > 1 {
                        target.cast::<S::f32s>().write_unaligned(value)
                    } else {
                        simd.mask_store_ptr_f32s(mask, target, value)
                    }
                }
            }
        }
    }
}

/// `to[j, i] = from[i, j]` for `from` of `[rows, columns]`.
pub(crate) fn transpose(from: &[f32], rows: usize, columns: usize, to: &mut [f32]) {
    const BLOCK: usize = 8;
    for first_row in (0..rows).step_by(BLOCK) {
        let last_row = (first_row + BLOCK).min(rows);
        for column in 0..columns {
            for row in first_row..last_row {
                to[column * rows + row] = from[row * columns + column];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Instructions;

    fn numbers(count: usize, salt: usize) -> Vec<f32> {
        (0..count)
            .map(|i| ((i * 7919 + salt * 104_729) % 1000) as f32 / 500.0 - 1.0)
            .collect()
    }

    #[test]
    fn affine_equals_a_host_loop_on_odd_sizes() {
        for (rows, inner, columns) in [
            (1, 1, 1),
            (5, 7, 3),
            (13, 31, 10),
            (20, 17, 200),
            (7, 9, 67),
            (3, 0, 4),
        ] {
            let (x, w, bias) = (
                numbers(rows * inner, 1),
                numbers(inner * columns, 2),
                numbers(columns, 3),
            );
            for relu in [false, true] {
                let expected: Vec<f64> = (0..rows * columns)
                    .map(|at| {
                        let (i, j) = (at / columns, at % columns);
                        let sum: f64 = (0..inner)
                            .map(|k| f64::from(x[i * inner + k]) * f64::from(w[k * columns + j]))
                            .sum();
                        let value = sum + f64::from(bias[j]);
                        if relu { value.max(0.0) } else { value }
                    })
                    .collect();
                for set in Instructions::available() {
                    let mut y = vec![f32::NAN; rows * columns];
                    set.run(Affine {
                        x: &x,
                        x_stride: inner,
                        w: &w,
                        bias: Some(&bias),
                        y: &mut y,
                        y_stride: columns,
                        rows,
                        inner,
                        columns,
                        relu,
                    });
                    // f32 sums of up to 31 products of numbers below 1: a few units in 2^-24 times the length.
                    for (got, want) in y.iter().zip(&expected) {
                        assert!(
                            (f64::from(*got) - want).abs() < 1e-5,
                            "{set} {rows}x{inner}x{columns}: {got} {want}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn transpose_swaps_the_indices() {
        let from = numbers(11 * 5, 4);
        let mut to = vec![0.0; 55];
        transpose(&from, 11, 5, &mut to);
        assert!((0..11).all(|i| (0..5).all(|j| to[j * 11 + i] == from[i * 5 + j])));
    }
}
