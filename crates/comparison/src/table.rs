//! A table: what was asked for, and its rows.

use std::collections::BTreeSet;

use meshfold_experiment::results::{Figures, RecordedRun};
use meshfold_statistics::{Estimate, Paired};

use crate::at::{At, Way};
use crate::error::TableError;
use crate::fields::{Fields, Name, text};
use crate::grouping::{Group, Names, best_of};
use crate::judged::{Judged, expect_figure};

/// What a table is to show. Settings go by their names in YAML, figures by those in `metrics.jsonl`.
#[derive(Clone, Debug)]
pub struct Request {
    /// The settings that tell the rows apart.
    pub by: Vec<String>,
    /// The setting whose values repeat a row.
    pub over: String,
    /// The setting of which each row takes the best value.
    pub best: Option<String>,
    /// The figure that says which value is best; `metric` if absent.
    pub on: Option<String>,
    /// Where on its way a run is judged.
    pub at: At,
    /// The figure to show.
    pub metric: String,
    /// A setting of `by` and its value: each row is compared with the row that has it and agrees in the others.
    pub compare: Option<(String, String)>,
}

/// Rows about runs.
#[derive(Clone, Debug)]
pub struct Table {
    /// What was asked for.
    pub request: Request,
    /// In the order of their first runs.
    pub rows: Vec<Row>,
    /// What a reader must know: how a value was chosen, what is missing.
    pub notes: Vec<String>,
}

/// What the runs of one setting say.
#[derive(Clone, Debug)]
pub struct Row {
    /// The values of the settings in `by`.
    pub keys: Vec<String>,
    /// The best value of the setting in `best`.
    pub chosen: Option<String>,
    /// What was measured.
    pub outcome: Outcome,
    /// This row less the row compared with, over what both have.
    pub comparison: Option<Paired>,
}

/// What the runs of a row came to.
#[derive(Clone, Copy, Debug)]
pub enum Outcome {
    /// The figure; absent if no run has it.
    Figure(Option<Estimate>),
    /// How they reached a target.
    Target(Reaching),
}

/// How many runs reached a target, and what it took those that did.
#[derive(Clone, Copy, Debug)]
pub struct Reaching {
    /// Runs of the row.
    pub runs: usize,
    /// Those that reached it.
    pub reached: usize,
    /// Rounds.
    pub rounds: Option<Estimate>,
    /// Bytes sent.
    pub bytes: Option<Estimate>,
    /// Seconds on the simulated network, where one is described.
    pub seconds: Option<Estimate>,
}

impl Table {
    /// The table about `runs`.
    ///
    /// # Errors
    /// [`TableError`]: a name that stands for nothing or for several things, or runs that are not repetitions.
    pub fn of(runs: &[RecordedRun], request: Request) -> Result<Self, TableError> {
        let runs: Vec<Judged> = runs.iter().map(Judged::of).collect::<Result<_, _>>()?;
        let names = names(&runs, &request)?;
        let on = request.on.as_deref().unwrap_or(&request.metric);
        expect_figure(&request.metric, &runs)?;
        expect_figure(on, &runs)?;
        let groups = best_of(&Group::all(&runs, &names)?, &names.over, on, &request.at);
        let mut notes: Vec<String> = choice(&request, on).into_iter().collect();
        notes.extend(missing(&groups, &names.over, &request));
        let rows = groups.iter().map(|group| row(group, &names.over, &request));
        let mut rows: Vec<Row> = rows.collect();
        if let Some((field, value)) = &request.compare {
            let place = column(&names, field)?;
            compare(&mut rows, &groups, &names.over, place, value, &request)?;
        }
        Ok(Self {
            request,
            rows,
            notes,
        })
    }
}

fn names(runs: &[Judged], request: &Request) -> Result<Names, TableError> {
    let fields: Vec<Fields> = runs.iter().map(|run| run.fields.clone()).collect();
    let find = |written: &String| Name::find(written, &fields);
    Ok(Names {
        by: request.by.iter().map(find).collect::<Result<_, _>>()?,
        over: find(&request.over)?,
        best: request.best.as_ref().map(find).transpose()?,
    })
}

