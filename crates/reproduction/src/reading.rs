//! How a value is read from the records of a run.

use std::collections::BTreeSet;

use meshfold_experiment::RunPlan;
use meshfold_experiment::results::{Figures, reaches};
use serde::Deserialize;

/// How a value is read. Figures go by their names in `metrics.jsonl`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Reading {
    /// The figure at the last evaluation.
    Last(String),
    /// The largest that the figure ever is.
    Highest(String),
    /// The figure at a round.
    At {
        /// The round.
        round: u64,
        /// The figure.
        figure: String,
    },
    /// The mean of the figure over the evaluations of some rounds, the ends included.
    Mean {
        /// The figure.
        figure: String,
        /// First round.
        from: u64,
        /// Last round.
        to: u64,
    },
    /// What another figure is when this one first reaches a level: an accuracy from below, other figures from above.
    First {
        /// The figure.
        figure: String,
        /// The level.
        reaches: f64,
        /// The other figure, such as `round` or `simulated_seconds`.
        gives: String,
    },
    /// A figure of the plan, by its path in `meshfold plan --json`, such as `overlay.kappa`. No run is needed.
    Plan(String),
}

impl Reading {
    /// Whether runs are needed.
    pub(crate) fn needs_runs(&self) -> bool {
        !matches!(self, Self::Plan(_))
    }

    /// The figure whose course a reader wants to see.
    pub(crate) fn figure(&self) -> Option<&str> {
        match self {
            Self::Last(figure) | Self::Highest(figure) => Some(figure),
            Self::At { figure, .. } | Self::Mean { figure, .. } | Self::First { figure, .. } => {
                Some(figure)
            }
            Self::Plan(_) => None,
        }
    }

    /// The figure that the value is of, which tells its unit.
    pub(crate) fn measured(&self) -> &str {
        match self {
            Self::First { gives, .. } => gives,
            Self::Plan(path) => path,
            _ => self.figure().unwrap_or_default(),
        }
    }

    /// The value in the records of a finished run; none where a level was never reached.
    ///
    /// # Errors
    /// [`Unread`] if the run did not measure it.
    pub fn of_records(&self, records: &[Figures]) -> Result<Option<f64>, Unread> {
        let round = |record: &Figures| record.get("round").copied().unwrap_or(-1.0);
        let rounds = |from: u64, to: u64| {
            let is_within =
                move |record: &&Figures| (from as f64..=to as f64).contains(&round(record));
            let within: Vec<&Figures> = records.iter().filter(is_within).collect();
            match within.is_empty() {
                true => Err(Unread::no_evaluation([from, to], records.iter().map(round))),
                false => Ok(within),
            }
        };
        let (figure, found) = match self {
            Self::Last(figure) => (
                figure,
                records
                    .last()
                    .and_then(|record| record.get(figure).copied()),
            ),
            Self::Highest(figure) => {
                let values = records
                    .iter()
                    .filter_map(|record| record.get(figure).copied());
                (figure, values.reduce(f64::max))
            }
            Self::At { round, figure } => {
                let record = rounds(*round, *round)?.first().copied();
                (
                    figure,
                    record.and_then(|record| record.get(figure).copied()),
                )
            }
            Self::Mean { figure, from, to } => {
                let within = rounds(*from, *to)?.into_iter();
                let values: Vec<f64> = within
                    .filter_map(|record| record.get(figure).copied())
                    .collect();
                let sum = values.iter().sum::<f64>();
                (
                    figure,
                    (!values.is_empty()).then(|| sum / values.len() as f64),
                )
            }
            Self::First {
                figure,
                reaches: level,
                gives,
            } => {
                let is_there = |value: &f64| reaches(figure, *value, *level);
                let reached = |record: &&Figures| record.get(figure).is_some_and(is_there);
                match records.iter().find(reached) {
                    Some(record) => (gives, record.get(gives).copied()),
                    None if records.iter().any(|record| record.contains_key(figure)) => {
                        return Ok(None);
                    }
                    None => (figure, None),
                }
            }
            Self::Plan(_) => return Ok(None),
        };
        match found {
            Some(value) => Ok(Some(value)),
            None => Err(Unread::no_figure(figure, records)),
        }
    }

    /// The value in a plan, if it is read from there.
    ///
    /// # Errors
    /// [`Unread`] if the plan has no such number.
    pub fn of_plan(&self, plan: &RunPlan) -> Result<Option<f64>, Unread> {
        let Self::Plan(path) = self else {
            return Ok(None);
        };
        let summary = serde_json::to_value(plan.summary()).unwrap_or_default();
        let pointer = format!("/{}", path.replace('.', "/"));
        match summary
            .pointer(&pointer)
            .and_then(serde_json::Value::as_f64)
        {
            Some(value) => Ok(Some(value)),
            None => Err(Unread::NotPlanned { path: path.clone() }),
        }
    }
}

