//! ReLU: negative outputs become zero.

use cubecl::prelude::*;

/// Bits of −0; those of negative numbers are more.
const ZERO: u32 = 0x8000_0000;

/// Bits of −∞; those of what is not a number are more.
const INFINITY: u32 = 0xff80_0000;

/// `value`, or zero if it is negative. What is not a number stays so: a driver that knows `value < 0` may take the larger of
/// both, which is zero then (NVIDIA's does), so that bits are compared.
#[cube]
fn not_negative(value: f32) -> f32 {
    let bits = u32::reinterpret(value);
    select(bits > ZERO && bits <= INFINITY, 0.0f32, value)
}

/// `values`, or with `relu` zero in place of those below it.
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
