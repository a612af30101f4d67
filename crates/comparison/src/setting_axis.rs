//! Settings that a figure may be drawn over.

use meshfold_experiment::results::RecordedRun;
use meshfold_figure::Scale;
use serde_json::Value;

use crate::error::TableError;
use crate::fields::{ABSENT, Fields, differing};
use crate::horizontal::Horizontal;
use crate::judged::Judged;
use crate::name::Name;
use crate::plot::AxisRequest;

/// From which ratio of the largest to the smallest value on an axis is logarithmic by itself.
const WIDE: f64 = 20.0;

/// The setting that is called `x`, if there is one and no figure of `runs` is called so.
///
/// # Errors
/// [`TableError::Results`] if the records of a run cannot be read.
pub(crate) fn setting<'a>(
    x: &'a Horizontal,
    runs: &[RecordedRun],
) -> Result<Option<&'a str>, TableError> {
    let Horizontal::Figure(written) = x else {
        return Ok(None);
    };
    let fields = Fields::of_each(runs.iter().map(|run| &run.settings));
    if let Err(TableError::UnknownField { .. }) = Name::find(written, &fields) {
        return Ok(None);
    }
    for run in runs {
        let figures = run.figures()?;
        if figures.iter().any(|figures| figures.contains_key(written)) {
            return Ok(None);
        }
    }
    Ok(Some(written))
}

/// The settings in which `runs` differ, and of which all values are numbers.
pub(crate) fn numbers(runs: &[Judged]) -> Vec<String> {
    let fields: Vec<Fields> = runs.iter().map(|run| run.fields.clone()).collect();
    let is_number = |path: &String| {
        let mut values = fields.iter().filter_map(|run| run.at(path));
        values.all(Value::is_number)
    };
    let differing = differing(&fields, &[]);
    differing.into_iter().filter(is_number).collect()
}

/// Requires that some of `runs` have the setting `x`, and that its values are numbers.
///
/// # Errors
/// [`TableError::NoneHas`] and [`TableError::NoNumbersIn`].
pub(crate) fn expect_numbers(x: &Name, runs: &[Judged]) -> Result<(), TableError> {
    let written = x.written.clone();
    let values = runs.iter().filter_map(|run| x.value(&run.fields));
    let values: Vec<Value> = values.collect();
    if values.is_empty() {
        return Err(TableError::NoneHas { written });
    }
    if values.iter().all(Value::is_number) {
        return Ok(());
    }
    let mut found: Vec<String> = Vec::new();
    for value in runs.iter().map(|run| x.text(&run.fields)) {
        if value != ABSENT && !found.contains(&value) {
            found.push(value);
        }
    }
    Err(TableError::NoNumbersIn { written, found })
}

/// How an axis with these `values`, ascending, is spaced: as was asked for, else by logarithms where all are above 0 and the largest is
/// many times the smallest.
pub(crate) fn scale(asked: AxisRequest, values: &[f64]) -> Scale {
    let begins_above_0 = asked.limits.is_none_or(|[from, _]| from > 0.0);
    let is_wide = match values {
        [first, .., last] => *first > 0.0 && last / first >= WIDE,
        _ => false,
    };
    match (asked.scale, is_wide && begins_above_0) {
        (Some(scale), _) => scale,
        (None, true) => Scale::Logarithmic,
        (None, false) => Scale::Linear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(settings: &[&str]) -> Vec<Judged> {
        let run = |settings: &&str| Judged::finished(settings, &[]);
        settings.iter().map(run).collect()
    }

    fn expected(written: &str, settings: &[&str]) -> Result<(), String> {
        let runs = runs(settings);
        let fields: Vec<Fields> = runs.iter().map(|run| run.fields.clone()).collect();
        let name = Name::find(written, &fields).unwrap();
        expect_numbers(&name, &runs).map_err(|error| error.to_string())
    }

    #[test]
    fn a_setting_is_an_axis_if_its_values_are_numbers_where_it_is_there() {
        assert_eq!(
            expected("alpha", &["alpha: 0.1", "alpha: 1", "seed: 1"]),
            Ok(())
        );
        let error = expected("topology", &["topology: ring", "seed: 1", "topology: star"]);
        assert_eq!(
            error.unwrap_err(),
            "--x topology: its values are to be numbers, and they are ring, star; draw them by --bars, with topology first in --by"
        );
        let mixed = expected("rate", &["rate: 0.1", "rate: decaying", "rate: 0.1"]);
        assert!(mixed.unwrap_err().contains("they are 0.1, decaying;"));
        let name = Name::find("alpha", &[runs(&["alpha: 1"])[0].fields.clone()]).unwrap();
        let error = expect_numbers(&name, &runs(&["seed: 1"])).unwrap_err();
        assert!(error.to_string().contains("no run that is to be drawn has"));
    }

    #[test]
    fn settings_that_differ_by_numbers_are_offered() {
        let runs = runs(&[
            "{seed: 1, rounds: 5, topology: ring, alpha: 0.1}",
            "{seed: 2, rounds: 5, topology: star}",
        ]);
        assert_eq!(numbers(&runs), ["alpha", "seed"]);
    }

    #[test]
    fn an_axis_is_logarithmic_where_values_are_far_apart() {
        let automatic = AxisRequest::default();
        let is_logarithmic = |asked, values: &[f64]| scale(asked, values) == Scale::Logarithmic;
        assert!(is_logarithmic(automatic, &[0.1, 0.5, 2.0]));
        assert!(!is_logarithmic(automatic, &[0.1, 1.0, 1.9]));
        assert!(!is_logarithmic(automatic, &[0.0, 0.1, 100.0]));
        assert!(!is_logarithmic(automatic, &[3.0]) && !is_logarithmic(automatic, &[]));
        let from = |from: f64| AxisRequest {
            limits: Some([from, 10.0]),
            ..automatic
        };
        assert!(!is_logarithmic(from(0.0), &[0.1, 10.0]));
        assert!(is_logarithmic(from(0.1), &[0.1, 10.0]));
        for asked in [Scale::Linear, Scale::Logarithmic] {
            let request = AxisRequest {
                scale: Some(asked),
                ..automatic
            };
            assert_eq!(scale(request, &[1.0, 2.0]), asked);
            assert_eq!(scale(request, &[1.0, 200.0]), asked);
        }
    }
}
