//! One run, with the numbers that a table takes of it.

use std::collections::BTreeSet;

use meshfold_experiment::results::{Figures, Progress, RecordedRun, RowKind, reaches};
use serde_json::Value;

use crate::at::At;
use crate::client_figure::{self, ClientFigure, add_client_figures};
use crate::combined_columns::label;
use crate::cost_figure::{CostFigure, OF};
use crate::error::TableError;
use crate::fields::Fields;
use crate::overlay_figure::OverlayFigure;

/// A run with its settings and figures at hand.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) fields: Fields,
    /// Colours go by it: see [`ages`](crate::ages::ages).
    pub(crate) age: [usize; 2],
    pub(crate) figures: Vec<Figures>,
    pub(crate) is_finished: bool,
    /// Whether it counts as finished though it is not.
    pub(crate) is_cut_short: bool,
    /// Why it failed, if it did.
    pub(crate) failure: Option<String>,
    /// Whether the last evaluation was made on other test examples than those before.
    pub(crate) ends_on_other_examples: bool,
    /// What identifies its training and its test examples, if it was recorded.
    pub(crate) examples: Option<[String; 2]>,
    /// Whose models it judged; known once it has ended.
    pub(crate) models_of: Option<RowKind>,
    /// What is known of each client, if a figure over the clients was asked for.
    pub(crate) of_clients: Vec<String>,
}

impl Judged {
    /// `run` of such an `age`, whose settings are `fields`, with the figures of `metrics.jsonl`, and with those of `wanted` that are figures over its clients.
    pub(crate) fn of(
        run: &RecordedRun,
        age: [usize; 2],
        fields: Fields,
        wanted: &[String],
    ) -> Result<Self, TableError> {
        let mut figures = run.figures()?;
        let of_clients = add_client_figures(run, wanted, &mut figures)?;
        let mut judged = Self {
            fields,
            age,
            figures,
            of_clients,
            is_finished: run.is_finished,
            is_cut_short: false,
            failure: run.failure.clone(),
            ends_on_other_examples: run.ends_on_other_examples(),
            examples: run.examples(),
            models_of: run.models_of,
        };
        for name in wanted {
            if let Some(value) = OverlayFigure::named(name).and_then(|figure| figure.value(run)) {
                for figures in &mut judged.figures {
                    figures.entry(name.clone()).or_insert(value);
                }
            }
            if let Some(cost) = CostFigure::parse(name) {
                cost.add(name, &mut judged);
            }
        }
        Ok(judged)
    }

    /// The run as one that ended with the last evaluation that it has, unless it failed.
    pub(crate) fn taken_as_it_is(self) -> Self {
        let counts = self.failure.is_none() && !self.figures.is_empty();
        Self {
            is_finished: self.is_finished || counts,
            is_cut_short: !self.is_finished && counts,
            ..self
        }
    }

    /// Whether an evaluation has the figure called `metric`.
    pub(crate) fn measured(&self, metric: &str) -> bool {
        self.figures
            .iter()
            .any(|figures| figures.contains_key(metric))
    }

    /// The figure called `metric` where `at` says; absent if the run did not get there or did not measure it.
    pub(crate) fn value(&self, metric: &str, at: &At) -> Option<f64> {
        // What it took to reach a target is known before a run is finished.
        let is_known = self.is_finished || CostFigure::is_meant(metric);
        at.value(metric, &self.figures, is_known)
    }

    /// The first evaluation at which `metric` is at least `target`, or at most if less is better. Figures of test examples are
    /// compared with those on the same examples.
    pub(crate) fn reaching(&self, metric: &str, target: f64) -> Option<&Figures> {
        let is_there = |value: f64| reaches(metric, value, target);
        let differs = self.ends_on_other_examples && is_of_test_examples(metric);
        let alike = self.figures.len().saturating_sub(usize::from(differs));
        let mut figures = self.figures[..alike].iter();
        figures.find(|figures| figures.get(metric).is_some_and(|value| is_there(*value)))
    }

    /// Whether it is known if the run reaches `target`: more rounds may still bring an interrupted one there. A run that failed before
    /// never does.
    pub(crate) fn knows_reaching(&self, metric: &str, target: f64) -> bool {
        self.is_finished || self.failure.is_some() || self.reaching(metric, target).is_some()
    }

    /// Whether it is finished and did not go through all its rounds: its budget was spent, or it had reached its targets.
    pub(crate) fn ended_early(&self) -> bool {
        let rounds = self.fields.at("rounds").and_then(Value::as_f64);
        self.is_finished
            && self
                .last_round()
                .zip(rounds)
                .is_some_and(|(last, all)| last < all)
    }

