//! One run, with the numbers that a table takes of it.

use meshfold_experiment::results::{Figures, Progress, RecordedRun, reaches};

use crate::at::At;
use crate::error::TableError;
use crate::fields::Fields;

/// A run with its settings and figures at hand.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) fields: Fields,
    pub(crate) figures: Vec<Figures>,
    pub(crate) is_finished: bool,
    /// Whether the last evaluation was made on other test examples than those before.
    pub(crate) ends_on_other_examples: bool,
    /// What identifies its training and its test examples, if it was recorded.
    pub(crate) examples: Option<[String; 2]>,
}

impl Judged {
    pub(crate) fn of(run: &RecordedRun) -> Result<Self, TableError> {
        Ok(Self {
            fields: Fields::of(&run.settings),
            figures: run.figures()?,
            is_finished: run.is_finished,
            ends_on_other_examples: run.ends_on_other_examples(),
            examples: run.examples(),
        })
    }

    /// Whether an evaluation has the figure called `metric`.
    pub(crate) fn measured(&self, metric: &str) -> bool {
        self.figures
            .iter()
            .any(|figures| figures.contains_key(metric))
    }

    /// The figure called `metric` where `at` says; absent if the run did not get there or did not measure it.
    pub(crate) fn value(&self, metric: &str, at: &At) -> Option<f64> {
        at.value(metric, &self.figures, self.is_finished)
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

    /// Whether it is known if the run reaches `target`: more rounds may still bring an unfinished one there.
    pub(crate) fn knows_reaching(&self, metric: &str, target: f64) -> bool {
        self.is_finished || self.reaching(metric, target).is_some()
    }
}

#[cfg(test)]
impl Judged {
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
            figures: evaluations.iter().map(figures).collect(),
            is_finished: true,
            ends_on_other_examples: false,
            examples: None,
        }
    }
}

/// Whether the figure called `metric` depends on the test examples that models are judged on.
fn is_of_test_examples(metric: &str) -> bool {
    metric.starts_with("test_") || metric == "mean_model_accuracy"
}

/// Requires that one of `runs` measured `metric`.
pub(crate) fn expect_figure(metric: &str, runs: &[Judged]) -> Result<(), TableError> {
    let names = || {
        runs.iter()
            .flat_map(|run| run.figures.iter().flat_map(|figures| figures.keys()))
    };
    if names().any(|name| name == metric) {
        return Ok(());
    }
    if metric == Progress::Seconds.figure() {
        return Err(TableError::NoNetwork {
            written: metric.to_owned(),
        });
    }
    let known: std::collections::BTreeSet<&String> = names().collect();
    Err(TableError::UnknownFigure {
        written: metric.to_owned(),
        known: known.into_iter().cloned().collect(),
    })
}
