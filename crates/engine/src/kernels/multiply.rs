//! How vectors hold the terms of a product, and how these are multiplied and added.

use super::amx::{Emulated, Unit};
use super::fused::{fused, in_double_precision};
use pulp::{Simd, WithSimd};
#[cfg(target_arch = "x86_64")]
use std::marker::PhantomData;

/// A product that is written once for all implementations of [`Multiply`].
pub(crate) trait ProductKernel {
    /// Computes it.
    fn compute<S: Simd, M: Multiply>(self, simd: S, multiply: M);
}

/// Which terms of a sum a lane of a vector holds, and how they are added.
pub(crate) trait Multiply: Copy {
    /// Whether the sums over each block of rows start from zero and are then added, so that vectors of any width give
    /// the same bits.
    const GATHERS: bool;

    /// Whether products may be over a subset of the columns. This excludes pairs of columns, which cannot be split.
    const SUBSETS: bool;

    /// Whether sums come in tiles of `Unit`, and not vector by vector.
    const TILES: bool;

    /// The unit that multiplies tiles, if sums come in tiles.
    type Unit: Unit;

    /// `sum` plus the products of the terms in the lanes of `a` and `b`.
    fn add<S: Simd>(self, simd: S, a: S::f32s, b: S::f32s, sum: S::f32s) -> S::f32s;

    /// Computes `product` in a function of its own, compiled for `simd`, so that kernels with the same product share
    /// code.
    #[inline(never)]
    fn compute_apart<S: Simd>(self, simd: S, product: impl ProductKernel) {
        simd.vectorize(By(self, product));
    }
}

/// A product by one way of multiplying.
struct By<M, K>(M, K);

impl<M: Multiply, K: ProductKernel> WithSimd for By<M, K> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.1.compute(simd, self.0);
    }
}

/// A lane is one number in single precision.
#[derive(Debug, Clone, Copy)]
pub(super) struct Singles;

impl Multiply for Singles {
    const GATHERS: bool = false;
    const SUBSETS: bool = true;
    const TILES: bool = false;
    type Unit = Emulated;

    #[inline(always)]
    fn add<S: Simd>(self, simd: S, a: S::f32s, b: S::f32s, sum: S::f32s) -> S::f32s {
        fused(simd, a, b, sum)
    }
}

/// A lane is two bfloat16 numbers, the first in its upper half. Their products are exact in single precision, and are
/// added one after the other, with each sum rounded to single precision.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pairs;

impl Multiply for Pairs {
    const GATHERS: bool = true;
    const SUBSETS: bool = false;
    const TILES: bool = false;
    type Unit = Emulated;

    #[inline(always)]
    fn add<S: Simd>(self, simd: S, a: S::f32s, b: S::f32s, sum: S::f32s) -> S::f32s {
        let sum = add(simd, upper(simd, a), upper(simd, b), sum);
        add(simd, lower(simd, a), lower(simd, b), sum)
    }
}

/// `a · b + sum` for bfloat16 numbers. Their products are exact, so that a slow fused multiply-add is not needed.
#[inline(always)]
fn add<S: Simd>(simd: S, a: S::f32s, b: S::f32s, sum: S::f32s) -> S::f32s {
    if const { in_double_precision::<S>() } {
        return simd.add_f32s(simd.mul_f32s(a, b), sum);
    }
    fused(simd, a, b, sum)
}

/// The first number of every lane.
#[inline(always)]
fn upper<S: Simd>(simd: S, pairs: S::f32s) -> S::f32s {
    let upper = simd.splat_u32s(0xFFFF_0000);
    let bits = simd.and_u32s(simd.transmute_u32s_f32s(pairs), upper);
    simd.transmute_f32s_u32s(bits)
}

/// The second number of every lane.
#[inline(always)]
fn lower<S: Simd>(simd: S, pairs: S::f32s) -> S::f32s {
    let bits = simd.transmute_u32s_f32s(pairs);
    simd.transmute_f32s_u32s(simd.wrapping_dyn_shl_u32s(bits, simd.splat_u32s(16)))
}

