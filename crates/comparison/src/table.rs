//! A table: what was asked for, and its rows.

use meshfold_experiment::results::{FigureKind, Figures, Progress, RecordedRun};
use meshfold_statistics::{Paired, Spread};
use serde_json::Value;

use crate::across::expect_across;
use crate::ages::ages;
use crate::at::At;
use crate::baseline::compare;
use crate::centre::{Centre, Summary};
use crate::choosing::{best_of, soonest};
use crate::cost_figure::CostFigure;
use crate::deciding::{deciding, expect_until, taken, until};
use crate::difference::short;
use crate::error::TableError;
use crate::fields::{Fields, differing};
use crate::grouping::{Group, Names, Shown};
use crate::judged::{Judged, expect_figure};
use crate::loss::Loss;
use crate::name::Name;
use crate::naming::{Known, Wording};
use crate::notes::notes;
use crate::only::Chosen;
use crate::request::Request;
use crate::several::expect_several;

/// Rows about runs.
#[derive(Clone, Debug)]
pub struct Table {
    /// What was asked for.
    pub request: Request,
    /// In the order of their first runs.
    pub rows: Vec<Row>,
    /// What a reader must know: how a value was chosen, what is missing.
    pub notes: Vec<String>,
    /// The words for settings, values and figures.
    pub(crate) wording: Wording,
    /// The values of the settings in `by` of all runs, also of those that `only` leaves out, each once.
    pub(crate) keys: Vec<Vec<String>>,
    /// What the losses of the runs are.
    pub(crate) loss: Loss,
}

/// What the runs of one setting say.
#[derive(Clone, Debug)]
pub struct Row {
    /// The values of the settings in `by`.
    pub keys: Vec<String>,
    /// The best values of the settings in `best`.
    pub chosen: Vec<String>,
    /// The same values, those in `by` and then those in `best`, as the runs have them; null where they have no such setting.
    pub settings: Vec<Value>,
    /// What was measured.
    pub outcome: Outcome,
    /// The further figures of the request, in their order.
    pub also: Vec<Option<Centre>>,
    /// The place of the row that it is compared with; its own, if others are compared with it.
    pub baseline: Option<usize>,
    /// This row less the row compared with, over what both have.
    pub comparison: Option<Paired>,
    /// The p-value of the comparison, corrected by Holm's method for all comparisons of the table that have one.
    pub corrected: Option<f64>,
}

/// The result of the runs of a row.
#[derive(Clone, Copy, Debug)]
pub enum Outcome {
    /// The figure; absent if no run has it.
    Figure(Option<Centre>),
    /// How they reached a target.
    Target(Reaching),
}

/// How many runs reached a target, and what it took them.
#[derive(Clone, Copy, Debug)]
pub struct Reaching {
    /// Runs of the row that have reached it, are finished or have failed.
    pub runs: usize,
    /// Those that reached it.
    pub reached: usize,
    /// Rounds.
    pub rounds: Option<Centre>,
    /// Bytes sent.
    pub bytes: Option<Centre>,
    /// Seconds on the simulated network, where one is described.
    pub seconds: Option<Centre>,
}

impl Table {
    /// The last test accuracy of each setting over its seeds. Nothing if there is one seed only, or if runs differ in more
    /// than settings that a row can name.
    ///
    /// # Errors
    /// As [`Table::of`].
    pub fn over_seeds(runs: &[RecordedRun]) -> Result<Option<Self>, TableError> {
        let fields = Fields::of_each(runs.iter().map(|run| &run.settings));
        let Ok(seed) = Name::find("seed", &fields) else {
            return Ok(None);
        };
        if !differing(&fields, &[]).contains(&seed.written) {
            return Ok(None);
        }
        let mut request = Request {
            by: shortest(differing(&fields, &[&seed]), &fields),
            ..Request::over_seeds()
        };
        loop {
            match Self::of(runs, request.clone()) {
                // Settings below a choice that already tells rows apart.
                Err(TableError::Mixed { differing, .. }) => {
                    request.by.extend(shortest(differing, &fields));
                }
                Err(
                    TableError::Twice { .. }
                    | TableError::OtherData { .. }
                    | TableError::UnknownFigure { .. },
                ) => {
                    return Ok(None);
                }
                table => return table.map(Some),
            }
        }
    }

