//! Learning rates over time.

use meshfold_own::{OwnKind, OwnPart};
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// What a schedule counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// Local steps of the row.
    Step,
    /// Passes over the shard. With `local: {epochs: K}` and `restart: never` those that were due: `K` in each round before, whether the
    /// client did them or not, and those of the round in progress. Else those that it has done.
    Epoch,
    /// Communication rounds.
    #[default]
    Round,
    /// Passes that were due: so many in each round before, done or not, and those of the round in progress.
    ///
    /// No configuration names it; see [`LearningRate::with_epochs_due`].
    #[serde(skip)]
    EpochDue {
        /// Passes of a round.
        in_round: u32,
        /// Those of the round in progress that came before the work at hand.
        before: u32,
    },
}

/// When the count begins anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Restart {
    /// Steps and epochs count over the whole run.
    #[default]
    Never,
    /// Steps and epochs count from the start of each round.
    Round,
}

/// A learning rate: a number, or a function of the steps, epochs or rounds done before.
///
/// Below, `t` counts from 0 and `k` from 1.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum LearningRate {
    /// The same rate throughout.
    Constant(f64),
    /// A rate that changes.
    Schedule(Schedule),
}

/// A learning rate that changes over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// `initial * factor^floor(t / every)`.
    Step(Step),
    /// `initial / (1 + t / scale)` (P-FedAvg, section VI).
    InverseTime(InverseTime),
    /// `1 / (r * k^q)` (DFedRW, section VI-B).
    Power(Power),
    /// `delta / (t + gamma)` (P-FedAvg, Theorem 1).
    Harmonic(Harmonic),
    /// A schedule of a program's own.
    Own(OwnPart<dyn OwnSchedule>),
}

/// A learning rate of a program's own.
pub trait OwnSchedule: Send + Sync {
    /// The rate of the local step that follows `progress`: finite and not negative.
    fn rate(&self, progress: &Progress) -> f64;

    /// What the rate is a function of.
    fn per(&self) -> Per;

    /// What is wrong with its keys, if anything is: `gamma must be positive`.
    fn fault(&self) -> Option<&'static str> {
        None
    }
}

impl OwnKind for dyn OwnSchedule {
    const KIND: &'static str = "own schedule";
}

macro_rules! schedule {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident),* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: f64,)*
            /// What is counted.
            #[serde(default)]
            pub per: Per,
            /// When the count begins anew.
            #[serde(default)]
            pub restart: Restart,
        }
    };
}
schedule!(
    /// Parameters of [`Schedule::Step`].
    Step {
        /// Rate at the start.
        initial,
        /// What the rate is multiplied by.
        factor,
        /// After how many counts.
        every
    }
);
schedule!(
    /// Parameters of [`Schedule::InverseTime`].
    InverseTime {
        /// Rate at the start.
        initial,
        /// Counts after which the rate has halved.
        scale
    }
);
schedule!(
    /// Parameters of [`Schedule::Power`].
    Power {
        /// Inverse of the first rate.
        r,
        /// Exponent of the count.
        q
    }
);
schedule!(
    /// Parameters of [`Schedule::Harmonic`].
    Harmonic {
        /// Numerator.
        delta,
        /// Offset of the count.
        gamma
    }
);

/// How far a row has come; the position a schedule is asked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Rounds done before this one.
    pub rounds: u64,
    /// Local steps done in the run and in this round.
    pub steps: [u64; 2],
    /// Epochs done in the run and in this round.
    pub epochs: [u64; 2],
}

impl LearningRate {
    /// This rate for rounds in which `in_round` passes are due, `before` of them before the work at hand. If it counts
    /// epochs over the whole run, it now counts passes that were due: a row that was left out, or cut short, has the
    /// rate of the others.
    #[must_use]
    pub fn with_epochs_due(mut self, in_round: u32, before: u32) -> Self {
        if let Self::Schedule(schedule) = &mut self {
            let Some((per, restart)) = schedule.counting() else {
                return self;
            };
            let counts_epochs = matches!(per, Per::Epoch | Per::EpochDue { .. });
            if counts_epochs && restart == Restart::Never {
                *per = Per::EpochDue { in_round, before };
            }
        }
        self
    }

    /// What the rate counts over the whole run; `None` if it counts nothing, or begins anew in each round.
    pub fn per_over_rounds(&self) -> Option<Per> {
        let Self::Schedule(schedule) = self else {
            return None;
        };
        let mut schedule = schedule.clone();
        let (per, restart) = schedule.counting()?;
        (restart == Restart::Never).then_some(*per)
    }

    /// The rate of the local step that follows `progress`.
    pub fn at(&self, progress: &Progress) -> f64 {
        let schedule = match self {
            Self::Constant(rate) => return *rate,
            Self::Schedule(schedule) => schedule,
        };
        let count = |per, restart| {
            let which = usize::from(restart == Restart::Round);
            let count = match per {
                Per::Step => progress.steps[which],
                Per::Epoch => progress.epochs[which],
                Per::EpochDue { in_round, before } => {
                    progress.rounds * u64::from(in_round) + u64::from(before) + progress.epochs[1]
                }
                Per::Round if restart == Restart::Round => 0,
                Per::Round => progress.rounds,
            };
            count as f64
        };
        match schedule {
            Schedule::Step(s) => {
                s.initial * s.factor.powf((count(s.per, s.restart) / s.every).floor())
            }
            Schedule::InverseTime(s) => s.initial / (1.0 + count(s.per, s.restart) / s.scale),
            Schedule::Power(s) => 1.0 / (s.r * (count(s.per, s.restart) + 1.0).powf(s.q)),
            Schedule::Harmonic(s) => s.delta / (count(s.per, s.restart) + s.gamma),
            Schedule::Own(own) => own.part().rate(progress),
        }
    }

