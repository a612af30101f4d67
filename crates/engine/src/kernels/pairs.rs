//! Pairs of bfloat16 numbers, stored as one float: operands of products for [`Multiply`](super::multiply::Multiply).
//!
//! A pair is the bits of two numbers, the first in the upper half. Pairs lie along the index that a product sums over.
//! If their count is odd, the last number is paired with zero.

/// Pairs along the columns of `x` `[rows, columns]`, whose rows are `stride` apart, into `to` `[rows, ⌈columns / 2⌉]`.
#[derive(Debug)]
pub(crate) struct PairColumns<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) columns: usize,
    pub(crate) to: &'a mut [f32],
}

/// Pairs along the rows of `x` `[rows, columns]`, which are `stride` apart, into `to` `[⌈rows / 2⌉, columns]`.
#[derive(Debug)]
pub(crate) struct PairRows<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) to: &'a mut [f32],
}

/// As [`PairRows`], into the first places of rows that have `W` places.
#[derive(Debug)]
pub(crate) struct PairBlock<'a, const W: usize> {
    pub(crate) x: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) to: &'a mut [[f32; W]],
}

/// Pairs each number of `x` with the one `apart` places after it, or with zero if there is none.
#[derive(Debug)]
pub(crate) struct PairAhead<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) apart: usize,
    pub(crate) to: &'a mut [f32],
}

/// A way to write pairs, for any [`Rounding`].
pub(crate) trait Pairing {
    /// Writes them.
    fn write<R: Rounding>(self, rounding: R);
}

/// How numbers are rounded and put in pairs.
pub(crate) trait Rounding: Copy {
    /// Pairs the numbers of `first` with those of `second`, or with zeros if there is no second.
    fn beside(self, first: &[f32], second: Option<&[f32]>, to: &mut [f32]);

    /// Pairs neighbours in `x`; the last is paired with zero if it has no neighbour.
    fn along(self, x: &[f32], to: &mut [f32]);
}

impl Pairing for PairColumns<'_> {
    #[inline(always)]
    fn write<R: Rounding>(self, rounding: R) {
        if self.columns == 0 {
            return;
        }
        let lines = self.to.chunks_exact_mut(self.columns.div_ceil(2));
        for (row, to) in lines.enumerate() {
            rounding.along(&self.x[row * self.stride..][..self.columns], to);
        }
    }
}

impl Pairing for PairRows<'_> {
    #[inline(always)]
    fn write<R: Rounding>(self, rounding: R) {
        if self.columns == 0 {
            return;
        }
        let row = |row: usize| &self.x[row * self.stride..][..self.columns];
        for (at, to) in self.to.chunks_exact_mut(self.columns).enumerate() {
            let second = (2 * at + 1 < self.rows).then(|| row(2 * at + 1));
            rounding.beside(row(2 * at), second, to);
        }
    }
}

impl<const W: usize> Pairing for PairBlock<'_, W> {
    #[inline(always)]
    fn write<R: Rounding>(self, rounding: R) {
        let row = |row: usize| &self.x[row * self.stride..][..self.columns];
        if self.columns == W && self.rows.is_multiple_of(2) {
            // With a row length known to the compiler, no lane is masked.
            for (at, to) in (0..self.rows).step_by(2).zip(self.to) {
                let [first, second] = [at, at + 1].map(|at| row(at).first_chunk::<W>());
                let (Some(first), Some(second)) = (first, second) else {
                    unreachable!("rows are as long")
                };
                rounding.beside(first, Some(second), to);
            }
            return;
        }
        for (first, to) in (0..self.rows).step_by(2).zip(self.to) {
            let second = (first + 1 < self.rows).then(|| row(first + 1));
            rounding.beside(row(first), second, &mut to[..self.columns]);
        }
    }
}

impl Pairing for PairAhead<'_> {
    #[inline(always)]
    fn write<R: Rounding>(self, rounding: R) {
        let both = self.x.len().saturating_sub(self.apart);
        let (pairs, rest) = self.to.split_at_mut(both);
        let (first, last) = self.x.split_at(both);
        rounding.beside(first, Some(&self.x[self.x.len() - both..]), pairs);
        rounding.beside(last, None, rest);
    }
}

/// `value` rounded to bfloat16: to the nearest number with eight significant bits, ties to even. NaN stays NaN, and
/// magnitudes below 2^-126 become zero.
#[inline(always)]
pub(crate) fn to_bf16(value: f32) -> f32 {
    f32::from_bits(rounded(value))
}

