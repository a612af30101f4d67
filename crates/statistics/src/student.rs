//! Student's t distribution.

use statrs::function::beta::{beta_reg, inv_beta_reg};

/// The confidence level of every interval here.
pub const LEVEL: f64 = 0.95;

/// The `t` with `P(|T| ≤ t) = level`, for `T` of `freedom` degrees of freedom.
///
/// # Panics
/// If `freedom` is 0, or `level` does not lie between 0 and 1.
pub fn two_sided_quantile(level: f64, freedom: usize) -> f64 {
    assert!(freedom > 0, "t needs a degree of freedom");
    assert!(level > 0.0 && level < 1.0, "a level lies between 0 and 1");
    let freedom = freedom as f64;
    // ν/(ν + T²) is Beta(ν/2, 1/2).
    let share = inv_beta_reg(0.5 * freedom, 0.5, 1.0 - level);
    (freedom * (1.0 - share) / share).sqrt()
}

/// `P(|T| ≥ |t|)` for `T` of `freedom` degrees of freedom.
///
/// # Panics
/// If `freedom` is 0, or `t` is no number.
pub fn two_sided_p_value(t: f64, freedom: usize) -> f64 {
    assert!(freedom > 0, "t needs a degree of freedom");
    assert!(!t.is_nan(), "t must be a number");
    let freedom = freedom as f64;
    beta_reg(0.5 * freedom, 0.5, freedom / (freedom + t * t))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `[scipy.stats.t.ppf(p, df) for p in (0.975, 0.995)]`.
    #[test]
    fn quantiles_are_those_of_scipy() {
        let reference = [
            (1, 12.706204736174694, 63.656741162871526),
            (2, 4.302652729749462, 9.924843200918287),
            (3, 3.1824463052837078, 5.840909309733355),
            (4, 2.7764451051977934, 4.604094871349992),
            (9, 2.262157162798205, 3.249835541592126),
            (29, 2.045229642132703, 2.756385903670605),
            (199, 1.9719565442517533, 2.600760216058516),
        ];
        for (freedom, at_95, at_99) in reference {
            for (level, expected) in [(0.95, at_95), (0.99, at_99)] {
                let found = two_sided_quantile(level, freedom);
                let error = (found / expected - 1.0).abs();
                assert!(error < 1e-9, "{freedom} {level}: {found} {expected}");
            }
        }
    }

    /// `2 * scipy.stats.t.sf(t, df)`.
    #[test]
    fn p_values_are_those_of_scipy() {
        let reference = [
            (0.0, 3, 1.0),
            (0.5, 1, 0.7048327646991335),
            (2.0, 4, 0.11611652351681556),
            (12.7, 2, 0.006142941599595777),
            (40.0, 9, 1.8982998449339822e-11),
        ];
        for (t, freedom, expected) in reference {
            for t in [t, -t] {
                let found = two_sided_p_value(t, freedom);
                assert!(
                    (found / expected - 1.0).abs() < 1e-10,
                    "{t} {freedom}: {found} {expected}"
                );
            }
        }
    }
}
