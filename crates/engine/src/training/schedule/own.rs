//! Learning rates of a program's own.

use super::{Per, Progress, Restart};
use crate::error::EngineError;
use meshfold_own::{OwnKind, OwnPart};

/// A learning rate of a program's own.
pub trait OwnSchedule: Send + Sync {
    /// The rate of the local step that follows `progress`: finite and not negative.
    fn rate(&self, progress: &Progress) -> f64;

    /// The same, or the reason why there is none.
    ///
    /// The learner asks for the rates of all steps of a call before it makes the first of them, on the thread that called it; later
    /// steps ask for [`rate`](Self::rate), perhaps on other threads. So a schedule may compute here and remember.
    ///
    /// # Errors
    /// The reason, in words, if the rate cannot be computed.
    fn try_rate(&self, progress: &Progress) -> Result<f64, String> {
        Ok(self.rate(progress))
    }

    /// What the rate is a function of.
    fn per(&self) -> Per;

    /// When the count of steps or epochs that it is a function of begins anew.
    fn restart(&self) -> Restart {
        Restart::Never
    }

    /// What is wrong with its keys, if anything is: `gamma must be positive`.
    fn fault(&self) -> Option<&'static str> {
        None
    }
}

impl OwnKind for dyn OwnSchedule {
    const KIND: &'static str = "own schedule";
}

/// The rate of `own` at `progress`.
///
/// # Errors
/// [`EngineError::OwnRate`] if it is negative, not finite in single precision, or cannot be computed.
pub(super) fn checked(
    own: &OwnPart<dyn OwnSchedule>,
    progress: &Progress,
) -> Result<f64, EngineError> {
    let reason = match own.part().try_rate(progress) {
        Ok(rate) if rate >= 0.0 && (rate as f32).is_finite() => return Ok(rate),
        Ok(rate) => format!(
            "the rate is {rate} {}, needed a finite number that is not negative",
            progress.words()
        ),
        Err(reason) => reason,
    };
    let name = own.name().to_owned();
    Err(EngineError::OwnRate { name, reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training::schedule::{LearningRate, Schedule};
    use std::sync::Arc;

    /// A rate that falls below zero after two rounds and is lost after four.
    struct Falling;

    impl OwnSchedule for Falling {
        fn rate(&self, progress: &Progress) -> f64 {
            1.0 - 0.5 * progress.rounds as f64
        }

        fn try_rate(&self, progress: &Progress) -> Result<f64, String> {
            match progress.rounds {
                0..4 => Ok(self.rate(progress)),
                _ => Err("no more rates".to_owned()),
            }
        }

        fn per(&self) -> Per {
            Per::Step
        }
    }

    #[test]
    fn a_rate_of_ones_own_that_is_none_is_an_error() {
        let part = OwnPart::new("falling", "", Arc::new(()), Arc::new(Falling) as Arc<_>);
        let own = LearningRate::Schedule(Schedule::Own(part));
        assert_eq!(own.try_at(&rounds(2)), Ok(0.0));
        let told = |after| own.try_at(&rounds(after)).unwrap_err().to_string();
        assert_eq!(
            told(3),
            "the learning rate falling: the rate is -0.5 after 3 rounds, 0 local steps and 0 epochs, needed a finite number that is not \
             negative"
        );
        assert_eq!(told(4), "the learning rate falling: no more rates");
        assert_eq!(own.per_over_rounds(), Some(Per::Step));
    }

    fn rounds(rounds: u64) -> Progress {
        Progress {
            rounds,
            ..Progress::default()
        }
    }
}
