//! What the reader of a table must know: how a value was chosen, what is missing, what ended early.

use std::collections::{BTreeMap, BTreeSet};

use meshfold_experiment::results::RowKind;

use crate::at::At;
use crate::centre::Summary;
use crate::client_figure::ClientFigure;
use crate::cost_figure::{CostFigure, OF};
use crate::deciding::{Way, by_number, choice, listed, soonest_choice};
use crate::edge_of_range::at_the_edge;
use crate::grouping::Group;
use crate::judged::{Judged, is_of_test_examples};
use crate::name::Name;
use crate::naming::Wording;
use crate::place_notes::{ended_early, place};
use crate::request::Request;
use crate::row_notes::{OfRow, by_reason, row_of, together};
use crate::target_notes::{never_there, nobody_there};

/// All notes of a table: `candidates` are the groups that `groups`, the rows, were chosen from by the figure `on`.
pub(crate) fn notes(
    candidates: &[Group<'_>],
    groups: &[Group<'_>],
    over: &Name,
    on: &str,
    request: &Request,
    wording: &Wording,
) -> Vec<String> {
    let best = &request.best;
    let mut notes = Vec::new();
    if !best.is_empty() {
        let way = Way {
            best,
            summary: request.summary,
        };
        notes.push(match request.at {
            At::Target(target) => soonest_choice(&way, &request.metric, on, target, wording),
            _ => choice(&way, &request.over, on, request.figures(), wording),
        });
        notes.extend(together(nobody_there(groups, on, request, wording)));
    }
    notes.extend(edges(candidates, groups, best, &request.by, wording));
    notes.extend(place(groups, request, wording));
    notes.extend(of_clients(groups, request, on, wording));
    let (by, at) = (&request.by, &request.at);
    let choice = Choice {
        best,
        by,
        at,
        summary: request.summary,
    };
    notes.extend(failing(candidates, best, wording));
    notes.extend(unequal(candidates, over, on, &choice, wording));
    notes.extend(of_other_data(candidates, over));
    let cost = CostFigure::parse(&request.metric);
    let is_known = |run: &Judged| match (&request.at, cost) {
        (At::Target(target), _) => run.knows_reaching(&request.metric, *target),
        (_, Some(cost)) => run.knows_reaching(OF, cost.target) && measures(run, cost),
        (At::Last | At::LastFew(_) | At::Best(_) | At::Place { .. }, None) => {
            knows_some(run, request)
        }
    };
    notes.extend(missing(groups, over, &request.by, is_known));
    notes.extend(together(cut_short(groups, over)));
    notes.extend(together(without_some_figure(
        groups, over, request, wording,
    )));
    notes.extend(together(ended_early(groups, over, request)));
    notes.extend(together(never_there(groups, over, request)));
    notes
}

/// The runs that were made on other data than the first one with the same settings of the dataset, as happens where a file is
/// replaced between runs.
pub(crate) fn of_other_data(groups: &[Group<'_>], over: &Name) -> Vec<String> {
    let mut firsts = BTreeMap::new();
    for run in groups.iter().flat_map(|group| &group.runs) {
        if let Some(examples) = &run.examples {
            firsts.entry(run.fields.of_dataset()).or_insert(examples);
        }
    }
    let is_other = |run: &&&Judged| {
        let first = firsts.get(&run.fields.of_dataset());
        let pair = run.examples.as_ref().zip(first);
        pair.is_some_and(|(examples, first)| examples != *first)
    };
    let mut notes = Vec::new();
    for group in groups {
        let other = group.runs.iter().filter(is_other);
        let values: Vec<String> = other.map(|run| over.text(&run.fields)).collect();
        if !values.is_empty() {
            notes.push(OfRow {
                row: group.name(),
                what: format!(
                    "{} {} was made on other data than the first run with these settings of the dataset: run all with `--again` to \
                     compare them",
                    over.written,
                    values.join(", ")
                ),
            });
        }
    }
    together(notes)
}

/// What the figures over the clients mean, if there are any.
fn of_clients(groups: &[Group<'_>], request: &Request, on: &str, wording: &Wording) -> Vec<String> {
    let mut figures: Vec<&str> = request.figures().map(String::as_str).collect();
    if !request.best.is_empty() && !figures.contains(&on) {
        figures.push(on);
    }
    let say = |name: &&str| {
        let meaning = ClientFigure::parse(name)?.meaning()?;
        Some(format!("{}: {meaning} of each run", wording.name(name)))
    };
    let mut notes: Vec<String> = figures.iter().filter_map(say).collect();
    let is_of_models = |name: &&str| {
        let figure = ClientFigure::parse(name).filter(|figure| figure.meaning().is_some());
        figure.is_some_and(|figure| is_of_test_examples(figure.of))
    };
    if figures.iter().any(is_of_models) {
        notes.extend(together(of_others_than_clients(groups)));
    }
    notes
}

/// The rows whose models are not those of clients.
fn of_others_than_clients(groups: &[Group<'_>]) -> Vec<OfRow> {
    let say = |group: &Group<'_>| {
        let kind = group.runs.iter().find_map(|run| run.models_of)?;
        (kind != RowKind::Client).then(|| OfRow {
            row: group.name(),
            what: format!(
                "the models are those of {0}s, and the figures of single clients are over {0}s",
                kind.name()
            ),
        })
    };
    groups.iter().filter_map(say).collect()
}

/// The rows whose best values lie at the edge of those tried.
pub(crate) fn edges(
    candidates: &[Group<'_>],
    groups: &[Group<'_>],
    best: &[String],
    by: &[String],
    wording: &Wording,
) -> Vec<String> {
    let at_the_edge = at_the_edge(candidates, groups, best, wording).into_iter();
    let of_row = |(place, what): (usize, String)| {
        let row = row_of(&groups[place].keys, by, wording);
        OfRow { row, what }
    };
    together(at_the_edge.map(of_row).collect())
}

/// Says that failed runs spoke against the values of the settings `best` that they had, if some of `candidates` failed and others did not.
pub(crate) fn failing(
    candidates: &[Group<'_>],
    best: &[String],
    wording: &Wording,
) -> Option<String> {
    let has_failed = |group: &Group<'_>| group.runs.iter().any(|run| run.failure.is_some());
    let differ = candidates.iter().any(has_failed) && !candidates.iter().all(has_failed);
    (differ && !best.is_empty()).then(|| {
        format!(
            "values of {} with which a smaller share of runs failed go before others",
            listed(best, wording)
        )
    })
}

/// For each row whose candidates for `best` were measured under different numbers of `over`: the number of each.
pub(crate) fn unequal(
    candidates: &[Group<'_>],
    over: &Name,
    on: &str,
    chosen: &Choice<'_>,
    wording: &Wording,
) -> Vec<String> {
    let Choice {
        best,
        by,
        at,
        summary,
    } = *chosen;
    let count = |group: &Group<'_>| {
        let centre = group.centre(over, on, at, summary);
        centre.map_or(0, |centre| centre.runs())
    };
    let of_row = |keys: &[String]| {
        let tried = candidates.iter().filter(|group| group.keys == keys);
        let say = |group: &Group<'_>| {
            let values = wording.values(best, &group.chosen).join(", ");
            format!("{values}: {}", count(group))
        };
        let least = tried.clone().map(count).min();
        let is_equal = least == tried.clone().map(count).max();
        (!is_equal).then(|| {
            let row = row_of(keys, by, wording);
            let counts: Vec<String> = tried.map(say).collect();
            let what = format!(
                "the values of {} do not have the same number of runs over {} ({})",
                listed(best, wording),
                over.written,
                counts.join(by_number(best, ", ", "; "))
            );
            OfRow { row, what }
        })
    };
    let mut rows: Vec<&[String]> = Vec::new();
    for group in candidates {
        if !rows.contains(&group.keys.as_slice()) {
            rows.push(&group.keys);
        }
    }
    together(rows.into_iter().filter_map(of_row).collect())
}

/// A choice among the values of settings.
#[derive(Clone, Copy)]
pub(crate) struct Choice<'a> {
    /// The settings; none if nothing is chosen.
    pub(crate) best: &'a [String],
    /// The settings that tell rows apart.
    pub(crate) by: &'a [String],
    /// Where runs are judged.
    pub(crate) at: &'a At,
    pub(crate) summary: Summary,
}

/// Whether a run has any of the figures where it is judged.
fn knows_some(run: &Judged, request: &Request) -> bool {
    let mut figures = request.figures();
    figures.any(|figure| run.value(figure, &request.at).is_some())
}

/// The figures that runs were not measured on which have others of those that are shown.
fn without_some_figure(
    groups: &[Group<'_>],
    over: &Name,
    request: &Request,
    wording: &Wording,
) -> Vec<OfRow> {
    if request.also.is_empty() {
        return Vec::new();
    }
    // Runs that do not reach a target are told otherwise.
    let figures = request.figures();
    let figures = figures.filter(|figure| CostFigure::parse(figure).is_none());
    let of_figure = |figure: &String| {
        let lacks =
            |run: &&&Judged| knows_some(run, request) && run.value(figure, &request.at).is_none();
        let say = |group: &Group<'_>| {
            let runs = group.runs.iter().filter(lacks);
            let values: Vec<String> = runs.map(|run| over.text(&run.fields)).collect();
            (!values.is_empty()).then(|| OfRow {
                row: group.name(),
                what: format!(
                    "{} was not measured under {} {}",
                    wording.name(figure),
                    over.written,
                    values.join(", ")
                ),
            })
        };
        groups.iter().filter_map(say).collect::<Vec<_>>()
    };
    figures.flat_map(of_figure).collect()
}

/// Whether `run` measures the cost; one without a record fails before it could.
fn measures(run: &Judged, cost: CostFigure) -> bool {
    run.figures.is_empty() || run.measured(cost.way.figure())
}

/// The runs that are not finished and count all the same.
fn cut_short(groups: &[Group<'_>], over: &Name) -> Vec<OfRow> {
    let say = |group: &Group<'_>| {
        let runs = group.runs.iter().filter(|run| run.is_cut_short);
        let value = |run: &&Judged| {
            let value = over.text(&run.fields);
            match run.last_round() {
                Some(round) => format!("{value} (to round {round})"),
                None => value,
            }
        };
        let values: Vec<String> = runs.map(value).collect();
        (!values.is_empty()).then(|| OfRow {
            row: group.name(),
            what: format!(
                "not finished, but counted: {} {}",
                over.written,
                values.join(", ")
            ),
        })
    };
    groups.iter().filter_map(say).collect()
}

/// For each group the values of `over` that other groups have, and that it lacks or whose run has no figure yet, as `is_known` says.
/// Groups that `over` tells apart have one value each and lack none.
pub(crate) fn missing(
    groups: &[Group<'_>],
    over: &Name,
    by: &[String],
    is_known: impl Fn(&Judged) -> bool,
) -> Vec<String> {
    if by.contains(&over.written) {
        return Vec::new();
    }
    let value = |run: &&Judged| over.text(&run.fields);
    let all: BTreeSet<String> = groups
        .iter()
        .flat_map(|group| group.runs.iter().map(value))
        .collect();
    let lacks = |group: &Group<'_>| {
        let known = group.runs.iter().filter(|run| is_known(run));
        let there: BTreeSet<String> = known.map(value).collect();
        let why = |missing: &str| match group.runs.iter().find(|run| value(run) == missing) {
            Some(run) if run.is_finished => "the figure was not measured",
            Some(run) => run.failure.as_deref().unwrap_or("not finished"),
            None => "no run",
        };
        let mut missing: Vec<&str> = all.difference(&there).map(String::as_str).collect();
        let size = |value: &&str| value.parse::<f64>().unwrap_or(f64::INFINITY);
        missing.sort_by(|one, other| size(one).total_cmp(&size(other)));
        let missing = missing.into_iter();
        let reasons = by_reason(missing.map(|missing| (why(missing), missing)));
        let say = |(why, values): (&str, Vec<&str>)| {
            let verb = if values.len() == 1 { "is" } else { "are" };
            let values = values.join(", ");
            OfRow {
                row: group.name(),
                what: format!("{} {values} {verb} missing ({why})", over.written),
            }
        };
        reasons.into_iter().map(say).collect::<Vec<_>>()
    };
    together(groups.iter().flat_map(lacks).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Table;

    #[test]
    fn runs_that_are_not_finished_count_if_that_is_asked_for() {
        let stopped = Judged {
            is_finished: false,
            ..Judged::with_accuracies(1, &[(2.0, 0.25), (4.0, 0.5)])
        };
        let failed = Judged {
            is_finished: false,
            failure: Some("the model became infinite".to_owned()),
            ..Judged::with_accuracies(2, &[(2.0, 0.1)])
        };
        let runs = [stopped, failed, Judged::with_accuracies(3, &[(10.0, 1.0)])];
        let runs = runs.map(Judged::taken_as_it_is).to_vec();
        let table = Table::about(runs, Request::over_seeds()).unwrap();
        let crate::table::Outcome::Figure(Some(estimate)) = table.rows[0].outcome else {
            panic!("there are figures")
        };
        assert_eq!((estimate.n(), estimate.number()), (2, Some(0.75)));
        assert_eq!(
            table.notes,
            [
                "of all runs: seed 2 is missing (the model became infinite)",
                "of all runs: not finished, but counted: seed 1 (to round 4)"
            ]
        );
    }

    #[test]
    fn runs_that_did_not_measure_the_way_did_not_end_early() {
        let timed = Judged::finished(
            "seed: 1\nrounds: 10",
            &[&[("simulated_seconds", 9.0), ("test_accuracy", 0.5)]],
        );
        let notes = Table::notes_at(
            "seconds=10",
            vec![timed, Judged::with_accuracies(2, &[(10.0, 0.9)])],
        );
        assert_eq!(
            notes,
            [
                "figures at seconds=10",
                "of all runs: seed 2 is missing (the figure was not measured)",
                "of all runs: seed 1 ended before seconds=10; the last evaluation counts"
            ]
        );
    }

    #[test]
    fn runs_that_spent_more_than_others_are_told() {
        let run = |seed: usize, budget: f64, rounds: usize, seconds: f64| {
            let settings = format!("{{seed: {seed}, rounds: 9, budget: {{seconds: {budget}}}}}");
            let last = [
                ("round", rounds as f64),
                ("simulated_seconds", seconds),
                ("test_accuracy", 0.5),
            ];
            Judged::finished(&settings, &[&last])
        };
        let notes = |runs| {
            let request = Request {
                by: vec!["budget.seconds".to_owned()],
                ..Request::over_seeds()
            };
            let mut notes = Table::about(runs, request).unwrap().notes;
            notes.retain(|note| note.starts_with("runs ended"));
            notes
        };
        assert_eq!(
            notes(vec![run(1, 20.0, 3, 20.7), run(2, 20.0, 4, 32.8)]),
            [
                "runs ended at 20.70 to 32.80 seconds, as `budget.seconds` ends them at an evaluation: `--at seconds=20` compares them at \
                 one place"
            ]
        );
        let none: [&str; 0] = [];
        // Alike; all rounds done; another budget.
        assert_eq!(
            notes(vec![run(1, 20.0, 3, 20.7), run(2, 20.0, 4, 21.0)]),
            none
        );
        assert_eq!(
            notes(vec![run(1, 20.0, 3, 20.7), run(2, 20.0, 9, 9.0)]),
            none
        );
        assert_eq!(
            notes(vec![run(1, 20.0, 3, 20.7), run(2, 30.0, 4, 32.8)]),
            none
        );
    }

    #[test]
    fn figures_between_evaluations_are_said_to_be() {
        let runs = || vec![Judged::with_accuracies(1, &[(0.0, 0.1), (10.0, 0.9)])];
        assert_eq!(
            Table::notes_at("round=5", runs()),
            ["figures at round=5; between two evaluations of a run they lie on a straight line"]
        );
        assert_eq!(Table::notes_at("round=10", runs()), ["figures at round=10"]);
    }

    #[test]
    fn seeds_whose_runs_failed_are_named_together_with_the_reason() {
        let run = |seed: usize, rate: f64| {
            let settings = format!("{{seed: {seed}, rate: {rate}}}");
            Judged::finished(&settings, &[&[("test_accuracy", 0.5)]])
        };
        let failed = |seed: usize| Judged {
            figures: Vec::new(),
            is_finished: false,
            failure: Some("in round 3: a model is not finite".to_owned()),
            ..run(seed, 9.0)
        };
        let runs = vec![run(1, 0.1), run(2, 0.1), failed(1), failed(2)];
        let request = Request {
            by: vec!["rate".to_owned()],
            ..Request::over_seeds()
        };
        let notes = Table::about(runs, request).unwrap().notes;
        assert_eq!(
            notes,
            ["9: seed 1, 2 are missing (in round 3: a model is not finite)"]
        );
    }
}
