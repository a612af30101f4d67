//! When sending fewer bits saves traffic.

use crate::bound_error::{BoundError, at_least_one, finite, not_negative, positive, require};
use crate::mixing_time::check_walk_lambda;

/// Bits of a parameter that is not quantised.
pub const FULL_BITS: u32 = 32;

/// Bits for the norm and the interval that go with each quantised message, 32 each.
pub const MESSAGE_OVERHEAD_BITS: u64 = 64;

/// The quantisation interval `s = 1 / (2^{b−1} − 1)` of b bits, one of which is the sign's.
///
/// # Source
/// DFedRW (Wang et al.), (12): the levels are `0, s, …, (2^{b−1} − 1)s`.
///
/// # Interpretation
/// The greatest level has to be 1, since `|w^ν| / ‖w‖` can be; that fixes s.
///
/// # Errors
/// [`BoundError`] unless `2 ≤ b ≤ 32`: a single bit has no level but zero.
pub fn quantisation_interval(bits: u32) -> Result<f64, BoundError> {
    let holds = (2..=FULL_BITS).contains(&bits);
    require("the bits b", f64::from(bits), holds, "must be from 2 to 32")?;
    Ok(1.0 / ((1_u64 << (bits - 1)) - 1) as f64)
}

/// Bound on the variance of the quantised model, `E‖Q(w) − w‖² ≤ σ²ds²/4`.
///
/// `norm` is σ, the bound on `‖w‖`; `parameters` is d, `interval` is s.
///
/// # Source
/// DFedRW (Wang et al.), Lemma 3.
///
/// # Errors
/// [`BoundError`] if σ or s is negative or not finite, or there is no parameter.
pub fn quantisation_variance(norm: f64, parameters: u64, interval: f64) -> Result<f64, BoundError> {
    not_negative("the norm bound sigma", norm)?;
    at_least_one("the number of parameters d", parameters)?;
    not_negative("the interval s", interval)?;
    let variance = norm * norm * parameters as f64 * interval * interval / 4.0;
    finite("the variance of quantisation", variance)
}

/// Bits of a quantised message of d parameters, `64 + bd`.
///
/// # Source
/// DFedRW (Wang et al.), Section IV-B, end.
#[must_use]
pub fn quantised_message_bits(bits: u32, parameters: u64) -> u128 {
    u128::from(MESSAGE_OVERHEAD_BITS) + u128::from(bits) * u128::from(parameters)
}

/// Bits of a message of d parameters that is not quantised, `32d`.
///
/// # Source
/// DFedRW (Wang et al.), Section IV-B, end.
#[must_use]
pub fn full_message_bits(parameters: u64) -> u128 {
    u128::from(FULL_BITS) * u128::from(parameters)
}

/// How many rounds a method needs for the same error, quantised and not; `ϱ = quantised / full`.
///
/// # Source
/// DFedRW (Wang et al.), Proposition 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundsToError {
    /// T_q.
    pub quantised: u64,
    /// T_nq.
    pub full: u64,
}

impl RoundsToError {
    /// Whether b bits cost less in all: `(64 + bd) T_q < 32d T_nq`, in whole bits.
    ///
    /// # Source
    /// DFedRW (Wang et al.), Proposition 1: `b < 32/ϱ − 64/d`.
    ///
    /// # Interpretation
    /// The printed inequality is `64 + bd < 32d/ϱ` divided by d, and that multiplied by T_nq is this one, without a
    /// rounding that could decide a tie. The proposition supposes `ϱ > 1`; for ϱ up to 1 the comparison holds as well.
    #[must_use]
    pub fn quantising_saves(&self, bits: u32, parameters: u64) -> bool {
        let quantised = quantised_message_bits(bits, parameters);
        let full = full_message_bits(parameters);
        match quantised.checked_mul(u128::from(self.quantised)) {
            Some(cost) => cost < full.saturating_mul(u128::from(self.full)),
            None => false,
        }
    }

