//! Quantities of the papers' bounds, measured at each evaluation of a run.

use std::sync::atomic::AtomicBool;

use meshfold_algorithms::RowKind;
use meshfold_data::Examples;
use meshfold_engine::{EngineError, Learner, Split, Stack};
use meshfold_theory::{IterateWeights, NonIidDegree, inexactness, local_dissimilarity};

use crate::config::quantity::Quantity;
use crate::non_iid_degree::non_iid_degree;
use crate::plan::run_plan::RunPlan;
use crate::results::metrics::record::Measurements;
use crate::results::run_error::RunError;
use crate::run::bound_measurements::{BoundMeasurements, loss_of};

/// The name of the averaged model in a checkpoint.
pub(crate) const AVERAGED: &str = "averaged_iterates";

/// Measures the quantities of a run.
#[derive(Debug)]
pub(crate) struct TheoryMeasurements {
    asked: Vec<Quantity>,
    /// Weighted average of the mean models, `[1, P]`.
    averaged: Option<Stack>,
    weights: IterateWeights,
    /// Squared gradient norms of the clients before the round, `[N]`.
    before: Option<Vec<f64>>,
    /// Γ, which training does not change.
    non_iid_degree: Option<NonIidDegree>,
    /// The bound of a theorem, if it is asked for.
    bound: Option<BoundMeasurements>,
}

/// Models, and which of their rows count.
#[derive(Clone, Copy)]
pub(crate) struct RowsAlive<'a> {
    /// `[R, P]`.
    pub(crate) models: &'a Stack,
    /// `[R]`.
    pub(crate) alive: &'a [bool],
}

impl TheoryMeasurements {
    /// Measures what the plan asks for; `models` are those before the first round.
    pub(crate) fn new(plan: &RunPlan, models: &Stack) -> Self {
        let asked = plan.config.evaluate.theory.clone();
        Self {
            asked,
            averaged: None,
            weights: IterateWeights::new(),
            before: None,
            non_iid_degree: None,
            bound: BoundMeasurements::new(plan, models),
        }
    }

    /// Before the first round: what the examples alone decide, unless `stop` calls it off.
    ///
    /// # Errors
    /// [`RunError::Theorem`].
    pub(crate) fn of_examples(
        &mut self,
        plan: &RunPlan,
        train: &Examples,
        stop: &AtomicBool,
    ) -> Result<(), RunError> {
        if self.asks(Quantity::NonIidDegree) {
            self.non_iid_degree = non_iid_degree(plan, train, stop);
        }
        match &mut self.bound {
            Some(bound) => bound.of_examples(plan, train, stop),
            None => Ok(()),
        }
    }

    /// Whether what the examples alone decide was called off.
    pub(crate) fn is_called_off(&self) -> bool {
        let bound_is_off = self.bound.as_ref().is_some_and(|bound| !bound.is_known());
        bound_is_off || (self.asks(Quantity::NonIidDegree) && self.non_iid_degree.is_none())
    }

    /// Before a round that is judged: the gradients that inexactness compares with.
    pub(crate) fn before_round(
        &mut self,
        learner: &Learner,
        models: &Stack,
        kind: RowKind,
    ) -> Result<(), EngineError> {
        if self.asks(Quantity::Inexactness) && kind == RowKind::Client {
            self.before = Some(own_gradients(learner, models)?);
        }
        Ok(())
    }

    /// After every round: counts the mean of the `deployed` models with `weight`.
    pub(crate) fn after_round(
        &mut self,
        deployed: &Stack,
        alive: &[bool],
        weight: f64,
    ) -> Result<(), EngineError> {
        if !self.averages() {
            return Ok(());
        }
        let Ok(share) = self.weights.mixing_factor(weight) else {
            return Ok(());
        };
        let mean = deployed.mean_row(alive);
        let averaged = self
            .averaged
            .get_or_insert_with(|| Stack::zeros(deployed.device(), deployed.layout(), 1));
        averaged.scale_rows(&[(1.0 - share) as f32])?;
        averaged.add_scaled(&mean, &[share as f32])
    }

    /// Whether the skew of the overlay's cliques is asked for.
    pub(crate) fn asks_for_cliques(&self) -> bool {
        self.asks(Quantity::CliqueSkew)
    }