    /// The table about `runs`.
    ///
    /// # Errors
    /// [`TableError`]: a name that stands for nothing or for several things, or runs that are not repetitions.
    pub fn of(runs: &[RecordedRun], request: Request) -> Result<Self, TableError> {
        Self::about(judged(runs, &request)?, request)
    }

    /// As [`Table::of`], of runs that have been read.
    pub(crate) fn about(runs: Vec<Judged>, request: Request) -> Result<Self, TableError> {
        let chosen = Chosen::of(runs, &request.only)?;
        Self::of_chosen(&chosen, request)
    }

    /// As [`Table::of`], of the runs that are `chosen`.
    pub(crate) fn of_chosen(chosen: &Chosen, request: Request) -> Result<Self, TableError> {
        let names = names(chosen, &request)?;
        names.expect_distinct()?;
        let runs = &chosen.runs;
        if request.best.contains(&request.over) {
            return Err(TableError::BestOfRepetitions {
                written: request.over,
            });
        }
        for figure in request.figures() {
            expect_figure(figure, runs)?;
        }
        let on = &match (&request.at, &request.on) {
            (At::Target(_), None) => Progress::Rounds.figure().to_owned(),
            _ => deciding(request.on.as_deref(), &request.metric, runs),
        };
        if let At::Target(_) = request.at {
            expect_until(on, &request.metric)?;
        }
        expect_place(&request, runs)?;
        expect_summary(&request)?;
        expect_across(&request)?;
        expect_several(&request)?;
        expect_no_cost(&request)?;
        expect_figure(on, runs)?;
        let mut candidates = Group::all(runs, &names)?;
        chosen.sort(&mut candidates, &names.by, &request.only);
        let wording = wording(chosen, &names, on, &request)?;
        for group in &mut candidates {
            group.call(&wording, &names);
        }
        let groups = match request.at {
            At::Target(target) => {
                let ways = until(on, &request.metric);
                soonest(&candidates, &names.over, ways, target, request.summary)
            }
            _ => best_of(&candidates, &names.over, on, &request.at, request.summary),
        };
        let mut notes = notes(&candidates, &groups, &names.over, on, &request, &wording);
        let rows = groups.iter().map(|group| row(group, &names, &request));
        let mut rows: Vec<Row> = rows.collect();
        notes.extend(compare(&mut rows, &groups, &names, &request)?);
        Ok(Self {
            request,
            rows,
            notes,
            wording,
            keys: chosen.keys(&names.by),
            loss: Loss::of(runs.iter().map(|run| &run.fields)),
        })
    }
}

#[cfg(test)]
impl Table {
    /// The notes about `runs`, all in a row, that are judged at the place `at`.
    pub(crate) fn notes_at(at: &str, runs: Vec<Judged>) -> Vec<String> {
        let request = Request {
            at: at.parse().expect("it is a place"),
            ..Request::over_seeds()
        };
        Self::about(runs, request)
            .expect("they can be compared")
            .notes
    }
}

impl Table {
    /// The words for the settings of the rows.
    pub(crate) fn setting_titles(&self) -> Vec<String> {
        let settings = self.request.by.iter().chain(&self.request.best);
        let titles = settings.map(|name| self.wording.name(name).to_owned());
        titles.collect()
    }

    /// The means or medians of all rows.
    pub(crate) fn centres(&self) -> impl Iterator<Item = &Centre> {
        self.rows.iter().filter_map(|row| match &row.outcome {
            Outcome::Figure(centre) => centre.as_ref(),
            Outcome::Target(_) => None,
        })
    }

