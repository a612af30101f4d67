//! Notes about runs that do not reach a target.

use crate::at::At;
use crate::centre::Summary;
use crate::cost_figure::{CostFigure, OF};
use crate::deciding::{by_number, listed, until};
use crate::grouping::Group;
use crate::judged::Judged;
use crate::name::Name;
use crate::naming::Wording;
use crate::request::Request;
use crate::row_notes::{OfRow, by_reason, row_of};

/// The rows in which no run reaches the target by which the best values are chosen.
pub(crate) fn nobody_there(
    groups: &[Group<'_>],
    on: &str,
    request: &Request,
    wording: &Wording,
) -> Vec<OfRow> {
    let (metric, target) = match (&request.at, CostFigure::parse(on)) {
        (At::Target(target), _) => (until(on, &request.metric)[0], *target),
        (_, Some(cost)) => (OF, cost.target),
        _ => return Vec::new(),
    };
    let is_there = |run: &&Judged| run.reaching(metric, target).is_some();
    let nobody = groups
        .iter()
        .filter(|group| !group.runs.iter().any(is_there));
    let say = |group: &Group<'_>| OfRow {
        row: row_of(&group.keys, &request.by, wording),
        what: format!(
            "no run reaches {target} with any {}, so {} with the best {} of {} at the last evaluation",
            listed(&request.best, wording),
            by_number(
                &request.best,
                "the value is the one",
                "the values are those"
            ),
            request.summary.name(),
            wording.name(metric)
        ),
    };
    nobody.map(say).collect()
}

/// The runs that never reached a target, as far as that is known. Where a column says how many did, only those of rows in which some did,
/// and those that failed.
pub(crate) fn never_there(groups: &[Group<'_>], over: &Name, request: &Request) -> Vec<OfRow> {
    if let At::Target(target) = request.at {
        let what = request.at.to_string();
        let goal = Goal {
            metric: &request.metric,
            target,
            what,
        };
        return short_of(groups, over, &goal, request.summary, false);
    }
    let costs = request.figures();
    let costs = costs.filter_map(|figure| CostFigure::parse(figure));
    let mut targets: Vec<f64> = costs.map(|cost| cost.target).collect();
    targets.sort_by(f64::total_cmp);
    targets.dedup();
    let say = |target: f64| {
        let goal = Goal {
            metric: OF,
            target,
            what: format!("a test accuracy of {target}"),
        };
        short_of(groups, over, &goal, request.summary, true)
    };
    targets.into_iter().flat_map(say).collect()
}

/// Why a run has not reached a target and never will.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missed {
    /// It went through all its rounds.
    InAllRounds,
    /// Its budget was spent before, or it had reached its own targets.
    EndedEarly,
    /// It failed before.
    Failed,
}

impl Missed {
    fn of(run: &Judged) -> Self {
        match &run.failure {
            Some(_) => Self::Failed,
            None if run.ended_early() => Self::EndedEarly,
            None => Self::InAllRounds,
        }
    }

    /// What happened to `runs` on the way to `what`.
    fn say(self, runs: &[&Judged], over: &Name, what: &str) -> String {
        let value = |run: &&Judged| over.text(&run.fields);
        let values: Vec<String> = runs.iter().map(value).collect();
        let named = format!("{} {}", over.written, values.join(", "));
        let are_several = runs.len() > 1;
        let [it, its] = if are_several {
            ["they", "their"]
        } else {
            ["it", "its"]
        };
        match self {
            Self::InAllRounds => format!("{named} never reached {what}"),
            Self::EndedEarly => {
                format!(
                    "{named} ended before {it} reached {what}, by {its} budget or {its} targets"
                )
            }
            Self::Failed => {
                let why = runs[0].failure.as_deref().unwrap_or_default();
                let whose = match are_several {
                    true => format!("{} {}: ", over.written, values[0]),
                    false => String::new(),
                };
                format!("{named} failed before {it} reached {what} ({whose}{why})")
            }
        }
    }
}

/// What runs are to reach.
struct Goal<'a> {
    metric: &'a str,
    target: f64,
    /// What it is called.
    what: String,
}

/// The runs that never reached the `goal`, and how the `summary` takes them. Rows in which none did are among them if `even_all`.
fn short_of(
    groups: &[Group<'_>],
    over: &Name,
    goal: &Goal<'_>,
    summary: Summary,
    even_all: bool,
) -> Vec<OfRow> {
    let (metric, target, what) = (goal.metric, goal.target, &goal.what);
    let is_there = |run: &Judged| run.reaching(metric, target).is_some();
    let never = |run: &&&Judged| run.knows_reaching(metric, target) && !is_there(run);
    let say = |group: &Group<'_>| {
        let missed = group.runs.iter().filter(never);
        let mut reasons = by_reason(missed.map(|run| (Missed::of(run), *run)));
        let has_mean = group.runs.iter().any(|run| is_there(run));
        if !has_mean {
            let all = reasons.len();
            reasons.retain(|(why, _)| *why == Missed::Failed);
            let mut told: Vec<String> = Vec::new();
            if even_all && all > 0 {
                told.push(format!("no run reached {what}"));
            }
            told.extend(clauses(&reasons, over, what));
            return (!told.is_empty()).then(|| told.join("; "));
        }
        let means = "the means are those of the runs that reached it";
        let end = match (summary, reasons.as_slice()) {
            (_, []) => return None,
            (Summary::Median, reasons) => {
                let all: usize = reasons.iter().map(|(_, runs)| runs.len()).sum();
                let it_counts = if all > 1 { "they count" } else { "it counts" };
                format!("in the median {it_counts} as larger than all others")
            }
            (Summary::Mean, [(Missed::InAllRounds, _)]) => {
                format!("{means}, and the others would have taken longer")
            }
            (Summary::Mean, _) => means.to_owned(),
        };
        let told = clauses(&reasons, over, what).join("; ");
        Some(format!("{told}; {end}"))
    };
    let of_row = |group: &Group<'_>| {
        let what = say(group)?;
        let row = group.name();
        Some(OfRow { row, what })
    };
    groups.iter().filter_map(of_row).collect()
}

fn clauses(reasons: &[(Missed, Vec<&Judged>)], over: &Name, what: &str) -> Vec<String> {
    let clause = |(why, runs): &(Missed, Vec<&Judged>)| why.say(runs, over, what);
    reasons.iter().map(clause).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Table;

    #[test]
    fn seeds_that_never_reach_the_target_are_named() {
        let runs = || {
            vec![
                Judged::with_accuracies(1, &[(0.0, 0.1), (10.0, 0.9)]),
                Judged::with_accuracies(2, &[(0.0, 0.1), (10.0, 0.5)]),
                Judged::with_accuracies(3, &[(0.0, 0.1), (10.0, 0.4)]),
            ]
        };
        assert_eq!(
            Table::notes_at("target=0.8", runs()),
            [
                "what it takes until test_accuracy first reaches 0.8",
                "of all runs: seed 2, 3 never reached target=0.8; the means are those of the runs that reached it, and the others \
                 would have taken longer"
            ]
        );
        let place =
            |target: &str| format!("what it takes until test_accuracy first reaches {target}");
        assert_eq!(Table::notes_at("target=0.4", runs()), [place("0.4")]);
        assert_eq!(Table::notes_at("target=1", runs()), [place("1")]);
    }
}
