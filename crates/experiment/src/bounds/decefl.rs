//! DeceFL with full gradients.

use meshfold_algorithms::{Decefl as Method, GradientWeight, Local};
use meshfold_engine::{BatchSize, Harmonic, Per, Restart};
use meshfold_theory::{BoundError, Decefl, DeceflRate, DeceflStart, HarmonicRate};

use super::{Bound, MeasuredModels, Problem, Theorem, Unsuited, harmonic, mean, named, norm};
use crate::config::run_config::RunConfig;
use crate::plan::run_plan::RunPlan;
use crate::results::metrics::record::Measurements;

/// Theorem 1: how far the models are apart, and their mean from the minimum.
///
/// # Interpretation
/// An iteration is a round of one step. A client's own step counts μ times, so that δ of the theorem is μ times that of the
/// learning rate.
impl Theorem for Method {
    fn name(&self) -> &'static str {
        "Theorem 1 of DeceFL (Yuan et al.)"
    }

    fn unsuited(&self, config: &RunConfig) -> Option<Unsuited> {
        let fits = |rate: Harmonic| rate.per == Per::Round && rate.restart == Restart::Never;
        if !harmonic(config).is_some_and(fits) {
            let needed = "harmonic, counted by rounds: `{harmonic: {delta: D, gamma: G}}`, of which the theorem speaks";
            return Unsuited::at("learning_rate", "another schedule", needed);
        }
        if let BatchSize::Size(size) = self.batch_size.0 {
            let needed = "`full`: the theorem speaks of gradients of all examples";
            return Unsuited::at("batch_size", size, needed);
        }
        if self.local.count() != 1 {
            let found = match self.local {
                Local::Steps(steps) => format!("{steps} steps"),
                Local::Epochs(epochs) => format!("{epochs} epochs"),
            };
            return Unsuited::at(
                "local",
                found,
                "`{steps: 1}`: the theorem speaks of one step a round",
            );
        }
        if self.gradient_weight == GradientWeight::Examples {
            let needed = "`none`: the theorem speaks of clients that count alike";
            return Unsuited::at("gradient_weight", "examples", needed);
        }
        None
    }

    fn is_of_averaged_iterates(&self) -> bool {
        false
    }

    fn bound(&self, plan: &RunPlan, problem: Problem<'_>) -> Result<Box<dyn Bound>, BoundError> {
        let Problem { losses, first } = problem;
        let spectrum = plan.overlay.as_ref().map(|overlay| &overlay.spectrum);
        let constants = Decefl {
            smoothness: losses.smoothness,
            convexity: losses.convexity,
            lambda: spectrum.map_or(1.0, |spectrum| spectrum.lambda),
            clients: plan.clients as u64,
        };
        let rate = harmonic(&plan.config).map(|rate| HarmonicRate {
            delta: f64::from(self.mu) * rate.delta,
            gamma: rate.gamma,
        });
        let rate = rate.expect("checked with the configuration");
        let centre = mean(first);
        let apart = first.iter().map(|model| {
            let difference = model.iter().zip(&centre).map(|(a, b)| a - b);
            norm(&difference.collect::<Vec<_>>()).powi(2)
        });
        let start = DeceflStart {
            disagreement: apart.sum::<f64>().sqrt(),
            distance: losses.distance(&centre),
            gap: losses.clients.iter().map(|client| client.gap).sum(),
        };
        Ok(Box::new(DeceflBound {
            bounds: constants.rate(&start, &rate)?,
            losses: losses.clone(),
            constants,
            start,
        }))
    }
}

#[derive(Debug)]
struct DeceflBound {
    bounds: DeceflRate,
    losses: meshfold_theory::LogisticProblem,
    constants: Decefl,
    start: DeceflStart,
}

impl Bound for DeceflBound {
    fn after(&self, measured: &MeasuredModels) -> Measurements {
        let iteration = measured.round as u64;
        named([
            ("disagreement", measured.disagreement),
            ("disagreement_bound", self.bounds.disagreement_at(iteration)),
            ("distance_to_minimum", self.losses.distance(&measured.mean)),
            (
                "distance_to_minimum_bound",
                self.bounds.distance_at(iteration),
            ),
            ("smoothness", self.constants.smoothness),
            ("convexity", self.constants.convexity),
            ("lambda", self.constants.lambda),
            ("initial_distance", self.start.distance),
            ("initial_gap", self.start.gap),
        ])
    }
}
