//! Learning rates over time: a file for each formula.

mod constant;
mod cosine;
mod formula;
mod harmonic;
mod inverse_time;
mod milestones;
mod own;
mod power;
mod step;

pub use constant::Constant;
pub use cosine::Cosine;
pub use harmonic::Harmonic;
pub use inverse_time::InverseTime;
pub use milestones::Milestones;
pub use own::OwnSchedule;
pub use power::Power;
pub use step::Step;

use crate::error::EngineError;
use formula::Formula;
use meshfold_own::OwnPart;
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
    /// `rate`, for a warm-up.
    Constant(Constant),
    /// `initial * factor^floor(t / every)`.
    Step(Step),
    /// `initial * factor^m`, where `m` of the milestones `at` are at most `t`.
    Milestones(Milestones),
    /// `last + (initial − last) * (1 + cos(π * min(t / length, 1))) / 2`.
    Cosine(Cosine),
    /// `initial / (1 + t / scale)` (P-FedAvg, section VI).
    InverseTime(InverseTime),
    /// `1 / (r * k^q)` (DFedRW, section VI-B).
    Power(Power),
    /// `delta / (t + gamma)` (P-FedAvg, Theorem 1).
    Harmonic(Harmonic),
    /// A schedule of a program's own.
    Own(OwnPart<dyn OwnSchedule>),
}

/// The formula of a schedule, borrowed as the schedule is, or else the part of a program's own.
macro_rules! formula_of {
    ($schedule:expr) => {
        match $schedule {
            Schedule::Constant(formula) => Ok(formula),
            Schedule::Step(formula) => Ok(formula),
            Schedule::Milestones(formula) => Ok(formula),
            Schedule::Cosine(formula) => Ok(formula),
            Schedule::InverseTime(formula) => Ok(formula),
            Schedule::Power(formula) => Ok(formula),
            Schedule::Harmonic(formula) => Ok(formula),
            Schedule::Own(own) => Err(own.part()),
        }
    };
}

impl Schedule {
    fn formula(&self) -> Result<&dyn Formula, &dyn OwnSchedule> {
        formula_of!(self)
    }

    fn formula_mut(&mut self) -> Result<&mut dyn Formula, &dyn OwnSchedule> {
        formula_of!(self)
    }

    /// Counts over which the rate rises to that of its formula; `None` of a schedule of a program's own.
    pub fn warmup(&self) -> Option<f64> {
        self.formula().ok().map(|formula| formula.warmup())
    }
}

/// How far a row has come; the position a schedule is asked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Rounds done before this one.
    pub rounds: u64,
    /// Local steps done in the run and in this round.
    pub steps: [u64; 2],
    /// Epochs done in the run and in this round.
    pub epochs: [u64; 2],
    /// Those of this round that were done before the local work at hand began.
    pub epochs_before_call: u64,
}

impl LearningRate {
    /// This rate for rounds in which `in_round` passes are due, `before` of them before the work at hand. If it counts
    /// epochs over the whole run, it now counts passes that were due: a row that was left out, or cut short, has the
    /// rate of the others.
    #[must_use]
    pub fn with_epochs_due(mut self, in_round: u32, before: u32) -> Self {
        if let Self::Schedule(schedule) = &mut self
            && let Ok(formula) = schedule.formula_mut()
            && let (Per::Epoch | Per::EpochDue { .. }, Restart::Never) = formula.counting()
        {
            formula.count(Per::EpochDue { in_round, before });
        }
        self
    }

    /// What the rate counts over the whole run; `None` if it counts nothing, or begins anew in each round.
    pub fn per_over_rounds(&self) -> Option<Per> {
        let Self::Schedule(schedule) = self else {
            return None;
        };
        let (per, restart) = match schedule.formula() {
            Ok(formula) => formula.counting(),
            Err(own) => (own.per(), own.restart()),
        };
        (restart == Restart::Never).then_some(per)
    }

    /// The rate of the local step that follows `progress`.
    pub fn at(&self, progress: &Progress) -> f64 {
        let schedule = match self {
            Self::Constant(rate) => return *rate,
            Self::Schedule(schedule) => schedule,
        };
        match schedule.formula() {
            Ok(formula) => progress.rate_of(formula),
            Err(own) => own.rate(progress),
        }
    }