/// Why a value cannot be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unread {
    /// Where the value is read, the run has no such figure.
    #[error("the run has no figure `{figure}` there; those that it has: {}", known.join(", "))]
    NoFigure {
        /// The figure.
        figure: String,
        /// The figures of all evaluations.
        known: Vec<String>,
    },
    /// There was no evaluation at these rounds.
    #[error("the run has no evaluation of rounds {from} to {to}; the nearest are of {}", near.join(" and "))]
    NoEvaluation {
        /// First round.
        from: u64,
        /// Last round.
        to: u64,
        /// The rounds of the evaluations before and after.
        near: Vec<String>,
    },
    /// A plan has no such number.
    #[error("the plan has no number `{path}`; `meshfold plan --json` shows those that it has")]
    NotPlanned {
        /// Its path.
        path: String,
    },
}

impl Unread {
    fn no_evaluation([from, to]: [u64; 2], evaluated: impl Iterator<Item = f64> + Clone) -> Self {
        let before = evaluated.clone().filter(|round| *round < from as f64);
        let after = evaluated.filter(|round| *round > to as f64);
        let near = [before.reduce(f64::max), after.reduce(f64::min)];
        let near = near.into_iter().flatten().map(|round| round.to_string());
        Self::NoEvaluation {
            from,
            to,
            near: near.collect(),
        }
    }

    fn no_figure(figure: &str, records: &[Figures]) -> Self {
        let known: BTreeSet<&String> = records.iter().flat_map(Figures::keys).collect();
        Self::NoFigure {
            figure: figure.to_owned(),
            known: known.into_iter().cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Vec<Figures> {
        let record = |round: f64, accuracy: f64| {
            let figures = [
                ("round", round),
                ("test_accuracy", accuracy),
                ("simulated_seconds", 10.0 * round),
                ("test_loss", 1.0 - accuracy),
            ];
            Figures::from(figures.map(|(name, value)| (name.to_owned(), value)))
        };
        vec![
            record(0.0, 0.1),
            record(5.0, 0.6),
            record(10.0, 0.5),
            record(15.0, 0.7),
        ]
    }

    #[test]
    fn readings_take_the_record_that_they_name() {
        let figure = || "test_accuracy".to_owned();
        let read = |reading: Reading| reading.of_records(&records()).unwrap();
        assert_eq!(read(Reading::Last(figure())), Some(0.7));
        assert_eq!(read(Reading::Highest(figure())), Some(0.7));
        assert_eq!(
            read(Reading::At {
                round: 10,
                figure: figure()
            }),
            Some(0.5)
        );
        let mean = read(Reading::Mean {
            figure: figure(),
            from: 5,
            to: 10,
        })
        .unwrap();
        assert!((mean - 0.55).abs() < 1e-12);
        let first = |reaches| Reading::First {
            figure: figure(),
            reaches,
            gives: "simulated_seconds".to_owned(),
        };
        assert_eq!(read(first(0.6)), Some(50.0));
        assert_eq!(read(first(0.8)), None);
        let first_loss = |reaches| Reading::First {
            figure: "test_loss".to_owned(),
            reaches,
            gives: "round".to_owned(),
        };
        assert_eq!(read(first_loss(0.45)), Some(5.0));
        assert_eq!(read(first_loss(0.1)), None);
    }

    #[test]
    fn what_was_not_measured_is_not_what_was_not_reached() {
        let refused = |yaml: &str| {
            let reading: Reading = serde_yaml::from_str(yaml).unwrap();
            reading.of_records(&records()).unwrap_err().to_string()
        };
        for yaml in [
            "{last: own_accuracy}",
            "{highest: own_accuracy}",
            "{at: {round: 5, figure: own_accuracy}}",
            "{mean: {figure: own_accuracy, from: 5, to: 10}}",
            "{first: {figure: own_accuracy, reaches: 0.9, gives: round}}",
            "{first: {figure: test_accuracy, reaches: 0.6, gives: own_accuracy}}",
        ] {
            let reason = refused(yaml);
            assert!(
                reason.contains("`own_accuracy`")
                    && reason.contains("simulated_seconds, test_accuracy"),
                "{yaml}: {reason}"
            );
        }
        assert_eq!(
            refused("{at: {round: 11, figure: test_accuracy}}"),
            "the run has no evaluation of rounds 11 to 11; the nearest are of 10 and 15"
        );
    }
}
