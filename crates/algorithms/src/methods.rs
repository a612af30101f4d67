//! The learning methods, one file each. To add one: ARCHITECTURE.md, "Adding a method".

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
mod own_steps;
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
pub use dfedrw::{Aggregators, Dfedrw, Projection, Restart, Source, WalkRows};
pub use dsgd::{Dsgd, Order};
pub use fedavg::Fedavg;
pub use fedprox::Fedprox;
pub use gradient_tracking::GradientTracking;
pub use hierfavg::Hierfavg;
pub use one_peer::OnePeer;
pub use own_steps::StepsFrom;
pub use p_fedavg::PFedavg;
pub use push_sum::PushSum;
pub use qg_dsgdm::QgDsgdm;
pub use scaffold::Scaffold;
pub use swarm::Swarm;

use crate::error::AlgorithmError;
use crate::method_spec::{MethodSpec, Rows};
use crate::round::{Algorithm, Setting};
use meshfold_engine::Progress;
use meshfold_own::{OwnKind, OwnPart};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Deref;

/// Makes [`Method`] of the methods and the names that configurations use.
macro_rules! methods {
    ($($(#[$doc:meta])* $config:ident = $name:literal,)+) => {
        /// A learning method as a configuration names it.
        ///
        /// # In Rust
        /// It gives what its configuration says of itself, as a [`MethodSpec`].
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        pub enum Method {
            $($(#[$doc])* #[serde(rename = $name)] $config($config),)+
            /// A method of a program's own.
            #[serde(rename = "own")]
            Own(OwnPart<dyn MethodSpec>),
        }

        impl Method {
            /// The key of a configuration: `own` for methods of a program's own.
            pub fn key(&self) -> &'static str {
                match self {
                    $(Self::$config(_) => $name,)+
                    Self::Own(_) => "own",
                }
            }

            /// The method's name.
            pub fn name(&self) -> &str {
                match self {
                    Self::Own(own) => own.name(),
                    method => method.key(),
                }
            }
        }

        impl Deref for Method {
            type Target = dyn MethodSpec;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$config(config) => config,)+
                    Self::Own(own) => own.part(),
                }
            }
        }
    };
}

methods! {
    /// No exchange: every client trains by itself.
    Alone = "alone",
    /// Decentralized SGD (Lian et al.; D-Cliques, Fig. 2).
    Dsgd = "dsgd",
    /// Decentralized federated averaging (Sun et al.).
    Dfedavg = "dfedavg",
    /// The same with momentum (Hua et al., (2.1)).
    Dfedavgm = "dfedavgm",
    /// Federated averaging with one server (McMahan et al.).
    Fedavg = "fedavg",
    /// Federated averaging with edge servers beneath one root (Liu et al., 2020).
    Hierfavg = "hierfavg",
    /// Federated averaging in which a random client leads each round (DeceFL, SI 4.2).
    Swarm = "swarm",
    /// Federated averaging with servers that mix over an overlay (Liu et al., P-FedAvg).
    PFedavg = "p_fedavg",
    /// D-SGD with gradients averaged within cliques (Bellet et al.).
    DCliques = "d_cliques",
    /// Averaging by random walks (Wang et al.).
    Dfedrw = "dfedrw",
    /// Mixing and a step against the own local work (Yuan et al.).
    Decefl = "decefl",
    /// One model on all data.
    Centralised = "centralised",
    /// Gradient tracking (Nedić et al.; Xu et al.).
    GradientTracking = "gradient_tracking",
    /// D² (Tang et al.).
    D2 = "d2",
    /// Exact diffusion (Yuan et al., 2019).
    ExactDiffusion = "exact_diffusion",
    /// Quasi-global momentum (Lin et al.).
    QgDsgdm = "qg_dsgdm",
    /// FedProx (Li et al.).
    Fedprox = "fedprox",
    /// SCAFFOLD (Karimireddy et al.).
    Scaffold = "scaffold",
    /// Stochastic gradient push (Assran et al.).
    PushSum = "push_sum",
    /// One-peer exponential gossip (Ying et al.).
    OnePeer = "one_peer",
}

impl OwnKind for dyn MethodSpec {
    const KIND: &'static str = "own method";
}

impl Method {
    /// Checks every value.
    ///
    /// # Errors
    /// [`AlgorithmError::Setting`] or [`AlgorithmError::Unsuited`], naming the key.
    pub fn check(&self) -> Result<(), AlgorithmError> {
        let training = self.training();
        training.check()?;
        self.check_keys()?;
        training.check_nesterov()
    }

    /// The models that exist between rounds.
    pub fn rows(&self, clients: usize) -> Rows {
        self.profile().holders.rows(clients)
    }

    /// The clients behind each node of the overlay; `None` if its nodes are the clients, or if there is no overlay.
    pub fn overlay_groups(&self, setting: &Setting) -> Option<Vec<Vec<u32>>> {
        self.profile().servers.overlay_groups(setting)
    }

    /// Where a learning rate stands after `rounds` rounds, for a model that took part in all of them: the steps and epochs
    /// that were due, in the mean over all clients.
    pub fn progress_after(&self, rounds: usize, setting: &Setting) -> Progress {
        let per_round = self.steps_per_round(setting);
        let due = |in_a_round: f64| [(rounds as f64 * in_a_round) as u64, 0];
        Progress {
            rounds: rounds as u64,
            steps: due(per_round.steps),
            epochs: due(per_round.epochs),
            epochs_before_call: 0,
        }
    }

    /// The method before its first round.
    ///
    /// # Errors
    /// As [`Method::check`], and [`AlgorithmError::Setting`] if a value does not fit the number of clients.
    pub fn build(&self, setting: &Setting) -> Result<Box<dyn Algorithm>, AlgorithmError> {
        self.check()?;
        self.check_clients(setting.clients)?;
        Ok(self.begin(setting))
    }
}