    /// The same, after a check of a rate of a program's own. The rates of others are fine if their parameters are.
    ///
    /// # Errors
    /// [`EngineError::OwnRate`] if that is negative, not finite in single precision, or cannot be computed.
    pub fn try_at(&self, progress: &Progress) -> Result<f64, EngineError> {
        let Self::Schedule(Schedule::Own(own)) = self else {
            return Ok(self.at(progress));
        };
        own::checked(own, progress)
    }

    /// What the rate is a function of; `None` if it is constant.
    pub fn per(&self) -> Option<Per> {
        let Self::Schedule(schedule) = self else {
            return None;
        };
        Some(match schedule.formula() {
            Ok(formula) => formula.counting().0,
            Err(own) => own.per(),
        })
    }

    /// What is wrong with the parameters, if anything is.
    pub fn fault(&self) -> Option<&'static str> {
        let schedule = match self {
            Self::Constant(rate) => {
                let is_fine = *rate >= 0.0 && rate.is_finite();
                return (!is_fine).then_some("must be finite and not negative");
            }
            Self::Schedule(schedule) => schedule,
        };
        match schedule.formula() {
            Ok(formula) => {
                let is_fine = formula.warmup() >= 0.0 && formula.warmup().is_finite();
                let of_warmup = (!is_fine).then_some("warmup must be finite and not negative");
                formula.fault().or(of_warmup)
            }
            Err(own) => own.fault(),
        }
    }
}

impl Progress {
    /// Moves on by a local step, which may end an epoch.
    pub(crate) fn advance(&mut self, ends_epoch: bool) {
        self.steps = self.steps.map(|steps| steps + 1);
        self.epochs = self.epochs.map(|done| done + u64::from(ends_epoch));
    }

    /// Where it is, in words.
    fn words(&self) -> String {
        let Self {
            rounds,
            steps: [steps, _],
            epochs: [epochs, _],
            ..
        } = self;
        format!("after {rounds} rounds, {steps} local steps and {epochs} epochs")
    }

    /// The rate that `formula` has here.
    fn rate_of(&self, formula: &dyn Formula) -> f64 {
        let (per, restart) = formula.counting();
        let t = self.count(per, restart) as f64;
        let rate = formula.rate(t);
        match t + 1.0 < formula.warmup() {
            true => rate * ((t + 1.0) / formula.warmup()),
            false => rate,
        }
    }

    /// How many of what a schedule counts are done.
    fn count(&self, per: Per, restart: Restart) -> u64 {
        let which = usize::from(restart == Restart::Round);
        match per {
            Per::Step => self.steps[which],
            Per::Epoch => self.epochs[which],
            Per::EpochDue { in_round, before } => {
                let here = self.epochs[1] - self.epochs_before_call;
                self.rounds * u64::from(in_round) + u64::from(before) + here
            }
            Per::Round if restart == Restart::Round => 0,
            Per::Round => self.rounds,
        }
    }
}

