//! Decentralized and federated learning methods, each a transcription of its paper's box over the engine's verbs.
//!
//! A [`Method`] is what a configuration says; [`Method::build`] makes the running [`Algorithm`], whose
//! [`Algorithm::round`] advances all models by one communication round and reports the [`Traffic`] it would cause.
//! Adding a method is one file and one line in each of the three places below.

mod absent;
mod aggregation;
mod error;
mod participation;
mod quantise;
mod reach;
mod round;
mod servers;
mod stragglers;
mod traffic;
mod training;
mod velocity;
mod walk;
mod walk_aggregation;
mod walk_forecast;

// A further method is one file and three lines: here, in the enum, and in `Method::configured`.
mod alone;
mod centralised;
mod d2;
mod d_cliques;
mod decefl;
mod dfedavg;
mod dfedrw;
mod dsgd;
mod fedavg;
mod fedprox;
mod gradient_tracking;
mod hierfavg;
mod one_peer;
mod p_fedavg;
mod push_sum;
mod qg_dsgdm;
mod scaffold;
mod swarm;

pub use aggregation::PartialAggregation;
pub use alone::Alone;
pub use centralised::Centralised;
pub use d_cliques::DCliques;
pub use d2::{D2, ExactDiffusion};
pub use decefl::{Decefl, GradientWeight};
pub use dfedavg::{Dfedavg, Dfedavgm};
pub use dfedrw::Dfedrw;
pub use dsgd::{Dsgd, Order};
pub use error::AlgorithmError;
pub use fedavg::Fedavg;
pub use fedprox::Fedprox;
pub use gradient_tracking::GradientTracking;
pub use hierfavg::Hierfavg;
pub use one_peer::OnePeer;
pub use p_fedavg::PFedavg;
pub use participation::{Participation, Weighting};
pub use push_sum::PushSum;
pub use qg_dsgdm::QgDsgdm;
pub use quantise::{Aggregate, Quantise};
pub use reach::{Pair, Reach};
pub use round::{Algorithm, Forecast, OverlayUse, Round, RowKind, Rows, Setting};
pub use scaffold::Scaffold;
pub use servers::{Assign, PerServer, Servers};
pub use stragglers::{Fate, Lag, PartialWork, Policy, Stragglers, Work};
pub use swarm::Swarm;
pub use traffic::{Exchange, Message, Phase, Traffic};
pub use training::{BatchSetting, Local, Training};
pub use walk::{Aggregators, Restart, Source, WalkRows};

use meshfold_engine::Progress;
use meshfold_topology::{Overlay, OverlaySummary, Weights};
use serde::{Deserialize, Serialize};
use training::Pace;

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
    /// Federated averaging with edge servers beneath one root (Liu et al., 2020).
    Hierfavg(Hierfavg),
    /// Federated averaging in which a random client leads each round (DeceFL, SI 4.2).
    Swarm(Swarm),
    /// Federated averaging with servers that mix over an overlay (Liu et al., P-FedAvg).
    PFedavg(PFedavg),
    /// D-SGD with gradients averaged within cliques (Bellet et al.).
    DCliques(DCliques),
    /// Averaging by random walks (Wang et al.).
    Dfedrw(Dfedrw),
    /// Mixing and a step against the own local work (Yuan et al.).
    Decefl(Decefl),
    /// One model on all data.
    Centralised(Centralised),
    /// Gradient tracking (Nedić et al.; Xu et al.).
    GradientTracking(GradientTracking),
    /// D² (Tang et al.).
    D2(D2),
    /// Exact diffusion (Yuan et al., 2019).
    ExactDiffusion(ExactDiffusion),
    /// Quasi-global momentum (Lin et al.).
    QgDsgdm(QgDsgdm),
    /// FedProx (Li et al.).
    Fedprox(Fedprox),
    /// SCAFFOLD (Karimireddy et al.).
    Scaffold(Scaffold),
    /// Stochastic gradient push (Assran et al.).
    PushSum(PushSum),
    /// One-peer exponential gossip (Ying et al.).
    OnePeer(OnePeer),
}

