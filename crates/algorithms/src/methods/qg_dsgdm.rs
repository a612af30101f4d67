//! Decentralized SGD with quasi-global momentum.

use crate::error::AlgorithmError;
use crate::kept::KeptStack;
use crate::method_spec::{MethodSpec, Profile};
use crate::round::{Algorithm, Round, Setting};
use crate::training::{Training, one_step_a_round};
use crate::velocity::is_idle;
use crate::{keeps_stack, method_config, no_limits, usual};
use meshfold_engine::{Stack, Velocity};
use schemars::JsonSchema;

method_config! {
    /// Parameters of [`Method::QgDsgdm`](crate::Method::QgDsgdm): momentum that follows the movement of the mixed
    /// models in place of the client's own gradients.
    ///
    /// `w^{t+1/2} = w^t − η (β m̂^{t−1} + g^t)`, `w^{t+1} = W w^{t+1/2}`,
    /// `m̂^t = μ m̂^{t−1} + (1 − μ) (w^t − w^{t+1}) / η`.
    ///
    /// # Source
    /// Lin et al., Quasi-global momentum: accelerating decentralized deep learning on heterogeneous data (2021),
    /// Algorithm 1 (QG-DSGDm); μ = β unless given.
    #[derive(JsonSchema)]
    pub struct QgDsgdm(local = "crate::training::one_step", momentum = "crate::training::heavy_momentum") {
        /// How long the movement is remembered, μ; the momentum β if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub memory: Option<f32>,
    }
}

struct QgDsgdmState {
    /// Without momentum: it comes as a correction.
    training: Training,
    momentum: f32,
    memory: f32,
    setting: Setting,
    /// `m̂`, `[N, P]`.
    movement: KeptStack,
}

impl Algorithm for QgDsgdmState {
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let rows = round.client_rows(&self.training);
        let mut work = round.work(&rows, &self.training);
        let rates = round.learner.rates(&work)?;
        let mut before = models.duplicate();
        let movement = self.movement.or_zeros(models);
        let mut correction = movement.duplicate();
        correction.scale_rows(&vec![self.momentum; models.rows()])?;
        work.correction = Some(&correction);
        round.train(models, Velocity::Fresh, &work)?; // Algorithm 1, lines 4-5
        round.show(models);
        round.mix(models, self.setting.model_bytes())?; // line 6
        before.add_scaled(models, &vec![-1.0; models.rows()])?; // w^t − w^{t+1}
        let share = |(row, rate): (_, &f32)| {
            if is_idle(row) || *rate == 0.0 {
                0.0
            } else {
                (1.0 - self.memory) / rate
            }
        };
        let keep = |row| if is_idle(row) { 1.0 } else { self.memory };
        movement.scale_rows(&rows.iter().map(keep).collect::<Vec<_>>())?;
        movement.add_scaled(
            &before,
            &rows.iter().zip(&rates).map(share).collect::<Vec<_>>(),
        )?; // lines 7-8
        Ok(())
    }

    keeps_stack!(movement);
}

impl MethodSpec for QgDsgdm {
    fn profile(&self) -> Profile<'_> {
        Profile {
            adds_to_gradients: true,
            ..Profile::gossip()
        }
    }

    usual!(training, steps_per_round, message_scope, forecast);

    fn check_keys(&self) -> Result<(), AlgorithmError> {
        if let Some(memory) = self.memory.filter(|memory| !(0.0..1.0).contains(memory)) {
            let needed = "it must be at least 0 and below 1";
            return Err(AlgorithmError::setting("memory", memory, needed));
        }
        if self.nesterov {
            return Err(AlgorithmError::Unsuited {
                method: "qg_dsgdm",
                key: "nesterov",
                found: self.nesterov.to_string(),
                needed: "its momentum follows the mixed models and is that of QG-DSGDm, of which QG-DSGDm-N is another method: leave it out",
            });
        }
        one_step_a_round("qg_dsgdm", self.local)
    }

    no_limits!(check_clients, check_overlay, unstable_at);

    fn working_rows(&self, clients: usize) -> usize {
        4 * clients
    }

    fn begin(&self, setting: &Setting) -> Box<dyn Algorithm> {
        let mut training = self.training_keys();
        training.sgd.momentum = 0.0;
        Box::new(QgDsgdmState {
            training,
            momentum: self.momentum,
            memory: self.memory.unwrap_or(self.momentum),
            setting: setting.clone(),
            movement: KeptStack::new("movement", setting.clients),
        })
    }
}
