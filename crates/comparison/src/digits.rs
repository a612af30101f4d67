//! How many digits of a figure a table shows.

use meshfold_experiment::results::FigureKind;
use meshfold_figure::bytes_unit;
use meshfold_statistics::{Estimate, Quantile, Quartiles, Spread};

use crate::centre::Centre;
use crate::fields::ABSENT;

/// The share of a mean below which its interval is rounding.
const ROUNDING: f64 = 1e-12;

/// A number that needs more decimals than these to show anything is written with an exponent.
const MOST_DECIMALS: usize = 6;

/// How a figure is written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Digits {
    /// A share in per cent, with two decimals.
    Percent,
    /// Four significant digits.
    Four,
    /// One decimal.
    Tenths,
    /// Four significant digits of so many.
    Divided(f64),
}

impl Digits {
    /// Those of the figure called `metric`.
    pub(crate) fn of(metric: &str) -> Self {
        match FigureKind::of(metric) == FigureKind::Share {
            true => Self::Percent,
            false => Self::Four,
        }
    }

    /// Those of the figure called `metric` with such means or medians, and the unit that they are of if it is not the figure's own: bytes are in the unit
    /// that suits the largest of them.
    pub(crate) fn of_centres<'a>(
        metric: &str,
        centres: impl Iterator<Item = &'a Centre>,
    ) -> (Self, Option<&'static str>) {
        if FigureKind::of(metric) != FigureKind::Bytes {
            return (Self::of(metric), None);
        }
        let largest = centres.map(Centre::size).fold(0.0, f64::max);
        let (divisor, unit) = bytes_unit(largest);
        (Self::Divided(divisor), Some(unit))
    }

    /// `88.80 ± 1.20 %`, with what `spread` says, or `88.80 [87.50, 89.10] %`; for a single number this alone.
    pub(crate) fn centre(self, centre: Option<&Centre>, spread: Spread) -> String {
        match centre {
            None => ABSENT.to_owned(),
            Some(Centre::Mean(estimate)) => self.mean(Some(estimate), spread),
            Some(Centre::Median(quartiles)) => self.median(quartiles),
        }
    }

    /// `88.80 [87.50, 89.10] %`, with `> 100.0` for a quantile of which only this is known; the median alone where the quartiles would say
    /// the same.
    fn median(self, quartiles: &Quartiles) -> String {
        let number = |quantile: Quantile| match quantile {
            Quantile::Number(value) => self.number(value),
            Quantile::Over(value) => format!("> {}", self.number(value)),
        };
        let median = number(quartiles.median);
        let is_alone = quartiles.all == 1 || quartiles.low.number().is_none();
        let around = match is_alone {
            true => String::new(),
            false => format!(" [{}, {}]", number(quartiles.low), number(quartiles.high)),
        };
        format!("{median}{around}{}", self.unit())
    }

    /// `88.80 ± 1.20 %`, with what `spread` says; for a single number the mean alone.
    pub(crate) fn mean(self, estimate: Option<&Estimate>, spread: Spread) -> String {
        let Some(estimate) = estimate else {
            return ABSENT.to_owned();
        };
        let mean = self.number(estimate.mean);
        match estimate.around(spread) {
            Some(interval) => {
                // Values that are equal but for rounding have no interval to speak of.
                let is_noise = interval.half_width() < ROUNDING * estimate.mean.abs();
                let half = if is_noise { 0.0 } else { interval.half_width() };
                format!("{mean} ± {}{}", self.beside(half, &mean), self.unit())
            }
            None => format!("{mean}{}", self.unit()),
        }
    }

    /// `value` with the decimals of the number `mean`, or as many as show its first digit.
    fn beside(self, value: f64, mean: &str) -> String {
        let scaled = match self {
            Self::Percent | Self::Tenths => return self.number(value),
            Self::Four => value,
            Self::Divided(divisor) => value / divisor,
        };
        if scaled == 0.0 || mean.contains('e') {
            return four(scaled);
        }
        let of_mean = mean
            .split_once('.')
            .map_or(0, |(_, decimals)| decimals.len());
        let first = (-scaled.abs().log10().floor()).max(0.0) as usize;
        match first <= MOST_DECIMALS {
            true => format!("{scaled:.0$}", of_mean.max(first)),
            false => four(scaled),
        }
    }

    /// `88.80 %`.
    pub(crate) fn figure(self, value: f64) -> String {
        format!("{}{}", self.number(value), self.unit())
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Percent => " %",
            Self::Four | Self::Tenths | Self::Divided(_) => "",
        }
    }

    fn number(self, value: f64) -> String {
        match self {
            Self::Percent => format!("{:.2}", 100.0 * value),
            Self::Tenths => format!("{value:.1}"),
            Self::Four => four(value),
            Self::Divided(divisor) => four(value / divisor),
        }
    }
}

/// `value` with four significant digits.
fn four(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if (1e-3..1e6).contains(&size) => {
            let decimals = (3 - size.log10().floor() as i32).max(0) as usize;
            format!("{value:.decimals$}")
        }
        _ => format!("{value:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_digits_that_say_something() {
        let estimate = Estimate::of(&[0.5, 0.75]).unwrap();
        assert_eq!(Digits::Percent.figure(0.123_456), "12.35 %");
        assert!(
            Digits::Percent
                .mean(Some(&estimate), Spread::Interval)
                .starts_with("62.50 ± ")
        );
        assert_eq!(Digits::Percent.mean(None, Spread::Interval), "–");
        let equal = Estimate::of(&[0.1 + 0.2, 0.3]).unwrap();
        assert_eq!(
            Digits::Four.mean(Some(&equal), Spread::Interval),
            "0.3000 ± 0"
        );
        let mean = |digits: Digits, values: &[f64]| {
            digits.mean(Some(&Estimate::of(values).unwrap()), Spread::Interval)
        };
        assert_eq!(mean(Digits::Four, &[0.30, 0.31]), "0.3050 ± 0.0635");
        assert_eq!(mean(Digits::Four, &[150.0, 150.01]), "150.0 ± 0.06");
        assert_eq!(mean(Digits::Four, &[1.0, 1.0 + 1e-9]), "1.000 ± 6.353e-9");
        assert_eq!(mean(Digits::Four, &[1e7, 1.1e7]), "1.050e7 ± 6.353e6");
        assert_eq!(mean(Digits::Divided(1e6), &[1.5e8, 1.6e8]), "155.0 ± 63.5");
        assert_eq!(Digits::Tenths.figure(24.0), "24.0");
        assert_eq!(Digits::Four.figure(0.001_234_56), "0.001235");
        assert_eq!(Digits::Divided(1e6).figure(152_700_000.0), "152.7");
        assert_eq!(Digits::Four.figure(1.5e9), "1.500e9");
    }
}