    /// The most bits, up to 32, with which quantising costs less in all; none if not even 2 bits do.
    ///
    /// # Source
    /// DFedRW (Wang et al.), Proposition 1.
    #[must_use]
    pub fn most_saving_bits(&self, parameters: u64) -> Option<u32> {
        (2..=FULL_BITS)
            .rev()
            .find(|&bits| self.quantising_saves(bits, parameters))
    }
}

/// `32/ϱ − 64/d`, below which b bits cost less in all; may be negative, and then none do.
///
/// # Source
/// DFedRW (Wang et al.), Proposition 1. [`RoundsToError::quantising_saves`] decides ties exactly.
///
/// # Errors
/// [`BoundError`] if ϱ is not positive or there is no parameter.
pub fn saving_bits_limit(round_ratio: f64, parameters: u64) -> Result<f64, BoundError> {
    positive("rho = T_q / T_nq", round_ratio)?;
    at_least_one("the number of parameters d", parameters)?;
    let overhead = MESSAGE_OVERHEAD_BITS as f64 / parameters as f64;
    finite(
        "the limit of bits",
        f64::from(FULL_BITS) / round_ratio - overhead,
    )
}

/// What the error threshold of the proposition depends on.
///
/// # Source
/// DFedRW (Wang et al.), Proposition 1, (17).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantised {
    /// n, the number of devices.
    pub devices: u64,
    /// D, the bound on gradients (Corollary 1).
    pub gradient_norm: f64,
    /// σ, the bound on the norm of what is quantised (Lemma 3).
    pub norm: f64,
    /// d, the number of parameters.
    pub parameters: u64,
    /// s, the interval, see [`quantisation_interval`].
    pub interval: f64,
    /// `λ_P = (λ + 1)/2` of the walk.
    pub walk_lambda: f64,
}

