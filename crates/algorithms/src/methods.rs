//! The learning methods, one file each.

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

pub use alone::Alone;
pub use centralised::Centralised;
pub use d_cliques::DCliques;
pub use d2::{D2, ExactDiffusion};
pub use decefl::{Decefl, GradientWeight};
pub use dfedavg::{Dfedavg, Dfedavgm};
pub use dfedrw::{Aggregators, Dfedrw, Restart, Source, WalkRows};
pub use dsgd::{Dsgd, Order};
pub use fedavg::Fedavg;
pub use fedprox::Fedprox;
pub use gradient_tracking::GradientTracking;
pub use hierfavg::Hierfavg;
pub use one_peer::OnePeer;
pub use p_fedavg::PFedavg;
pub use push_sum::PushSum;
pub use qg_dsgdm::QgDsgdm;
pub use scaffold::Scaffold;
pub use swarm::Swarm;

use crate::error::AlgorithmError;
use crate::round::{Algorithm, Forecast, OverlayUse, Rows, Setting};
use crate::stragglers::Policy;
use crate::training::Training;
use crate::{Configured, MessageScope, StragglerUnit};
use meshfold_engine::Progress;
use meshfold_topology::{Overlay, OverlaySummary, Weights};
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
    pub fn lagging(&self) -> StragglerUnit {
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
    pub fn reach(&self, setting: &Setting, rounds: usize, undisturbed: bool) -> MessageScope {
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
        let pace = self.configured().1.steps_per_round(setting);
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
