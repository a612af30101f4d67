//! What `overlay.json` says of overlays that change.

use serde::Deserialize;

/// A joint λ below this may be rounding alone.
const ROUNDING: f64 = 1e-7;

/// What `overlay.json` says of overlays that change. Other keys may be those of another version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct RecordedSchedule {
    /// Whether later rounds have other overlays than round 1; earlier versions say it of those alone that repeat.
    pub(super) changes: bool,
    schedule: Option<Period>,
    /// `λ` of overlays that are drawn independently in each round.
    lambda_of_draws: Option<f64>,
}

/// What is known of a period of overlays that repeat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Period {
    /// Rounds.
    period: Option<u32>,
    joint_lambda: Option<f64>,
    lambda: Option<f64>,
}

impl Period {
    /// `λ` of an exchange. Earlier versions left `λ` of the period and its length.
    fn lambda(self) -> Option<f64> {
        self.lambda.or_else(|| match self.joint_lambda? {
            joint if joint < ROUNDING => Some(0.0),
            joint => Some(joint.powf(1.0 / f64::from(self.period?.max(1)))),
        })
    }
}

impl RecordedSchedule {
    /// `λ` of the overlays of a period together, if they repeat and it was found.
    pub(super) fn lambda_of_period(&self) -> Option<f64> {
        self.schedule?.joint_lambda
    }

    /// `λ` of an exchange over a period or over draws, if that is known.
    pub(super) fn lambda(&self) -> Option<f64> {
        let repeated = self.schedule.and_then(|period| period.lambda());
        repeated.or(self.lambda_of_draws)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> RecordedSchedule {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn earlier_versions_leave_the_lambda_of_a_period_and_its_length() {
        let earlier = read(r#"{"schedule": {"period": 4, "joint_lambda": 0.0625}}"#);
        assert_eq!(
            (earlier.lambda(), earlier.lambda_of_period()),
            (Some(0.5), Some(0.0625))
        );
        let mean = read(r#"{"schedule": {"period": 3, "joint_lambda": 2.7e-17}}"#);
        assert_eq!(mean.lambda(), Some(0.0));
        let unknown = read(r#"{"schedule": {"period": 3, "joint_lambda": null}}"#);
        assert_eq!(unknown.lambda(), None);
        assert_eq!(read("{}").lambda(), None);
    }

    #[test]
    fn what_was_recorded_stands() {
        let run = read(
            r#"{"changes": true, "schedule": {"period": 50, "joint_lambda": 1e-16, "lambda": 0.4}}"#,
        );
        assert_eq!((run.lambda(), run.changes), (Some(0.4), true));
        let drawn = read(r#"{"changes": true, "lambda_of_draws": 0.7}"#);
        assert_eq!(
            (drawn.lambda(), drawn.lambda_of_period()),
            (Some(0.7), None)
        );
    }
}
