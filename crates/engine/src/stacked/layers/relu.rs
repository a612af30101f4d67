//! ReLU: negative outputs become zero.

use cubecl::prelude::*;

/// `values`, or with `relu` zero in place of those below it.
#[cube]
pub(crate) fn rectified<N: Size>(values: Vector<f32, N>, #[comptime] relu: bool) -> Vector<f32, N> {
    let mut rectified = values;
    if comptime!(relu) {
        #[unroll]
        for n in 0..N::value() {
            // Written so that what is not a number stays so.
            let value = values.extract(n);
            rectified.insert(n, select(value < 0.0f32, 0.0f32, value));
        }
    }
    rectified
}

/// As [`rectified`], for one value.
#[cube]
pub(crate) fn rectified_one(value: f32, #[comptime] relu: bool) -> f32 {
    let mut rectified = value;
    if comptime!(relu) {
        rectified = select(value < 0.0f32, 0.0f32, value);
    }
    rectified
}
