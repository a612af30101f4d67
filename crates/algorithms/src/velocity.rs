//! Momentum that a method keeps from round to round.

use crate::error::AlgorithmError;
use crate::kept::KeptStack;
use crate::round::Round;
use crate::training::Training;
use meshfold_engine::{Amount, GradientsOn, MomentumRule, RowWork, Sgd, Stack, Velocity};

/// The velocity of every row, zero at first; none is held without momentum.
#[derive(Debug)]
pub struct KeptVelocity(KeptStack);

/// One step of every row along given gradients.
pub struct MomentumStep<'a> {
    /// η of each row.
    pub rates: &'a [f32],
    /// What each row does in the round.
    pub rows: &'a [RowWork],
    /// Whose momentum the step has, β, and of which kind.
    pub sgd: &'a Sgd,
}

/// Gradients of every row with weight decay, and the learning rates to go along them.
pub struct DecayedGradients {
    /// Mean gradient of each row's next batch, `[R, P]`.
    pub gradients: Stack,
    /// η of each row.
    pub rates: Vec<f32>,
}

impl KeptVelocity {
    /// A velocity for `rows` rows.
    pub fn new(rows: usize) -> Self {
        Self(KeptStack::new("velocity", rows))
    }

    /// The velocity that local steps are given.
    pub fn of_training(&mut self, models: &Stack, training: &Training) -> Velocity<'_> {
        if training.sgd.momentum == 0.0 {
            return Velocity::Fresh;
        }
        Velocity::Kept(self.0.or_zeros(models))
    }

    /// `v <- βv + g`, `w <- w − ηv`, or Nesterov's `w <- w − η(g + βv)`, for gradients that were exchanged or taken at an earlier model.
    /// Idle rows keep both.
    pub fn step(
        &mut self,
        models: &mut Stack,
        gradients: &mut Stack,
        step: &MomentumStep<'_>,
    ) -> Result<(), AlgorithmError> {
        let MomentumStep { rates, rows, sgd } = *step;
        let momentum = sgd.momentum;
        let velocity = self.0.or_zeros(models);
        if rows.iter().any(is_idle) {
            // A row that idles may have been given the gradients of others.
            let own = |row| if is_idle(row) { 0.0 } else { 1.0 };
            gradients.scale_rows(&rows.iter().map(own).collect::<Vec<_>>())?;
            let rest = |row| if is_idle(row) { 1.0 - momentum } else { 0.0 };
            gradients.add_scaled(velocity, &rows.iter().map(rest).collect::<Vec<_>>())?;
        }
        let rule = MomentumRule {
            rates,
            momentum,
            nesterov: sgd.nesterov,
        };
        Ok(models.momentum_step(velocity, gradients, rule)?)
    }

    /// For [`Algorithm::kept`](crate::Algorithm::kept).
    pub fn kept(&self) -> &[KeptStack] {
        self.0.kept()
    }

    /// For [`Algorithm::kept_mut`](crate::Algorithm::kept_mut).
    pub fn kept_mut(&mut self) -> &mut [KeptStack] {
        self.0.kept_mut()
    }
}

/// Takes the gradients of the rows' next batches, and counts one step for each row that does not idle.
pub fn decayed_gradients(
    models: &Stack,
    round: &mut Round<'_>,
    rows: &[RowWork],
    training: &Training,
) -> Result<DecayedGradients, AlgorithmError> {
    let work = round.work(rows, training);
    let rates = round.learner.rates(&work)?;
    let mut gradients = round.learner.gradients(models, &work)?;
    decay(&mut gradients, models, rows, training)?;
    let steps: Vec<u32> = rows.iter().map(|row| u32::from(!is_idle(row))).collect();
    round.count_steps(rows, &steps);
    Ok(DecayedGradients { gradients, rates })
}

/// Takes the gradients of the rows on given examples, and counts one step for each row that does not idle and has examples, unless they are
/// taken aside. The rates are those given, or those that mini-batches were drawn with. Rows that make no step have rate 0.
pub fn decayed_gradients_on(
    models: &Stack,
    round: &mut Round<'_>,
    rows: &[RowWork],
    training: &Training,
    on: &GradientsOn<'_>,
) -> Result<DecayedGradients, AlgorithmError> {
    let moves = |row: usize| !is_idle(&rows[row]) && !on.examples.of_row(row).is_empty();
    let rows: Vec<RowWork> = (0..rows.len())
        .map(|row| match moves(row) {
            true => rows[row],
            false => RowWork {
                amount: Amount::Idle,
                ..rows[row]
            },
        })
        .collect();
    let work = round.work(&rows, training);
    let mut rates = round.learner.rates(&work)?;
    let given = on.rates.map(<[f32]>::to_vec);
    let given = given.or_else(|| on.examples.rates());
    let given = given.into_iter().flatten();
    for ((rate, given), row) in rates.iter_mut().zip(given).zip(&rows) {
        *rate = if is_idle(row) { 0.0 } else { given };
    }
    let mut gradients = round.learner.gradients_on(models, &work, on)?;
    decay(&mut gradients, models, &rows, training)?;
    if !on.aside {
        let steps: Vec<u32> = rows.iter().map(|row| u32::from(!is_idle(row))).collect();
        round.count_steps(&rows, &steps);
    }
    Ok(DecayedGradients { gradients, rates })
}

/// Adds weight decay to the gradients of rows that do not idle.
fn decay(
    gradients: &mut Stack,
    models: &Stack,
    rows: &[RowWork],
    training: &Training,
) -> Result<(), AlgorithmError> {
    if training.sgd.weight_decay > 0.0 {
        let decay = |row| {
            if is_idle(row) {
                0.0
            } else {
                training.sgd.weight_decay
            }
        };
        gradients.add_scaled(models, &rows.iter().map(decay).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Whether a row has nothing to do.
pub fn is_idle(row: &RowWork) -> bool {
    row.amount == Amount::Idle
}
