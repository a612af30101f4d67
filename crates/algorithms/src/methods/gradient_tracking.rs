//! Gradient tracking: every client follows an estimate of the mean gradient.

use crate::error::AlgorithmError;
use crate::kept::KeptStack;
use crate::method_spec::{MethodSpec, Profile};
use crate::presence::PresenceTracker;
use crate::round::{Algorithm, Forecast, Round, Setting, messages_over};
use crate::training::{Training, one_plain_step};
use crate::velocity::{decayed_gradients, is_idle};
use crate::{method_config, no_limits, usual};
use meshfold_engine::{Per, RowWork, Stack};
use meshfold_topology::Overlay;
use schemars::JsonSchema;

method_config! {
    /// Parameters of [`Method::GradientTracking`](crate::Method::GradientTracking).
    ///
    /// `w^{t+1} = W (w^t − η y^t)`, `y^{t+1} = W (y^t + g(w^{t+1}) − g(w^t))`, `y^0 = g(w^0)`: the mean of the trackers
    /// is the mean gradient at all times, so that with exact gradients and a constant rate the clients reach the
    /// minimum of the mean loss, however different their own losses are.
    ///
    /// # Source
    /// Nedić, Olshevsky, Shi, Achieving geometric convergence for distributed optimization over time-varying graphs
    /// (2017), in its adapt-then-combine form (Xu et al., Augmented distributed gradient methods, 2015).
    ///
    /// # Interpretation
    /// On overlays that change, both exchanges of a round have the W of that round: models first, then trackers, with the gradient at
    /// the new models between them. Models and trackers are two messages, each with the bytes of a model.
    ///
    /// The first round takes the gradient `g(w^0)` besides, one step more than the other rounds. Where `η` moves on with each step, a round
    /// has that of the step whose gradient is the newest in `y`.
    ///
    /// A client that is not alive keeps its tracker and its last gradient. Once one is gone for good, those left begin
    /// anew from their models with `y = g`: what it took along would keep the sum of their trackers from that of their
    /// gradients, and so all from the minimum, for ever.
    #[derive(JsonSchema)]
    pub struct GradientTracking(local = "crate::training::one_step", momentum = "crate::training::no_momentum") {}
}

struct GradientTrackingState {
    training: Training,
    setting: Setting,
    /// `y`, and `g` of the round before, each `[N, P]`.
    kept: [KeptStack; 2],
    /// `η` of the step that made `g`, `[N]`.
    newest: Vec<f32>,
    gone: PresenceTracker,
}

/// The name of `newest` among the numbers of a checkpoint.
const NEWEST: &str = "newest_rates";

impl Algorithm for GradientTrackingState {
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        if self.gone.changes_to(round.gone.iter().copied()) {
            self.kept.iter_mut().for_each(KeptStack::forget);
        }
        let rows = round.client_rows(&self.training);
        let bytes = self.setting.model_bytes();
        let rates = round.learner.rates(&round.work(&rows, &self.training))?;
        if self.kept.iter().all(|stack| stack.get().is_none()) {
            self.follow(models, round, &rows)?; // y^0 = g(w^0)
        }
        let descent = self.descent(&rates, &rows);
        models.add_scaled(self.kept[0].or_zeros(models), &descent)?;
        round.show(models);
        round.mix(models, bytes)?; // w^{t+1}
        self.follow(models, round, &rows)?;
        round.mix(self.kept[0].or_zeros(models), bytes)?; // y^{t+1}
        Ok(())
    }

    fn kept(&self) -> &[KeptStack] {
        &self.kept
    }

    fn kept_mut(&mut self) -> &mut [KeptStack] {
        &mut self.kept
    }

    fn numbers(&self) -> Vec<(String, Vec<f64>)> {
        let newest = self.newest.iter().copied().map(f64::from).collect();
        vec![self.gone.numbers(), (NEWEST.to_owned(), newest)]
    }

    fn may_keep(&self, name: &str, numbers: &[f64]) -> bool {
        let is_newest = name == NEWEST && numbers.len() == self.newest.len();
        is_newest || self.gone.may_be(name, numbers)
    }

    fn restore_numbers(&mut self, name: &str, numbers: Vec<f64>) {
        match name {
            NEWEST => self.newest = numbers.iter().map(|rate| *rate as f32).collect(),
            name => self.gone.restore(name, &numbers),
        }
    }
}

impl GradientTrackingState {
    /// `−η` of each row, and 0 of rows that idle; `rates` are those at the beginning of the round.
    fn descent(&self, rates: &[f32], rows: &[RowWork]) -> Vec<f32> {
        let per = self.training.sgd.learning_rate.per_over_rounds();
        let counts_steps = per.is_some_and(|per| per != Per::Round);
        let rate = |((row, now), newest): ((&RowWork, &f32), &f32)| match is_idle(row) {
            false if counts_steps => -newest,
            _ => -now,
        };
        rows.iter().zip(rates).zip(&self.newest).map(rate).collect()
    }

    /// Adds to the trackers by how much the gradients at `models` differ from those before, which they replace.
    fn follow(
        &mut self,
        models: &Stack,
        round: &mut Round<'_>,
        rows: &[RowWork],
    ) -> Result<(), AlgorithmError> {
        let taken = decayed_gradients(models, round, rows, &self.training)?;
        for (row, (newest, rate)) in rows.iter().zip(self.newest.iter_mut().zip(&taken.rates)) {
            if !is_idle(row) {
                *newest = *rate;
            }
        }
        let mut change = taken.gradients;
        let ones: Vec<f32> = rows.iter().map(|row| f32::from(!is_idle(row))).collect();
        let minus: Vec<f32> = ones.iter().map(|one| -one).collect();
        let [tracker, gradient] = self.kept.each_mut().map(|stack| stack.or_zeros(models));
        change.add_scaled(gradient, &minus)?;
        gradient.add_scaled(&change, &ones)?;
        tracker.add_scaled(&change, &ones)?;
        Ok(())
    }
}

impl MethodSpec for GradientTracking {
    fn profile(&self) -> Profile<'_> {
        Profile {
            needs_mutual_exchange: true,
            may_lose_messages: false,
            ..Profile::gossip()
        }
    }

    usual!(training, steps_per_round, message_scope);

    fn check_keys(&self) -> Result<(), AlgorithmError> {
        one_plain_step("gradient_tracking", &self.training_keys())
    }

    no_limits!(check_clients, check_overlay, unstable_at);

    fn working_rows(&self, clients: usize) -> usize {
        5 * clients
    }

    fn forecast(&self, setting: &Setting, overlay: Option<&Overlay>) -> Forecast {
        let messages = 2 * overlay.map_or(0, messages_over);
        Forecast {
            local_steps: setting.clients as f64,
            bytes: messages * setting.model_bytes(),
        }
    }

    fn begin(&self, setting: &Setting) -> Box<dyn Algorithm> {
        Box::new(GradientTrackingState {
            training: self.training_keys(),
            setting: setting.clone(),
            newest: vec![0.0; setting.clients],
            kept: ["tracker", "gradient"].map(|name| KeptStack::new(name, setting.clients)),
            gone: PresenceTracker::nobody(setting.clients),
        })
    }
}
