//! The curves of a group of runs: means and bands, and how far the runs were.

use crate::document::quantity_text::significant_values;
use crate::evenly::evenly;
use meshfold_experiment::results::{
    Evaluation, Progress, RecordedRun, RecordedSpread, ResultsError,
};
use meshfold_statistics::{Estimate, Interval, middles_by_key};
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};

/// A figure at each evaluation: its mean over clients and seeds, and what can be drawn around it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CurveWithBands {
    pub(crate) mean: Vec<Option<f64>>,
    pub(crate) bands: Bands,
}

/// What can be drawn around a mean; a band without values is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Bands {
    /// The 95 % interval of the mean over the seeds; two or more have one.
    #[serde(skip_serializing_if = "Band::is_empty")]
    pub(crate) interval: Band,
    /// The 5 % and 95 % quantiles of the clients, each the mean over the seeds.
    #[serde(skip_serializing_if = "Band::is_empty")]
    pub(crate) quantiles: Band,
    /// The least and the largest of the clients of any seed.
    #[serde(skip_serializing_if = "Band::is_empty")]
    pub(crate) range: Band,
}

/// The edges of a band at each evaluation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Band {
    #[serde(serialize_with = "short")]
    pub(crate) low: Vec<Option<f64>>,
    #[serde(serialize_with = "short")]
    pub(crate) high: Vec<Option<f64>>,
}

impl Band {
    /// Whether no evaluation has both edges.
    pub(crate) fn is_empty(&self) -> bool {
        self.low
            .iter()
            .zip(&self.high)
            .all(|(low, high)| low.is_none() || high.is_none())
    }

    fn of(intervals: impl Iterator<Item = Option<Interval>>) -> Self {
        let edges = |interval: Option<Interval>| {
            (
                interval.map(|interval| interval.low),
                interval.map(|interval| interval.high),
            )
        };
        let (low, high) = intervals.map(edges).unzip();
        Self { low, high }
    }
}

/// As many digits as a plot shows.
fn short<S: Serializer>(values: &[Option<f64>], serializer: S) -> Result<S::Ok, S::Error> {
    significant_values(values, 4).serialize(serializer)
}

/// What runs that differ in their seed only did, evaluation by evaluation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Curves {
    pub(crate) rounds: Vec<usize>,
    pub(crate) steps: Vec<Option<f64>>,
    pub(crate) epochs: Vec<Option<f64>>,
    pub(crate) examples: Vec<Option<f64>>,
    /// Bytes that crossed the network, mean over seeds.
    pub(crate) bytes: Vec<Option<f64>>,
    /// Seconds by the network model, mean over seeds.
    pub(crate) simulated_seconds: Vec<Option<f64>>,
    /// Seconds on the clock, mean over seeds.
    pub(crate) wall_seconds: Vec<Option<f64>>,
    pub(crate) accuracy: CurveWithBands,
    pub(crate) loss: CurveWithBands,
    /// Its range is over seeds.
    pub(crate) consensus: CurveWithBands,
    pub(crate) mean_model_accuracy: Vec<Option<f64>>,
    /// What theorems bound, by name, mean over seeds.
    pub(crate) bounded: BTreeMap<String, Bounded>,
    /// What the method recorded itself, by name.
    pub(crate) own: BTreeMap<String, CurveWithBands>,
}

/// A quantity and the bound that a theorem has for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Bounded {
    pub(crate) value: Vec<Option<f64>>,
    pub(crate) bound: Vec<Option<f64>>,
}

/// What the name of a quantity's bound ends with.
const BOUND: &str = "_bound";

/// Every quantity that has a bound, by its name, at each evaluation of all seeds.
fn bounded(evaluations: &[Vec<Evaluation>]) -> BTreeMap<String, Bounded> {
    let theory = |name: &str| {
        let of = |evaluation: &Evaluation| evaluation.theory.get(name).copied().flatten();
        let seeds = evaluations.iter();
        seeds.map(|seeds| mean(seeds.iter().map(of))).collect()
    };
    let all = evaluations.iter().flatten();
    let names: BTreeSet<&str> = all
        .flat_map(|evaluation| evaluation.theory.keys())
        .filter_map(|name| name.strip_suffix(BOUND))
        .collect();
    let pair = |name: &str| Bounded {
        value: theory(name),
        bound: theory(&format!("{name}{BOUND}")),
    };
    names
        .into_iter()
        .map(|name| (name.to_owned(), pair(name)))
        .collect()
}