impl<'de> Deserialize<'de> for LearningRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Rate;
        impl<'de> Visitor<'de> for Rate {
            type Value = LearningRate;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(
                    "a number or a schedule, such as {step: ..}, {cosine: ..} or {milestones: ..}",
                )
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
            warmup: 0.0,
        }));
        assert!((step.at(&rounds(39)) - 0.02).abs() < 1e-12);
        let inverse = LearningRate::Schedule(Schedule::InverseTime(InverseTime {
            initial: 1.0,
            scale: 10.0,
            per,
            restart,
            warmup: 0.0,
        }));
        assert!((inverse.at(&rounds(10)) - 0.5).abs() < 1e-12);
        let power = LearningRate::Schedule(Schedule::Power(Power {
            r: 2.0,
            q: 0.5,
            per,
            restart,
            warmup: 0.0,
        }));
        assert!((power.at(&rounds(3)) - 0.25).abs() < 1e-12);
        let harmonic = LearningRate::Schedule(Schedule::Harmonic(Harmonic {
            delta: 3.0,
            gamma: 2.0,
            per,
            restart,
            warmup: 0.0,
        }));
        assert!((harmonic.at(&rounds(4)) - 0.5).abs() < 1e-12);
    }

    /// The rates before the first rounds.
    fn rates<const N: usize>(yaml_as_json: &str) -> [f64; N] {
        let rate: LearningRate = serde_json::from_str(yaml_as_json).unwrap();
        assert_eq!(rate.fault(), None);
        std::array::from_fn(|round| rate.at(&rounds(round as u64)))
    }

    #[test]
    fn a_rate_falls_at_each_milestone() {
        let found = rates(r#"{"milestones": {"initial": 0.8, "factor": 0.5, "at": [2, 3, 5]}}"#);
        assert_eq!(found, [0.8, 0.8, 0.4, 0.2, 0.2, 0.1, 0.1]);
    }

    #[test]
    fn a_cosine_falls_from_the_first_rate_to_the_last_and_stays() {
        // What `torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4, eta_min=0.1)` gives from a rate of 0.5.
        let torch = [
            0.5,
            0.441_421_356_237_309_5,
            0.3,
            0.158_578_643_762_690_5,
            0.1,
        ];
        let found: [f64; 8] = rates(r#"{"cosine": {"initial": 0.5, "last": 0.1, "length": 4}}"#);
        for (found, wanted) in found.iter().zip(torch.iter().chain(&[0.1; 3])) {
            assert!((found - wanted).abs() < 1e-15);
        }
        let to_zero: [f64; 3] = rates(r#"{"cosine": {"initial": 0.5, "length": 2}}"#);
        assert!((to_zero[1] - 0.25).abs() < 1e-15 && to_zero[2].abs() < 1e-15);
    }

    #[test]
    fn a_warm_up_rises_to_the_rate_of_the_formula() {
        let constant = rates(r#"{"constant": {"rate": 0.4, "warmup": 4}}"#);
        assert_eq!(constant, [0.1, 0.2, 0.4 * 0.75, 0.4, 0.4]);
        let step = r#"{"step": {"initial": 0.4, "factor": 0.5, "every": 2, "warmup": 4}}"#;
        assert_eq!(rates(step), [0.1, 0.2, 0.2 * 0.75, 0.2, 0.1, 0.1]);
        for no_warm_up in ["0", "1", "0.5"] {
            let constant = format!(r#"{{"constant": {{"rate": 0.4, "warmup": {no_warm_up}}}}}"#);
            assert_eq!(rates(&constant), [0.4; 3]);
        }
    }

    #[test]
    fn parameters_that_no_rate_follows_from_are_faults() {
        let needed = [
            (r#"{"constant": {"rate": 0}}"#, "constant needs"),
            (
                r#"{"cosine": {"initial": 0.1, "last": 0.2, "length": 4}}"#,
                "cosine needs",
            ),
            (
                r#"{"cosine": {"initial": 0.1, "length": 0}}"#,
                "cosine needs",
            ),
            (
                r#"{"milestones": {"initial": 0.1, "factor": 0.5, "at": [3, 3]}}"#,
                "milestones needs",
            ),
            (
                r#"{"milestones": {"initial": 0.1, "factor": 0.5, "at": [0]}}"#,
                "milestones needs",
            ),
            (
                r#"{"step": {"initial": 0.1, "factor": 0, "every": 1}}"#,
                "step needs",
            ),
            (
                r#"{"inverse_time": {"initial": 0.1, "scale": 0}}"#,
                "inverse_time needs",
            ),
            (r#"{"power": {"r": 0, "q": 1}}"#, "power needs"),
            (
                r#"{"harmonic": {"delta": 1, "gamma": 0}}"#,
                "harmonic needs",
            ),
            (
                r#"{"constant": {"rate": 1, "warmup": -1}}"#,
                "warmup must be",
            ),
        ];
        for (text, needed) in needed {
            let rate: LearningRate = serde_json::from_str(text).unwrap();
            let fault = rate.fault().expect(text);
            assert!(fault.starts_with(needed), "{text}: {fault}");
        }
    }

    #[test]
    fn epochs_due_count_whether_they_were_done_or_not() {
        let rate = |restart| {
            LearningRate::Schedule(Schedule::Power(Power {
                r: 1.0,
                q: 1.0,
                per: Per::Epoch,
                restart,
                warmup: 0.0,
            }))
        };
        // Two of the seven rounds before were missed; this is the third of five epochs.
        let progress = Progress {
            rounds: 7,
            steps: [250, 20],
            epochs: [27, 2],
            epochs_before_call: 0,
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
            warmup: 0.0,
        }));
        let progress = Progress {
            rounds: 7,
            steps: [70, 10],
            epochs: [14, 2],
            epochs_before_call: 0,
        };
        assert!((rate.at(&progress) - 0.25).abs() < 1e-12);
    }
}
