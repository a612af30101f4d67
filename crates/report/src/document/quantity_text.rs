//! Figures as a reader wants them: percentages, bytes, seconds, λ.

/// What stands for a figure that is not known.
const UNKNOWN: &str = "–";

/// A fraction in percent, one decimal: `73.7 %`.
pub(crate) fn percent(fraction: Option<f64>) -> String {
    fraction.map_or_else(
        || UNKNOWN.to_owned(),
        |fraction| format!("{:.1}\u{a0}%", 100.0 * fraction),
    )
}

/// Bytes in decimal units, three digits: `1.27 GB`.
pub(crate) fn bytes(bytes: Option<f64>) -> String {
    let Some(bytes) = bytes else {
        return UNKNOWN.to_owned();
    };
    let units = ["bytes", "kB", "MB", "GB", "TB", "PB"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let decimals = if unit == 0 {
        0
    } else {
        decimals_of_three_digits(value)
    };
    format!("{value:.decimals$}\u{a0}{}", units[unit])
}

/// Seconds: `0.42 s`, `12.3 s`, `4 min 10 s`, `2 h 05 min`.
pub(crate) fn seconds(seconds: Option<f64>) -> String {
    let Some(seconds) = seconds else {
        return UNKNOWN.to_owned();
    };
    let whole = seconds.round() as u64;
    match whole {
        0..=99 => format!(
            "{seconds:.*}\u{a0}s",
            decimals_of_three_digits(seconds).min(2)
        ),
        100..=5999 => format!("{}\u{a0}min {:02}\u{a0}s", whole / 60, whole % 60),
        _ => format!("{}\u{a0}h {:02}\u{a0}min", whole / 3600, whole % 3600 / 60),
    }
}

/// λ with as many decimals as tell it from one: `0`, `0.94`, `0.9987`.
pub(crate) fn lambda(lambda: f64) -> String {
    if lambda.abs() < 5e-4 {
        return "0".to_owned();
    }
    let gap = (1.0 - lambda).abs();
    let decimals = if gap > 0.0 && gap < 0.1 {
        (1.0 - gap.log10().floor()) as usize
    } else {
        3
    };
    format!("{lambda:.*}", decimals.min(9))
}

/// The range of λ over several overlays, one figure where they print alike.
pub(crate) fn lambda_range(of: Option<(f64, f64)>) -> String {
    range(of, lambda)
}

/// A range of figures that are written by `figure`, one where they print alike.
pub(crate) fn range<T>(range: Option<(T, T)>, figure: fn(T) -> String) -> String {
    match range.map(|(low, high)| (figure(low), figure(high))) {
        None => UNKNOWN.to_owned(),
        Some((low, high)) if low == high => low,
        Some((low, high)) => format!("{low} to {high}"),
    }
}

/// Three significant digits, or powers of ten where the value is very small.
pub(crate) fn figure(value: Option<f64>) -> String {
    match value {
        None => UNKNOWN.to_owned(),
        Some(0.0) => "0".to_owned(),
        Some(value) if value.abs() < 1e-3 => format!("{value:.1e}"),
        Some(value) => format!("{value:.*}", decimals_of_three_digits(value)),
    }
}

/// A count with its thousands apart: `499 500`.
pub(crate) fn count(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && digits.len() > 4 {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// A mean that is often whole: `3`, `18.9`.
pub(crate) fn mean(value: f64) -> String {
    if (value - value.round()).abs() < 0.005 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

/// `value` to `digits` significant digits, for files that should stay small.
pub(crate) fn significant(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits.saturating_sub(1))
        .parse()
        .expect("a formatted number is a number")
}

/// Values that are known and finite, each to `digits` significant digits.
pub(crate) fn significant_values(values: &[Option<f64>], digits: usize) -> Vec<Option<f64>> {
    let shortened = |value: &Option<f64>| {
        value
            .filter(|value| value.is_finite())
            .map(|value| significant(value, digits))
    };
    values.iter().map(shortened).collect()
}

fn decimals_of_three_digits(value: f64) -> usize {
    match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_grow_with_the_figure() {
        let all = [0.0, 999.0, 1234.0, 254.4e6, 12.64e9]
            .map(|value| bytes(Some(value)).replace('\u{a0}', " "));
        assert_eq!(
            all,
            ["0 bytes", "999 bytes", "1.23 kB", "254 MB", "12.6 GB"]
        );
        assert_eq!(bytes(Some(999_999.0)).replace('\u{a0}', " "), "1.00 MB");
        let all =
            [0.4231, 12.34, 250.0, 7500.0].map(|value| seconds(Some(value)).replace('\u{a0}', " "));
        assert_eq!(all, ["0.42 s", "12.3 s", "4 min 10 s", "2 h 05 min"]);
        assert_eq!(percent(Some(0.7368)), "73.7\u{a0}%");
        assert_eq!(percent(None), "–");
    }

    #[test]
    fn lambda_is_told_from_one() {
        let all = [0.0, 1e-17, 0.5, 0.9428, 0.99868, 1.0 - 6.58e-6, 1.0].map(lambda);
        assert_eq!(
            all,
            ["0", "0", "0.500", "0.943", "0.9987", "0.9999934", "1.000"]
        );
        assert_eq!(lambda_range(Some((0.9428, 0.9431))), "0.943");
        assert_eq!(lambda_range(Some((0.91, 0.9428))), "0.910 to 0.943");
    }

    #[test]
    fn figures_keep_three_digits() {
        assert_eq!(
            [0.0, 0.000_12, 0.0523, 5.0, 512.3].map(|value| figure(Some(value))),
            ["0", "1.2e-4", "0.052", "5.00", "512"]
        );
        assert_eq!(
            [7, 4950, 499_500].map(count),
            ["7", "4950", "499\u{202f}500"]
        );
        assert_eq!([3.0, 18.9].map(mean), ["3", "18.9"]);
        assert_eq!(significant(0.123_456_78, 5), 0.123_46);
        assert_eq!(significant(0.0, 5), 0.0);
    }
}
