//! Decentralized federated averaging, with and without momentum.

use crate::round::{Algorithm, OverlayUse, Round, RowKind, Rows, Setting};
use crate::training::{Training, method_config};
use crate::{AlgorithmError, Configured};
use meshfold_engine::{Stack, Velocity};

method_config! {
    /// Parameters of [`Method::Dfedavg`](crate::Method::Dfedavg): [`Dfedavgm`] without momentum.
    pub struct Dfedavg(local = "crate::training::one_epoch", momentum = "crate::training::no_momentum") {}
}

method_config! {
    /// Parameters of [`Method::Dfedavgm`](crate::Method::Dfedavgm).
    ///
    /// # Source
    /// Hua et al., (2.1); Sun et al., Decentralized federated averaging (2021), Algorithm 1. `K` local steps of heavy
    /// ball `v <- βv + g`, `w <- w − ηv` with `v = 0` at the start of each round (`w^{t,−1} = w^{t,0}`), then
    /// `w <- M w`.
    pub struct Dfedavgm(local = "crate::training::one_epoch", momentum = "crate::training::heavy_momentum") {}
}

struct Running {
    training: Training,
    clients: usize,
    model_bytes: u64,
}

impl Running {
    fn boxed(training: Training, setting: &Setting) -> Box<dyn Algorithm> {
        let (clients, model_bytes) = (setting.clients, setting.model_bytes());
        Box::new(Self {
            training,
            clients,
            model_bytes,
        })
    }
}

impl Configured for Dfedavg {
    fn training(&self) -> Training {
        self.shared()
    }

    fn check_own(&self) -> Result<(), AlgorithmError> {
        match self.momentum {
            0.0 => Ok(()),
            momentum => Err(AlgorithmError::Setting {
                key: "momentum",
                found: momentum.to_string(),
                needed: "dfedavg has none: use dfedavgm",
            }),
        }
    }

    fn overlay_use(&self) -> OverlayUse {
        OverlayUse::Required
    }

    fn build(&self, setting: &Setting) -> Box<dyn Algorithm> {
        Running::boxed(self.shared(), setting)
    }
}

impl Configured for Dfedavgm {
    fn training(&self) -> Training {
        self.shared()
    }

    fn overlay_use(&self) -> OverlayUse {
        OverlayUse::Required
    }

    fn build(&self, setting: &Setting) -> Box<dyn Algorithm> {
        Running::boxed(self.shared(), setting)
    }
}

impl Algorithm for Running {
    fn rows(&self) -> Rows {
        Rows {
            kind: RowKind::Client,
            count: self.clients,
        }
    }

    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let rows = self.training.per_client(round.alive);
        let work = round.work(&rows, &self.training);
        let steps = round.learner.train(models, Velocity::Fresh, &work)?; // (2.1), first line, k = 0..K−1
        round.traffic.compute(steps);
        round.exchange_models(self.model_bytes);
        models.mix(round.mixing())?; // (2.1), second line
        Ok(())
    }
}
