//! Decentralized and federated learning methods, each a transcription of its paper's box over the engine's verbs.
//!
//! A [`Method`] is what a configuration says; [`Method::build`] makes the running [`Algorithm`], whose
//! [`Algorithm::round`] advances all models by one communication round and reports the [`Traffic`] it would cause.
//! Adding a method is one file and one line in each of the three places below.

mod alone;
mod dfedavg;
mod dsgd;
mod error;
mod fedavg;
mod round;
pub mod theory;
mod traffic;
mod training;
mod velocity;

pub use alone::Alone;
pub use dfedavg::{Dfedavg, Dfedavgm};
pub use dsgd::{Dsgd, Order};
pub use error::AlgorithmError;
pub use fedavg::{Fedavg, Participation, Weighting};
pub use round::{Algorithm, Forecast, OverlayUse, Round, RowKind, Rows, Setting};
pub use traffic::{Exchange, Message, Phase, Traffic};
pub use training::{BatchSetting, Local, Training};

use meshfold_topology::Overlay;
use serde::{Deserialize, Serialize};

/// A learning method as a configuration names it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// No exchange: every client trains by itself.
    Alone(Alone),
    /// Decentralized SGD (Lian et al.; D-Cliques, Fig. 2).
    Dsgd(Dsgd),
    /// Decentralized federated averaging (Sun et al.).
    Dfedavg(Dfedavg),
    /// The same with momentum (Hua et al., (2.1)).
    Dfedavgm(Dfedavgm),
    /// Federated averaging with one server (McMahan et al.).
    Fedavg(Fedavg),
}

/// What a method's configuration must say of itself.
pub(crate) trait Configured {
    /// The keys that all methods share.
    fn training(&self) -> Training;
    /// Checks the keys that are the method's own.
    fn check_own(&self) -> Result<(), AlgorithmError> {
        Ok(())
    }
    /// Whether rows exchange over an overlay.
    fn overlay_use(&self) -> OverlayUse;
    /// The models that exist between rounds: one for each client unless the method says otherwise.
    fn rows(&self, clients: usize) -> Rows {
        Rows {
            kind: RowKind::Client,
            count: clients,
        }
    }
    /// Further rows that the method holds, velocities included.
    fn working_rows(&self, _clients: usize) -> usize {
        0
    }
    /// Expected work and traffic of one round in which all clients are alive: all of them train, and with an overlay
    /// each sends its model to every neighbour, unless the method says otherwise.
    fn forecast(
        &self,
        shard_sizes: &[usize],
        overlay: Option<&Overlay>,
        model_bytes: u64,
    ) -> Forecast {
        let training = self.training();
        let local_steps = shard_sizes
            .iter()
            .map(|shard| f64::from(training.steps_on(*shard)))
            .sum();
        let messages = match self.overlay_use() {
            OverlayUse::Required => overlay.map_or(0, |overlay| 2 * overlay.edge_count() as u64),
            OverlayUse::Refused => 0,
        };
        Forecast {
            local_steps,
            bytes: messages * model_bytes,
        }
    }
    /// Builds the running method.
    fn build(&self, setting: &Setting) -> Box<dyn Algorithm>;
}

impl Method {
    fn configured(&self) -> (&'static str, &dyn Configured) {
        match self {
            Self::Alone(config) => ("alone", config),
            Self::Dsgd(config) => ("dsgd", config),
            Self::Dfedavg(config) => ("dfedavg", config),
            Self::Dfedavgm(config) => ("dfedavgm", config),
            Self::Fedavg(config) => ("fedavg", config),
        }
    }

    /// The name that a configuration uses.
    pub fn name(&self) -> &'static str {
        self.configured().0
    }

    /// The keys that all methods share.
    pub fn training(&self) -> Training {
        self.configured().1.training()
    }

    /// Checks every value.
    ///
    /// # Errors
    /// [`AlgorithmError::Setting`], naming the key.
    pub fn check(&self) -> Result<(), AlgorithmError> {
        self.training().check()?;
        self.configured().1.check_own()
    }

    /// Whether rows exchange over an overlay.
    pub fn overlay_use(&self) -> OverlayUse {
        self.configured().1.overlay_use()
    }

    /// The models that exist between rounds.
    pub fn rows(&self, clients: usize) -> Rows {
        self.configured().1.rows(clients)
    }

    /// Further rows that the method holds, velocities included.
    pub fn working_rows(&self, clients: usize) -> usize {
        self.configured().1.working_rows(clients)
    }

    /// Expected work and traffic of one round in which all clients are alive; a model has `model_bytes` bytes.
    pub fn forecast(
        &self,
        shard_sizes: &[usize],
        overlay: Option<&Overlay>,
        model_bytes: u64,
    ) -> Forecast {
        self.configured()
            .1
            .forecast(shard_sizes, overlay, model_bytes)
    }

    /// Builds the running method.
    ///
    /// # Errors
    /// As [`Method::check`], and [`AlgorithmError::Setting`] if a value does not fit the number of clients.
    pub fn build(&self, setting: &Setting) -> Result<Box<dyn Algorithm>, AlgorithmError> {
        self.check()?;
        Ok(self.configured().1.build(setting))
    }
}
