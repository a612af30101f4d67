//! Gradient tracking: every client follows an estimate of the mean gradient.

use crate::presence::PresenceTracker;
use crate::round::{Algorithm, Forecast, OverlayUse, Round, RowKind, Rows, Setting, messages_over};
use crate::training::{Local, Training, method_config};
use crate::velocity::{decayed_gradients, is_idle};
use crate::{AlgorithmError, Configured};
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

struct Running {
    training: Training,
    setting: Setting,
    /// `y`, `[N, P]`.
    tracker: Option<Stack>,
    /// `g` of the round before, `[N, P]`.
    gradient: Option<Stack>,
    gone: PresenceTracker,
}

impl Configured for GradientTracking {
    fn training(&self) -> Training {
        self.training_keys()
    }

    fn check_own(&self) -> Result<(), AlgorithmError> {
        one_plain_step("gradient_tracking", self.local, self.momentum)
    }

    fn overlay_use(&self) -> OverlayUse {
        OverlayUse::Clients
    }

    fn needs_mutual_exchange(&self) -> bool {
        true
    }

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

    fn build(&self, setting: &Setting) -> Box<dyn Algorithm> {
        Box::new(Running {
            training: self.training_keys(),
            setting: setting.clone(),
            tracker: None,
            gradient: None,
            gone: PresenceTracker::nobody(setting.clients),
        })
    }
}

/// Refuses local work that a method, whose rounds are single steps without momentum, has no meaning for.
pub(crate) fn one_plain_step(
    method: &'static str,
    local: Local,
    momentum: f32,
) -> Result<(), AlgorithmError> {
    if local != Local::Steps(1) {
        return Err(AlgorithmError::Unsuited {
            method,
            key: "local",
            found: format!("{local:?}").to_lowercase(),
            needed: "it exchanges after every step, {steps: 1}",
        });
    }
    if momentum != 0.0 {
        return Err(AlgorithmError::Unsuited {
            method,
            key: "momentum",
            found: momentum.to_string(),
            needed: "it has none, 0",
        });
    }
    Ok(())
}

impl Algorithm for Running {
    fn rows(&self) -> Rows {
        Rows {
            kind: RowKind::Client,
            count: self.setting.clients,
        }
    }

    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        if self.gone.changes_to(round.gone.iter().copied()) {
            (self.tracker, self.gradient) = (None, None);
        }
        let rows = round.client_rows(&self.training);
        let bytes = self.setting.model_bytes();
        let (mut change, rates) = decayed_gradients(models, round, &rows, &self.training)?;
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
            round.exchange_models(bytes);
            tracker.mix(round.mixing())?; // y^t
        }
        let descent: Vec<f32> = rates.iter().map(|rate| -rate).collect();
        models.add_scaled(tracker, &descent)?;
        round.exchange_models(bytes);
        models.mix(round.mixing())?; // w^{t+1}
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
        matches!(name, "tracker" | "gradient").then_some(self.rows().count)
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
