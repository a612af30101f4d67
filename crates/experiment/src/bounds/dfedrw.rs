//! DFedRW of one step a visit, whose walkers alone have models.

use meshfold_algorithms::{Dfedrw as Method, Local, WalkRows};
use meshfold_engine::{LearningRate, Per, Power, Restart, Schedule};
use meshfold_theory::{BoundError, PowerSteps, RandomWalk, WalkTerms};
use meshfold_topology::{MetropolisHastings, Spectrum, Weights};

use super::{Bound, MeasuredModels, Problem, Theorem, Unsuited, named, norm};
use crate::config::run_config::RunConfig;
use crate::plan::planned_overlay::PlannedOverlay;
use crate::plan::run_plan::RunPlan;
use crate::results::metrics::record::Measurements;

/// Theorem 1: how far the loss of the averaged iterates is above the least.
///
/// # Interpretation
/// The theorem is of one walk. Losses are convex, so that what it says of each of several walks holds for their mean. Iterates count
/// once a round, with the rate of its first visit.
///
/// δ² and γ̂ of κ(δ, γ̂) are 1, the least and the most that they may be: the proof takes δ² D² for what no client's squared gradient
/// exceeds, which D² is already. The sum of the terms is divided by `Σ η^k`, as the proof has it; `k^(1−q)`, which the theorem prints in
/// its place, is larger by `r (1 − q)` in the long run.
impl Theorem for Method {
    fn name(&self) -> &'static str {
        "Theorem 1 of DFedRW (Wang et al.)"
    }

    fn unsuited(&self, config: &RunConfig) -> Option<Unsuited> {
        let fits = |rate: &Power| rate.per == Per::Epoch && rate.restart == Restart::Never;
        let Some(rate) = power(&self.learning_rate).filter(fits) else {
            let needed = "a power, counted by visits: `{power: {r: R, q: Q, per: epoch}}`, of which the theorem speaks";
            return Unsuited::at("learning_rate", "another schedule", needed);
        };
        if rate.r < f64::from(config.algorithm.training().sgd.weight_decay) {
            let needed =
                "`r` of at least the weight decay: with larger rates models may grow without bound";
            return Unsuited::at("learning_rate", format!("r = {}", rate.r), needed);
        }
        if self.local.count() != 1 || matches!(self.local, Local::Epochs(_)) {
            let needed = "`{steps: 1}`: the theorem speaks of one step a visit";
            let found = match self.local {
                Local::Steps(steps) => format!("{steps} steps"),
                Local::Epochs(epochs) => format!("{epochs} epochs"),
            };
            return Unsuited::at("local", found, needed);
        }
        if self.rows == WalkRows::Clients {
            let needed = "`walkers`: the theorem speaks of the models that walk";
            return Unsuited::at("rows", "clients", needed);
        }
        if self.projection.is_some() {
            let needed = "none: the bound is above the least loss of all models";
            return Unsuited::at("projection", "a projection", needed);
        }
        if self.quantise.is_some() {
            let needed = "none: constants of Theorem 2, which speaks of it, are not known";
            return Unsuited::at("quantise", "quantisation", needed);
        }
        None
    }

    fn is_of_averaged_iterates(&self) -> bool {
        true
    }

    fn bound(&self, plan: &RunPlan, problem: Problem<'_>) -> Result<Box<dyn Bound>, BoundError> {
        let Problem { losses, first } = problem;
        let rate = power(&self.learning_rate).expect("checked with the configuration");
        let largest = first.iter().map(|model| norm(model)).fold(0.0, f64::max);
        let squares = first.iter().map(|model| losses.distance(model).powi(2));
        let bound = DfedrwBound {
            walk: RandomWalk {
                devices: plan.clients as u64,
                gradient_norm: losses.gradient_norm(largest),
                walk_lambda: plan
                    .overlay
                    .as_ref()
                    .map_or(0.5, |planned| walk_lambda(planned)),
                dissimilarity: 1.0,
                inexactness: 1.0,
                initial_distance_squared: squares.sum::<f64>() / first.len() as f64,
            },
            steps: PowerSteps {
                inverse_first: rate.r,
                exponent: rate.q,
            },
            hops: self.hops.into(),
            least: losses.least,
            smoothness: losses.smoothness,
            convexity: losses.convexity,
        };
        bound.terms(1)?.bound()?;
        Ok(Box::new(bound))
    }
}

/// The power of a learning rate, if it is one.
fn power(rate: &LearningRate) -> Option<Power> {
    match rate {
        LearningRate::Schedule(Schedule::Power(power)) if power.warmup == 0.0 => {
            Some(power.clone())
        }
        _ => None,
    }
}

/// λ_P of walks on the overlay, which take the Metropolis-Hastings weights whatever those of the run are.
fn walk_lambda(planned: &PlannedOverlay) -> f64 {
    let weights = Weights::MetropolisHastings(MetropolisHastings {});
    if planned.weights == weights {
        return planned.spectrum.lambda_walk;
    }
    let matrix = weights.matrix(&planned.overlay);
    let spectrum = matrix.and_then(|matrix| Spectrum::of(&planned.overlay, &weights, &matrix));
    spectrum.map_or(f64::NAN, |spectrum| spectrum.lambda_walk)
}

#[derive(Debug)]
struct DfedrwBound {
    walk: RandomWalk,
    steps: PowerSteps,
    /// K, visits of a walker in a round.
    hops: u64,
    /// f*.
    least: f64,
    smoothness: f64,
    convexity: f64,
}

impl DfedrwBound {
    /// The terms after so many rounds.
    fn terms(&self, rounds: u64) -> Result<WalkTerms, BoundError> {
        self.walk.terms(&self.steps, rounds * self.hops, None)
    }
}

impl Bound for DfedrwBound {
    fn after(&self, measured: &MeasuredModels) -> Measurements {
        let mut found = named([
            ("smoothness", self.smoothness),
            ("convexity", self.convexity),
            ("largest_gradient_norm", self.walk.gradient_norm),
            ("walk_lambda", self.walk.walk_lambda),
            (
                "initial_distance",
                self.walk.initial_distance_squared.sqrt(),
            ),
        ]);
        let Some(loss) = measured.averaged_loss else {
            return found;
        };
        let terms = self.terms(measured.round as u64);
        if let Ok(bound) = terms.and_then(|terms| terms.bound_by_step_sum()) {
            found.extend(named([
                ("excess_loss", loss - self.least),
                ("excess_loss_bound", bound),
            ]));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use meshfold_algorithms::{Aggregate, Quantise};
    use meshfold_engine::NormScope;
    use meshfold_theory::quantised_message_bits;

    #[test]
    fn messages_have_the_bits_that_the_theory_counts() {
        for (bits, parameters) in [(2, 1), (4, 7850), (8, 199_210), (24, 3)] {
            let quantise = Quantise {
                bits,
                norm: NormScope::Model,
                aggregate: Aggregate::default(),
            };
            let counted = quantised_message_bits(bits, parameters).div_ceil(8);
            let sent = quantise.message_bytes(parameters as usize, 2);
            assert_eq!(u128::from(sent), counted, "{bits} {parameters}");
        }
    }
}
