//! The forward product of a dense layer, `Y = X · W + b`, and of a convolution, if its windows are overlapping rows.

use super::column_subset::{ColumnSubset, EveryTerm, Indexed, SumTerms};
use super::multiply::{Multiply, ProductKernel};
use super::packing::Packing;
use super::panel::{Panel, Place};
use super::start::SumStart;
use pulp::Simd;

/// `y[i, j] = start[j] + Σ_k x[i, k] · w[k, j]`, then `max(0, ·)` if `relu`.
///
/// `x` is `[rows, inner]` with rows `x_stride` apart, `w` `[inner, columns]` without gaps, `y` `[rows, columns]` with rows
/// `y_stride` apart. If there is a `subset` of the columns of `x`, the sums are over these alone.
#[derive(Debug)]
pub(crate) struct Affine<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) x_stride: usize,
    pub(crate) subset: Option<ColumnSubset<'a>>,
    pub(crate) w: &'a [f32],
    pub(crate) packing: Packing,
    pub(crate) start: SumStart<'a>,
    pub(crate) y: &'a mut [f32],
    pub(crate) y_stride: usize,
    pub(crate) rows: usize,
    pub(crate) inner: usize,
    pub(crate) columns: usize,
    pub(crate) relu: bool,
}

impl ProductKernel for Affine<'_> {
    #[inline(always)]
    fn compute<S: Simd, M: Multiply>(self, simd: S, multiply: M) {
        if self.rows == 0 || self.columns == 0 {
            return;
        }
        assert!(
            self.x.len() >= (self.rows - 1) * self.x_stride + self.inner,
            "x is too short"
        );
        assert!(self.w.len() >= self.inner * self.columns, "w is too short");
        assert!(self.start.holds(self.columns), "bias is too short");
        assert!(
            self.y.len() >= (self.rows - 1) * self.y_stride + self.columns,
            "y is too short"
        );
        match self.subset {
            None => {
                let count = self.inner;
                self.over(simd, multiply, EveryTerm, count);
            }
            Some(subset) => {
                assert!(subset.within(self.inner), "a column that x lacks");
                if const { M::SUBSETS } {
                    self.over(simd, multiply, Indexed::of(subset), subset.len());
                } else {
                    unreachable!("a subset of pairs");
                }
            }
        }
    }
}

impl Affine<'_> {
    /// Sums over `count` terms; `compute` has asserted that they are within `x` and `w`.
    #[inline(always)]
    fn over<S, M, T>(self, simd: S, multiply: M, terms: T, count: usize)
    where
        S: Simd,
        M: Multiply,
        T: SumTerms,
    {
        let panel = Panel {
            x: self.x.as_ptr(),
            x_stride: self.x_stride,
            terms,
            inner: self.inner,
            segments: 1,
            segment: count,
            segment_stride: 0,
            w: self.w.as_ptr(),
            packing: self.packing,
            start: self.start,
            y: self.y.as_mut_ptr(),
            y_stride: self.y_stride,
            columns: self.columns,
            relu: self.relu,
        };
        // SAFETY: the asserts of `compute` bound every address of rows below `rows`.
        unsafe { panel.lines(simd, multiply, self.rows, &[Place { x: 0, y: 0 }]) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::test_numbers::numbers;
    use crate::kernels::{Instructions, pack};
    use crate::network::precision::Precision;

    #[test]
    fn affine_equals_a_host_loop_on_odd_sizes() {
        for (rows, inner, columns) in [
            (1, 1, 1),
            (5, 7, 3),
            (13, 31, 10),
            (20, 17, 200),
            (7, 9, 67),
            (3, 0, 4),
            (30, 300, 130),
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
                for set in Instructions::every() {
                    let mut y = vec![f32::NAN; rows * columns];
                    let mut product = |w: &[f32], packing| {
                        y.fill(f32::NAN);
                        set.multiply(
                            Precision::F32,
                            Affine {
                                x: &x,
                                x_stride: inner,
                                subset: None,
                                w,
                                packing,
                                start: SumStart::Bias(&bias),
                                y: &mut y,
                                y_stride: columns,
                                rows,
                                inner,
                                columns,
                                relu,
                            },
                        );
                        y.clone()
                    };
                    let mut packed = vec![0.0; w.len()];
                    pack(&w, inner, columns, &mut packed);
                    for backwards in [false, true] {
                        let panels = product(&packed, Packing::Panels { backwards });
                        assert!(panels == product(&w, Packing::Rows));
                    }
                    let y = product(&w, Packing::Rows);
                    // f32 sums of up to 300 products of numbers below 1: a few units in 2^-24 times the length.
                    for (got, want) in y.iter().zip(&expected) {
                        assert!(
                            (f64::from(*got) - want).abs() < 4e-5,
                            "{set} {rows}x{inner}x{columns}: {got} {want}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_list_leaves_out_all_other_columns() {
        for (rows, inner, columns) in [(1, 9, 3), (13, 31, 10), (20, 300, 200), (30, 130, 67)] {
            let (x, w) = (numbers(rows * inner, 1), numbers(inner * columns, 2));
            let some: Vec<u32> = (0..inner as u32).filter(|k| k * k % 7 < 3).collect();
            let expected: Vec<f64> = (0..rows * columns)
                .map(|at| {
                    let (i, j) = (at / columns, at % columns);
                    let term = |k: &u32| {
                        let k = *k as usize;
                        f64::from(x[i * inner + k]) * f64::from(w[k * columns + j])
                    };
                    some.iter().map(term).sum()
                })
                .collect();
            // Whole, and in two parts one after the other.
            for cut in [inner, inner / 3] {
                for set in Instructions::every() {
                    let mut y = vec![f32::NAN; rows * columns];
                    for part in [0..cut, cut..inner] {
                        set.multiply(
                            Precision::F32,
                            Affine {
                                x: &x[part.start..],
                                x_stride: inner,
                                subset: Some(ColumnSubset::new(&some).part(part.clone())),
                                w: &w[part.start * columns..part.end * columns],
                                packing: Packing::Rows,
                                start: match part.start {
                                    0 => SumStart::Zero,
                                    _ => SumStart::Target,
                                },
                                y: &mut y,
                                y_stride: columns,
                                rows: if part.is_empty() { 0 } else { rows },
                                inner: part.len(),
                                columns,
                                relu: false,
                            },
                        );
                    }
                    for (got, want) in y.iter().zip(&expected) {
                        // f32 sums of up to 130 products of numbers below 1.
                        assert!((f64::from(*got) - want).abs() < 2e-5, "{set}: {got} {want}");
                    }
                }
            }
        }
    }
}
