//! Runs that differ in their seed only, taken as one.

use std::collections::BTreeSet;

use super::curves::{self, Curves};
use super::setting_label;
use crate::document::quantity_text::lambda_range;
use meshfold_experiment::results::Settings;
use meshfold_experiment::results::{DONE, RecordedRun};
use meshfold_experiment::results::{Evaluation, RecordedSpread};

/// How many runs reached a target, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reaching {
    /// Runs that have reached it, are finished or have failed.
    pub(crate) runs: usize,
    /// Those that reached it.
    pub(crate) reached: usize,
    /// Their first round there, the mean.
    pub(crate) round: Option<f64>,
}

/// Runs of one configuration under one or more seeds.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    /// What distinguishes the group from the others of the page, or what a single one is called.
    pub(crate) label: String,
    /// In the order in which they were named; never empty.
    pub(crate) runs: Vec<&'a RecordedRun>,
    pub(crate) curves: Curves,
    /// The runs that the curves and final figures are of: those that are finished or, if none is, those that came furthest.
    pub(crate) averaged: Vec<&'a RecordedRun>,
}

impl<'a> Group<'a> {
    /// Groups runs, in the order in which each group's first run was named.
    pub(crate) fn all(runs: &'a [RecordedRun]) -> Vec<Self> {
        let mut kinds: Vec<(String, Vec<&RecordedRun>)> = Vec::new();
        for run in runs {
            let kind = run.settings.kind();
            match kinds.iter_mut().find(|(other, _)| *other == kind) {
                Some((_, members)) => members.push(run),
                None => kinds.push((kind, vec![run])),
            }
        }
        let firsts: Vec<&Settings> = kinds
            .iter()
            .map(|(_, members)| &members[0].settings)
            .collect();
        let labels = labels(&firsts, &swept(runs.iter()));
        let points = curves::points(kinds.len());
        kinds
            .into_iter()
            .zip(labels)
            .map(|((_, members), label)| Self::new(label, members, points))
            .collect()
    }

    fn new(label: String, runs: Vec<&'a RecordedRun>, points: usize) -> Self {
        let furthest = runs
            .iter()
            .filter_map(|run| run.last())
            .map(|last| last.round)
            .max();
        let is_finished = runs.iter().any(|run| run.is_finished);
        let counts = |run: &&RecordedRun| match is_finished {
            true => run.is_finished && run.last().is_some(),
            false => run.last().is_some_and(|last| Some(last.round) == furthest),
        };
        let averaged: Vec<&RecordedRun> = runs.iter().copied().filter(counts).collect();
        let evaluations: Vec<&[Evaluation]> = averaged
            .iter()
            .map(|run| run.evaluations.as_slice())
            .collect();
        let curves = Curves::of(&evaluations, points);
        Self {
            label,
            runs,
            curves,
            averaged,
        }
    }