/// How the best value was chosen, if one was.
fn choice(request: &Request, on: &str) -> Option<String> {
    let best = request.best.as_ref()?;
    let over = &request.over;
    let figure = on.replace('_', " ");
    let caution = match on.starts_with("test") || on.starts_with("mean_model") {
        true => format!(
            " (chosen by {figure}, so the same test examples chose the setting and measure it)"
        ),
        false => String::new(),
    };
    Some(format!(
        "{best} is the value with the best mean of {on} over {over}{caution}"
    ))
}

/// For each row the values of `over` that other rows have, and that it lacks or whose run has no figure yet.
fn missing(groups: &[Group<'_>], over: &Name, request: &Request) -> Vec<String> {
    let value = |run: &&Judged| text(run.fields.get(over));
    let all: BTreeSet<String> = groups
        .iter()
        .flat_map(|group| group.runs.iter().map(value))
        .collect();
    let lacks = |group: &Group<'_>| {
        let there: BTreeSet<String> = match request.at {
            At::Target(_) => group
                .runs
                .iter()
                .filter(|run| run.is_finished)
                .map(value)
                .collect(),
            _ => {
                let values = group.values(over, &request.metric, &request.at);
                values.into_iter().map(|(over, _)| over).collect()
            }
        };
        let begun: BTreeSet<String> = group.runs.iter().map(value).collect();
        let say = |missing: &String| {
            let why = if begun.contains(missing) {
                "not finished, or the figure was not measured"
            } else {
                "no run"
            };
            format!(
                "{}: {} {missing} is missing ({why})",
                group.name(),
                over.written
            )
        };
        all.difference(&there).map(say).collect::<Vec<_>>()
    };
    groups.iter().flat_map(lacks).collect()
}

fn row(group: &Group<'_>, over: &Name, request: &Request) -> Row {
    let outcome = match request.at {
        At::Target(target) => Outcome::Target(reaching(&group.runs, &request.metric, target)),
        _ => Outcome::Figure(group.estimate(over, &request.metric, &request.at)),
    };
    Row {
        keys: group.keys.clone(),
        chosen: group.chosen.clone(),
        outcome,
        comparison: None,
    }
}

fn reaching(runs: &[&Judged], metric: &str, target: f64) -> Reaching {
    let first = |run: &&Judged| run.reaching(metric, target).cloned();
    let there: Vec<Figures> = runs.iter().filter_map(first).collect();
    let cost = |way: Way| {
        let costs = there
            .iter()
            .filter_map(|figures| figures.get(way.figure()).copied());
        Estimate::of(&costs.collect::<Vec<f64>>())
    };
    Reaching {
        runs: runs.len(),
        reached: there.len(),
        rounds: cost(Way::Round),
        bytes: cost(Way::Bytes),
        seconds: cost(Way::Seconds),
    }
}

/// The place of the setting `field` among the columns.
fn column(names: &Names, field: &str) -> Result<usize, TableError> {
    let place = names.by.iter().position(|name| name.written == field);
    place.ok_or_else(|| TableError::NotAColumn {
        written: field.to_owned(),
    })
}

/// Compares each row with the one that has `value` at `place` and agrees in the other columns.
fn compare(
    rows: &mut [Row],
    groups: &[Group<'_>],
    over: &Name,
    place: usize,
    value: &str,
    request: &Request,
) -> Result<(), TableError> {
    let known: BTreeSet<&String> = groups.iter().map(|group| &group.keys[place]).collect();
    if !known.iter().any(|known| *known == value) {
        return Err(TableError::NoBaseline {
            field: request.by[place].clone(),
            value: value.to_owned(),
            known: known.into_iter().cloned().collect(),
        });
    }
    for (row, group) in rows.iter_mut().zip(groups) {
        let mut keys = group.keys.clone();
        keys[place] = value.to_owned();
        let baseline = groups.iter().find(|other| other.keys == keys);
        let Some(baseline) = baseline.filter(|_| group.keys != keys) else {
            continue;
        };
        let others = baseline.values(over, &request.metric, &request.at);
        let pair = |(seed, a): (String, f64)| {
            let (_, b) = others.iter().find(|(other, _)| *other == seed)?;
            Some((a, *b))
        };
        let own = group.values(over, &request.metric, &request.at);
        let pairs: Vec<(f64, f64)> = own.into_iter().filter_map(pair).collect();
        row.comparison = Paired::of(&pairs);
    }
    Ok(())
}
