//! What the losses of runs are.

use crate::fields::Fields;

/// The loss by which models are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Cross-entropy, in nats.
    CrossEntropy,
    /// Half the squared error, that of the model `linear`.
    SquaredError,
    /// The one in some runs, the other in others.
    Various,
}

impl Loss {
    /// That of all `runs`.
    pub(crate) fn of<'a>(runs: impl Iterator<Item = &'a Fields>) -> Self {
        let is_linear = |run: &Fields| run.at("model").is_some_and(|model| model == "linear");
        let all: Vec<bool> = runs.map(is_linear).collect();
        match (all.contains(&true), all.contains(&false)) {
            (true, true) => Self::Various,
            (true, false) => Self::SquaredError,
            (false, _) => Self::CrossEntropy,
        }
    }

    /// The mean of it, at the beginning of a sentence.
    pub(crate) fn mean(self) -> &'static str {
        match self {
            Self::CrossEntropy => "Mean cross-entropy in nats",
            Self::SquaredError => "Mean of half the squared error",
            Self::Various => {
                "Mean loss (cross-entropy in nats; of the model `linear` half the squared error)"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshfold_experiment::results::Settings;

    #[test]
    fn the_model_says_what_the_loss_is() {
        let runs = ["linear", "{linear: {targets: value}}", "logistic"];
        let runs =
            runs.map(|model| Fields::of(&Settings::parse(&format!("model: {model}")).unwrap()));
        assert_eq!(Loss::of(runs[..2].iter()), Loss::SquaredError);
        assert_eq!(Loss::of(runs[2..].iter()), Loss::CrossEntropy);
        assert_eq!(Loss::of(runs.iter()), Loss::Various);
    }
}