    /// The places of the rows that differ from `row` in the last setting only, its own among them.
    pub(crate) fn rivals(&self, row: &Row) -> Vec<usize> {
        let above = |row: &Row| row.keys.split_last().map(|(_, above)| above.to_vec());
        let places = 0..self.rows.len();
        places
            .filter(|place| above(&self.rows[*place]) == above(row))
            .collect()
    }

    /// The best values of each row, if some were chosen: where rows do not show them.
    pub(crate) fn taken(&self) -> Option<String> {
        let (best, by) = (&self.request.best, &self.request.by);
        let rows = self.rows.iter();
        let rows = rows.map(|row| (row.keys.as_slice(), row.chosen.as_slice()));
        (!best.is_empty()).then(|| taken(best, by, rows, &self.wording))
    }
}

/// `runs` with the figures that `request` is about.
pub(crate) fn judged(runs: &[RecordedRun], request: &Request) -> Result<Vec<Judged>, TableError> {
    let of_best = match &request.at {
        At::Best(figure) => Some(figure),
        _ => None,
    };
    let wanted = request.figures().chain(&request.on).chain(of_best);
    let wanted: Vec<String> = wanted.cloned().collect();
    let fields = Fields::of_each(runs.iter().map(|run| &run.settings));
    let runs = runs.iter().zip(ages(runs)).zip(fields);
    runs.map(|((run, age), fields)| {
        let judged = Judged::of(run, age, fields, &wanted)?;
        Ok(match request.unfinished {
            true => judged.taken_as_it_is(),
            false => judged,
        })
    })
    .collect()
}

/// The words that `request` asks for. Values of runs that are not chosen may be named, too.
fn wording(
    chosen: &Chosen,
    names: &Names,
    on: &str,
    request: &Request,
) -> Result<Wording, TableError> {
    let figures = request.figures().cloned().chain([on.to_owned()]);
    let settings = names.by.iter().chain(&names.best);
    let settings: Vec<&Name> = settings.chain([&names.over]).collect();
    Wording::of(&request.words, &Known::of(figures, &settings, &chosen.all))
}

