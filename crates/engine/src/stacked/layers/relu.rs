//! ReLU: negative outputs become zero.

use cubecl::prelude::*;

/// The bits of −0; negative numbers have larger ones.
const ZERO: u32 = 0x8000_0000;

/// The bits of −∞; NaNs with the sign bit have larger ones.
const INFINITY: u32 = 0xff80_0000;

/// `value`, or zero if it is negative; NaN stays NaN. Bits are compared, because drivers may compile `value < 0` to a
/// maximum, which turns NaN into zero (NVIDIA's does).
#[cube]
fn not_negative(value: f32) -> f32 {
    let bits = u32::reinterpret(value);
    select(bits > ZERO && bits <= INFINITY, 0.0f32, value)
}

/// `values`; with `relu`, negative ones become zero.
#[cube]
pub(crate) fn rectified<N: Size>(values: Vector<f32, N>, #[comptime] relu: bool) -> Vector<f32, N> {
    let mut rectified = values;
    if comptime!(relu) {
        #[unroll]
        for n in 0..N::value() {
            rectified.insert(n, not_negative(values.extract(n)));
        }
    }
    rectified
}

/// As [`rectified`], for one value.
#[cube]
pub(crate) fn rectified_one(value: f32, #[comptime] relu: bool) -> f32 {
    let mut rectified = value;
    if comptime!(relu) {
        rectified = not_negative(value);
    }
    rectified
}
