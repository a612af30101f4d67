//! P-FedAvg with all clients, or with some of them.

use meshfold_algorithms::{Local, PFedavg as Method, Weighting};
use meshfold_engine::{BatchSize, Harmonic, Per, Restart};
use meshfold_theory::{
    BoundError, ClientNoise, LogisticClient, LogisticProblem, PFedavg, gradient_noise,
};

use super::{Bound, MeasuredModels, Problem, Theorem, Unsuited, harmonic, mean, named, norm};
use crate::config::run_config::RunConfig;
use crate::plan::run_plan::RunPlan;
use crate::results::metrics::record::Measurements;

/// Theorems 1 and 2: how far the loss of the averaged iterates is above the least.
///
/// # Interpretation
/// The theorems ask for the rates `4/(μ(a + t))`, `a = max{16 L/μ, 2E}`. A loss that is μ-convex and L-smooth is so with a
/// smaller μ and with a larger L, too, so that they speak of every rate `δ/(γ + t)` with `δ ≥ 4/μ`, `γ ≥ 4δL` and `γ ≥ 2E`.
/// Theorem 2 is of clients drawn with replacement; without, their mean varies less. Iterates count once a round, see
/// `averaged_iterates`.
impl Theorem for Method {
    fn name(&self) -> &'static str {
        match self.participation.per_server {
            None => "Theorem 1 of P-FedAvg (Liu et al.)",
            Some(_) => "Theorem 2 of P-FedAvg (Liu et al.)",
        }
    }

    fn unsuited(&self, config: &RunConfig) -> Option<Unsuited> {
        let fits = |rate: Harmonic| rate.per == Per::Step && rate.restart == Restart::Never;
        if !harmonic(config).is_some_and(fits) {
            let needed = "harmonic, counted by steps: `{harmonic: {delta: D, gamma: G, per: step}}`, of which the theorem speaks";
            return Unsuited::at("learning_rate", "another schedule", needed);
        }
        if let Local::Epochs(epochs) = self.local {
            let needed =
                "steps, as many for every client: `{steps: E}`, of which the theorem speaks";
            return Unsuited::at("local", format!("{epochs} epochs"), needed);
        }
        if self.weighting == Weighting::Examples {
            let needed = "`uniform`: the theorem speaks of clients of a server that count alike";
            return Unsuited::at("weighting", "examples", needed);
        }
        None
    }

    fn is_of_averaged_iterates(&self) -> bool {
        true
    }

    fn bound(&self, plan: &RunPlan, problem: Problem<'_>) -> Result<Box<dyn Bound>, BoundError> {
        let Problem { losses, first } = problem;
        let groups = self.servers.clients(&plan.population.setting);
        let shard = |client: &u32| plan.partition.shard(*client as usize).len() as u64;
        let mut clients = groups.iter().flatten().zip(&losses.clients);
        let of_server = |group: &Vec<u32>| {
            let of_client = |(client, losses): (&u32, &LogisticClient)| ClientNoise {
                variance: LogisticProblem::variance(losses),
                batch_size: match self.batch_size.0 {
                    BatchSize::Full => shard(client),
                    BatchSize::Size(size) => u64::from(size).min(shard(client)),
                },
            };
            clients.by_ref().take(group.len()).map(of_client).collect()
        };
        let servers: Vec<Vec<ClientNoise>> = groups.iter().map(of_server).collect();
        let rate = harmonic(&plan.config).expect("checked with the configuration");
        let centre = mean(first);
        let spectrum = plan.overlay.as_ref().map(|overlay| &overlay.spectrum);
        let constants = PFedavg {
            smoothness: losses.smoothness,
            convexity: losses.convexity,
            gradient_norm: losses.gradient_norm(norm(&centre)),
            gradient_noise: gradient_noise(&servers)?,
            // One server agrees with itself at once.
            consensus_rate: spectrum.map_or(1.0, |spectrum| spectrum.p),
            non_iid_degree: losses.non_iid_degree(),
            local_steps: self.local.count().into(),
        };
        let constants = constants.at_rate(rate.delta, rate.gamma)?;
        let participants = self.participation.per_server.map(|count| {
            let drawn = |group: &Vec<u32>| match self.participation.replacement {
                true => count as u64,
                false => count.min(group.len()) as u64,
            };
            groups.iter().map(drawn).collect()
        });
        let bound = PFedavgBound {
            distance_squared: losses.distance(&centre).powi(2),
            least: losses.least,
            constants,
            participants,
        };
        bound.at(constants.local_steps)?;
        Ok(Box::new(bound))
    }
}

#[derive(Debug)]
struct PFedavgBound {
    constants: PFedavg,
    /// `‖x̄(0) − x*‖²`.
    distance_squared: f64,
    /// f*.
    least: f64,
    /// K_i of each server, unless all clients take part.
    participants: Option<Vec<u64>>,
}

impl PFedavgBound {
    /// The bound after so many steps.
    fn at(&self, steps: u64) -> Result<f64, BoundError> {
        let distance = self.distance_squared;
        match &self.participants {
            None => self.constants.full_participation(distance, steps),
            Some(drawn) => self.constants.partial_participation(distance, steps, drawn),
        }
    }
}

impl Bound for PFedavgBound {
    fn after(&self, measured: &MeasuredModels) -> Measurements {
        let constants = &self.constants;
        let mut found = named([
            ("smoothness", constants.smoothness),
            ("convexity", constants.convexity),
            ("largest_gradient_norm", constants.gradient_norm),
            ("gradient_noise", constants.gradient_noise),
            ("consensus_rate", constants.consensus_rate),
            ("non_iid_degree", constants.non_iid_degree),
            ("initial_distance", self.distance_squared.sqrt()),
        ]);
        let steps = measured.round as u64 * constants.local_steps;
        if let (Some(loss), Ok(bound)) = (measured.averaged_loss, self.at(steps)) {
            found.extend(named([
                ("excess_loss", loss - self.least),
                ("excess_loss_bound", bound),
            ]));
        }
        found
    }
}
