//! The exponential function in plain arithmetic, so that loops over it vectorise.

/// `e^x` to about 2 units in the last place; 0 for `x` below −87.3, and constant and finite for `x` above 88.
///
/// # Source
/// Cephes `expf` (Moshier): argument reduction by ln 2 in two parts and a polynomial of degree 5. The libm of the
/// platform differs between platforms and does not vectorise.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.33, 88.0);
    // Adding 1.5 · 2^23 rounds to the nearest integer and leaves it in the low bits.
    let shifted = x * std::f32::consts::LOG2_E + 12_582_912.0;
    let exponent = (shifted.to_bits() as i32).wrapping_sub(0x4B40_0000);
    let n = shifted - 12_582_912.0;
    let r = x - n * LN2_HIGH - n * LN2_LOW;
    let mut p = 1.987_569_1e-4f32;
    p = p * r + 1.398_199_9e-3;
    p = p * r + 8.333_452e-3;
    p = p * r + 4.166_579_6e-2;
    p = p * r + 1.666_666_5e-1;
    p = p * r + 0.5;
    let value = p * r * r + r + 1.0;
    value * f32::from_bits(((exponent + 127) << 23) as u32)
}

#[cfg(test)]
mod tests {
    use super::exp;

    #[test]
    fn exp_is_close_to_the_library() {
        for i in -8700..8800 {
            let x = i as f32 / 100.0;
            let want = f64::from(x).exp();
            // Two units in the last place of f32.
            assert!((f64::from(exp(x)) - want).abs() <= 2.4e-7 * want, "{x}");
        }
        assert!(exp(f32::NEG_INFINITY) < 1e-37);
        assert!(exp(f32::NAN).is_nan());
    }
}
