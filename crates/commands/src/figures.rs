//! Figures as a person reads them.

use std::time::Duration;

use indicatif::{DecimalBytes, HumanCount};

/// `61.2 %` for 0.612.
pub(crate) fn percent(fraction: f64) -> String {
    format!("{:.1} %", 100.0 * fraction)
}

/// `12,345`.
pub(crate) fn count(value: u64) -> String {
    HumanCount(value).to_string()
}

/// `1.27 GB`.
pub(crate) fn bytes(value: u64) -> String {
    DecimalBytes(value).to_string()
}

/// Four decimals, or two digits of a value that would look like zero; a dash for one that is not there.
pub(crate) fn decimal(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if (1e-12..5e-4).contains(&value.abs()) => format!("{value:.1e}"),
        Some(value) if value.abs() < 1e-12 => "0.0000".to_owned(),
        Some(value) => format!("{value:.4}"),
    }
}

/// Four decimals, or as many as tell the value from one; a dash for one that is not there.
pub(crate) fn eigenvalue(value: Option<f64>) -> String {
    let Some(value) = value else {
        return "-".to_owned();
    };
    let gap = (1.0 - value).abs();
    let decimals = match (1e-12..5e-4).contains(&gap) {
        true => (1.0 - gap.log10().floor()) as usize,
        false => 4,
    };
    format!("{value:.decimals$}")
}

/// `3 of 10`; the first alone if nothing is known of the second.
pub(crate) fn out_of(done: usize, all: Option<usize>) -> String {
    match all {
        Some(all) => format!("{done} of {all}"),
        None => done.to_string(),
    }
}

/// How long ago something was: `now`, `5 min ago`, `3 h ago` or `12 days ago`.
pub(crate) fn ago(past: Duration) -> String {
    let minutes = past.as_secs() / 60;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes} min ago"),
        60..2880 => format!("{} h ago", minutes / 60),
        _ => format!("{} days ago", minutes / 1440),
    }
}

/// `9.4 s`, `41 s`, `3 min 20 s` or `2 h 5 min`.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", duration.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_have_units() {
        assert_eq!(percent(0.98765), "98.8 %");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(bytes(1_272_080_000), "1.27 GB");
        assert_eq!([decimal(Some(1.0 / 3.0)), decimal(None)], ["0.3333", "-"]);
        let small = [0.0, 1e-15, 1.97e-5, -1.97e-5, 6e-4].map(|value| decimal(Some(value)));
        assert_eq!(small, ["0.0000", "0.0000", "2.0e-5", "-2.0e-5", "0.0006"]);
    }

    #[test]
    fn eigenvalues_near_one_are_told_from_one() {
        let near =
            [0.83, 1.0 - 6e-4, 1.0 - 1.97e-5, 1.0, -1.0].map(|value| eigenvalue(Some(value)));
        assert_eq!(near, ["0.8300", "0.9994", "0.999980", "1.0000", "-1.0000"]);
        assert_eq!(eigenvalue(None), "-");
    }

    #[test]
    fn the_past_is_told_in_one_unit() {
        let text = |minutes: u64| ago(Duration::from_secs(60 * minutes));
        assert_eq!(
            [0, 59, 60, 2879, 2880].map(text),
            ["now", "59 min ago", "1 h ago", "47 h ago", "2 days ago"]
        );
    }

    #[test]
    fn durations_are_given_to_a_precision_that_matters() {
        let text = |seconds| duration(Duration::from_secs_f64(seconds));
        assert_eq!(
            [9.44, 41.9, 200.0, 7_512.0].map(text),
            ["9.4 s", "41 s", "3 min 20 s", "2 h 5 min"]
        );
    }
}