    /// What the rate is a function of; `None` if it is constant.
    pub fn per(&self) -> Option<Per> {
        let Self::Schedule(schedule) = self else {
            return None;
        };
        Some(match schedule {
            Schedule::Step(s) => s.per,
            Schedule::InverseTime(s) => s.per,
            Schedule::Power(s) => s.per,
            Schedule::Harmonic(s) => s.per,
            Schedule::Own(own) => own.part().per(),
        })
    }

    /// What is wrong with the parameters, if anything is.
    pub fn fault(&self) -> Option<&'static str> {
        let positive = |value: f64| value > 0.0 && value.is_finite();
        match self {
            Self::Constant(rate) if !(*rate >= 0.0 && rate.is_finite()) => {
                Some("must be finite and not negative")
            }
            Self::Constant(_) => None,
            Self::Schedule(Schedule::Step(s))
                if !(positive(s.initial) && positive(s.factor) && s.every >= 1.0) =>
            {
                Some("step needs initial > 0, factor > 0 and every >= 1")
            }
            Self::Schedule(Schedule::InverseTime(s))
                if !(positive(s.initial) && positive(s.scale)) =>
            {
                Some("inverse_time needs initial > 0 and scale > 0")
            }
            Self::Schedule(Schedule::Power(s)) if !(positive(s.r) && s.q >= 0.0) => {
                Some("power needs r > 0 and q >= 0")
            }
            Self::Schedule(Schedule::Harmonic(s)) if !(positive(s.delta) && positive(s.gamma)) => {
                Some("harmonic needs delta > 0 and gamma > 0")
            }
            Self::Schedule(Schedule::Own(own)) => own.part().fault(),
            Self::Schedule(_) => None,
        }
    }
}

impl Schedule {
    /// What is counted, and from when; a schedule of a program's own is told everything.
    fn counting(&mut self) -> Option<(&mut Per, Restart)> {
        Some(match self {
            Self::Step(s) => (&mut s.per, s.restart),
            Self::InverseTime(s) => (&mut s.per, s.restart),
            Self::Power(s) => (&mut s.per, s.restart),
            Self::Harmonic(s) => (&mut s.per, s.restart),
            Self::Own(_) => return None,
        })
    }
}

impl<'de> Deserialize<'de> for LearningRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Rate;
        impl<'de> Visitor<'de> for Rate {
            type Value = LearningRate;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number or a schedule: {step: ..}, {inverse_time: ..}, {power: ..} or {harmonic: ..}")
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<LearningRate, E> {
                Ok(LearningRate::Constant(value))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<LearningRate, E> {
                Ok(LearningRate::Constant(value as f64))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<LearningRate, E> {
                Ok(LearningRate::Constant(value as f64))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LearningRate, A::Error> {
                Schedule::deserialize(MapAccessDeserializer::new(map)).map(LearningRate::Schedule)
            }
        }
        deserializer.deserialize_any(Rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(rounds: u64) -> Progress {
        Progress {
            rounds,
            ..Progress::default()
        }
    }

    #[test]
    fn schedules_follow_their_formulas() {
        let (per, restart) = (Per::Round, Restart::Never);
        let step = LearningRate::Schedule(Schedule::Step(Step {
            initial: 0.1,
            factor: 0.2,
            every: 20.0,
            per,
            restart,
        }));
        assert!((step.at(&rounds(39)) - 0.02).abs() < 1e-12);
        let inverse = LearningRate::Schedule(Schedule::InverseTime(InverseTime {
            initial: 1.0,
            scale: 10.0,
            per,
            restart,
        }));
        assert!((inverse.at(&rounds(10)) - 0.5).abs() < 1e-12);
        let power = LearningRate::Schedule(Schedule::Power(Power {
            r: 2.0,
            q: 0.5,
            per,
            restart,
        }));
        assert!((power.at(&rounds(3)) - 0.25).abs() < 1e-12);
        let harmonic = LearningRate::Schedule(Schedule::Harmonic(Harmonic {
            delta: 3.0,
            gamma: 2.0,
            per,
            restart,
        }));
        assert!((harmonic.at(&rounds(4)) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn epochs_due_count_whether_they_were_done_or_not() {
        let rate = |restart| {
            LearningRate::Schedule(Schedule::Power(Power {
                r: 1.0,
                q: 1.0,
                per: Per::Epoch,
                restart,
            }))
        };
        // Two of the seven rounds before were missed; this is the third of five epochs.
        let progress = Progress {
            rounds: 7,
            steps: [250, 20],
            epochs: [27, 2],
        };
        assert_eq!(rate(Restart::Never).at(&progress), 1.0 / 28.0);
        let due = rate(Restart::Never).with_epochs_due(5, 0);
        assert_eq!(due.at(&progress), 1.0 / 38.0);
        // The same in the second half of rounds of ten.
        assert_eq!(due.with_epochs_due(10, 5).at(&progress), 1.0 / 78.0);
        let restarted = rate(Restart::Round).with_epochs_due(5, 0);
        assert_eq!(restarted.at(&progress), 1.0 / 3.0);
        let constant = LearningRate::Constant(0.1);
        assert_eq!(constant.clone().with_epochs_due(5, 0), constant);
    }

    #[test]
    fn a_restarted_schedule_counts_within_the_round() {
        let rate = LearningRate::Schedule(Schedule::Step(Step {
            initial: 1.0,
            factor: 0.5,
            every: 1.0,
            per: Per::Epoch,
            restart: Restart::Round,
        }));
        let progress = Progress {
            rounds: 7,
            steps: [70, 10],
            epochs: [14, 2],
        };
        assert!((rate.at(&progress) - 0.25).abs() < 1e-12);
    }
}