#[inline(always)]
fn rounded(value: f32) -> u32 {
    const EXPONENT: u32 = 0x7F80_0000;
    const QUIET: u32 = 0x0040_0000;
    let bits = value.to_bits();
    let number = bits.wrapping_add(0x7FFF + ((bits >> 16) & 1));
    let number = if bits & EXPONENT == 0 {
        bits & 0x8000_0000
    } else {
        number
    };
    let is_nan = bits & 0x7FFF_FFFF > EXPONENT;
    (if is_nan { bits | QUIET } else { number }) & 0xFFFF_0000
}

#[inline(always)]
fn pair(first: f32, second: f32) -> f32 {
    f32::from_bits(rounded(first) | rounded(second) >> 16)
}

/// By integer arithmetic.
#[derive(Debug, Clone, Copy)]
pub(super) struct EmulatedPairs;

impl Rounding for EmulatedPairs {
    #[inline(always)]
    fn beside(self, first: &[f32], second: Option<&[f32]>, to: &mut [f32]) {
        match second {
            Some(second) => {
                for ((to, first), second) in to.iter_mut().zip(first).zip(second) {
                    *to = pair(*first, *second);
                }
            }
            None => {
                for (to, first) in to.iter_mut().zip(first) {
                    *to = pair(*first, 0.0);
                }
            }
        }
    }