    /// The run that stands for the group where only one can be shown.
    pub(crate) fn first(&self) -> &'a RecordedRun {
        self.averaged.first().unwrap_or(&self.runs[0])
    }

    /// Smallest and largest λ of the runs' overlays.
    pub(crate) fn lambda(&self) -> Option<(f64, f64)> {
        self.range(RecordedRun::lambda)
    }

    /// Whether an overlay changes and only the λ of round 1 is known.
    pub(crate) fn lambda_is_of_round_1(&self) -> bool {
        self.runs.iter().any(|run| run.lambda_is_of_round_1())
    }

    /// λ in words, such as `0.91`, or `0.91 in round 1` where that is all that is known.
    pub(crate) fn lambda_text(&self) -> Option<String> {
        let range = lambda_range(Some(self.lambda()?));
        Some(match self.lambda_is_of_round_1() {
            true => format!("{range} in round 1"),
            false => range,
        })
    }

    /// Whether the exchanges of one period together give every client the mean.
    pub(crate) fn takes_mean_in_a_period(&self) -> bool {
        let takes_mean = |run: &&RecordedRun| run.lambda_per_exchange == Some(0.0);
        self.runs.iter().any(takes_mean)
    }

    /// Whether later rounds have other overlays than round 1.
    pub(crate) fn overlay_changes(&self) -> bool {
        self.runs.iter().any(|run| run.overlay_changes)
    }

    /// Whether clients, servers or edges fail in any run.
    pub(crate) fn has_failures(&self) -> bool {
        let fails = |run: &&RecordedRun| {
            let failures = run.settings.get("failures").as_array();
            failures.is_some_and(|failures| !failures.is_empty())
        };
        self.runs.iter().any(fails)
    }

    /// Smallest and largest mean degree of the runs' overlays.
    pub(crate) fn degree(&self) -> Option<(f64, f64)> {
        self.range(|run| Some(run.overlay_summary.as_ref()?.degree.mean))
    }

    /// Smallest and largest of a figure that runs have.
    fn range(&self, figure: fn(&RecordedRun) -> Option<f64>) -> Option<(f64, f64)> {
        let known = || self.runs.iter().copied().filter_map(figure);
        Some((known().reduce(f64::min)?, known().reduce(f64::max)?))
    }

    /// Accuracy at the last evaluation of each run: the mean of their means, the least and the largest of all.
    pub(crate) fn final_accuracy(&self) -> RecordedSpread {
        let all = || self.averaged.iter().filter_map(|run| run.last());
        let ends = |end: fn(&RecordedSpread) -> Option<f64>| {
            all().filter_map(move |last| end(&last.test_accuracy))
        };
        RecordedSpread {
            mean: self.final_figure(|last| last.test_accuracy.mean),
            min: ends(|spread| spread.min).reduce(f64::min),
            max: ends(|spread| spread.max).reduce(f64::max),
        }
    }

    /// Whether runs ended in different rounds, by their budget or where they reached their targets.
    pub(crate) fn ends_in_different_rounds(&self) -> bool {
        let mut ends = self
            .averaged
            .iter()
            .map(|run| run.last().map(|last| last.round));
        ends.next()
            .is_some_and(|first| ends.any(|end| end != first))
    }

    /// Final accuracies of the clients of all seeds.
    pub(crate) fn client_accuracies(&self) -> Vec<f64> {
        let rows = self.averaged.iter().flat_map(|run| &run.final_accuracies);
        rows.map(|row| row.accuracy).collect()
    }

    /// Final mean accuracy of each seed.
    pub(crate) fn seed_accuracies(&self) -> Vec<f64> {
        let mean = |run: &&RecordedRun| run.last()?.test_accuracy.mean;
        self.averaged.iter().filter_map(mean).collect()
    }

    /// Seed and final mean accuracy of each finished run.
    pub(crate) fn finished_accuracies(&self) -> Vec<(u64, f64)> {
        let accuracy =
            |run: &&RecordedRun| Some((run.settings.seed()?, run.last()?.test_accuracy.mean?));
        let finished = self
            .runs
            .iter()
            .filter(|run| run.folder.join(DONE).is_file());
        finished.filter_map(accuracy).collect()
    }

    /// Whether the last evaluation of a finished run was made on other examples than those before.
    pub(crate) fn ends_on_other_examples(&self) -> bool {
        self.first().ends_on_other_examples()
    }

    /// A figure of the last evaluation, mean over seeds.
    pub(crate) fn final_figure(&self, figure: fn(&Evaluation) -> Option<f64>) -> Option<f64> {
        curves::mean(self.averaged.iter().map(|run| run.last().and_then(figure)))
    }

    /// Seconds of processor time, mean over seeds; absent if a run shared the program with others.
    pub(crate) fn processor_seconds(&self) -> Option<f64> {
        curves::mean(self.averaged.iter().map(|run| run.processor_seconds))
    }

    /// The last round that was evaluated, if it is the same in all runs.
    pub(crate) fn last_round(&self) -> Option<usize> {
        let last = self.first().last().map(|last| last.round);
        last.filter(|_| !self.ends_in_different_rounds())
    }

    /// How the group's runs reached a mean accuracy of `target`, as `meshfold table --at target` counts them.
    pub(crate) fn reaching(&self, target: f64) -> Reaching {
        let round = |run: &&RecordedRun| run.reaching(target).map(|first| first.round as f64);
        let is_over = |run: &&&RecordedRun| run.is_finished || run.failure.is_some();
        let is_known = |run: &&&RecordedRun| is_over(run) || round(run).is_some();
        let rounds: Vec<f64> = self.runs.iter().filter_map(round).collect();
        Reaching {
            runs: self.runs.iter().filter(is_known).count(),
            reached: rounds.len(),
            round: curves::mean(rounds.into_iter().map(Some)),
        }
    }

    /// First round, mean over seeds, at which the mean accuracy was at least `target`; absent if a seed never got there.
    pub(crate) fn round_reaching(&self, target: f64) -> Option<f64> {
        let reaching = |run: &&RecordedRun| run.reaching(target).map(|first| first.round as f64);
        curves::mean(self.averaged.iter().map(reaching))
    }

    /// Bytes sent, mean over seeds, until [`round_reaching`](Self::round_reaching).
    pub(crate) fn traffic_reaching(&self, target: f64) -> Option<f64> {
        let reaching =
            |run: &&RecordedRun| run.reaching(target).and_then(|first| first.bytes_total);
        curves::mean(self.averaged.iter().map(reaching))
    }

    /// The seeds that the figures are over in words, such as `seeds 1, 2, 3`.
    pub(crate) fn seeds(&self) -> String {
        let runs = if self.averaged.is_empty() {
            &self.runs
        } else {
            &self.averaged
        };
        let seeds: Vec<String> = runs
            .iter()
            .filter_map(|run| run.settings.seed())
            .map(|seed| seed.to_string())
            .collect();
        match seeds.len() {
            0 => String::new(),
            1 => format!("seed {}", seeds[0]),
            2..=12 => format!("seeds {}", seeds.join(", ")),
            count => format!("{count} seeds"),
        }
    }
}

/// The top-level settings that a sweep of `runs` varies.
pub(super) fn swept<'a>(runs: impl Iterator<Item = &'a RecordedRun>) -> BTreeSet<&'a str> {
    runs.flat_map(|run| &run.swept)
        .map(String::as_str)
        .collect()
}

/// Labels that tell the groups apart; a number is added where words do not.
fn labels(firsts: &[&Settings], swept: &BTreeSet<&str>) -> Vec<String> {
    let mut labels = setting_label::differences(firsts, swept);
    for (label, settings) in labels.iter_mut().zip(firsts) {
        if label.is_empty() {
            *label =
                setting_label::topology(settings).unwrap_or_else(|| settings.name().to_owned());
        }
    }
    let repeated: Vec<bool> = labels
        .iter()
        .map(|label| labels.iter().filter(|other| *other == label).count() > 1)
        .collect();
    for (index, label) in labels.iter_mut().enumerate() {
        if repeated[index] {
            *label = format!("{label} ({})", index + 1);
        }
    }
    labels
}
