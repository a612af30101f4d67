//! Where on its way a run is looked at.

use std::fmt;
use std::str::FromStr;

use meshfold_experiment::results::{Figures, Progress, more_is_better};

use crate::series::{Band, Series};

/// At which evaluation each run is judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum At {
    /// At its last evaluation.
    #[default]
    Last,
    /// After so much of the way: at an evaluation, or on the straight line between two.
    Place {
        /// The measure of progress.
        way: Progress,
        /// How much of it.
        at: f64,
    },
    /// At so many of its last evaluations, by the mean over them.
    LastFew(usize),
    /// Where the metric first reaches this value.
    Target(f64),
    /// At the evaluation at which this figure is best, the first of several.
    Best(String),
}

/// How the last evaluations are asked for on the command line.
const LAST: &str = "last";
/// How the best evaluation is asked for there.
const BEST: &str = "best";

/// Measures of progress that a run can be judged by; records do not hold `epochs`.
const MEASURES: [Progress; 5] = [
    Progress::Rounds,
    Progress::Steps,
    Progress::Examples,
    Progress::Bytes,
    Progress::Seconds,
];

/// Its name on the command line.
fn name(way: Progress) -> &'static str {
    match way {
        Progress::Rounds => "round",
        way => way.name(),
    }
}

impl fmt::Display for At {
    /// Writes it as on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Last => f.write_str("the last evaluation"),
            Self::Place { way, at } => write!(f, "{}={at}", name(*way)),
            Self::LastFew(count) => write!(f, "{LAST}={count}"),
            Self::Target(target) => write!(f, "target={target}"),
            Self::Best(figure) => write!(f, "{BEST}={figure}"),
        }
    }
}

impl FromStr for At {
    type Err = String;

    /// Reads `round=100`, `bytes=1e9` or `target=0.95`.
    fn from_str(text: &str) -> Result<Self, String> {
        let needed = "needed round=, steps=, examples=, bytes=, seconds=, last= or target= with a number, or best= with a figure";
        let (written, number) = text.split_once('=').ok_or(needed)?;
        if written == LAST {
            let count = number.parse().ok().filter(|count| *count > 0);
            let count = count.ok_or_else(|| {
                format!("found {number}, needed a whole number of evaluations, at least 1")
            })?;
            return Ok(Self::LastFew(count));
        }
        if written == BEST && !number.is_empty() {
            return Ok(Self::Best(number.to_owned()));
        }
        let number: f64 = number.parse().map_err(|_| needed)?;
        if !number.is_finite() || number < 0.0 {
            return Err(format!("found {number}, needed a number of at least 0"));
        }
        if written == "target" {
            return Ok(Self::Target(number));
        }
        let way = MEASURES.into_iter().find(|way| name(*way) == written);
        let way = way.ok_or(needed)?;
        Ok(Self::Place { way, at: number })
    }
}

impl At {
    /// The figure called `metric` of a run with these `evaluations`; absent if the run did not get there or did not measure it.
    ///
    /// A finished run that ended before the place is looked at where it ended. Before the first evaluation there is nothing.
    pub(crate) fn value(
        &self,
        metric: &str,
        evaluations: &[Figures],
        is_finished: bool,
    ) -> Option<f64> {
        let last = evaluations.last().filter(|_| is_finished);
        match self {
            Self::Place { way, at } if self.is_passed(evaluations) => {
                let series = Series::of(evaluations, way.figure(), metric, Band::None);
                series.at(*at).map(|sample| sample.value)
            }
            Self::Place { way, .. } => {
                let last = last.filter(|last| last.contains_key(way.figure()))?;
                last.get(metric).copied()
            }
            Self::LastFew(count) => {
                last?;
                let few = evaluations.iter().rev().take(*count);
                let few: Option<Vec<f64>> =
                    few.map(|figures| figures.get(metric).copied()).collect();
                few.map(|few| few.iter().sum::<f64>() / few.len() as f64)
            }
            Self::Last | Self::Target(_) => last?.get(metric).copied(),
            Self::Best(on) => {
                last?;
                best(on, evaluations)?.get(metric).copied()
            }
        }
    }

    /// Whether a run went so far that more rounds would not change its figures at this place.
    pub(crate) fn is_passed(&self, evaluations: &[Figures]) -> bool {
        match self {
            Self::Place { way, at } => {
                let last = evaluations.last().and_then(|last| last.get(way.figure()));
                last.is_some_and(|end| end >= at)
            }
            Self::Last | Self::LastFew(_) | Self::Target(_) | Self::Best(_) => false,
        }
    }

    /// Whether a run passed the place between two of its evaluations.
    pub(crate) fn is_between(&self, evaluations: &[Figures]) -> bool {
        let Self::Place { way, at } = self else {
            return false;
        };
        let mut ends = evaluations
            .iter()
            .filter_map(|figures| figures.get(way.figure()));
        let begins_before = ends.clone().any(|end| end < at);
        begins_before && self.is_passed(evaluations) && !ends.any(|end| end == at)
    }
}