/// Each path as its last key, if this stands for it and for the same key of other choices, as `learning_rate` does for that of every method;
/// else as its shortest end that stands for no other path.
fn shortest(paths: Vec<String>, runs: &[Fields]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for path in &paths {
        let last = path.rsplit('.').next().unwrap_or(path);
        let is_meant = Name::find(last, runs).is_ok_and(|name| name.covers(path));
        let name = if is_meant {
            last.to_owned()
        } else {
            short(path, runs)
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn names(chosen: &Chosen, request: &Request) -> Result<Names, TableError> {
    let find = |written: &String| chosen.name(written);
    Ok(Names {
        shown: Shown::Row,
        by: request.by.iter().map(find).collect::<Result<_, _>>()?,
        over: find(&request.over)?,
        best: request.best.iter().map(find).collect::<Result<_, _>>()?,
    })
}

/// Requires that runs can be judged at the place that was asked for.
fn expect_place(request: &Request, runs: &[Judged]) -> Result<(), TableError> {
    match request.at {
        At::Place { way, .. } => expect_figure(way.figure(), runs),
        At::Target(target)
            if target > 1.0 && FigureKind::of(&request.metric) == FigureKind::Share =>
        {
            Err(TableError::NoFraction {
                target,
                metric: request.metric.clone(),
            })
        }
        At::Best(ref figure) => expect_figure(figure, runs),
        At::Target(_) | At::Last | At::LastFew(_) => Ok(()),
    }
}

/// Requires that a target is one of how good models are, and that a cost until a target is that of a whole run.
fn expect_no_cost(request: &Request) -> Result<(), TableError> {
    let mut figures = request.figures();
    let cost = figures.find(|figure| CostFigure::parse(figure).is_some());
    if let (Some(written), false) = (cost, request.at == At::Last) {
        return Err(TableError::CostAt {
            written: written.clone(),
            at: request.at.clone(),
        });
    }
    match request.at {
        At::Target(_) if is_cost(&request.metric) => Err(TableError::TargetOfCost {
            metric: request.metric.clone(),
        }),
        _ => Ok(()),
    }
}

/// Requires that medians stand with their quartiles, and are not compared by a test of means.
fn expect_summary(request: &Request) -> Result<(), TableError> {
    if request.summary == Summary::Mean {
        return Ok(());
    }
    match (request.spread, &request.compare) {
        (Spread::Interval, None) => Ok(()),
        (Spread::Interval, Some(_)) => Err(TableError::ComparedMedians),
        (spread, _) => Err(TableError::spread_of_median("--spread", spread)),
    }
}

/// Whether the figure called `metric` counts what a run has spent.
fn is_cost(metric: &str) -> bool {
    let counts = ["round", "local_steps", "examples_seen"];
    let starts = ["bytes_", "messages_", "simulated_seconds", "wall_seconds"];
    counts.contains(&metric) || starts.iter().any(|start| metric.starts_with(start))
}

fn row(group: &Group<'_>, names: &Names, request: &Request) -> Row {
    let first = group.runs.first();
    let value = |name: &Name| first.and_then(|run| name.value(&run.fields));
    let settings = names.by.iter().chain(&names.best).map(value);
    let centre = |figure: &String| group.centre(&names.over, figure, &request.at, request.summary);
    let outcome = match request.at {
        At::Target(target) => Outcome::Target(reaching(group, request, target)),
        _ => Outcome::Figure(centre(&request.metric)),
    };
    Row {
        also: request.also.iter().map(centre).collect(),
        keys: group.keys.clone(),
        chosen: group.chosen.clone(),
        settings: settings.map(Option::unwrap_or_default).collect(),
        outcome,
        baseline: None,
        comparison: None,
        corrected: None,
    }
}

fn reaching(group: &Group<'_>, request: &Request, target: f64) -> Reaching {
    let (runs, metric) = (&group.runs, &request.metric);
    let is_known = |run: &&&Judged| run.knows_reaching(metric, target);
    let first = |run: &&Judged| run.reaching(metric, target).cloned();
    let there: Vec<Figures> = runs.iter().filter_map(first).collect();
    let cost = |way: Progress| {
        let costs = there
            .iter()
            .filter_map(|figures| figures.get(way.figure()).copied());
        let costs: Vec<f64> = costs.collect();
        let ends = group.ends(metric, target, way.figure());
        Centre::of_costs(&costs, &ends, request.summary)
    };
    Reaching {
        runs: runs.iter().filter(is_known).count(),
        reached: there.len(),
        rounds: cost(Progress::Rounds),
        bytes: cost(Progress::Bytes),
        seconds: cost(Progress::Seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshfold_experiment::results::Settings;

    #[test]
    fn a_column_has_the_title_that_other_commands_give_the_setting() {
        let settings = |text: &str| Settings::parse(text).unwrap();
        let [a, b] = [
            settings("rate: 1\nalgorithm: {dsgd: {rate: 0.1}}"),
            settings("rate: 1\nalgorithm: {dsgd: {rate: 0.5}}"),
        ];
        let fields = [Fields::of(&a), Fields::of(&b)];
        assert_eq!(shortest(differing(&fields, &[]), &fields), ["dsgd.rate"]);
        let texts = [
            "algorithm: {dsgd: {rate: 0.1}}",
            "algorithm: {dsgd: {rate: 0.5}}",
            "algorithm: {fedavg: {rate: 0.1}}",
            "algorithm: {fedavg: {rate: 0.5}}",
        ];
        let fields = texts.map(|text| Fields::of(&settings(text)));
        let found = shortest(differing(&fields, &[]), &fields);
        assert_eq!(found, ["algorithm", "rate"]);
    }
}