/// Every figure that the method recorded itself, by its name, at each evaluation of all seeds.
fn own(evaluations: &[Vec<Evaluation>]) -> BTreeMap<String, CurveWithBands> {
    let all = evaluations.iter().flatten();
    let names: BTreeSet<&String> = all.flat_map(|evaluation| evaluation.own.keys()).collect();
    let curve = |name: &String| {
        with_bands(evaluations, |evaluation| {
            evaluation.own.get(name).copied().unwrap_or_default()
        })
    };
    let named = |name: &String| (name.clone(), curve(name));
    names.into_iter().map(named).collect()
}

/// Most evaluations of a curve that are drawn: a screen shows no more, and many curves share the page.
pub(crate) fn points(curves: usize) -> usize {
    (12_000 / curves.max(1)).clamp(60, 400)
}

impl Curves {
    /// The curves of runs over the rounds that all of them evaluated, thinned to `points` with first and last kept.
    pub(crate) fn of(runs: &[&[Evaluation]], points: usize) -> Self {
        let Some((first, others)) = runs.split_first() else {
            return Self::default();
        };
        let same_round = |run: &[Evaluation], round| {
            run.iter().rev().find(|found| found.round == round).cloned()
        };
        let mut evaluations: Vec<Vec<Evaluation>> = Vec::new();
        for evaluation in evenly(first, points) {
            let matches: Option<Vec<_>> = others
                .iter()
                .map(|run| same_round(run, evaluation.round))
                .collect();
            if let Some(matches) = matches {
                evaluations.push([vec![evaluation.clone()], matches].concat());
            }
        }
        let means = |figure: fn(&Evaluation) -> Option<f64>| {
            evaluations
                .iter()
                .map(|seeds| mean(seeds.iter().map(figure)))
                .collect::<Vec<_>>()
        };
        Self {
            rounds: evaluations.iter().map(|seeds| seeds[0].round).collect(),
            steps: means(|evaluation| evaluation.local_steps),
            epochs: means(|evaluation| evaluation.epochs),
            examples: means(|evaluation| evaluation.examples_seen),
            bytes: means(|evaluation| evaluation.bytes_total),
            simulated_seconds: means(|evaluation| evaluation.simulated_seconds),
            wall_seconds: means(|evaluation| evaluation.wall_seconds),
            accuracy: with_bands(&evaluations, |evaluation| evaluation.test_accuracy),
            loss: with_bands(&evaluations, |evaluation| evaluation.test_loss),
            consensus: with_bands(&evaluations, |evaluation| {
                let distance = evaluation.consensus_distance;
                RecordedSpread {
                    mean: distance,
                    min: distance,
                    max: distance,
                }
            }),
            mean_model_accuracy: means(|evaluation| evaluation.mean_model_accuracy),
            bounded: bounded(&evaluations),
            own: own(&evaluations),
        }
    }

    /// How far the runs were at each evaluation, mean over seeds.
    pub(crate) fn progress(&self, progress: Progress) -> Vec<Option<f64>> {
        match progress {
            Progress::Rounds => self
                .rounds
                .iter()
                .map(|&round| Some(round as f64))
                .collect(),
            Progress::Steps => self.steps.clone(),
            Progress::Epochs => self.epochs.clone(),
            Progress::Examples => self.examples.clone(),
            Progress::Bytes => self.bytes.clone(),
            Progress::Seconds => self.simulated_seconds.clone(),
        }
    }

    /// Reads the scores of the clients of `runs`, which must be the runs of the curves, for the quantiles.
    ///
    /// # Errors
    /// Those of [`RecordedRun::model_scores`].
    pub(crate) fn add_quantiles(&mut self, runs: &[&RecordedRun]) -> Result<(), ResultsError> {
        let all: Vec<MiddleOfClients> = runs
            .iter()
            .map(|run| MiddleOfClients::of(run))
            .collect::<Result<_, _>>()?;
        let over_seeds = |middle: fn(&MiddleOfClients) -> &BTreeMap<i64, Interval>| {
            Band::of(self.rounds.iter().map(|&round| {
                let edge = |edge: fn(&Interval) -> f64| {
                    mean(
                        all.iter()
                            .map(|run| middle(run).get(&(round as i64)).map(edge)),
                    )
                };
                Some(Interval {
                    low: edge(|middle| middle.low)?,
                    high: edge(|middle| middle.high)?,
                })
            }))
        };
        let (accuracy, loss) = (over_seeds(|run| &run.accuracy), over_seeds(|run| &run.loss));
        self.accuracy.bands.quantiles = accuracy;
        self.loss.bands.quantiles = loss;
        Ok(())
    }
}

