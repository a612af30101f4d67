//! Functions of single numbers in plain arithmetic, so that loops over them vectorise.

use super::exp::exp;

/// `1 / (1 + e^−x)`.
#[inline(always)]
pub(crate) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// `tanh x` to about 2e-7.
#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    1.0 - 2.0 / (exp(2.0 * x) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_close_to_the_library_and_stay_in_range() {
        for i in -2000..2000 {
            let x = i as f32 / 50.0;
            let wide = f64::from(x);
            // Two units in the last place of 1.
            assert!((f64::from(tanh(x)) - wide.tanh()).abs() < 2.4e-7, "{x}");
            let logistic = 1.0 / (1.0 + (-wide).exp());
            assert!((f64::from(sigmoid(x)) - logistic).abs() < 2.4e-7, "{x}");
        }
        assert_eq!((tanh(1e30), tanh(-1e30)), (1.0, -1.0));
        assert_eq!(sigmoid(f32::NEG_INFINITY).max(1e-37), 1e-37);
        assert!(tanh(f32::NAN).is_nan() && sigmoid(f32::NAN).is_nan());
    }
}
