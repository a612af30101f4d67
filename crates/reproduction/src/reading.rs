//! How a value is read from the records of a run.

use meshfold_experiment::RunPlan;
use meshfold_experiment::results::{FigureKind, Figures};
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

    /// The value in the records of a finished run; absent where the figure was not measured or a level not reached.
    pub fn of_records(&self, records: &[Figures]) -> Option<f64> {
        let round = |record: &Figures| record.get("round").copied().unwrap_or(-1.0);
        match self {
            Self::Last(figure) => records.last()?.get(figure).copied(),
            Self::Highest(figure) => {
                let values = records
                    .iter()
                    .filter_map(|record| record.get(figure).copied());
                values.reduce(f64::max)
            }
            Self::At { round: at, figure } => {
                let record = records.iter().find(|record| round(record) == *at as f64)?;
                record.get(figure).copied()
            }
            Self::Mean { figure, from, to } => {
                let is_within =
                    |record: &&Figures| (*from as f64..=*to as f64).contains(&round(record));
                let within = records.iter().filter(is_within);
                let values: Vec<f64> = within
                    .filter_map(|record| record.get(figure).copied())
                    .collect();
                (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
            }
            Self::First {
                figure,
                reaches,
                gives,
            } => {
                let kind = FigureKind::of(figure);
                let reached = |record: &&Figures| {
                    let value = record.get(figure);
                    value.is_some_and(|value| kind.reaches(*value, *reaches))
                };
                records.iter().find(reached)?.get(gives).copied()
            }
            Self::Plan(_) => None,
        }
    }

    /// The value in a plan, if it is read from there.
    pub fn of_plan(&self, plan: &RunPlan) -> Option<f64> {
        let Self::Plan(path) = self else {
            return None;
        };
        let summary = serde_json::to_value(plan.summary()).ok()?;
        let pointer = format!("/{}", path.replace('.', "/"));
        summary.pointer(&pointer)?.as_f64()
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
        let read = |reading: Reading| reading.of_records(&records());
        assert_eq!(read(Reading::Last(figure())), Some(0.7));
        assert_eq!(read(Reading::Highest(figure())), Some(0.7));
        assert_eq!(
            read(Reading::At {
                round: 10,
                figure: figure()
            }),
            Some(0.5)
        );
        assert_eq!(
            read(Reading::At {
                round: 11,
                figure: figure()
            }),
            None
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
        assert_eq!(read(Reading::Last("own_accuracy".to_owned())), None);
    }
}