/// What the middle nine tenths of a run's clients lie between, by round.
struct MiddleOfClients {
    accuracy: BTreeMap<i64, Interval>,
    loss: BTreeMap<i64, Interval>,
}

impl MiddleOfClients {
    fn of(run: &RecordedRun) -> Result<Self, ResultsError> {
        let scores = run.model_scores()?;
        let all = || scores.iter();
        Ok(Self {
            accuracy: middles_by_key(all().map(|client| (client.round, client.accuracy))),
            loss: middles_by_key(all().map(|client| (client.round, client.loss))),
        })
    }
}

fn with_bands(
    evaluations: &[Vec<Evaluation>],
    figure: impl Fn(&Evaluation) -> RecordedSpread,
) -> CurveWithBands {
    let over = |pick: fn(RecordedSpread) -> Option<f64>,
                fold: fn(&[Option<f64>]) -> Option<f64>| {
        let values = |seeds: &Vec<Evaluation>| {
            seeds
                .iter()
                .map(|seed| pick(figure(seed)))
                .collect::<Vec<_>>()
        };
        evaluations
            .iter()
            .map(|seeds| fold(&values(seeds)))
            .collect()
    };
    let interval = |seeds: &Vec<Evaluation>| {
        let means = seeds.iter().map(|seed| figure(seed).mean);
        Estimate::of(&means.collect::<Option<Vec<f64>>>()?)?.interval
    };
    let range = Band {
        low: over(
            |spread| spread.min,
            |values| values.iter().flatten().copied().reduce(f64::min),
        ),
        high: over(
            |spread| spread.max,
            |values| values.iter().flatten().copied().reduce(f64::max),
        ),
    };
    CurveWithBands {
        mean: over(|spread| spread.mean, |values| mean(values.iter().copied())),
        bands: Bands {
            interval: Band::of(evaluations.iter().map(interval)),
            quantiles: Band::default(),
            range,
        },
    }
}

/// Mean of the values, absent if one of them is.
pub(crate) fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Vec<f64> = values.collect::<Option<_>>()?;
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluation(round: usize, mean: f64, min: f64, max: f64) -> Evaluation {
        let test_accuracy = RecordedSpread {
            mean: Some(mean),
            min: Some(min),
            max: Some(max),
        };
        Evaluation {
            round,
            test_accuracy,
            bytes_total: Some(round as f64 * 100.0),
            ..Evaluation::default()
        }
    }

    #[test]
    fn the_band_holds_every_client_of_every_seed() {
        let one = [evaluation(0, 0.1, 0.1, 0.1), evaluation(1, 0.5, 0.25, 0.75)];
        let two = [
            evaluation(0, 0.1, 0.1, 0.1),
            evaluation(1, 0.75, 0.5, 0.875),
            evaluation(2, 0.8, 0.8, 0.8),
        ];
        let curves = Curves::of(&[&one, &two], 400);
        assert_eq!(curves.rounds, [0, 1]);
        assert_eq!(curves.bytes, [Some(0.0), Some(100.0)]);
        let range = &curves.accuracy.bands.range;
        assert_eq!(curves.accuracy.mean[1], Some(0.625));
        assert_eq!((range.low[1], range.high[1]), (Some(0.25), Some(0.875)));
        assert_eq!(curves.consensus.mean, [None, None]);
        // 0.625 ± t(0.975, 1) · sd/√2 with sd = 0.125 · √2 and t = 12.7062.
        let interval = &curves.accuracy.bands.interval;
        assert!((interval.high[1].unwrap() - (0.625 + 0.125 * 12.7062)).abs() < 1e-4);
    }

    #[test]
    fn long_runs_are_thinned_between_first_and_last() {
        let run: Vec<_> = (0..5000)
            .map(|round| evaluation(round, 0.5, 0.5, 0.5))
            .collect();
        let curves = Curves::of(&[&run], 400);
        let rounds = curves.rounds;
        assert_eq!((rounds.len(), rounds[0], rounds[399]), (400, 0, 4999));
        assert!(rounds.is_sorted());
        assert!(
            curves.accuracy.bands.interval.is_empty(),
            "one seed has none"
        );
    }

    #[test]
    fn no_runs_have_no_curves() {
        assert_eq!(Curves::of(&[], 400), Curves::default());
        assert!(Curves::of(&[&[]], 400).accuracy.mean.is_empty());
    }
}