    #[inline(always)]
    fn along(self, x: &[f32], to: &mut [f32]) {
        let (pairs, last) = x.as_chunks::<2>();
        for (to, [first, second]) in to.iter_mut().zip(pairs) {
            *to = pair(*first, *second);
        }
        if let ([last], Some(to)) = (last, to.last_mut()) {
            *to = pair(*last, 0.0);
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use in_one::in_one;

/// The instruction of AVX-512 BF16.
#[cfg(target_arch = "x86_64")]
mod in_one {
    use super::{Pairing, Rounding};
    use std::arch::x86_64::{
        __m512, __m512bh, __m512i, __mmask16, _mm512_cvtne2ps_pbh, _mm512_loadu_si512,
        _mm512_mask_storeu_epi32, _mm512_maskz_loadu_ps, _mm512_permutexvar_epi16,
        _mm512_rol_epi32,
    };
    use std::mem::transmute;

    /// Numbers of a vector.
    const LANES: usize = 16;

    /// Indices that interleave two vectors, each number of the lower one before that of the upper one.
    const BY_TURNS: [u16; 2 * LANES] = {
        let mut turns = [0; 2 * LANES];
        let mut at = 0;
        while at < LANES {
            turns[2 * at] = at as u16;
            turns[2 * at + 1] = (LANES + at) as u16;
            at += 1;
        }
        turns
    };

    #[derive(Debug, Clone, Copy)]
    struct InOne(());

    /// The mask of the first `left` lanes, or of all.
    #[inline(always)]
    fn lanes(left: usize) -> __mmask16 {
        match left {
            0..LANES => (1 << left) - 1,
            _ => __mmask16::MAX,
        }
    }

    /// The numbers of `values` from `at` on, zeros after the last.
    ///
    /// # Safety
    /// The processor has AVX-512.
    #[inline(always)]
    unsafe fn load(values: &[f32], at: usize) -> __m512 {
        let left = values.len().saturating_sub(at);
        // SAFETY: the lanes beyond the end are masked.
        unsafe { _mm512_maskz_loadu_ps(lanes(left), values.as_ptr().wrapping_add(at)) }
    }

    /// Writes `pairs` to `to` from `at` on, up to the end of `to`.
    ///
    /// # Safety
    /// The processor has AVX-512.
    #[inline(always)]
    unsafe fn store(to: &mut [f32], at: usize, pairs: __m512i) {
        let mask = lanes(to.len() - at);
        // SAFETY: the lanes beyond the end are masked.
        unsafe { _mm512_mask_storeu_epi32(to.as_mut_ptr().add(at).cast(), mask, pairs) }
    }

    impl Rounding for InOne {
        #[inline(always)]
        fn beside(self, first: &[f32], second: Option<&[f32]>, to: &mut [f32]) {
            let second = second.unwrap_or_default();
            // SAFETY: only `in_one` makes this type, if the processor has the instructions.
            unsafe {
                let by_turns = _mm512_loadu_si512(BY_TURNS.as_ptr().cast());
                for at in (0..to.len()).step_by(LANES) {
                    let halves = _mm512_cvtne2ps_pbh(load(first, at), load(second, at));
                    let halves: __m512i = transmute(halves);
                    store(to, at, _mm512_permutexvar_epi16(by_turns, halves));
                }
            }
        }

        #[inline(always)]
        fn along(self, x: &[f32], to: &mut [f32]) {
            // SAFETY: as above.
            unsafe {
                for at in (0..to.len()).step_by(LANES) {
                    let halves = _mm512_cvtne2ps_pbh(load(x, 2 * at + LANES), load(x, 2 * at));
                    store(
                        to,
                        at,
                        _mm512_rol_epi32::<16>(transmute::<__m512bh, __m512i>(halves)),
                    );
                }
            }
        }
    }

    /// Writes pairs by that instruction.
    ///
    /// # Safety
    /// The processor has AVX-512 BF16.
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    pub(in crate::kernels) unsafe fn in_one(pairs: impl Pairing) {
        pairs.write(InOne(()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Instructions;
    use crate::kernels::test_numbers::numbers;

    #[test]
    fn numbers_are_rounded_to_the_nearest_of_eight_digits() {
        let ulp = 2f32.powi(-7);
        for (value, want) in [
            (0.0, 0.0),
            (-0.0, -0.0),
            (1.0, 1.0),
            (1.0 + ulp, 1.0 + ulp),
            (1.0 + ulp / 2.0, 1.0),
            (1.0 + 1.5 * ulp, 1.0 + 2.0 * ulp),
            (-1.0 - 0.51 * ulp, -1.0 - ulp),
            (f32::MIN_POSITIVE, f32::MIN_POSITIVE),
            (-f32::MIN_POSITIVE / 2.0, -0.0),
            (f32::MAX, f32::INFINITY),
            (f32::NEG_INFINITY, f32::NEG_INFINITY),
        ] {
            let found = to_bf16(value);
            assert_eq!(found.to_bits(), want.to_bits(), "{value:e}: {found:e}");
        }
        assert!(to_bf16(f32::NAN).is_nan());
        assert!(to_bf16(f32::from_bits(0x7FFF_FFFF)).is_nan());
        for value in numbers(1000, 3) {
            assert!((to_bf16(value) - value).abs() <= value.abs() * 2f32.powi(-8));
        }
    }

    #[test]
    fn the_instruction_rounds_as_the_steps_do() {
        let mut bits = 0x9E37_79B9u32;
        let mut any = || {
            bits ^= bits << 13;
            bits ^= bits >> 17;
            bits ^= bits << 5;
            f32::from_bits(bits)
        };
        let x: Vec<f32> = (0..20_000).map(|_| any()).collect();
        let small = x.iter().map(|x| f32::from_bits(x.to_bits() & 0x80FF_FFFF));
        let x: Vec<f32> = x.iter().copied().chain(small).collect();
        let pairs = |set: Instructions| {
            let mut to = vec![0.0; x.len() / 2];
            set.pair(PairColumns {
                x: &x,
                stride: x.len(),
                columns: x.len(),
                to: &mut to,
            });
            to.iter().map(|pair| pair.to_bits()).collect::<Vec<u32>>()
        };
        for set in Instructions::available() {
            assert!(pairs(set) == pairs("portable".parse().unwrap()), "{set}");
        }
    }

    fn halves(pairs: &[f32]) -> Vec<(f32, f32)> {
        let half = |pair: &f32| {
            let bits = pair.to_bits();
            (
                f32::from_bits(bits & 0xFFFF_0000),
                f32::from_bits(bits << 16),
            )
        };
        pairs.iter().map(half).collect()
    }

    #[test]
    fn pairs_hold_each_number_once_on_odd_sizes() {
        for (rows, columns, stride) in [(1, 1, 1), (4, 6, 6), (5, 7, 9), (20, 33, 40), (3, 64, 64)]
        {
            let x = numbers((rows - 1) * stride + columns, 1);
            let at = |row: usize, column: usize| match row < rows && column < columns {
                true => to_bf16(x[row * stride + column]),
                false => 0.0,
            };
            for set in Instructions::every() {
                let half = columns.div_ceil(2);
                let mut to = vec![f32::NAN; rows * half];
                set.pair(PairColumns {
                    x: &x,
                    stride,
                    columns,
                    to: &mut to,
                });
                for (place, found) in halves(&to).into_iter().enumerate() {
                    let (row, k) = (place / half, place % half);
                    assert_eq!(found, (at(row, 2 * k), at(row, 2 * k + 1)), "{set}");
                }
                let mut to = vec![f32::NAN; rows.div_ceil(2) * columns];
                set.pair(PairRows {
                    x: &x,
                    stride,
                    rows,
                    columns,
                    to: &mut to,
                });
                for (place, found) in halves(&to).into_iter().enumerate() {
                    let (i, k) = (place / columns, place % columns);
                    assert_eq!(found, (at(2 * i, k), at(2 * i + 1, k)), "{set}");
                }
                let mut to = vec![f32::NAN; x.len()];
                set.pair(PairAhead {
                    x: &x,
                    apart: stride,
                    to: &mut to,
                });
                for (place, found) in halves(&to).into_iter().enumerate() {
                    let ahead = x.get(place + stride).map_or(0.0, |x| to_bf16(*x));
                    assert_eq!(found, (to_bf16(x[place]), ahead), "{set}");
                }
            }
        }
    }
}
