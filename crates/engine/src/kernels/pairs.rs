//! Numbers in bfloat16, two to a float's place: the operands of products that [`Multiply`](super::multiply::Multiply) takes in pairs.
//!
//! A pair is the bits of two numbers, the first in the upper half. Pairs lie along the index that a product sums over; where its
//! count is odd, the last number goes with a zero.

/// `value` in bfloat16, in the upper half: rounded to the nearest number of eight digits, to the even one of two; NaN stays NaN, and
/// what is below 2^-126 becomes zero.
#[inline(always)]
fn rounded(value: f32) -> u32 {
    const EXPONENT: u32 = 0x7F80_0000;
    let bits = value.to_bits();
    let even = (bits >> 16) & 1;
    let number = bits.wrapping_add(0x7FFF + even);
    let number = if bits & EXPONENT == 0 {
        bits & 0x8000_0000
    } else {
        number
    };
    let infinite = bits & 0x7FFF_FFFF > EXPONENT;
    (if infinite { 0x7FC0_0000 } else { number }) & 0xFFFF_0000
}

/// `value` rounded to bfloat16.
#[inline(always)]
pub(crate) fn to_bf16(value: f32) -> f32 {
    f32::from_bits(rounded(value))
}

#[inline(always)]
fn pair(first: f32, second: f32) -> f32 {
    f32::from_bits(rounded(first) | rounded(second) >> 16)
}

/// Pairs along the columns of `x` `[rows, columns]`, whose rows are `stride` apart: `[rows, ⌈columns / 2⌉]`.
#[inline(always)]
pub(crate) fn pair_columns(x: &[f32], stride: usize, columns: usize, to: &mut [f32]) {
    if columns == 0 {
        return;
    }
    for (row, to) in to.chunks_exact_mut(columns.div_ceil(2)).enumerate() {
        let x = &x[row * stride..][..columns];
        let (two, rest) = x.as_chunks::<2>();
        for (to, [first, second]) in to.iter_mut().zip(two) {
            *to = pair(*first, *second);
        }
        if let ([last], Some(to)) = (rest, to.last_mut()) {
            *to = pair(*last, 0.0);
        }
    }
}

/// Pairs along the rows of `x` `[rows, columns]`, which are `stride` apart: `[⌈rows / 2⌉, columns]`.
#[inline(always)]
pub(crate) fn pair_rows(x: &[f32], stride: usize, rows: usize, columns: usize, to: &mut [f32]) {
    if columns == 0 {
        return;
    }
    let row = |row: usize| &x[row * stride..][..columns];
    for (at, to) in to.chunks_exact_mut(columns).enumerate() {
        let first = row(2 * at);
        if 2 * at + 1 < rows {
            for ((to, first), second) in to.iter_mut().zip(first).zip(row(2 * at + 1)) {
                *to = pair(*first, *second);
            }
        } else {
            for (to, first) in to.iter_mut().zip(first) {
                *to = pair(*first, 0.0);
            }
        }
    }
}

/// Each number of `x` with the one that lies `apart` after it, as far as there is one.
#[inline(always)]
pub(crate) fn pair_ahead(x: &[f32], apart: usize, to: &mut [f32]) {
    let both = x.len().saturating_sub(apart);
    let (pairs, rest) = to.split_at_mut(both);
    for ((to, first), second) in pairs.iter_mut().zip(x).zip(&x[x.len() - both..]) {
        *to = pair(*first, *second);
    }
    for (to, first) in rest.iter_mut().zip(&x[both..]) {
        *to = pair(*first, 0.0);
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
                set.vectorize(|| pair_columns(&x, stride, columns, &mut to));
                for (place, found) in halves(&to).into_iter().enumerate() {
                    let (row, k) = (place / half, place % half);
                    assert_eq!(found, (at(row, 2 * k), at(row, 2 * k + 1)), "{set}");
                }
                let mut to = vec![f32::NAN; rows.div_ceil(2) * columns];
                set.vectorize(|| pair_rows(&x, stride, rows, columns, &mut to));
                for (place, found) in halves(&to).into_iter().enumerate() {
                    let (i, k) = (place / columns, place % columns);
                    assert_eq!(found, (at(2 * i, k), at(2 * i + 1, k)), "{set}");
                }
                let mut to = vec![f32::NAN; x.len()];
                set.vectorize(|| pair_ahead(&x, stride, &mut to));
                for (place, found) in halves(&to).into_iter().enumerate() {
                    let ahead = x.get(place + stride).map_or(0.0, |x| to_bf16(*x));
                    assert_eq!(found, (to_bf16(x[place]), ahead), "{set}");
                }
            }
        }
    }
}
