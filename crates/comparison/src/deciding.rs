//! How the best value of a setting is chosen.

use meshfold_experiment::results::FigureKind;

use crate::client_figure::ClientFigure;
use crate::cost_figure::{CostFigure, OF};
use crate::judged::{Judged, is_of_local_tests, is_of_test_examples};
use crate::naming::Wording;

/// The figure that says which value is best, where `on` is asked for and `metric` is shown.
///
/// Validation examples choose where all runs have some: by their loss where a loss is shown, else by their accuracy. Without
/// them it is the figure shown, if it says how good a model is, else the accuracy on the test examples.
pub(crate) fn deciding(on: Option<&str>, metric: &str, runs: &[Judged]) -> String {
    let validation = of_validation(metric);
    let mut begun = runs.iter().filter(|run| !run.figures.is_empty());
    match on {
        Some("validation") => validation,
        Some(on) => on.to_owned(),
        None if begun.all(|run| run.measured(&validation)) => validation,
        None if says_how_good(metric) => metric.to_owned(),
        None => "test_accuracy".to_owned(),
    }
}

/// The figure of the validation examples that goes with `metric`.
fn of_validation(metric: &str) -> String {
    // What single clients have on validation examples is not recorded.
    let metric = match ClientFigure::parse(metric) {
        Some(figure) if figure.is_of_clients_alone() || figure.is_spread() => figure.of,
        _ => metric,
    };
    match (metric.strip_prefix("test_"), metric.contains("loss")) {
        (Some(of_test), _) => format!("validation_{of_test}"),
        (None, true) => "validation_loss".to_owned(),
        (None, false) => "validation_accuracy".to_owned(),
    }
}

/// Whether a better value of `metric` is a better model: not so of what a run costs, of how far models differ, and of spreads.
fn says_how_good(metric: &str) -> bool {
    let is_spread = ClientFigure::parse(metric).is_some_and(|figure| figure.is_spread());
    let of_models = FigureKind::of(metric) == FigureKind::Share || metric.contains("loss");
    let of_others = metric.starts_with("own.") || metric.starts_with("theory.");
    of_others || (of_models && !is_spread)
}

/// How the best value of `best` was chosen by the figure `on`, where the figures `shown` are.
pub(crate) fn choice<'a>(
    [best, over]: [&str; 2],
    on: &str,
    shown: impl Iterator<Item = &'a String>,
    wording: &Wording,
) -> String {
    let (best, over) = (wording.name(best), wording.name(over));
    let cost = CostFigure::parse(on);
    let figure = match (wording.asked_for(on), cost) {
        (Some(words), _) => words.to_owned(),
        (None, Some(_)) => OF.replace('_', " "),
        (None, None) => on.replace('_', " "),
    };
    let is_of_tests = |figure: &str| is_of_test_examples(figure) || CostFigure::is_meant(figure);
    let shown: Vec<&String> = shown.collect();
    let both = |is_of: &dyn Fn(&str) -> bool| is_of(on) && shown.iter().any(|name| is_of(name));
    let examples = match (both(&is_of_tests), both(&is_of_local_tests)) {
        (true, _) => Some("test examples"),
        (_, true) => Some("local test sets"),
        _ => None,
    };
    let caution = examples.map_or_else(String::new, |examples| caution(&figure, examples));
    let on = wording.name(on);
    match cost {
        Some(cost) => format!(
            "{best} is the value with which most runs reach a test accuracy of {}; of several, the one with the least mean of {on}{caution}",
            cost.target
        ),
        None => format!("{best} is the value with the best mean of {on} over {over}{caution}"),
    }
}

/// A reader must know that the same `examples` have chosen a setting, by the `figure`, and measure it.
fn caution(figure: &str, examples: &str) -> String {
    format!(" (chosen by {figure}, so the same {examples} chose the setting and measure it)")
}

/// How the best value of `best` was chosen by `on` where what it takes until `metric` reaches `target` is shown.
pub(crate) fn soonest_choice(
    best: &str,
    metric: &str,
    on: &str,
    target: f64,
    wording: &Wording,
) -> String {
    let (best, on) = (wording.name(best), wording.name(on));
    let examples = match (is_of_test_examples(metric), is_of_local_tests(metric)) {
        (true, _) => Some("test examples"),
        (_, true) => Some("local test sets"),
        _ => None,
    };
    let figure = metric.replace('_', " ");
    let caution = examples.map_or_else(String::new, |examples| caution(&figure, examples));
    format!(
        "{best} is the value with which most runs reach {target}; of several, the one with the least mean of {on} until then{caution}"
    )
}

/// The best value of `best` for each of `rows`, which have values of the settings `by` and, last, that value.
pub(crate) fn taken<'a>(
    best: &str,
    by: &[String],
    rows: impl Iterator<Item = (&'a [String], Option<&'a str>)>,
    wording: &Wording,
) -> String {
    let say = |(keys, chosen): (&[String], Option<&str>)| {
        let value = wording.value(best, chosen?);
        let keys = wording.values(by, keys).join(", ");
        Some(match keys.is_empty() {
            true => value.to_owned(),
            false => format!("{value} ({keys})"),
        })
    };
    let taken: Vec<String> = rows.filter_map(say).collect();
    format!("{}: {}", wording.name(best), taken.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(figures: &[(&str, f64)]) -> Judged {
        Judged::finished("seed: 1", &[figures])
    }

    #[test]
    fn validation_examples_choose_whatever_is_shown() {
        let validated = [
            ("test_accuracy", 0.5),
            ("validation_accuracy", 0.4),
            ("validation_loss", 1.0),
        ];
        let runs = [run(&validated), Judged::finished("seed: 2", &[])];
        for (metric, chosen_by) in [
            ("test_accuracy", "validation_accuracy"),
            ("test_accuracy.worst10", "validation_accuracy"),
            ("test_accuracy.std", "validation_accuracy"),
            ("test_loss", "validation_loss"),
            ("local_test_accuracy.min", "validation_accuracy"),
            ("fine_tuned_loss.p90", "validation_loss"),
            ("consensus_distance", "validation_accuracy"),
            ("own.residual", "validation_accuracy"),
        ] {
            assert_eq!(deciding(None, metric, &runs), chosen_by, "{metric}");
        }
        assert_eq!(
            deciding(Some("bytes_total"), "test_loss", &runs),
            "bytes_total"
        );
    }

    #[test]
    fn without_them_it_is_what_is_shown_if_that_says_how_good_models_are() {
        let runs = [run(&[("test_accuracy", 0.5)])];
        for (metric, chosen_by) in [
            ("test_accuracy.p10", "test_accuracy.p10"),
            ("local_test_loss", "local_test_loss"),
            ("own.residual", "own.residual"),
            ("test_accuracy.std", "test_accuracy"),
            ("consensus_distance", "test_accuracy"),
            ("bytes_total", "test_accuracy"),
        ] {
            assert_eq!(deciding(None, metric, &runs), chosen_by, "{metric}");
        }
        assert_eq!(
            deciding(Some("validation"), "test_loss.p90", &runs),
            "validation_loss"
        );
    }
}
