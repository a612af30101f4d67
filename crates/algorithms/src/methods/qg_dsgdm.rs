//! Decentralized SGD with quasi-global momentum.

use crate::methods::gradient_tracking::one_plain_step;
use crate::round::{Algorithm, OverlayUse, Round, RowKind, Rows, Setting};
use crate::training::{Training, method_config};
use crate::velocity::is_idle;
use crate::{AlgorithmError, Configured};
use meshfold_engine::{Stack, Velocity};

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
    pub struct QgDsgdm(local = "crate::training::one_step", momentum = "crate::training::heavy_momentum") {
        /// How long the movement is remembered, μ; the momentum β if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub memory: Option<f32>,
    }
}

struct Running {
    /// Without momentum: it comes as a correction.
    training: Training,
    momentum: f32,
    memory: f32,
    setting: Setting,
    /// `m̂`, `[N, P]`.
    movement: Option<Stack>,
}

impl Configured for QgDsgdm {
    fn training(&self) -> Training {
        self.training_keys()
    }

    fn check_own(&self) -> Result<(), AlgorithmError> {
        if let Some(memory) = self.memory.filter(|memory| !(0.0..1.0).contains(memory)) {
            return Err(AlgorithmError::Setting {
                key: "memory",
                found: memory.to_string(),
                needed: "it must be at least 0 and below 1",
            });
        }
        one_plain_step("qg_dsgdm", self.local, 0.0)
    }

    fn overlay_use(&self) -> OverlayUse {
        OverlayUse::Clients
    }

    fn working_rows(&self, clients: usize) -> usize {
        4 * clients
    }

    fn build(&self, setting: &Setting) -> Box<dyn Algorithm> {
        let mut training = self.training_keys();
        training.sgd.momentum = 0.0;
        Box::new(Running {
            training,
            momentum: self.momentum,
            memory: self.memory.unwrap_or(self.momentum),
            setting: setting.clone(),
            movement: None,
        })
    }
}

impl Algorithm for Running {
    fn rows(&self) -> Rows {
        Rows {
            kind: RowKind::Client,
            count: self.setting.clients,
        }
    }

    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let rows = round.client_rows(&self.training);
        let mut work = round.work(&rows, &self.training);
        let rates = round.learner.rates(&work);
        let mut before = models.duplicate();
        let movement = self
            .movement
            .get_or_insert_with(|| Stack::zeros(models.device(), models.layout(), models.rows()));
        let mut correction = movement.duplicate();
        correction.scale_rows(&vec![self.momentum; models.rows()])?;
        work.correction = Some(&correction);
        let steps = round.learner.train(models, Velocity::Fresh, &work)?; // Algorithm 1, lines 4-5
        round.count_steps(&rows, &steps);
        round.exchange_models(self.setting.model_bytes());
        models.mix(round.mixing())?; // line 6
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

    fn state(&self) -> Vec<(&'static str, &Stack)> {
        self.movement
            .iter()
            .map(|stack| ("movement", stack))
            .collect()
    }

    fn state_rows(&self, name: &str) -> Option<usize> {
        (name == "movement").then_some(self.rows().count)
    }

    fn restore(&mut self, name: &str, stack: Stack) {
        if name == "movement" {
            self.movement = Some(stack);
        }
    }
}
