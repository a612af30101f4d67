//! Decentralized and federated learning methods, each a transcription of its paper's box over the engine's verbs.
//!
//! A [`Method`] is what a configuration says; [`Method::build`] makes the running [`Algorithm`], whose
//! [`Algorithm::round`] advances all models by one communication round and reports the [`Traffic`] it would cause.
//! Adding a method is one file and one line in each of the three places below.

mod aggregation;
mod error;
mod message_scope;
mod methods;
mod participation;
mod presence;
mod quantise;
mod round;
mod servers;
mod stragglers;
mod traffic;
mod training;
mod velocity;

pub use aggregation::PartialAggregation;
pub use error::AlgorithmError;
pub use message_scope::{MessageScope, Pair};
pub use methods::{
    Aggregators, Alone, Centralised, D2, DCliques, Decefl, Dfedavg, Dfedavgm, Dfedrw, Dsgd,
    ExactDiffusion, Fedavg, Fedprox, GradientTracking, GradientWeight, Hierfavg, Method, OnePeer,
    Order, PFedavg, PushSum, QgDsgdm, Restart, Scaffold, Source, Swarm, WalkRows,
};
pub use participation::{Participation, Weighting};
pub use quantise::{Aggregate, Quantise};
pub use round::{Algorithm, Forecast, OverlayUse, Round, RowKind, Rows, Setting};
pub use servers::{Assign, PerServer, Servers};
pub use stragglers::{Completion, PartialWork, Policy, StragglerContext, Stragglers, Work};
pub use traffic::{Exchange, Message, Phase, Traffic};
pub use training::{BatchSetting, Local, Training};

use meshfold_topology::{Overlay, OverlaySummary, Weights};
use training::StepsPerRound;

/// What stragglers are a share of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StragglerUnit {
    /// The clients alive, each of which trains its own row.
    Clients,
    /// Those that the method draws for a round.
    Participants,
    /// The walks.
    Walks,
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
    /// Rows that the method holds besides the models when it holds most: what mixing writes to, velocities, copies.
    fn working_rows(&self, _clients: usize) -> usize {
        0
    }
    /// Whether the clients of the partition are made one.
    fn merges_clients(&self) -> bool {
        false
    }
    /// Checks the values that depend on the number of clients.
    fn check_clients(&self, _clients: usize) -> Result<(), AlgorithmError> {
        Ok(())
    }
    /// Refuses an overlay that the method cannot use, the first one if it `varies`; returns warnings.
    fn check_overlay(
        &self,
        _overlay: &Overlay,
        _summary: &OverlaySummary,
        _varies: bool,
    ) -> Result<Vec<String>, AlgorithmError> {
        Ok(Vec::new())
    }
    /// What may go wrong under mixing weights whose least eigenvalue is `lambda_n`, if anything may.
    fn unstable_at(&self, _lambda_n: f64) -> Option<String> {
        None
    }
    /// The clients behind each node of the overlay, if its nodes are not the clients.
    fn overlay_groups(&self, _setting: &Setting) -> Option<Vec<Vec<u32>>> {
        None
    }
    /// What stragglers are a share of.
    fn lagging(&self) -> StragglerUnit {
        StragglerUnit::Clients
    }
    /// Whether a client has to hear from all who hear from it.
    fn needs_mutual_exchange(&self) -> bool {
        false
    }
    /// What becomes of stragglers where nothing is said.
    fn policy(&self) -> Policy {
        Policy::Isolate
    }
    /// Between which nodes its messages may go in `rounds` rounds, `undisturbed` if nobody fails or falls behind in them:
    /// along the overlay unless the method says otherwise.
    fn reach(&self, _setting: &Setting, _rounds: usize, _undisturbed: bool) -> MessageScope {
        MessageScope::Neighbours
    }
    /// The weights that the method has in place of those of a configuration, if it has any: what a plan tells of an
    /// overlay is told of them.
    fn own_weights(&self) -> Option<Weights> {
        None
    }
    /// Expected work and traffic of one round in which all clients are alive: all of them train, and with an overlay
    /// each sends its model to every neighbour, unless the method says otherwise.
    fn forecast(&self, setting: &Setting, overlay: Option<&Overlay>) -> Forecast {
        let messages = match self.overlay_use() {
            OverlayUse::Refused => 0,
            _ => overlay.map_or(0, round::messages_over),
        };
        Forecast {
            local_steps: self.training().steps_of_all(setting),
            bytes: messages * setting.model_bytes(),
        }
    }
    /// How far a model comes in a round that it takes part in.
    fn steps_per_round(&self, setting: &Setting) -> StepsPerRound {
        self.training().steps_per_round(setting)
    }
    /// Builds the running method.
    fn build(&self, setting: &Setting) -> Box<dyn Algorithm>;
}
