//! Federated averaging with one server.

use crate::error::AlgorithmError;
use crate::message_scope::MessageScope;
use crate::method_spec::{MethodSpec, Profile};
use crate::methods::own_steps::{Hub, OwnStepsState, StepsFrom};
use crate::participation::{Participants, Participation, Weighting, down, up};
use crate::round::{Algorithm, Forecast, Round, Setting};
use crate::training::Training;
use crate::{method_config, no_limits, usual};
use meshfold_engine::{Anchor, Mixing, Stack, Velocity};
use meshfold_topology::{MixingMatrix, Overlay};
use schemars::JsonSchema;

method_config! {
    /// Parameters of [`Method::Fedavg`](crate::Method::Fedavg).
    ///
    /// # Source
    /// McMahan et al., Communication-efficient learning of deep networks from decentralized data (2017), Algorithm 1. With
    /// `steps_from: own` and `weighting: uniform` it is (8), SI (17) of DeceFL (Yuan et al.).
    ///
    /// # Interpretation
    /// Momentum is zero at the start of each round, as a participant starts from the server's model. With `steps_from: own`
    /// all clients take part. A participant to which the server's model is lost does nothing. Of those whose own model is lost on its way the
    /// server's mean knows nothing; if all are, its model stays as it is.
    #[derive(JsonSchema)]
    pub struct Fedavg(local = "crate::training::one_epoch", momentum = "crate::training::no_momentum") {
        /// How many clients take part in a round; all by default.
        #[serde(default)]
        pub participation: Participation,
        /// What the server's mean is weighted by.
        #[serde(default)]
        pub weighting: Weighting,
        /// From which model the steps of a client begin.
        #[serde(default, skip_serializing_if = "StepsFrom::is_mean")]
        #[schemars(extend("default" = "mean"))]
        pub steps_from: StepsFrom,
    }
}

/// A round of FedAvg, with FedProx's pull towards the server's model if `mu` is not 0.
pub(crate) struct FedavgState {
    pub(crate) training: Training,
    pub(crate) participation: Participation,
    pub(crate) weighting: Weighting,
    pub(crate) mu: f32,
    pub(crate) setting: Setting,
}

impl Algorithm for FedavgState {
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let Participants {
            sent_to,
            rows,
            arrives,
        } = self.participation.choose(round, &self.training); // Algorithm 1, S_t
        let (server, bytes) = (self.setting.clients as u32, self.setting.model_bytes());
        if !sent_to.is_empty() {
            round.traffic.messages(down(server, &sent_to, bytes));
        }
        if rows.is_empty() {
            return Ok(());
        }
        let mut slots = models.gather(&vec![0; rows.len()])?; // w_t to every k in S_t
        let start = (self.mu > 0.0).then(|| slots.duplicate());
        let mut work = round.work(&rows, &self.training);
        work.anchor = start.as_ref().map(|models| Anchor {
            models,
            mu: self.mu,
        });
        round.train(&mut slots, Velocity::Fresh, &work)?; // ClientUpdate
        round.traffic.messages(up(server, &rows, bytes));
        if !arrives.contains(&true) {
            return Ok(());
        }
        let shares = self.weighting.shares_of(&rows, &arrives, &self.setting);
        let mean = MixingMatrix::average(1, shares)?;
        slots.mix(&Mixing::new(&mean))?; // w_{t+1} <- Σ n_k/n w_k
        *models = slots;
        Ok(())
    }
}

impl MethodSpec for Fedavg {
    fn profile(&self) -> Profile<'_> {
        self.steps_from.profile(Profile {
            may_lose_messages: self.steps_from.is_mean(),
            ..Profile::one_server()
        })
    }

    usual!(training, steps_per_round);

    fn check_keys(&self) -> Result<(), AlgorithmError> {
        if self.steps_from == StepsFrom::Own && self.participation != Participation::default() {
            return Err(AlgorithmError::Unsuited {
                method: "fedavg",
                key: "participation",
                found: self.participation.to_string(),
                needed: "with `steps_from: own` all clients take part",
            });
        }
        self.participation.check()
    }

    fn check_clients(&self, clients: usize) -> Result<(), AlgorithmError> {
        self.participation
            .check_clients(clients, &self.training_keys())
    }

    no_limits!(check_overlay, unstable_at);

    fn working_rows(&self, clients: usize) -> usize {
        let slots = self.participation.count(clients) + 1;
        self.steps_from.working_rows(clients, slots)
    }

    fn message_scope(&self, setting: &Setting, _rounds: usize, _undisturbed: bool) -> MessageScope {
        MessageScope::of_one_server(setting.clients)
    }

    fn forecast(&self, setting: &Setting, _overlay: Option<&Overlay>) -> Forecast {
        self.participation
            .forecast(&self.training_keys(), setting, 2)
    }

    fn begin(&self, setting: &Setting) -> Box<dyn Algorithm> {
        let (training, setting) = (self.training_keys(), setting.clone());
        match self.steps_from {
            StepsFrom::Mean => Box::new(FedavgState {
                training,
                participation: self.participation,
                weighting: self.weighting,
                mu: 0.0,
                setting,
            }),
            StepsFrom::Own => Box::new(OwnStepsState {
                training,
                weighting: self.weighting,
                hub: Hub::Server,
                setting,
            }),
        }
    }
}
