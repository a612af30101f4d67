//! Fused multiply-adds, also on processors that have no instruction for them.

use pulp::bytemuck::cast;
use pulp::{Scalar128b, Simd};

/// The vectors whose fused multiply-adds are emulated in double precision.
///
/// The functions of C libraries for this take one number at a time, and not all of them round correctly.
pub(super) const IN_DOUBLE: Scalar128b = Scalar128b;

/// Whether `S` is the type of [`IN_DOUBLE`]: of all that kernels are compiled for, it alone has vectors of four numbers and sixteen
/// registers.
pub(super) const fn in_double_precision<S: Simd>() -> bool {
    S::F32_LANES == LANES && S::REGISTER_COUNT == 16
}

/// Numbers of such a vector.
const LANES: usize = 4;

type Lanes = [f32; LANES];

/// `a · b + c`, rounded once, number by number.
#[inline(always)]
pub(super) fn fused<S: Simd>(simd: S, a: S::f32s, b: S::f32s, c: S::f32s) -> S::f32s {
    if const { in_double_precision::<S>() } {
        return cast(in_double(cast(a), cast(b), cast(c)));
    }
    simd.mul_add_e_f32s(a, b, c)
}

/// `a · b + c`, rounded once. The product is exact in double precision, but the sum is rounded to double precision and
/// then to single precision. If this may differ from rounding once, the lanes are recomputed.
#[inline(always)]
fn in_double(a: Lanes, b: Lanes, c: Lanes) -> Lanes {
    let mut sums = [0f64; LANES];
    for lane in 0..LANES {
        sums[lane] = f64::from(a[lane]) * f64::from(b[lane]) + f64::from(c[lane]);
    }
    let mut doubtful = 0;
    for sum in sums {
        doubtful |= u32::from(may_be_rounded_twice(sum));
    }
    if doubtful != 0 {
        return each_rounded_once(a, b, c);
    }
    sums.map(|sum| sum as f32)
}

/// Not inlined: loops would otherwise contain several copies of it.
#[cold]
#[inline(never)]
fn each_rounded_once(a: Lanes, b: Lanes, c: Lanes) -> Lanes {
    std::array::from_fn(|lane| rounded_once(a[lane], b[lane], c[lane]))
}

/// Whether `sum` lies halfway between two normal f32 numbers: then what was lost in rounding it decides. For sums that
/// may be subnormal in f32 it is always true, except for zero.
#[inline(always)]
fn may_be_rounded_twice(sum: f64) -> bool {
    const DIGITS_LOST: u32 = 0x1FFF_FFFF;
    const HALF: u32 = 0x1000_0000;
    /// The upper half of the bits of 2^-126, the least normal f32 number.
    const SMALL: u32 = 0x3810_0000;
    let (high, low) = ((sum.to_bits() >> 32) as u32, sum.to_bits() as u32);
    // Doubling drops the sign. The addition makes zero the largest signed number, and small numbers the least.
    let shifted = |high: u32| high.wrapping_mul(2).wrapping_add(i32::MAX as u32) as i32;
    (low & DIGITS_LOST == HALF) | (shifted(high) <= shifted(SMALL))
}

