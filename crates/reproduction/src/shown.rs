//! Values as a person reads them.

use meshfold_experiment::results::FigureKind;

/// The unit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A fraction, written in per cent.
    Share,
    /// Seconds.
    Seconds,
    /// A number without a unit.
    Number,
}

impl Unit {
    /// The unit of the figure `name`.
    pub(crate) fn of(name: &str) -> Self {
        match FigureKind::of(name) {
            FigureKind::Share => Self::Share,
            FigureKind::Seconds => Self::Seconds,
            FigureKind::Nats | FigureKind::Bytes | FigureKind::Number => Self::Number,
        }
    }

    /// `value` in the unit.
    pub(crate) fn shown(self, value: f64) -> String {
        match self {
            Self::Share => format!("{:.1} %", 100.0 * value),
            Self::Seconds => format!("{} s", digits(value)),
            Self::Number => digits(value),
        }
    }
}

/// Four significant digits.
fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor();
    let decimals = (3.0 - magnitude).clamp(0.0, 12.0) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_digits_that_count() {
        let numbers = [0.0, 10.4721, 1013.53, 0.29, 0.00123456, 9450.0, -2.5];
        assert_eq!(
            numbers.map(|value| Unit::Number.shown(value)),
            ["0", "10.47", "1014", "0.29", "0.001235", "9450", "-2.5"]
        );
        assert_eq!(Unit::of("test_accuracy.min").shown(0.982), "98.2 %");
        assert_eq!(Unit::of("simulated_seconds").shown(943.2), "943.2 s");
    }
}