/// The first of `evaluations` at which the figure called `on` is best.
fn best<'a>(on: &str, evaluations: &'a [Figures]) -> Option<&'a Figures> {
    let sign = if more_is_better(on) { 1.0 } else { -1.0 };
    let mut best: Option<(f64, &Figures)> = None;
    for figures in evaluations {
        let score = figures.get(on).map(|value| sign * value);
        if let Some(score) = score
            && best.is_none_or(|(before, _)| score > before)
        {
            best = Some((score, figures));
        }
    }
    best.map(|(_, figures)| figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evaluations after 0, 5 and 10 rounds of 100 bytes, with the squares of the rounds as losses.
    fn evaluations() -> Vec<Figures> {
        let at = |round: f64| {
            [
                ("round", round),
                ("bytes_total", 100.0 * round),
                ("test_loss", round * round),
            ]
            .map(|(name, value)| (name.to_owned(), value))
            .into()
        };
        vec![at(0.0), at(5.0), at(10.0)]
    }

    fn loss(text: &str, evaluations: &[Figures], is_finished: bool) -> Option<f64> {
        let at: At = text.parse().unwrap();
        at.value("test_loss", evaluations, is_finished)
    }

    #[test]
    fn between_two_evaluations_a_figure_lies_on_a_straight_line() {
        let evaluations = evaluations();
        let loss = |text: &str| loss(text, &evaluations, true);
        assert_eq!(loss("round=5"), Some(25.0));
        assert_eq!(loss("round=9"), Some(85.0));
        assert_eq!(loss("bytes=250"), Some(12.5));
        assert_eq!(loss("bytes=1e3"), Some(100.0));
        assert_eq!(loss("seconds=1"), None);
        assert_eq!(At::Last.value("test_loss", &evaluations, true), Some(100.0));
    }

    #[test]
    fn outside_of_its_evaluations_a_finished_run_has_its_last_figure_and_none_before_the_first() {
        let evaluations = evaluations();
        assert_eq!(loss("round=11", &evaluations, true), Some(100.0));
        assert_eq!(loss("round=11", &evaluations, false), None);
        assert_eq!(loss("round=9", &evaluations, false), Some(85.0));
        assert_eq!(loss("round=4", &evaluations[1..], true), None);
    }

    #[test]
    fn the_best_evaluation_is_the_first_at_which_the_figure_is_best() {
        let at = |round: f64, [validation, loss]: [f64; 2]| -> Figures {
            [
                ("round", round),
                ("validation_accuracy", validation),
                ("test_loss", loss),
            ]
            .map(|(name, value)| (name.to_owned(), value))
            .into()
        };
        let evaluations = [[0.1, 9.0], [0.7, 5.0], [0.7, 3.0], [0.6, 4.0]];
        let rounds = [0.0, 5.0, 10.0, 15.0].into_iter().zip(evaluations);
        let evaluations: Vec<Figures> = rounds.map(|(round, pair)| at(round, pair)).collect();
        let loss = |text: &str| loss(text, &evaluations, true);
        assert_eq!(loss("best=validation_accuracy"), Some(5.0));
        assert_eq!(loss("best=test_loss"), Some(3.0));
        assert_eq!(loss("best=own.gap"), None);
        let at: At = "best=test_loss".parse().unwrap();
        assert_eq!(at.to_string(), "best=test_loss");
        assert_eq!(at.value("round", &evaluations, false), None);
        assert!("best=".parse::<At>().is_err() && "best".parse::<At>().is_err());
    }

    #[test]
    fn the_last_evaluations_count_by_their_mean() {
        let evaluations = evaluations();
        let loss = |text: &str| loss(text, &evaluations, true);
        assert_eq!(loss("last=1"), Some(100.0));
        assert_eq!(loss("last=2"), Some(62.5));
        assert_eq!([loss("last=3"), loss("last=9")], [Some(125.0 / 3.0); 2]);
        let at: At = "last=2".parse().unwrap();
        assert_eq!(at.to_string(), "last=2");
        assert_eq!(at.value("test_loss", &evaluations, false), None);
        assert_eq!(at.value("train_loss", &evaluations, true), None);
    }

    #[test]
    fn a_place_between_two_evaluations_is_known() {
        let is_between = |text: &str| text.parse::<At>().unwrap().is_between(&evaluations());
        assert!(is_between("round=9") && is_between("bytes=1"));
        assert!(!is_between("round=5") && !is_between("round=11") && !is_between("target=1"));
    }

    #[test]
    fn a_run_that_ended_before_the_place_is_known() {
        let passed = |text: &str| text.parse::<At>().unwrap().is_passed(&evaluations());
        assert!(passed("round=10") && passed("bytes=10") && !passed("round=11"));
    }

    #[test]
    fn what_is_no_place_is_refused() {
        let forms = "needed round=, steps=, examples=, bytes=, seconds=, last= or target= with a number, or best= with a figure";
        for (text, reason) in [
            ("round", forms),
            ("round=x", forms),
            ("rounds=3", forms),
            ("bytes=-1", "found -1, needed a number of at least 0"),
            ("target=NaN", "found NaN, needed a number of at least 0"),
            (
                "last=0",
                "found 0, needed a whole number of evaluations, at least 1",
            ),
            (
                "last=2.5",
                "found 2.5, needed a whole number of evaluations, at least 1",
            ),
        ] {
            assert_eq!(
                text.parse::<At>().unwrap_err().to_string(),
                reason,
                "{text}"
            );
        }
    }
}