    /// The quantities asked for, at the evaluation after `round`; `skew` is that of the overlay's cliques, if it has any.
    pub(crate) fn measure(
        &mut self,
        learner: &mut Learner,
        own: RowsAlive<'_>,
        deployed: RowsAlive<'_>,
        kind: RowKind,
        (round, skew): (usize, Option<[f64; 2]>),
    ) -> Result<Measurements, EngineError> {
        let mut found = Measurements::new();
        let at_mean = self.asks(Quantity::Dissimilarity) || self.asks(Quantity::GradientNorm);
        if at_mean {
            self.at_mean(learner, deployed, own.alive, &mut found)?;
        }
        if self.asks(Quantity::MeanModelLoss) {
            let mean = deployed.models.mean_row(deployed.alive);
            let clients = living(own.alive);
            let share = 1.0 / clients.len().max(1) as f64;
            let shares: Vec<(u32, f64)> =
                clients.into_iter().map(|client| (client, share)).collect();
            let loss = loss_of(learner, &mean, &shares)?;
            found.insert(Quantity::MeanModelLoss.name().to_owned(), loss);
        }
        if let Some(before) = self.before.take()
            && kind == RowKind::Client
        {
            let after = own_gradients(learner, own.models)?;
            let ratios = before
                .iter()
                .zip(&after)
                .zip(own.alive)
                .filter(|(_, alive)| **alive);
            let ratios: Vec<f64> = ratios
                .filter_map(|((before, after), _)| inexactness(before.sqrt(), after.sqrt()).ok())
                .collect();
            spread(Quantity::Inexactness, &ratios, &mut found);
        }
        if let Some(NonIidDegree { degree, error }) = self.non_iid_degree {
            found.insert(Quantity::NonIidDegree.name().to_owned(), degree);
            found.extend(error.map(|error| ("non_iid_degree_error".to_owned(), error)));
        }
        if let (true, Some([mean, max])) = (self.asks_for_cliques(), skew) {
            found.insert("clique_skew".to_owned(), mean);
            found.insert("clique_skew_max".to_owned(), max);
        }
        if let Some(bound) = &self.bound {
            let mean = deployed.models.mean_row(deployed.alive);
            let rows = deployed.alive.iter().filter(|alive| **alive).count();
            let apart = deployed.models.consensus_distance(deployed.alive) * (rows as f64).sqrt();
            found.extend(bound.measure(learner, round, (&mean, apart), self.averaged.as_ref())?);
        }
        if let (true, Some(averaged)) = (self.asks(Quantity::AveragedIterates), &self.averaged) {
            let score = learner.evaluate(averaged, Split::Test, None)?[0];
            found.insert("averaged_iterates_accuracy".to_owned(), score.accuracy);
            found.insert("averaged_iterates_loss".to_owned(), score.loss);
        }
        Ok(found)
    }

    /// What follows from all clients' gradients at the mean model, one client's at a time.
    fn at_mean(
        &self,
        learner: &Learner,
        deployed: RowsAlive<'_>,
        alive: &[bool],
        found: &mut Measurements,
    ) -> Result<(), EngineError> {
        let mean = deployed.models.mean_row(deployed.alive);
        let clients = living(alive);
        let share = 1.0 / clients.len().max(1) as f32;
        let mut whole = Stack::zeros(mean.device(), mean.layout(), 1);
        let mut squares = Vec::with_capacity(clients.len());
        for client in clients {
            let gradient = learner.shard_gradients(&mean, &[client])?;
            squares.extend(gradient.squared_row_norms());
            whole.add_scaled(&gradient, &[share])?;
        }
        let global = whole.squared_row_norms()[0];
        if let (true, Ok(dissimilarity)) = (
            self.asks(Quantity::Dissimilarity),
            local_dissimilarity(&squares, global),
        ) {
            found.insert(Quantity::Dissimilarity.name().to_owned(), dissimilarity);
        }
        if self.asks(Quantity::GradientNorm) {
            let local = squares.iter().map(|square| square.sqrt()).sum::<f64>();
            found.insert("gradient_norm".to_owned(), global.sqrt());
            let mean = local / squares.len().max(1) as f64;
            found.insert("local_gradient_norm".to_owned(), mean);
        }
        Ok(())
    }

    /// Whether averaged iterates are measured.
    pub(crate) fn averages(&self) -> bool {
        let for_bound = self.bound.as_ref().is_some_and(BoundMeasurements::averages);
        for_bound || self.asks(Quantity::AveragedIterates)
    }

    /// The stacks of a checkpoint.
    pub(crate) fn state(&self) -> Option<(&'static str, &Stack)> {
        self.averaged.as_ref().map(|stack| (AVERAGED, stack))
    }

    /// The weights counted so far, for a checkpoint.
    pub(crate) fn weights(&self) -> &IterateWeights {
        &self.weights
    }

    /// Squared gradient norms of the clients before the round, `[N]`, if its models are still to be compared with them; for a checkpoint.
    pub(crate) fn gradients_before(&self) -> &[f64] {
        self.before.as_deref().unwrap_or_default()
    }

    /// Goes on from a checkpoint.
    pub(crate) fn restore(
        &mut self,
        averaged: Option<Stack>,
        weights: IterateWeights,
        gradients_before: Vec<f64>,
    ) {
        self.averaged = averaged;
        self.weights = weights;
        self.before = Some(gradients_before).filter(|gradients| !gradients.is_empty());
    }

    fn asks(&self, quantity: Quantity) -> bool {
        self.asked.contains(&quantity)
    }
}

/// The clients that are alive.
fn living(alive: &[bool]) -> Vec<u32> {
    let clients = (0..).zip(alive).filter(|(_, alive)| **alive);
    clients.map(|(client, _)| client).collect()
}

/// `‖∇F_i(w_i)‖²` of every client's row on its own shard, `[N]`.
fn own_gradients(learner: &Learner, models: &Stack) -> Result<Vec<f64>, EngineError> {
    let clients: Vec<u32> = (0..models.rows() as u32).collect();
    Ok(learner
        .shard_gradients(models, &clients)?
        .squared_row_norms())
}

/// Mean and largest value.
fn spread(quantity: Quantity, values: &[f64], found: &mut Measurements) {
    if values.is_empty() {
        return;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let max = values.iter().copied().fold(f64::MIN, f64::max);
    found.insert(quantity.name().to_owned(), mean);
    found.insert(format!("{}_max", quantity.name()), max);
}
