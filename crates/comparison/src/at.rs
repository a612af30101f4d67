//! At which evaluation a run is looked at.

use std::fmt;
use std::str::FromStr;

use meshfold_experiment::results::{Figures, Progress};

/// Where on its way each run is judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum At {
    /// At its last evaluation.
    #[default]
    Last,
    /// At the last evaluation at which a figure is at most `limit`.
    UpTo {
        /// What counts the way.
        way: Progress,
        /// The most of it.
        limit: f64,
    },
    /// Where the metric first reaches this value.
    Target(f64),
}

/// By what a run can be looked at; `epochs` are in no record.
const MEASURES: [Progress; 5] = [
    Progress::Rounds,
    Progress::Steps,
    Progress::Examples,
    Progress::Bytes,
    Progress::Seconds,
];

/// As the command line has it before the number.
fn name(way: Progress) -> &'static str {
    match way {
        Progress::Rounds => "round",
        way => way.name(),
    }
}

impl fmt::Display for At {
    /// As the command line has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Last => f.write_str("the last evaluation"),
            Self::UpTo { way, limit } => write!(f, "{}={limit}", name(*way)),
            Self::Target(target) => write!(f, "target={target}"),
        }
    }
}

impl FromStr for At {
    type Err = String;

    /// Reads `round=100`, `bytes=1e9` or `target=0.95`.
    fn from_str(text: &str) -> Result<Self, String> {
        let needed = "needed round=, steps=, examples=, bytes=, seconds= or target= with a number";
        let (written, number) = text.split_once('=').ok_or(needed)?;
        let number: f64 = number.parse().map_err(|_| needed)?;
        if !number.is_finite() || number < 0.0 {
            return Err(format!("found {number}, needed a number of at least 0"));
        }
        if written == "target" {
            return Ok(Self::Target(number));
        }
        let way = MEASURES.into_iter().find(|way| name(*way) == written);
        let way = way.ok_or(needed)?;
        Ok(Self::UpTo { way, limit: number })
    }
}

impl At {
    /// The evaluation that counts; none if there is no evaluation, or none so early.
    pub(crate) fn of<'a>(&self, evaluations: &'a [Figures]) -> Option<&'a Figures> {
        match self {
            Self::UpTo { way, limit } => {
                let is_before =
                    |figures: &&Figures| figures.get(way.figure()).is_some_and(|at| at <= limit);
                evaluations.iter().rev().find(is_before)
            }
            Self::Last | Self::Target(_) => evaluations.last(),
        }
    }

    /// Whether a run went far enough that more rounds would not change the evaluation that counts.
    pub(crate) fn is_passed(&self, evaluations: &[Figures]) -> bool {
        match self {
            Self::UpTo { way, limit } => {
                let last = evaluations.last().and_then(|last| last.get(way.figure()));
                last.is_some_and(|at| at >= limit)
            }
            Self::Last | Self::Target(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluations() -> Vec<Figures> {
        let at = |round: f64| {
            [("round", round), ("bytes_total", 100.0 * round)]
                .map(|(name, value)| (name.to_owned(), value))
                .into()
        };
        vec![at(0.0), at(5.0), at(10.0)]
    }

    #[test]
    fn the_last_evaluation_at_or_before_the_limit_counts() {
        let evaluations = evaluations();
        let round = |text: &str| {
            let at: At = text.parse().unwrap();
            at.of(&evaluations).map(|figures| figures["round"])
        };
        assert_eq!(round("round=5"), Some(5.0));
        assert_eq!(round("round=9"), Some(5.0));
        assert_eq!(round("bytes=1e3"), Some(10.0));
        assert_eq!(round("bytes=999"), Some(5.0));
        assert_eq!(round("seconds=1"), None);
        assert_eq!(At::Last.of(&evaluations).unwrap()["round"], 10.0);
    }

    #[test]
    fn a_run_that_ended_before_the_limit_is_known() {
        let passed = |text: &str| text.parse::<At>().unwrap().is_passed(&evaluations());
        assert!(passed("round=10") && passed("bytes=10") && !passed("round=11"));
    }

    #[test]
    fn what_is_no_place_is_refused() {
        let forms = "needed round=, steps=, examples=, bytes=, seconds= or target= with a number";
        for (text, reason) in [
            ("round", forms),
            ("round=x", forms),
            ("rounds=3", forms),
            ("bytes=-1", "found -1, needed a number of at least 0"),
            ("target=NaN", "found NaN, needed a number of at least 0"),
        ] {
            assert_eq!(
                text.parse::<At>().unwrap_err().to_string(),
                reason,
                "{text}"
            );
        }
    }
}
