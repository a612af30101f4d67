//! What a reader must know of the places at which runs were looked at.

use crate::at::At;
use crate::digits::Digits;
use crate::grouping::Group;
use crate::judged::{Judged, is_of_local_tests, is_of_test_examples};
use crate::name::Name;
use crate::naming::Wording;
use crate::request::Request;
use crate::row_notes::OfRow;

/// Ends that differ by less than this share are alike.
const ALIKE: f64 = 0.05;

/// Where runs are judged, if not at their ends, and what to mind there.
pub(crate) fn place(groups: &[Group<'_>], request: &Request, wording: &Wording) -> Option<String> {
    let at = &request.at;
    match at {
        At::Last => unequal_budgets(groups),
        At::LastFew(count) => Some(of_last(groups, *count, request)),
        At::Best(figure) => Some(of_best(figure, request, wording)),
        At::Target(target) => Some(format!(
            "what it takes until {} first reaches {target}",
            wording.name(&request.metric)
        )),
        At::Place { .. } => {
            let mut runs = groups.iter().flat_map(|group| group.runs.iter().copied());
            let lines = match runs.clone().any(|run| at.is_between(&run.figures)) {
                true => "; between two evaluations of a run they lie on a straight line",
                false => "",
            };
            let is_of_others = |run: &Judged| {
                let before = run.figures.len().saturating_sub(1);
                run.ends_on_other_examples
                    && at.is_between(&run.figures)
                    && !at.is_passed(&run.figures[..before])
            };
            let is_mixed = request.figures().any(|figure| is_of_test_examples(figure))
                && runs.any(is_of_others);
            let others = match is_mixed {
                true => ", also to the last one, which has other test examples (`evaluate.last`)",
                false => "",
            };
            Some(format!("figures at {at}{lines}{others}"))
        }
    }
}

/// That runs which have spent a budget have spent more or less of it, as they end at an evaluation.
fn unequal_budgets(groups: &[Group<'_>]) -> Option<String> {
    let kinds = [
        ("budget.seconds", "simulated_seconds", "seconds"),
        ("budget.bytes", "bytes_total", "bytes"),
    ];
    kinds.into_iter().find_map(|(key, figure, way)| {
        let runs = groups.iter().flat_map(|group| group.runs.iter());
        let of_run = |run: &&Judged| {
            let budget = run.fields.at(key)?.as_f64()?;
            let spent = *run.figures.last()?.get(figure)?;
            (run.ended_early() && spent >= budget).then_some((budget, spent))
        };
        let all: Vec<(f64, f64)> = runs.filter_map(of_run).collect();
        let (budget, _) = *all.first()?;
        let spent = || all.iter().map(|(_, spent)| *spent);
        let (least, most) = (spent().fold(f64::INFINITY, f64::min), spent().fold(0.0, f64::max));
        let is_one = all.iter().all(|(other, _)| *other == budget);
        (is_one && most > (1.0 + ALIKE) * least).then(|| {
            let number = |value| Digits::Four.figure(value);
            format!(
                "runs ended at {} to {} {way}, as `{key}` ends them at an evaluation: `--at {way}={budget}` compares them at one place",
                number(least),
                number(most)
            )
        })
    })
}

/// That figures are means over the last `count` evaluations.
fn of_last(groups: &[Group<'_>], count: usize, request: &Request) -> String {
    let mut runs = groups.iter().flat_map(|group| group.runs.iter().copied());
    let shorter = match runs
        .clone()
        .any(|run| run.is_finished && run.figures.len() < count)
    {
        true => ", or of all where there are fewer",
        false => "",
    };
    let is_mixed = count > 1
        && request.figures().any(|figure| is_of_test_examples(figure))
        && runs.any(|run| run.ends_on_other_examples);
    let others = match is_mixed {
        true => "; the last one has other test examples (`evaluate.last`)",
        false => "",
    };
    format!("figures are means of the last {count} evaluations of each run{shorter}{others}")
}

/// That figures are those at the evaluation at which `figure` is best.
fn of_best(figure: &str, request: &Request, wording: &Wording) -> String {
    let both =
        |is_of: fn(&str) -> bool| is_of(figure) && request.figures().any(|shown| is_of(shown));
    let caution = match (both(is_of_test_examples), both(is_of_local_tests)) {
        (true, _) => " (so the same test examples chose the evaluation and measure it)",
        (_, true) => " (so the same local test sets chose the evaluation and measure it)",
        _ => "",
    };
    let figure = wording.name(figure);
    format!("figures at the evaluation of each run at which {figure} is best{caution}")
}

/// Finished runs that ended before the progress at which they are to be judged.
pub(crate) fn ended_early(groups: &[Group<'_>], over: &Name, request: &Request) -> Vec<OfRow> {
    let At::Place { way, .. } = &request.at else {
        return Vec::new();
    };
    let say = |group: &Group<'_>| {
        let is_early = |run: &&&Judged| {
            run.is_finished && run.measured(way.figure()) && !request.at.is_passed(&run.figures)
        };
        let early = group.runs.iter().filter(is_early);
        let values: Vec<String> = early.map(|run| over.text(&run.fields)).collect();
        (!values.is_empty()).then(|| OfRow {
            row: group.name(),
            what: format!(
                "{} {} ended before {}; the last evaluation counts",
                over.written,
                values.join(", "),
                request.at
            ),
        })
    };
    groups.iter().filter_map(say).collect()
}