/// A lane is two numbers in bfloat16, whose sums come in tiles of `U`.
#[cfg(target_arch = "x86_64")]
#[derive(Debug)]
pub(super) struct Tiles<U>(PhantomData<U>);

#[cfg(target_arch = "x86_64")]
impl<U> Tiles<U> {
    /// # Safety
    /// The processor has what `U` needs.
    pub(super) unsafe fn new() -> Self {
        Self(PhantomData)
    }
}

#[cfg(target_arch = "x86_64")]
impl<U> Clone for Tiles<U> {
    fn clone(&self) -> Self {
        *self
    }
}

#[cfg(target_arch = "x86_64")]
impl<U> Copy for Tiles<U> {}

#[cfg(target_arch = "x86_64")]
impl<U: Unit> Multiply for Tiles<U> {
    const GATHERS: bool = true;
    const SUBSETS: bool = false;
    const TILES: bool = true;
    type Unit = U;

    fn add<S: Simd>(self, _: S, _: S::f32s, _: S::f32s, _: S::f32s) -> S::f32s {
        unreachable!("sums come in tiles")
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use in_one::in_one;

/// The instruction of AVX-512 BF16.
#[cfg(target_arch = "x86_64")]
mod in_one {
    use super::{Emulated, Multiply, ProductKernel};
    use pulp::Simd;
    use std::arch::x86_64::{__m512, __m512bh, _mm512_dpbf16_ps};
    use std::mem::transmute_copy;

    /// As [`Pairs`](super::Pairs), in one instruction, which replaces operands and sums below 2^-126 by zero.
    #[derive(Debug, Clone, Copy)]
    struct InOne(());

    impl Multiply for InOne {
        const GATHERS: bool = true;
        const SUBSETS: bool = false;
        const TILES: bool = false;
        type Unit = Emulated;

        #[inline(always)]
        fn add<S: Simd>(self, _: S, a: S::f32s, b: S::f32s, sum: S::f32s) -> S::f32s {
            assert!(size_of::<S::f32s>() == size_of::<__m512>());
            // SAFETY: only `in_one` makes this type, for vectors of 512 bits and a processor that has the instruction.
            unsafe {
                let (a, b): (__m512bh, __m512bh) = (transmute_copy(&a), transmute_copy(&b));
                transmute_copy(&_mm512_dpbf16_ps(transmute_copy(&sum), a, b))
            }
        }

        #[inline(never)]
        fn compute_apart<S: Simd>(self, simd: S, product: impl ProductKernel) {
            // SAFETY: as above.
            unsafe { in_one(simd, product) }
        }
    }

    /// Computes `product` by that instruction.
    ///
    /// # Safety
    /// The processor has AVX-512 BF16.
    #[target_feature(
        enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512bf16,bmi1,bmi2,fma,lzcnt,popcnt"
    )]
    pub(in crate::kernels) unsafe fn in_one(simd: impl Simd, product: impl ProductKernel) {
        product.compute(simd, InOne(()));
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::test_numbers::numbers;
    use crate::kernels::{
        Affine, Convolve, Instructions, Outer, OuterBlocks, Packing, PairColumns, PairRows, Store,
        SumStart, pack, to_bf16,
    };
    use crate::network::precision::Precision;

    /// The chain of fused multiply-adds of numbers rounded to bfloat16, in ascending order.
    fn chain(start: f32, terms: impl Iterator<Item = (f32, f32)>) -> f32 {
        let add = |sum: f32, (a, b): (f32, f32)| to_bf16(a).mul_add(to_bf16(b), sum);
        terms.fold(start, add)
    }

    /// `start` plus the terms in the order of `set`: one after another, or in blocks of 16 pairs, with the products of
    /// first and of second numbers summed separately.
    fn sum(set: Instructions, start: f32, terms: impl Iterator<Item = (f32, f32)>) -> f32 {
        if set.to_string() != "amx-bf16" {
            return chain(start, terms);
        }
        let terms: Vec<(f32, f32)> = terms.collect();
        let apart = |block: &[(f32, f32)], first: usize| {
            chain(0.0, block.iter().skip(first).step_by(2).copied())
        };
        let blocks = terms.chunks(32);
        blocks.fold(start, |sum, block| {
            sum + (apart(block, 0) + apart(block, 1))
        })
    }

    #[test]
    fn pairs_give_the_chain_of_rounded_numbers_on_odd_sizes() {
        for [rows, inner, columns] in [
            [1, 1, 1],
            [5, 7, 3],
            [13, 31, 10],
            [20, 17, 200],
            [7, 9, 67],
            [3, 0, 4],
            [30, 300, 130],
            [37, 64, 48],
        ] {
            let (x, w) = (numbers(rows * inner, 1), numbers(inner * columns, 2));
            let bias = numbers(columns, 3);
            let places = inner.div_ceil(2);
            let (mut x_pairs, mut w_pairs) =
                (vec![0.0; rows * places], vec![0.0; places * columns]);
            Instructions::detect().pair(PairColumns {
                x: &x,
                stride: inner,
                columns: inner,
                to: &mut x_pairs,
            });
            Instructions::detect().pair(PairRows {
                x: &w,
                stride: columns,
                rows: inner,
                columns,
                to: &mut w_pairs,
            });
            let mut packed = vec![0.0; w_pairs.len()];
            pack(&w_pairs, places, columns, &mut packed);
            let panels = Packing::Panels { backwards: true };
            for set in Instructions::every() {
                for (w_pairs, packing) in [(&w_pairs, Packing::Rows), (&packed, panels)] {
                    let mut y = vec![f32::NAN; rows * columns];
                    set.multiply(
                        Precision::Bf16,
                        Affine {
                            x: &x_pairs,
                            x_stride: places,
                            subset: None,
                            w: w_pairs,
                            packing,
                            start: SumStart::Bias(&bias),
                            y: &mut y,
                            y_stride: columns,
                            rows,
                            inner: places,
                            columns,
                            relu: false,
                        },
                    );
                    for (at, y) in y.iter().enumerate() {
                        let (i, j) = (at / columns, at % columns);
                        let term = |k: usize| (x[i * inner + k], w[k * columns + j]);
                        let want = sum(set, bias[j], (0..inner).map(term));
                        assert_eq!(y.to_bits(), want.to_bits(), "{set}: {y} {want}");
                    }
                }
            }
        }
    }

    /// The gradient of `sizes` rows of pairs, inner and columns.
    fn outer<'a>(
        x: &'a [f32],
        d: &'a [f32],
        [rows, inner, columns]: [usize; 3],
        gradient: &'a mut [f32],
    ) -> Outer<'a, Store<'a>> {
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
            update: Store {
                gradient,
                add: false,
            },
        }
    }

    #[test]
    fn a_gradient_of_pairs_is_the_chain_of_rounded_numbers() {
        for [rows, inner, columns] in [
            [1, 1, 1],
            [5, 7, 3],
            [20, 17, 200],
            [301, 9, 67],
            [1030, 40, 150],
        ] {
            let (x, d) = (numbers(rows * inner, 1), numbers(rows * columns, 2));
            let places = rows.div_ceil(2);
            let mut x_pairs = vec![0.0; places * inner];
            let mut d_pairs = vec![0.0; places * columns];
            Instructions::detect().pair(PairRows {
                x: &x,
                stride: inner,
                rows,
                columns: inner,
                to: &mut x_pairs,
            });
            Instructions::detect().pair(PairRows {
                x: &d,
                stride: columns,
                rows,
                columns,
                to: &mut d_pairs,
            });
            let sizes = [places, inner, columns];
            for set in Instructions::every() {
                let mut gradient = vec![f32::NAN; inner * columns];
                set.multiply(
                    Precision::Bf16,
                    outer(&x_pairs, &d_pairs, sizes, &mut gradient),
                );
                for (at, g) in gradient.iter().enumerate() {
                    let (k, j) = (at / columns, at % columns);
                    let term = |i: usize| (x[i * inner + k], d[i * columns + j]);
                    let want = sum(set, 0.0, (0..rows).map(term));
                    assert_eq!(g.to_bits(), want.to_bits(), "{set}: {g} {want}");
                }
                // 64 pairs of rows are summed at once, except in tiles, which have their own blocks.
                let product = outer(&x_pairs, &d_pairs, sizes, &mut gradient);
                set.multiply(Precision::Bf16, OuterBlocks(product));
                for (at, g) in gradient.iter().enumerate() {
                    let (k, j) = (at / columns, at % columns);
                    let term = |i: usize| (x[i * inner + k], d[i * columns + j]);
                    let blocks = (0..rows).step_by(128);
                    let block = |first: usize| first..(first + 128).min(rows);
                    let sums = blocks.map(|first| chain(0.0, block(first).map(term)));
                    let want = match set.to_string().as_str() {
                        "amx-bf16" => sum(set, 0.0, (0..rows).map(term)),
                        _ => sums.reduce(|sum, next| sum + next).unwrap(),
                    };
                    assert_eq!(g.to_bits(), want.to_bits(), "{set}: {g} {want}");
                }
            }
        }
    }

    #[test]
    fn a_convolution_of_pairs_is_the_chain_of_rounded_numbers() {
        // Places of a line and channels of each; a window of 2 x 3 that moves by one.
        for (across, channels, columns) in [(5, 1, 7), (9, 3, 32), (8, 4, 67)] {
            let x = numbers(4 * across * channels, 1);
            let w = numbers(6 * channels * columns, 2);
            let places = channels.div_ceil(2);
            let mut x_pairs = vec![0.0; 4 * across * places];
            Instructions::detect().pair(PairColumns {
                x: &x,
                stride: channels,
                columns: channels,
                to: &mut x_pairs,
            });
            let mut w_pairs = vec![0.0; 6 * places * columns];
            let matrices = w_pairs.chunks_exact_mut(places * columns);
            for (to, from) in matrices.zip(w.chunks_exact(channels * columns)) {
                Instructions::detect().pair(PairRows {
                    x: from,
                    stride: columns,
                    rows: channels,
                    columns,
                    to,
                });
            }
            for set in Instructions::every() {
                let mut y = vec![f32::NAN; 3 * (across - 2) * columns];
                set.multiply(
                    Precision::Bf16,
                    Convolve {
                        x: &x_pairs,
                        x_line: (across, places),
                        window: (2, 3),
                        stride: (1, 1),
                        w: &w_pairs,
                        start: SumStart::Zero,
                        y: &mut y,
                        output: (3, across - 2),
                        columns,
                        relu: false,
                    },
                );
                for (at, y) in y.iter().enumerate() {
                    let (place, column) = (at / columns, at % columns);
                    let (line, place) = (place / (across - 2), place % (across - 2));
                    // The last of an odd number of channels goes with a zero.
                    let term = |ky: usize, kx: usize, c: usize| match c < channels {
                        true => {
                            let from = (line + ky) * across + place + kx;
                            let k = (ky * 3 + kx) * channels + c;
                            (x[from * channels + c], w[k * columns + column])
                        }
                        false => (0.0, 0.0),
                    };
                    let of_line = |ky: usize| {
                        (0..3).flat_map(move |kx| (0..2 * places).map(move |c| term(ky, kx, c)))
                    };
                    let want = (0..2).fold(0.0, |start, ky| sum(set, start, of_line(ky)));
                    assert_eq!(y.to_bits(), want.to_bits(), "{set}: {y} {want}");
                }
            }
        }
    }
}