/// `a · b + c` from a sum in double precision that is rounded to odd: its last bit says whether anything was lost, so
/// that it is halfway only if the exact sum is.
///
/// # Source
/// Boldo and Melquiond, Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd, 2008.
#[inline(always)]
fn rounded_once(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let added = sum - product;
    let lost = (product - (sum - added)) + (c - added);
    let inexact = u64::from(lost.abs() > 0.0).wrapping_neg();
    let bits = sum.to_bits();
    // All ones if the sum was rounded away from zero; then one unit is subtracted.
    let away = (((bits ^ lost.to_bits()) as i64) >> 63) as u64;
    f64::from_bits(bits.wrapping_add(away & inexact) | (inexact & 1)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Instructions;
    use crate::kernels::packing::Packing;
    use crate::kernels::test_numbers::numbers;
    use crate::kernels::{Affine, SumStart};
    use crate::network::precision::Precision;

    /// Numbers that test the rounding: of all sizes, with few and with many bits, and the extremes.
    fn trying() -> Vec<f32> {
        let mut bits = 0x9E37_79B9u32;
        let mut next = || {
            bits ^= bits << 13;
            bits ^= bits >> 17;
            bits ^= bits << 5;
            bits
        };
        let any = (0..150).map(|_| f32::from_bits(next())).collect::<Vec<_>>();
        let near_one = (0..60).map(|_| f32::from_bits(0x3F00_0000 | next() >> 8));
        let short = (0..60).map(|at| (at as f32 - 30.0) * 0.25);
        let ends = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            1.0 + f32::EPSILON,
            1.0 - f32::EPSILON / 2.0,
            f32::EPSILON / 2.0,
            f32::MIN_POSITIVE,
            -f32::MIN_POSITIVE,
            f32::from_bits(1),
            f32::from_bits(0x007F_FFFF),
            f32::from_bits(0x3480_0000),
            f32::from_bits(0x1A00_0000),
            f32::from_bits(0x1980_0001),
            f32::MAX,
            f32::MIN,
            f32::INFINITY,
            f32::NAN,
        ];
        near_one
            .chain(short)
            .chain(ends)
            .chain(any.iter().copied())
            .collect()
    }

    #[test]
    fn sums_in_double_precision_are_rounded_once() {
        let numbers = trying();
        let (mut doubtful, mut checked) = (0, 0);
        for a in &numbers {
            for b in &numbers {
                for c in numbers.chunks_exact(LANES) {
                    let c: Lanes = c.try_into().unwrap();
                    let sums = in_double([*a; LANES], [*b; LANES], c);
                    for (c, sum) in c.iter().zip(sums) {
                        let want = a.mul_add(*b, *c);
                        let same = sum.to_bits() == want.to_bits() || sum.is_nan() && want.is_nan();
                        assert!(same, "{a:e} · {b:e} + {c:e}: {sum:e}, not {want:e}");
                        let plain = f64::from(*a) * f64::from(*b) + f64::from(*c);
                        doubtful += u32::from(may_be_rounded_twice(plain));
                        checked += 1;
                    }
                }
            }
        }
        assert!(doubtful > 1000 && doubtful < checked / 2, "{doubtful}");
    }

    #[test]
    fn only_one_kind_of_vectors_is_worked_out_in_double_precision() {
        let portable = [
            in_double_precision::<Scalar128b>(),
            in_double_precision::<pulp::Scalar256b>(),
        ];
        assert_eq!(portable, [true, false]);
        #[cfg(target_arch = "x86_64")]
        let others = [
            in_double_precision::<pulp::x86::V3>(),
            in_double_precision::<pulp::x86::V4>(),
        ];
        #[cfg(target_arch = "aarch64")]
        let others = [in_double_precision::<pulp::aarch64::Neon>()];
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        assert!(!others.contains(&true), "{others:?}");
    }

    #[test]
    fn halfway_sums_go_where_the_lost_digits_say() {
        // 1 + 2^-24 is halfway between 1 and its neighbour; 2^-80 more or less is lost in double precision.
        let half = f32::EPSILON / 2.0;
        let tiny = 2f32.powi(-56);
        for (a, b, c, want) in [
            (half * (1.0 + f32::EPSILON), 1.0, 1.0, 1.0 + f32::EPSILON),
            (half, 1.0, 1.0, 1.0),
            (half * (1.0 - f32::EPSILON), 1.0, 1.0, 1.0),
            (1.0 + tiny, half, 1.0, 1.0),
            (f32::from_bits(1), 0.5, 0.0, 0.0),
            (f32::from_bits(3), 0.25, 0.0, f32::from_bits(1)),
        ] {
            assert_eq!(in_double([a; LANES], [b; LANES], [c; LANES]), [want; LANES]);
        }
        // A product of 48 bits that ends 2^-47 above halfway, beside a sum 2^30 times as large.
        let (a, b) = (
            1.0 + f32::EPSILON,
            (1.0 - f32::EPSILON / 2.0) * 2f32.powi(-24),
        );
        for c in [1.0, 3.0, -5.0, 2f32.powi(23), 1.5 * 2f32.powi(-40)] {
            let sum = in_double([a; LANES], [b; LANES], [c; LANES])[0];
            assert_eq!(sum.to_bits(), a.mul_add(b, c).to_bits(), "{c}");
        }
    }

    #[test]
    fn every_set_gives_the_chain_of_fused_multiply_adds() {
        let (rows, inner, columns) = (13, 70, 37);
        let (mut x, w) = (numbers(rows * inner, 1), numbers(inner * columns, 2));
        // Numbers with few bits, whose sums are often halfway, and numbers without any.
        for (at, x) in x.iter_mut().enumerate() {
            match at % 3 {
                0 => *x = x.signum(),
                1 if at % 2 == 0 => *x = 0.0,
                _ => {}
            }
        }
        let mut expected = vec![0f32; rows * columns];
        for (at, sum) in expected.iter_mut().enumerate() {
            let (row, column) = (at / columns, at % columns);
            for k in 0..inner {
                *sum = x[row * inner + k].mul_add(w[k * columns + column], *sum);
            }
        }
        for set in Instructions::every() {
            let mut y = vec![f32::NAN; rows * columns];
            set.multiply(
                Precision::F32,
                Affine {
                    x: &x,
                    x_stride: inner,
                    subset: None,
                    w: &w,
                    packing: Packing::Rows,
                    start: SumStart::Zero,
                    y: &mut y,
                    y_stride: columns,
                    rows,
                    inner,
                    columns,
                    relu: false,
                },
            );
            assert!(y == expected, "{set:?}");
        }
    }
}