    /// The round of the last evaluation.
    pub(crate) fn last_round(&self) -> Option<f64> {
        self.figures.last()?.get("round").copied()
    }
}

#[cfg(test)]
impl Judged {
    /// A finished run of ten rounds with accuracies of some of them.
    pub(crate) fn with_accuracies(seed: usize, accuracies: &[(f64, f64)]) -> Self {
        let pairs =
            |(round, accuracy): &(f64, f64)| [("round", *round), ("test_accuracy", *accuracy)];
        let evaluations: Vec<_> = accuracies.iter().map(pairs).collect();
        let evaluations: Vec<&[_]> = evaluations.iter().map(|pairs| pairs.as_slice()).collect();
        Self::finished(&format!("seed: {seed}\nrounds: 10"), &evaluations)
    }

    /// A finished run with these settings and evaluations.
    pub(crate) fn finished(settings: &str, evaluations: &[&[(&str, f64)]]) -> Self {
        let settings = meshfold_experiment::results::Settings::parse(settings);
        let figures = |evaluation: &&[(&str, f64)]| {
            let pairs = evaluation.iter();
            pairs
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect()
        };
        Self {
            fields: Fields::of(&settings.expect("they are YAML")),
            age: [0; 2],
            figures: evaluations.iter().map(figures).collect(),
            is_finished: true,
            is_cut_short: false,
            failure: None,
            ends_on_other_examples: false,
            examples: None,
            models_of: None,
            of_clients: Vec::new(),
        }
    }
}

/// Whether the figure called `metric` depends on the test examples that models are judged on.
pub(crate) fn is_of_test_examples(metric: &str) -> bool {
    let starts = [
        "test_",
        "mean_model_accuracy",
        "own_labels_accuracy",
        "label_",
    ];
    starts.iter().any(|start| metric.starts_with(start))
}

/// Whether the figure called `metric` depends on the clients' local test sets.
pub(crate) fn is_of_local_tests(metric: &str) -> bool {
    let starts = ["local_test_", "fine_tuned_"];
    starts.iter().any(|start| metric.starts_with(start))
}

/// Requires that one of `runs` measured `metric`.
pub(crate) fn expect_figure(metric: &str, runs: &[Judged]) -> Result<(), TableError> {
    match runs.iter().any(|run| run.measured(metric)) {
        true => Ok(()),
        false => Err(not_measured(metric, runs)),
    }
}

/// What some of `runs` know of each client, if that was looked up.
pub(crate) fn known_of_clients(runs: &[Judged]) -> Vec<String> {
    let known: BTreeSet<&String> = runs.iter().flat_map(|run| &run.of_clients).collect();
    known.into_iter().cloned().collect()
}

/// Why none of `runs` has the figure called `metric`.
fn not_measured(metric: &str, runs: &[Judged]) -> TableError {
    let written = metric.to_owned();
    if let Some(cost) = CostFigure::parse(metric) {
        let is_there = |run: &Judged| run.reaching(OF, cost.target).is_some();
        return match runs.iter().any(is_there) {
            true if cost.way == Progress::Seconds => TableError::NoNetwork { written },
            true => unknown(written, runs, Vec::new()),
            false => TableError::NeverReached { written },
        };
    }
    if CostFigure::is_meant(metric) {
        return TableError::NoTarget { written };
    }
    if metric == Progress::Seconds.figure() {
        return TableError::NoNetwork { written };
    }
    let of_clients = known_of_clients(runs);
    let of = client_figure::name(metric);
    let figure = ClientFigure::parse(metric);
    if of_clients.iter().any(|name| name == of) && figure.is_none() {
        return TableError::NoFigureOfClients { written };
    }
    let may_be_recorded = |of: &str| of.starts_with("own_") || label(of).is_some();
    if figure.is_some_and(|figure| figure.is_of_clients_alone() || may_be_recorded(figure.of)) {
        return match of_clients.is_empty() {
            true => TableError::NoClientTable { written },
            false if of_clients.iter().any(|name| name == of) => TableError::NoNumbers { written },
            false => TableError::NoClients {
                written: of.to_owned(),
                known: of_clients,
            },
        };
    }
    unknown(written, runs, of_clients)
}

fn unknown(written: String, runs: &[Judged], of_clients: Vec<String>) -> TableError {
    let names = runs.iter().flat_map(|run| &run.figures);
    let known: BTreeSet<&String> = names.flat_map(|figures| figures.keys()).collect();
    TableError::UnknownFigure {
        written,
        known: known.into_iter().cloned().collect(),
        of_clients,
    }
}
