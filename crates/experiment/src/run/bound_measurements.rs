//! The bound of a theorem beside a run: what it bounds is measured at each evaluation.
//!
//! All ranks of a run measure; the one that has all examples knows the bound.

use std::sync::atomic::AtomicBool;

use meshfold_data::Examples;
use meshfold_engine::{EngineError, Layout, Learner, Split, Stack};

use crate::bounds::{self, Bound, MeasuredModels};
use crate::config::quantity::Quantity;
use crate::non_iid_degree::groups;
use crate::plan::run_plan::RunPlan;
use crate::results::metrics::record::Measurements;
use crate::results::run_error::RunError;

/// Rows that are judged at once on the clients' examples.
const ROWS: usize = 64;

/// Measures what the theorem about a method bounds.
#[derive(Debug)]
pub(crate) struct BoundMeasurements {
    /// The models of the rows before the first round, each `[C, d + 1]` row-major, the biases last.
    first: Vec<Vec<f64>>,
    bound: Option<Box<dyn Bound>>,
    /// Whether the theorem bounds averaged iterates.
    averages: bool,
    /// Every client, and how much its loss counts.
    clients: Vec<(u32, f64)>,
    decay: f64,
}

impl BoundMeasurements {
    /// The measurements, if the plan asks for them. All ranks of the run call it. `models` are those before the first
    /// round.
    pub(crate) fn new(plan: &RunPlan, models: &Stack) -> Option<Self> {
        let config = &plan.config;
        if !config.evaluate.theory.contains(&Quantity::Bound) {
            return None;
        }
        let groups = groups(plan);
        let clients = groups.iter().flat_map(|group| {
            let share = 1.0 / (groups.len() * group.len()) as f64;
            group.iter().map(move |client| (*client, share))
        });
        let theorem = bounds::theorem_of(&config.algorithm);
        Some(Self {
            first: matrices(models),
            bound: None,
            averages: theorem.is_some_and(|theorem| theorem.is_of_averaged_iterates()),
            clients: clients.collect(),
            decay: config.algorithm.training().sgd.weight_decay.into(),
        })
    }

    /// Computes the constants from all training examples.
    ///
    /// # Errors
    /// [`RunError::Theorem`].
    pub(crate) fn of_examples(
        &mut self,
        plan: &RunPlan,
        train: &Examples,
        stop: &AtomicBool,
    ) -> Result<(), RunError> {
        self.bound = bounds::bound(plan, train, &self.first, stop)?;
        Ok(())
    }

    /// Whether the constants are known.
    pub(crate) fn is_known(&self) -> bool {
        self.bound.is_some()
    }

    /// Whether the mean models are averaged for the theorem.
    pub(crate) fn averages(&self) -> bool {
        self.averages
    }

    /// The bounded quantities and the bound after `round`, from the `mean` model `[1, P]`, the `disagreement`
    /// `√(Σ ‖w_k − w̄‖²)` and the `averaged` iterates `[1, P]`. All ranks of the run call it.
    pub(crate) fn measure(
        &self,
        learner: &mut Learner,
        round: usize,
        (mean, disagreement): (&Stack, f64),
        averaged: Option<&Stack>,
    ) -> Result<Measurements, EngineError> {
        let averaged = averaged.filter(|_| self.averages);
        let averaged_loss = averaged.map(|averaged| self.loss(learner, averaged));
        let measured = MeasuredModels {
            round,
            mean: matrices(mean).swap_remove(0),
            disagreement,
            averaged_loss: averaged_loss.transpose()?,
        };
        let bound = self.bound.as_ref();
        Ok(bound.map_or_else(Measurements::new, |bound| bound.after(&measured)))
    }

    /// `Σ_j q_j f_j` of a model `[1, P]`, weight decay included.
    fn loss(&self, learner: &mut Learner, model: &Stack) -> Result<f64, EngineError> {
        let decay = 0.5 * self.decay * model.squared_row_norms()[0];
        Ok(decay + loss_of(learner, model, &self.clients)?)
    }
}

/// `Σ_j q_j f_j` of a model `[1, P]`, for pairs of a client `j` and its share `q_j`. All ranks of the run call it.
pub(super) fn loss_of(
    learner: &mut Learner,
    model: &Stack,
    clients: &[(u32, f64)],
) -> Result<f64, EngineError> {
    let mut loss = 0.0;
    for some in clients.chunks(ROWS) {
        let copies = model.gather(&vec![0; some.len()])?;
        let clients: Vec<u32> = some.iter().map(|(client, _)| *client).collect();
        let scores = learner.evaluate(&copies, Split::Shards(&clients), None)?;
        let shares = some.iter().map(|(_, share)| share);
        loss += shares
            .zip(scores)
            .map(|(share, score)| share * score.loss)
            .sum::<f64>();
    }
    Ok(loss)
}

/// Every row of logistic models as `[C, d + 1]`, the biases last.
fn matrices(models: &Stack) -> Vec<Vec<f64>> {
    let (layout, values) = (models.layout().clone(), models.to_host());
    let rows = values.chunks_exact(layout.width());
    rows.map(|row| matrix(&layout, row)).collect()
}

fn matrix(layout: &Layout, row: &[f32]) -> Vec<f64> {
    let [weight, bias] = layout.blocks() else {
        panic!("a logistic model has weights and biases");
    };
    let mut matrix = Vec::with_capacity(layout.parameters());
    for class in 0..weight.outputs {
        let weights = row[weight.range()]
            .iter()
            .skip(class)
            .step_by(weight.outputs);
        let bias = row[bias.range()][class];
        matrix.extend(weights.chain([&bias]).map(|value| f64::from(*value)));
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_its_weights_and_then_its_bias() {
        let mut layout = Layout::default();
        layout.push("weight", 3, 2);
        layout.push("bias", 1, 2);
        let mut row = vec![0.0; layout.width()];
        row[..6].copy_from_slice(&[1.0, 10.0, 2.0, 20.0, 3.0, 30.0]);
        row[64..66].copy_from_slice(&[4.0, 40.0]);
        let expected = [1.0, 2.0, 3.0, 4.0, 10.0, 20.0, 30.0, 40.0];
        assert_eq!(matrix(&layout, &row), expected);
    }
}
