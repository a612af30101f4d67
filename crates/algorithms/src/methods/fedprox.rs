//! Federated averaging with a pull towards the server's model.

use crate::error::AlgorithmError;
use crate::message_scope::MessageScope;
use crate::method_spec::{MethodSpec, Profile};
use crate::methods::fedavg::FedavgState;
use crate::participation::{Participation, Weighting};
use crate::round::{Algorithm, Forecast, Setting};
use crate::{method_config, no_limits, usual};
use meshfold_topology::Overlay;
use schemars::JsonSchema;

method_config! {
    /// Parameters of [`Method::Fedprox`](crate::Method::Fedprox): FedAvg whose local steps are pulled back to the server's model.
    ///
    /// A participant takes the steps `w <- w − η (g(w) + μ (w − w_t))` from the server's model `w_t`; `w_{t+1}` is the weighted mean of what
    /// the participants reach.
    ///
    /// # Source
    /// Li et al., Federated optimization in heterogeneous networks (2020), Algorithm 2.
    ///
    /// # Interpretation
    /// The mean is weighted by examples as FedAvg's unless `weighting: uniform` asks for the paper's plain mean, which
    /// goes with its participants drawn by size. With `stragglers: {policy: partial}` partial work counts, as there. Momentum is
    /// zero at the start of each round.
    #[derive(JsonSchema)]
    pub struct Fedprox(local = "crate::training::one_epoch", momentum = "crate::training::no_momentum") {
        /// Strength of the pull, μ; with 0 it is FedAvg.
        pub mu: f32,
        /// How many clients take part in a round; all by default.
        #[serde(default)]
        pub participation: Participation,
        /// What the server's mean is weighted by.
        #[serde(default)]
        pub weighting: Weighting,
    }
}

impl MethodSpec for Fedprox {
    fn profile(&self) -> Profile<'_> {
        Profile {
            adds_to_gradients: self.mu > 0.0,
            may_lose_messages: true,
            ..Profile::one_server()
        }
    }

    usual!(training, steps_per_round);

    fn check_keys(&self) -> Result<(), AlgorithmError> {
        if !(self.mu >= 0.0 && self.mu.is_finite()) {
            let needed = "it must be finite and not negative";
            return Err(AlgorithmError::setting("mu", self.mu, needed));
        }
        self.participation.check()
    }

    fn check_clients(&self, clients: usize) -> Result<(), AlgorithmError> {
        self.participation
            .check_clients(clients, &self.training_keys())
    }

    no_limits!(check_overlay, unstable_at);

    fn working_rows(&self, clients: usize) -> usize {
        2 * self.participation.count(clients) + 1
    }

    fn message_scope(&self, setting: &Setting, _rounds: usize, _undisturbed: bool) -> MessageScope {
        MessageScope::of_one_server(setting.clients)
    }

    fn forecast(&self, setting: &Setting, _overlay: Option<&Overlay>) -> Forecast {
        self.participation
            .forecast(&self.training_keys(), setting, 2)
    }

    fn begin(&self, setting: &Setting) -> Box<dyn Algorithm> {
        Box::new(FedavgState {
            training: self.training_keys(),
            participation: self.participation,
            weighting: self.weighting,
            mu: self.mu,
            setting: setting.clone(),
        })
    }
}
