//! Gradient tracking: every client follows an estimate of the mean gradient.

use crate::error::AlgorithmError;
use crate::message_scope::MessageScope;
use crate::method_spec::{MethodSpec, Profile, no_limits};
use crate::presence::PresenceTracker;
use crate::round::{Algorithm, Forecast, Round, Setting, messages_over};
use crate::training::{StepsPerRound, Training, method_config, one_plain_step};
use crate::velocity::{DecayedGradients, decayed_gradients, is_idle};
use meshfold_engine::Stack;
use meshfold_topology::Overlay;

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
    /// A client that is not alive keeps its tracker and its last gradient. Once one is gone for good, those left begin
    /// anew from their models with `y = g`: what it took along would keep the sum of their trackers from that of their
    /// gradients, and so all from the minimum, for ever.
    pub struct GradientTracking(local = "crate::training::one_step", momentum = "crate::training::no_momentum") {}
}

struct GradientTrackingState {
    training: Training,
    setting: Setting,
    /// `y`, `[N, P]`.
    tracker: Option<Stack>,
    /// `g` of the round before, `[N, P]`.
    gradient: Option<Stack>,
    gone: PresenceTracker,
}

impl Algorithm for GradientTrackingState {
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        if self.gone.changes_to(round.gone.iter().copied()) {
            (self.tracker, self.gradient) = (None, None);
        }
        let rows = round.client_rows(&self.training);
        let bytes = self.setting.model_bytes();
        let DecayedGradients {
            gradients: mut change,
            rates,
        } = decayed_gradients(models, round, &rows, &self.training)?;
        let ones: Vec<f32> = rows.iter().map(|row| f32::from(!is_idle(row))).collect();
        let minus: Vec<f32> = ones.iter().map(|one| -one).collect();
        let zeros = || Stack::zeros(models.device(), models.layout(), models.rows());
        let first = self.tracker.is_none();
        let gradient = self.gradient.get_or_insert_with(zeros);
        let tracker = self.tracker.get_or_insert_with(zeros);
        change.add_scaled(gradient, &minus)?; // g(w^t) − g(w^{t−1})
        gradient.add_scaled(&change, &ones)?;
        tracker.add_scaled(&change, &ones)?;
        if !first {
            round.mix(tracker, bytes)?; // y^t
        }
        let descent: Vec<f32> = rates.iter().map(|rate| -rate).collect();
        models.add_scaled(tracker, &descent)?;
        round.mix(models, bytes)?; // w^{t+1}
        Ok(())
    }

    fn state(&self) -> Vec<(&'static str, &Stack)> {
        let named = [("tracker", &self.tracker), ("gradient", &self.gradient)];
        named
            .into_iter()
            .filter_map(|(name, stack)| Some((name, stack.as_ref()?)))
            .collect()
    }

    fn state_rows(&self, name: &str) -> Option<usize> {
        matches!(name, "tracker" | "gradient").then_some(self.setting.clients)
    }

    fn restore(&mut self, name: &str, stack: Stack) {
        match name {
            "tracker" => self.tracker = Some(stack),
            "gradient" => self.gradient = Some(stack),
            _ => {}
        }
    }

    fn numbers(&self) -> Vec<(&'static str, Vec<f64>)> {
        vec![self.gone.numbers()]
    }

    fn may_keep(&self, name: &str, numbers: &[f64]) -> bool {
        self.gone.may_be(name, numbers)
    }

    fn restore_numbers(&mut self, name: &str, numbers: Vec<f64>) {
        self.gone.restore(name, &numbers);
    }
}

impl MethodSpec for GradientTracking {
    fn profile(&self) -> Profile<'_> {
        Profile {
            needs_mutual_exchange: true,
            ..Profile::gossip()
        }
    }

    fn training(&self) -> Training {
        self.training_keys()
    }

    fn check_keys(&self) -> Result<(), AlgorithmError> {
        one_plain_step("gradient_tracking", self.local, self.momentum)
    }

    no_limits!(check_clients, check_overlay, unstable_at);

    fn working_rows(&self, clients: usize) -> usize {
        5 * clients
    }

    fn message_scope(&self, _: &Setting, _: usize, _: bool) -> MessageScope {
        MessageScope::Neighbours
    }

    fn forecast(&self, setting: &Setting, overlay: Option<&Overlay>) -> Forecast {
        let messages = 2 * overlay.map_or(0, messages_over);
        Forecast {
            local_steps: setting.clients as f64,
            bytes: messages * setting.model_bytes(),
        }
    }

    fn steps_per_round(&self, setting: &Setting) -> StepsPerRound {
        self.training_keys().steps_per_round(setting)
    }

    fn begin(&self, setting: &Setting) -> Box<dyn Algorithm> {
        Box::new(GradientTrackingState {
            training: self.training_keys(),
            setting: setting.clone(),
            tracker: None,
            gradient: None,
            gone: PresenceTracker::nobody(setting.clients),
        })
    }
}
