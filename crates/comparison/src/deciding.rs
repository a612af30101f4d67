//! How the best values of settings are chosen.

use meshfold_experiment::results::{FigureKind, Progress};

use crate::centre::Summary;
use crate::client_figure::ClientFigure;
use crate::cost_figure::{CostFigure, OF};
use crate::error::TableError;
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

/// Where a choice goes by what it takes to reach a target: the figure that is to reach it, and the cost that is compared. `on` is either;
/// `metric` is the figure whose way to the target is shown.
pub(crate) fn until<'a>(on: &'a str, metric: &'a str) -> [&'a str; 2] {
    match says_how_good(on) && is_alike(on, metric) {
        true => [on, Progress::Rounds.figure()],
        false => [metric, on],
    }
}

/// Requires that `on` can choose where `metric` is to reach a target: as a figure that is to reach it, or as a cost.
///
/// # Errors
/// [`TableError::OtherTarget`].
pub(crate) fn expect_until(on: &str, metric: &str) -> Result<(), TableError> {
    let is_own = on.starts_with("own.") || on.starts_with("theory.");
    match says_how_good(on) && !is_own && !is_alike(on, metric) {
        true => Err(TableError::OtherTarget {
            on: on.to_owned(),
            metric: metric.to_owned(),
        }),
        false => Ok(()),
    }
}

/// Whether one target may be that of either figure.
fn is_alike(one: &str, other: &str) -> bool {
    FigureKind::of(one) == FigureKind::of(other)
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

/// Whether a better value of `metric` is a better model: not so of what a run costs, of how far models differ, of what they tell attackers
/// (least if they have learned nothing), and of spreads.
fn says_how_good(metric: &str) -> bool {
    if metric.starts_with("membership_") {
        return false;
    }
    let is_spread = ClientFigure::parse(metric).is_some_and(|figure| figure.is_spread());
    let of_models = FigureKind::of(metric) == FigureKind::Share || metric.contains("loss");
    let of_others = metric.starts_with("own.") || metric.starts_with("theory.");
    of_others || (of_models && !is_spread)
}

/// The settings `best` in words: `learning_rate`, or `learning_rate and momentum`.
pub(crate) fn listed(best: &[String], wording: &Wording) -> String {
    let names: Vec<&str> = best.iter().map(|name| wording.name(name)).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => {
            format!("{} and {last}", others.join(", "))
        }
        _ => names.concat(),
    }
}

/// What is said of the settings `best`: `of_one`, or `of_several`.
pub(crate) fn by_number<'a>(best: &[String], of_one: &'a str, of_several: &'a str) -> &'a str {
    if best.len() > 1 { of_several } else { of_one }
}

/// How the best values of the settings `best` were chosen by the figure `on`, where the figures `shown` are.
pub(crate) fn choice<'a>(
    way: &Way<'_>,
    over: &str,
    on: &str,
    shown: impl Iterator<Item = &'a String>,
    wording: &Wording,
) -> String {
    let best = way.best;
    let over = wording.name(over);
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
    let caution = examples.map_or_else(String::new, |examples| caution(best, &figure, examples));
    let on = wording.name(on);
    match cost {
        Some(cost) => {
            let goal = format!("a test accuracy of {}", cost.target);
            format!("{}{caution}", way.soonest(&goal, on, wording))
        }
        None => format!(
            "{} {} with the best {} of {on} over {over}{caution}",
            listed(best, wording),
            by_number(best, "is the value", "are the values"),
            way.summary.name()
        ),
    }
}

/// Settings whose best values are chosen, and by what of the runs.
#[derive(Clone, Copy)]
pub(crate) struct Way<'a> {
    pub(crate) best: &'a [String],
    pub(crate) summary: Summary,
}

impl Way<'_> {
    /// That those values count with which most runs reach the `goal`, and then the least mean of the figure `on`; or the other way round,
    /// where a median is that of all runs.
    fn soonest(&self, goal: &str, on: &str, wording: &Wording) -> String {
        let best = self.best;
        let settings = listed(best, wording);
        let are_values = by_number(best, "is the value", "are the values");
        let those = by_number(best, "the one", "those");
        match self.summary {
            Summary::Mean => format!(
                "{settings} {are_values} with which most runs reach {goal}; of several, {those} with the least mean of {on}"
            ),
            Summary::Median => format!(
                "{settings} {are_values} with the least median of {on}; of several, {those} with which most runs reach {goal}"
            ),
        }
    }
}

/// A reader must know that the same `examples` have chosen settings, by the `figure`, and measure them.
fn caution(best: &[String], figure: &str, examples: &str) -> String {
    let chosen = by_number(
        best,
        "the setting and measure it",
        "the settings and measure them",
    );
    format!(" (chosen by {figure}, so the same {examples} chose {chosen})")
}

/// How the best values of the settings `best` were chosen by `on` where what it takes until `metric` reaches `target` is shown.
pub(crate) fn soonest_choice(
    way: &Way<'_>,
    metric: &str,
    on: &str,
    target: f64,
    wording: &Wording,
) -> String {
    let best = way.best;
    let [reaching, cost] = until(on, metric);
    let both = |is_of: fn(&str) -> bool| is_of(metric) && is_of(reaching);
    let examples = match (both(is_of_test_examples), both(is_of_local_tests)) {
        (true, _) => Some("test examples"),
        (_, true) => Some("local test sets"),
        _ => None,
    };
    let figure = reaching.replace('_', " ");
    let caution = examples.map_or_else(String::new, |examples| caution(best, &figure, examples));
    let goal = match reaching == metric {
        true => target.to_string(),
        false => format!("a {} of {target}", wording.name(reaching)),
    };
    let until = match way.summary {
        Summary::Mean => format!("{} until then", wording.name(cost)),
        Summary::Median => format!("{} until {goal}", wording.name(cost)),
    };
    format!("{}{caution}", way.soonest(&goal, &until, wording))
}

/// The best values of the settings `best` for each of `rows`, which have values of the settings `by` and, last, those.
pub(crate) fn taken<'a>(
    best: &[String],
    by: &[String],
    rows: impl Iterator<Item = (&'a [String], &'a [String])>,
    wording: &Wording,
) -> String {
    let say = |(keys, chosen): (&[String], &[String])| {
        let values = wording.values(best, chosen).join(", ");
        let keys = wording.values(by, keys).join(", ");
        match keys.is_empty() {
            true => values,
            false => format!("{values} ({keys})"),
        }
    };
    let taken: Vec<String> = rows.map(say).collect();
    let taken = taken.join(by_number(best, ", ", "; "));
    format!("{}: {taken}", listed(best, wording))
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
    fn models_that_tell_attackers_little_are_not_the_best() {
        let attacked = [("test_accuracy", 0.5), ("membership_accuracy", 0.6)];
        for metric in [
            "membership_accuracy",
            "membership_auc",
            "membership_tpr.worst10",
        ] {
            assert_eq!(deciding(None, metric, &[run(&attacked)]), "test_accuracy");
        }
        let on = Some("membership_auc");
        assert_eq!(
            deciding(on, "test_loss", &[run(&attacked)]),
            "membership_auc"
        );
    }

    #[test]
    fn settings_are_listed_as_in_a_sentence() {
        let wording = Wording::default();
        let said = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            listed(&names, &wording)
        };
        assert_eq!(said(&["rate"]), "rate");
        assert_eq!(said(&["rate", "momentum"]), "rate and momentum");
        assert_eq!(said(&["rate", "momentum", "mu"]), "rate, momentum and mu");
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
