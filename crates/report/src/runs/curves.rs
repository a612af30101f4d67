//! The course of a group of runs: means and bands over rounds, bytes and seconds.

use meshfold_experiment::results::{Evaluation, RecordedSpread};

/// A figure at each evaluation: its mean over clients and seeds, the lowest and the highest client of any seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Band {
    pub(crate) mean: Vec<Option<f64>>,
    pub(crate) low: Vec<Option<f64>>,
    pub(crate) high: Vec<Option<f64>>,
}

/// What runs that differ in their seed only did, evaluation by evaluation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Curves {
    pub(crate) rounds: Vec<usize>,
    /// Bytes that crossed the network, mean over seeds.
    pub(crate) bytes: Vec<Option<f64>>,
    /// Seconds on the clock, mean over seeds.
    pub(crate) wall_seconds: Vec<Option<f64>>,
    /// Seconds by the network model, mean over seeds.
    pub(crate) simulated_seconds: Vec<Option<f64>>,
    pub(crate) accuracy: Band,
    pub(crate) loss: Band,
    /// Low and high are over seeds.
    pub(crate) consensus: Band,
    pub(crate) mean_model_accuracy: Vec<Option<f64>>,
}

/// Most evaluations that are drawn; a screen shows no more.
pub(crate) const POINTS: usize = 400;

impl Curves {
    /// The course of runs over the rounds that all of them evaluated, thinned to [`POINTS`] with first and last kept.
    pub(crate) fn of(runs: &[&[Evaluation]]) -> Self {
        let Some((first, others)) = runs.split_first() else {
            return Self::default();
        };
        let same_round = |run: &[Evaluation], round| {
            run.iter().rev().find(|found| found.round == round).cloned()
        };
        let mut evaluations: Vec<Vec<Evaluation>> = Vec::new();
        for evaluation in thinned(first) {
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
            bytes: means(|evaluation| evaluation.bytes_total),
            wall_seconds: means(|evaluation| evaluation.wall_seconds),
            simulated_seconds: means(|evaluation| evaluation.simulated_seconds),
            accuracy: band(&evaluations, |evaluation| evaluation.test_accuracy),
            loss: band(&evaluations, |evaluation| evaluation.test_loss),
            consensus: band(&evaluations, |evaluation| {
                let distance = evaluation.consensus_distance;
                RecordedSpread {
                    mean: distance,
                    min: distance,
                    max: distance,
                }
            }),
            mean_model_accuracy: means(|evaluation| evaluation.mean_model_accuracy),
        }
    }

    /// Accuracy at the last evaluation.
    pub(crate) fn final_accuracy(&self) -> RecordedSpread {
        let last = |values: &[Option<f64>]| values.last().copied().flatten();
        let band = &self.accuracy;
        RecordedSpread {
            mean: last(&band.mean),
            min: last(&band.low),
            max: last(&band.high),
        }
    }
}

fn thinned(evaluations: &[Evaluation]) -> Vec<&Evaluation> {
    let last = evaluations.len().saturating_sub(1);
    if last < POINTS {
        return evaluations.iter().collect();
    }
    (0..POINTS)
        .map(|point| &evaluations[point * last / (POINTS - 1)])
        .collect()
}

fn band(evaluations: &[Vec<Evaluation>], figure: fn(&Evaluation) -> RecordedSpread) -> Band {
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
    Band {
        mean: over(|spread| spread.mean, |values| mean(values.iter().copied())),
        low: over(
            |spread| spread.min,
            |values| values.iter().flatten().copied().reduce(f64::min),
        ),
        high: over(
            |spread| spread.max,
            |values| values.iter().flatten().copied().reduce(f64::max),
        ),
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
        let curves = Curves::of(&[&one, &two]);
        assert_eq!(curves.rounds, [0, 1]);
        assert_eq!(curves.bytes, [Some(0.0), Some(100.0)]);
        assert_eq!(
            curves.final_accuracy(),
            RecordedSpread {
                mean: Some(0.625),
                min: Some(0.25),
                max: Some(0.875)
            }
        );
        assert_eq!(curves.consensus.mean, [None, None]);
    }

    #[test]
    fn long_runs_are_thinned_between_first_and_last() {
        let run: Vec<_> = (0..5000)
            .map(|round| evaluation(round, 0.5, 0.5, 0.5))
            .collect();
        let rounds = Curves::of(&[&run]).rounds;
        assert_eq!(
            (rounds.len(), rounds[0], rounds[POINTS - 1]),
            (POINTS, 0, 4999)
        );
        assert!(rounds.is_sorted());
    }

    #[test]
    fn no_runs_have_no_curves() {
        assert_eq!(Curves::of(&[]), Curves::default());
        assert_eq!(
            Curves::of(&[&[]]).final_accuracy(),
            RecordedSpread::default()
        );
    }
}
