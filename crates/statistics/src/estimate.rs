//! A mean and how well it is known.

use crate::student::{LEVEL, two_sided_quantile};

/// The mean of some independent numbers, how they spread, and where the mean of all that could be drawn lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// How many numbers there are, at least 1.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation estimated from the sample, `sqrt(Σ (x − mean)²/(n − 1))`; absent for one number.
    pub sd: Option<f64>,
    /// The 95 % interval of the mean by Student's t, `mean ± t · sd/√n`; absent for one number.
    ///
    /// It holds for numbers from a normal distribution, and nearly so for the means of many.
    pub interval: Option<Interval>,
}

/// What is written behind ± beside a mean, and drawn around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// Half of the 95 % interval of the mean.
    #[default]
    Interval,
    /// The standard deviation.
    Deviation,
    /// The standard error of the mean, `sd/√n`.
    Error,
}

/// The numbers from `low` to `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Half the width.
    pub fn half_width(self) -> f64 {
        0.5 * (self.high - self.low)
    }
}

impl Estimate {
    /// The estimate from `values`; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        let sd = (n > 1).then(|| {
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            (squares / (n - 1) as f64).sqrt()
        });
        let interval = sd.map(|sd| {
            let half = two_sided_quantile(LEVEL, n - 1) * sd / (n as f64).sqrt();
            Interval {
                low: mean - half,
                high: mean + half,
            }
        });
        Some(Self {
            n,
            mean,
            sd,
            interval,
        })
    }
}

impl Estimate {
    /// The interval around the mean that `spread` says; absent for one number.
    pub fn around(&self, spread: Spread) -> Option<Interval> {
        let half = match spread {
            Spread::Interval => return self.interval,
            Spread::Deviation => self.sd?,
            Spread::Error => self.sd? / (self.n as f64).sqrt(),
        };
        Some(Interval {
            low: self.mean - half,
            high: self.mean + half,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_the_deviation_the_error_or_the_interval() {
        let found = Estimate::of(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        let half = |spread| found.around(spread).unwrap().half_width();
        assert!((half(Spread::Deviation) - (5.0f64 / 3.0).sqrt()).abs() < 1e-15);
        assert!((half(Spread::Error) - (5.0f64 / 12.0).sqrt()).abs() < 1e-15);
        assert_eq!(found.around(Spread::Interval), found.interval);
        let single = Estimate::of(&[1.0]).unwrap();
        assert_eq!(single.around(Spread::Deviation), None);
    }

    /// `x.mean()`, `x.std(ddof=1)` and `scipy.stats.t.interval(0.95, len(x) - 1, loc=x.mean(), scale=scipy.stats.sem(x))`.
    #[test]
    fn an_estimate_is_that_of_scipy() {
        let found = Estimate::of(&[0.912, 0.905, 0.931, 0.897, 0.918]).unwrap();
        let interval = found.interval.unwrap();
        assert_eq!(found.n, 5);
        let pairs = [
            (found.mean, 0.9126000000000001),
            (found.sd.unwrap(), 0.01293445012360403),
            (interval.low, 0.8965397589449587),
            (interval.high, 0.9286602410550414),
            (interval.half_width(), 0.0160602410550414),
        ];
        for (found, expected) in pairs {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn one_number_has_no_spread_and_none_has_no_mean() {
        let one = Estimate::of(&[0.5]).unwrap();
        assert_eq!(
            (one.n, one.mean, one.sd, one.interval),
            (1, 0.5, None, None)
        );
        assert_eq!(Estimate::of(&[]), None);
    }

    #[test]
    fn equal_numbers_have_an_interval_of_no_width() {
        let equal = Estimate::of(&[0.25; 4]).unwrap();
        assert_eq!(equal.sd, Some(0.0));
        assert_eq!(equal.interval.map(Interval::half_width), Some(0.0));
    }
}
