//! Theorems of the papers whose bound can be computed beside a run: the runs that they apply to, and their constants.
//!
//! Each theorem has a file here, and an arm in [`theorem_of`].

mod decefl;
mod dfedrw;
mod p_fedavg;

use std::fmt::Debug;
use std::sync::atomic::AtomicBool;

use meshfold_algorithms::Method;
use meshfold_data::Examples;
use meshfold_engine::{Harmonic, LearningRate, Schedule};
use meshfold_theory::BoundError;

use crate::config::run_config::RunConfig;
use crate::non_iid_degree::logistic_problem;
use crate::plan::run_plan::RunPlan;
use crate::results::metrics::record::Measurements;
use crate::results::run_error::RunError;

/// A theorem about a method.
pub(crate) trait Theorem: Debug + Sync {
    /// What it is called, with its source.
    fn name(&self) -> &'static str;

    /// Why it does not apply to runs with this configuration; `None` if it does.
    fn unsuited(&self, config: &RunConfig) -> Option<Unsuited>;

    /// Whether it bounds the loss of the averaged iterates, which are kept for it.
    fn is_of_averaged_iterates(&self) -> bool;

    /// The theorem with its constants for the run of `plan`.
    ///
    /// # Errors
    /// [`BoundError`], naming the condition that the run does not meet.
    fn bound(&self, plan: &RunPlan, problem: Problem<'_>) -> Result<Box<dyn Bound>, BoundError>;
}

/// A theorem with its constants.
pub(crate) trait Bound: Debug + Send {
    /// The bounded quantities, their bounds (the same names with `_bound`), and the constants.
    fn after(&self, measured: &MeasuredModels) -> Measurements;
}

/// The losses of a run, and the models that it starts with.
#[derive(Clone, Copy)]
pub(crate) struct Problem<'a> {
    pub(crate) losses: &'a meshfold_theory::LogisticProblem,
    /// The models of the rows, each `[C, d + 1]` row-major, the biases last.
    pub(crate) first: &'a [Vec<f64>],
}

/// What a run measures of its models after a round.
#[derive(Debug)]
pub(crate) struct MeasuredModels {
    /// Rounds done.
    pub(crate) round: usize,
    /// The mean of the models, `[C, d + 1]` row-major, the biases last.
    pub(crate) mean: Vec<f64>,
    /// `√(Σ ‖w_k − w̄‖²)`.
    pub(crate) disagreement: f64,
    /// The training loss of the averaged iterates, weight decay included, if they are kept and there are any.
    pub(crate) averaged_loss: Option<f64>,
}

/// A setting with which no theorem applies to a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unsuited {
    /// The path of the key.
    pub(crate) key: String,
    pub(crate) found: String,
    pub(crate) needed: &'static str,
}

impl Unsuited {
    fn at(key: &str, found: impl ToString, needed: &'static str) -> Option<Self> {
        Some(Self {
            key: key.to_owned(),
            found: found.to_string(),
            needed,
        })
    }
}

/// The theorem about a method, if there is one whose constants can be computed.
pub(crate) fn theorem_of(method: &Method) -> Option<&dyn Theorem> {
    match method {
        Method::Decefl(decefl) => Some(decefl),
        Method::Dfedrw(dfedrw) => Some(dfedrw),
        Method::PFedavg(p_fedavg) => Some(p_fedavg),
        _ => None,
    }
}

/// Why no theorem applies to runs with this configuration, whose model is `logistic` with weight decay.
pub(crate) fn unsuited(config: &RunConfig) -> Option<Unsuited> {
    let method = &config.algorithm;
    let Some(theorem) = theorem_of(method) else {
        let needed = "one of `decefl`, `dfedrw` and `p_fedavg`: of the others' theorems not all constants are printed or can be computed";
        return Unsuited::at("algorithm", method.key(), needed);
    };
    let sgd = method.training().sgd;
    if config.topology.as_ref().is_some_and(|it| it.varies()) {
        let needed = "an overlay that does not change, of which the theorem speaks";
        return Unsuited::at("topology", "an overlay that changes", needed);
    }
    if !config.failures.0.is_empty() {
        return Unsuited::at(
            "failures",
            "failures",
            "none: the theorem speaks of clients that all work",
        );
    }
    if config.stragglers.is_some() {
        return Unsuited::at(
            "stragglers",
            "stragglers",
            "none: the theorem speaks of clients that all work",
        );
    }
    if config.augment.is_some() {
        return Unsuited::at(
            "augment",
            "augmented images",
            "none: the theorem speaks of the losses of the images as they are",
        );
    }
    let of_method = |key: &str| format!("algorithm.{}.{key}", method.key());
    if sgd.momentum > 0.0 {
        let needed = "0: the theorem speaks of steps without momentum";
        return Unsuited::at(&of_method("momentum"), sgd.momentum, needed);
    }
    if let Some(norm) = sgd.clip_norm {
        let needed = "none: the theorem speaks of gradients that are not clipped";
        return Unsuited::at(&of_method("clip_norm"), norm, needed);
    }
    theorem.unsuited(config).map(|unsuited| Unsuited {
        key: of_method(&unsuited.key),
        ..unsuited
    })
}

/// The bound for the run of `plan`, whose rows start with the models `first`; `None` once `stop` is true.
///
/// # Errors
/// [`RunError::Theorem`] if the run does not meet the theorem's conditions.
pub(crate) fn bound(
    plan: &RunPlan,
    train: &Examples,
    first: &[Vec<f64>],
    stop: &AtomicBool,
) -> Result<Option<Box<dyn Bound>>, RunError> {
    let Some(theorem) = theorem_of(&plan.config.algorithm) else {
        return Ok(None);
    };
    let Some(losses) = logistic_problem(plan, train, first, stop) else {
        return Ok(None);
    };
    let losses = &losses;
    let bound = theorem.bound(plan, Problem { losses, first });
    bound.map(Some).map_err(|source| RunError::Theorem {
        theorem: theorem.name(),
        source,
    })
}

/// The harmonic learning rate of a run, if it has one.
fn harmonic(config: &RunConfig) -> Option<Harmonic> {
    match config.algorithm.training().sgd.learning_rate {
        LearningRate::Schedule(Schedule::Harmonic(harmonic)) if harmonic.warmup == 0.0 => {
            Some(harmonic)
        }
        _ => None,
    }
}

/// The mean of `models`.
fn mean(models: &[Vec<f64>]) -> Vec<f64> {
    let mut mean = vec![0.0; models.first().map_or(0, Vec::len)];
    for model in models {
        for (mean, value) in mean.iter_mut().zip(model) {
            *mean += value / models.len() as f64;
        }
    }
    mean
}

fn norm(model: &[f64]) -> f64 {
    model.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// Measurements by their names.
fn named<const N: usize>(values: [(&str, f64); N]) -> Measurements {
    values
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