impl Quantised {
    /// The error above which the proposition speaks, `(1+n) D σ √d s / √ln(1/λ_P)`.
    ///
    /// # Source
    /// DFedRW (Wang et al.), Proposition 1, (17).
    ///
    /// # Errors
    /// [`BoundError`] if there is no device or parameter, a norm or s is negative, or λ_P is not in `[1/2, 1)`.
    pub fn error_threshold(&self) -> Result<f64, BoundError> {
        at_least_one("the number of devices n", self.devices)?;
        not_negative("the gradient norm D", self.gradient_norm)?;
        not_negative("the norm bound sigma", self.norm)?;
        at_least_one("the number of parameters d", self.parameters)?;
        not_negative("the interval s", self.interval)?;
        check_walk_lambda(self.walk_lambda)?;
        let noise = self.norm * (self.parameters as f64).sqrt() * self.interval;
        let speed = (1.0 / self.walk_lambda).ln().sqrt();
        let threshold = (1.0 + self.devices as f64) * self.gradient_norm * noise / speed;
        finite("the error threshold (17)", threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUANTISED: Quantised = Quantised {
        devices: 19,
        gradient_norm: 0.5,
        norm: 2.0,
        parameters: 10_000,
        interval: 0.25,
        walk_lambda: 0.75,
    };

    #[test]
    fn the_intervals_levels_end_at_one() {
        for bits in 2..=32 {
            let levels = 2.0_f64.powi(bits - 1) - 1.0;
            assert!((quantisation_interval(bits as u32).unwrap() * levels - 1.0).abs() < 1e-15);
        }
        assert_eq!(quantisation_interval(2).unwrap(), 1.0);
        assert_eq!(quantisation_interval(8).unwrap(), 1.0 / 127.0);
        assert_eq!(
            quantisation_interval(1).unwrap_err().to_string(),
            "the bits b is 1, but must be from 2 to 32"
        );
        assert_eq!(
            quantisation_interval(33).unwrap_err().to_string(),
            "the bits b is 33, but must be from 2 to 32"
        );
    }

    #[test]
    fn rounding_between_two_levels_stays_below_the_variance_bound() {
        // A parameter at share f between levels s‖w‖ apart has variance f(1−f)(s‖w‖)², at most a quarter.
        let (norm, parameters, interval) = (3.0, 50, 0.1);
        let bound = quantisation_variance(norm, parameters, interval).unwrap();
        for step in 0..=100 {
            let share = f64::from(step) / 100.0;
            let variance = 50.0 * share * (1.0 - share) * (interval * norm).powi(2);
            assert!(variance <= bound * (1.0 + 1e-12));
        }
        assert!((bound - 50.0 * 0.25 * 0.09).abs() < 1e-14);
        assert_eq!(quantisation_variance(norm, parameters, 0.0).unwrap(), 0.0);
    }

    #[test]
    fn the_whole_bit_condition_is_the_printed_one_away_from_ties() {
        for parameters in [1, 3, 64, 1000, 199_210] {
            for (quantised, full) in [(3, 2), (100, 99), (7, 1), (130, 100)] {
                let rounds = RoundsToError { quantised, full };
                let limit = saving_bits_limit(quantised as f64 / full as f64, parameters).unwrap();
                for bits in 1..=32 {
                    if (f64::from(bits) - limit).abs() > 1e-9 {
                        let printed = f64::from(bits) < limit;
                        assert_eq!(rounds.quantising_saves(bits, parameters), printed);
                    }
                }
            }
        }
    }

    #[test]
    fn a_tie_saves_nothing() {
        // d = 64, T_q = 2, T_nq = 1: 2(64 + 64b) against 2048, equal at b = 15.
        let rounds = RoundsToError {
            quantised: 2,
            full: 1,
        };
        assert!(!rounds.quantising_saves(15, 64));
        assert_eq!(rounds.most_saving_bits(64), Some(14));
        assert_eq!(saving_bits_limit(2.0, 64).unwrap(), 15.0);
    }

    #[test]
    fn a_ratio_that_no_double_holds_is_decided_exactly() {
        // ϱ = 3 and d = 192: 3(64 + 192b) < 6144 ends at b = 10.33; with d = 96 the tie is at b = 10.
        let rounds = RoundsToError {
            quantised: 3,
            full: 1,
        };
        assert!(rounds.quantising_saves(10, 192) && !rounds.quantising_saves(10, 96));
    }

    #[test]
    fn small_models_and_slow_convergence_leave_no_bits() {
        let rounds = |quantised| RoundsToError { quantised, full: 1 };
        assert_eq!(rounds(1).most_saving_bits(2), None);
        assert_eq!(rounds(1).most_saving_bits(1_000_000), Some(31));
        assert_eq!(rounds(16).most_saving_bits(1_000_000), None);
        assert!(!rounds(u64::MAX).quantising_saves(u32::MAX, u64::MAX));
        assert!(saving_bits_limit(16.0, 1_000_000).unwrap() < 2.0);
    }

    #[test]
    fn a_message_has_its_printed_bits() {
        assert_eq!(quantised_message_bits(8, 199_210), 64 + 1_593_680);
        assert_eq!(full_message_bits(199_210), 6_374_720);
    }

    #[test]
    fn the_threshold_has_its_hand_evaluated_value() {
        // 20·0.5·2·100·0.25 = 500 over √ln(4/3) = √0.28768207245178085.
        let threshold = QUANTISED.error_threshold().unwrap();
        assert!((threshold - 500.0 / 0.287_682_072_451_780_85_f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn the_threshold_vanishes_with_the_interval_and_grows_with_slow_mixing() {
        let threshold = |quantised: Quantised| quantised.error_threshold().unwrap();
        assert_eq!(
            threshold(Quantised {
                interval: 0.0,
                ..QUANTISED
            }),
            0.0
        );
        let slow = Quantised {
            walk_lambda: 0.9,
            ..QUANTISED
        };
        assert!(threshold(slow) > threshold(QUANTISED));
        let connected = Quantised {
            walk_lambda: 1.0,
            ..QUANTISED
        };
        assert_eq!(
            connected.error_threshold().unwrap_err().to_string(),
            "lambda_P is 1, but must be at least 1/2 and below 1: it is (lambda + 1)/2 of a connected overlay"
        );
    }
}
