//! Swarm learning: federated averaging without a fixed server.

use crate::error::AlgorithmError;
use crate::message_scope::MessageScope;
use crate::method_spec::{MethodSpec, Profile, ServerNodes};
use crate::methods::own_steps::{Hub, OwnStepsState, StepsFrom, leader, without_messages_to_self};
use crate::participation::{Participants, Participation, Weighting, down, up};
use crate::round::{Algorithm, Forecast, Round, Setting};
use crate::training::Training;
use crate::{method_config, no_limits, usual};
use meshfold_engine::{Mixing, Stack, Velocity};
use meshfold_topology::{MixingMatrix, Overlay};
use schemars::JsonSchema;

method_config! {
    /// Parameters of [`Method::Swarm`](crate::Method::Swarm).
    ///
    /// # Source
    /// DeceFL (Yuan et al.), SI 4.2, `w(t+1) = Σ_j p_j (w_j(t) − η ∇f_j)`, and with `steps_from: own` SI (25); Warnat-Herresthal
    /// et al., Swarm learning for decentralized and confidential clinical machine learning (2021).
    ///
    /// # Interpretation
    /// All clients take part, weighted by their shares of the examples. Each round one of them is drawn as the leader,
    /// stragglers that are dropped left out: it gathers the models and sends the mean back, so that all hold the same
    /// model between rounds, unless `steps_from: own` asks for a model of each client's own. Those that miss a deadline
    /// are sent the mean, too. Momentum is zero at the start of each round.
    #[derive(JsonSchema)]
    pub struct Swarm(local = "crate::training::one_epoch", momentum = "crate::training::no_momentum") {
        /// From which model the steps of a client begin.
        #[serde(default, skip_serializing_if = "StepsFrom::is_mean")]
        #[schemars(extend("default" = "mean"))]
        pub steps_from: StepsFrom,
    }
}

struct SwarmState {
    training: Training,
    setting: Setting,
}

impl Algorithm for SwarmState {
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let Participants { sent_to, rows, .. } =
            Participation::default().choose(round, &self.training);
        if rows.is_empty() {
            return Ok(());
        }
        let (leader, bytes) = (leader(&rows, round), self.setting.model_bytes());
        let mut slots = models.gather(&vec![0; rows.len()])?;
        let work = round.work(&rows, &self.training);
        round.train(&mut slots, Velocity::Fresh, &work)?;
        round
            .traffic
            .messages(without_messages_to_self(up(leader, &rows, bytes)));
        let shares = Weighting::Examples.shares(&rows, &self.setting);
        slots.mix(&Mixing::new(&MixingMatrix::average(1, shares)?))?; // Σ p_j w_j
        round
            .traffic
            .messages(without_messages_to_self(down(leader, &sent_to, bytes)));
        *models = slots;
        Ok(())
    }
}

impl MethodSpec for Swarm {
    fn profile(&self) -> Profile<'_> {
        self.steps_from.profile(Profile {
            servers: ServerNodes::None, // a client leads
            ..Profile::one_server()
        })
    }

    usual!(training, steps_per_round);

    no_limits!(check_keys, check_clients, check_overlay, unstable_at);

    fn working_rows(&self, clients: usize) -> usize {
        self.steps_from.working_rows(clients, clients + 1)
    }

    fn message_scope(
        &self,
        _setting: &Setting,
        _rounds: usize,
        _undisturbed: bool,
    ) -> MessageScope {
        MessageScope::AnyTwo
    }

    fn forecast(&self, setting: &Setting, _overlay: Option<&Overlay>) -> Forecast {
        let whole = Participation::default().forecast(&self.training_keys(), setting, 2);
        Forecast {
            // The leader sends nothing to itself.
            bytes: whole.bytes - 2 * setting.model_bytes(),
            ..whole
        }
    }

    fn begin(&self, setting: &Setting) -> Box<dyn Algorithm> {
        let (training, setting) = (self.training_keys(), setting.clone());
        match self.steps_from {
            StepsFrom::Mean => Box::new(SwarmState { training, setting }),
            StepsFrom::Own => Box::new(OwnStepsState {
                training,
                weighting: Weighting::Examples,
                hub: Hub::Leader,
                setting,
            }),
        }
    }
}