/// What stragglers are a share of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lagging {
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
    fn lagging(&self) -> Lagging {
        Lagging::Clients
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
    fn reach(&self, _setting: &Setting, _rounds: usize, _undisturbed: bool) -> Reach {
        Reach::Neighbours
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
    fn pace(&self, setting: &Setting) -> Pace {
        self.training().pace(setting)
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
            Self::Hierfavg(config) => ("hierfavg", config),
            Self::Swarm(config) => ("swarm", config),
            Self::PFedavg(config) => ("p_fedavg", config),
            Self::DCliques(config) => ("d_cliques", config),
            Self::Dfedrw(config) => ("dfedrw", config),
            Self::Decefl(config) => ("decefl", config),
            Self::Centralised(config) => ("centralised", config),
            Self::GradientTracking(config) => ("gradient_tracking", config),
            Self::D2(config) => ("d2", config),
            Self::ExactDiffusion(config) => ("exact_diffusion", config),
            Self::QgDsgdm(config) => ("qg_dsgdm", config),
            Self::Fedprox(config) => ("fedprox", config),
            Self::Scaffold(config) => ("scaffold", config),
            Self::PushSum(config) => ("push_sum", config),
            Self::OnePeer(config) => ("one_peer", config),
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

    /// Whether the clients of the partition are made one that holds all examples.
    pub fn merges_clients(&self) -> bool {
        self.configured().1.merges_clients()
    }

    /// Checks the values that depend on the number of clients.
    ///
    /// # Errors
    /// [`AlgorithmError::Setting`], naming the key.
    pub fn check_clients(&self, clients: usize) -> Result<(), AlgorithmError> {
        self.configured().1.check_clients(clients)
    }

    /// Refuses an overlay that the method cannot use, the first one if it `varies` from round to round; returns what will
    /// work but may not be meant.
    ///
    /// # Errors
    /// [`AlgorithmError::Overlay`].
    pub fn check_overlay(
        &self,
        overlay: &Overlay,
        summary: &OverlaySummary,
        varies: bool,
    ) -> Result<Vec<String>, AlgorithmError> {
        self.configured().1.check_overlay(overlay, summary, varies)
    }

    /// What may go wrong in a round whose mixing weights have the least eigenvalue `lambda_n`; `None` if nothing may.
    pub fn unstable_at(&self, lambda_n: f64) -> Option<String> {
        self.configured().1.unstable_at(lambda_n)
    }

    /// The clients behind each node of the overlay; `None` if its nodes are the clients.
    pub fn overlay_groups(&self, setting: &Setting) -> Option<Vec<Vec<u32>>> {
        self.configured().1.overlay_groups(setting)
    }

    /// What stragglers are a share of.
    pub fn lagging(&self) -> Lagging {
        self.configured().1.lagging()
    }

    /// Whether a client has to hear from all who hear from it, so that stragglers cannot go on receiving.
    pub fn needs_mutual_exchange(&self) -> bool {
        self.configured().1.needs_mutual_exchange()
    }

    /// What becomes of stragglers where nothing is said.
    pub fn policy(&self) -> Policy {
        self.configured().1.policy()
    }

    /// Between which nodes its messages may go in `rounds` rounds; `undisturbed` if nobody fails or falls behind in them.
    pub fn reach(&self, setting: &Setting, rounds: usize, undisturbed: bool) -> Reach {
        self.configured().1.reach(setting, rounds, undisturbed)
    }

    /// The weights that the method has in place of those of a configuration; none if it takes those.
    pub fn own_weights(&self) -> Option<Weights> {
        self.configured().1.own_weights()
    }

    /// Expected work and traffic of one round in which all clients are alive.
    pub fn forecast(&self, setting: &Setting, overlay: Option<&Overlay>) -> Forecast {
        self.configured().1.forecast(setting, overlay)
    }

    /// Where a learning rate stands after `rounds` rounds, for a model that took part in all of them: the steps and epochs
    /// that were due, in the mean over all clients.
    pub fn progress_after(&self, rounds: usize, setting: &Setting) -> Progress {
        let pace = self.configured().1.pace(setting);
        let due = |in_a_round: f64| [(rounds as f64 * in_a_round) as u64, 0];
        Progress {
            rounds: rounds as u64,
            steps: due(pace.steps),
            epochs: due(pace.epochs),
        }
    }

    /// Builds the running method.
    ///
    /// # Errors
    /// As [`Method::check`], and [`AlgorithmError::Setting`] if a value does not fit the number of clients.
    pub fn build(&self, setting: &Setting) -> Result<Box<dyn Algorithm>, AlgorithmError> {
        self.check()?;
        self.check_clients(setting.clients)?;
        Ok(self.configured().1.build(setting))
    }
}
