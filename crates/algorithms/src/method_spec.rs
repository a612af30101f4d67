//! What the configuration of a method says.

use crate::error::AlgorithmError;
use crate::message_scope::MessageScope;
use crate::round::{Algorithm, Forecast, Setting};
use crate::servers::Servers;
use crate::stragglers::Policy;
use crate::training::{StepsPerRound, Training};
use meshfold_topology::{Overlay, OverlaySummary, Weights};

/// What the configuration of a method says.
///
/// No function has a default: a method that leaves one out does not compile.
pub trait MethodSpec: Send + Sync {
    /// What kind of method it is.
    fn profile(&self) -> Profile<'_>;

    /// The keys that all methods have, the learning rate with the epochs that are due in a round.
    fn training(&self) -> Training;

    /// Checks the method's own keys.
    ///
    /// # Errors
    /// [`AlgorithmError::Setting`] or [`AlgorithmError::Unsuited`], naming the key.
    fn check_keys(&self) -> Result<(), AlgorithmError>;

    /// Checks the values that depend on the number of clients.
    ///
    /// # Errors
    /// [`AlgorithmError::Setting`], naming the key.
    fn check_clients(&self, clients: usize) -> Result<(), AlgorithmError>;

    /// Refuses an overlay that the method cannot use. If overlays vary from round to round (`varies`), this is the
    /// first one.
    ///
    /// # Errors
    /// [`AlgorithmError::Overlay`].
    fn check_overlay(
        &self,
        overlay: &Overlay,
        summary: &OverlaySummary,
        varies: bool,
    ) -> Result<(), AlgorithmError>;

    /// What may go wrong in a round whose mixing weights have the least eigenvalue `lambda_n`; `None` if nothing may.
    fn unstable_at(&self, lambda_n: f64) -> Option<String>;

    /// The most rows that the method holds at once besides the models: the target of mixing, velocities, copies.
    fn working_rows(&self, clients: usize) -> usize;

    /// Between which nodes messages may go in `rounds` rounds; `undisturbed` if nobody fails or falls behind in them.
    fn message_scope(&self, setting: &Setting, rounds: usize, undisturbed: bool) -> MessageScope;

    /// Expected work and traffic of one round in which all clients are alive.
    fn forecast(&self, setting: &Setting, overlay: Option<&Overlay>) -> Forecast;

    /// Local steps and epochs of a model in a round that it takes part in.
    fn steps_per_round(&self, setting: &Setting) -> StepsPerRound;

    /// The method before its first round. The values have been checked: [`Method::build`](crate::Method::build) does both.
    fn begin(&self, setting: &Setting) -> Box<dyn Algorithm>;
}

/// What kind of method it is: who holds the models, how they are exchanged, and what happens to stragglers.
///
/// A method starts from its kind ([`Profile::gossip`] and the others), and sets what differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile<'a> {
    /// Who holds the models.
    pub holders: Holders,
    /// Whether models are exchanged over an overlay.
    pub overlay: OverlayUse,
    /// Nodes of the network that are not clients.
    pub servers: ServerNodes<'a>,
    /// Whether all clients of the partition become one that holds all examples.
    pub merges_clients: bool,
    /// The group of which stragglers are a share.
    pub stragglers: StragglerUnit,
    /// What happens to stragglers if the configuration does not say.
    pub straggler_policy: Policy,
    /// Whether a client must hear from everyone who hears from it, so that stragglers cannot go on receiving.
    pub needs_mutual_exchange: bool,
    /// Whether messages may be lost: the method averages those that arrive, and no client keeps what another is thought to
    /// know.
    pub may_lose_messages: bool,
    /// Whether it is defined for an overlay that stays, so that differences between models may grow on one that changes.
    pub needs_lasting_overlay: bool,
    /// Whether it reads the one latency and the one bandwidth of a simulated network, so that all links must be alike.
    pub needs_even_links: bool,
    /// The method's own weights, in place of configured ones, if it has any. A plan then describes the overlay with
    /// these.
    pub own_weights: Option<Weights>,
    /// Whether models are mixed by weights on the overlay, and not averaged in another way over its edges.
    pub mixes_by_weights: bool,
    /// The key by which the method averages in another way, and does without weights, if it has one.
    pub averages_by: Option<&'static str>,
    /// How many different clients each server asks for in a round, if not all of its own.
    pub asked_per_server: Option<usize>,
    /// Whether it simulates time itself, for clients that do not go in rounds. The figure `seconds` that it records is then the simulated
    /// time of the run.
    pub has_own_clock: bool,
    /// Whether momentum is zero at the start of each round's local work.
    pub momentum_begins_anew: bool,
    /// Whether local steps and epochs are counted in a way that only the method knows, so that a plan cannot tell how far a learning rate gets.
    pub counts_itself: bool,
    /// The weight of a round's models in an average over rounds.
    pub iterate_weighting: IterateWeighting,
    /// Whether local steps add a correction or a pull to their gradients, which takes memory for these.
    pub adds_to_gradients: bool,
    /// Whether each client sends a model to its neighbours that the method [shows](crate::Round::show).
    pub shows_models: bool,
}

impl<'a> Profile<'a> {
    /// Every client has a model and exchanges it with its neighbours on an overlay.
    pub fn gossip() -> Self {
        Self {
            holders: Holders::Clients,
            overlay: OverlayUse::Clients,
            servers: ServerNodes::None,
            merges_clients: false,
            stragglers: StragglerUnit::Clients,
            straggler_policy: Policy::Isolate,
            needs_mutual_exchange: false,
            may_lose_messages: true,
            needs_lasting_overlay: false,
            needs_even_links: false,
            own_weights: None,
            mixes_by_weights: true,
            averages_by: None,
            asked_per_server: None,
            has_own_clock: false,
            momentum_begins_anew: false,
            counts_itself: false,
            iterate_weighting: IterateWeighting::LearningRate,
            adds_to_gradients: false,
            shows_models: true,
        }
    }

    /// Every client has a model; if it exchanges it, then not over an overlay of the configuration.
    pub fn without_overlay() -> Self {
        Self {
            overlay: OverlayUse::Refused,
            may_lose_messages: false,
            shows_models: false,
            ..Self::gossip()
        }
    }

    /// One server has the model, and clients take part in its rounds.
    pub fn one_server() -> Self {
        Self {
            holders: Holders::Servers(1),
            overlay: OverlayUse::Refused,
            servers: ServerNodes::One,
            stragglers: StragglerUnit::Participants,
            momentum_begins_anew: true,
            may_lose_messages: false,
            shows_models: false,
            ..Self::gossip()
        }
    }

    /// Every server has a model for clients of its own, and exchanges it with its neighbours on an overlay of servers.
    pub fn servers_on_overlay(servers: &'a Servers) -> Self {
        Self {
            holders: Holders::Servers(servers.count),
            overlay: OverlayUse::Servers(servers.count),
            servers: ServerNodes::OnOverlay(servers),
            ..Self::one_server()
        }
    }
}

/// Who holds the models that exist between rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holders {
    /// Each client's.
    Clients,
    /// One client's, which stands for all.
    OneForAll,
    /// Those of so many servers.
    Servers(usize),
    /// Those of so many walkers.
    Walkers(usize),
}

impl Holders {
    /// The models of a run with so many clients.
    pub fn rows(self, clients: usize) -> Rows {
        let (kind, count) = match self {
            Self::Clients => (RowKind::Client, clients),
            Self::OneForAll => (RowKind::Client, 1),
            Self::Servers(count) => (RowKind::Server, count),
            Self::Walkers(count) => (RowKind::Walker, count),
        };
        Rows { kind, count }
    }
}

/// What the rows of a stack stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// One row per client.
    Client,
    /// One row per parameter server.
    Server,
    /// One row per walker.
    Walker,
}

impl RowKind {
    /// The word used in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Walker => "walker",
        }
    }

    /// The kind that records call `name`.
    pub fn named(name: &str) -> Option<Self> {
        let mut kinds = [Self::Client, Self::Server, Self::Walker].into_iter();
        kinds.find(|kind| kind.name() == name)
    }
}

/// The models that exist between rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// What they stand for.
    pub kind: RowKind,
    /// How many.
    pub count: usize,
}

/// Whether a method exchanges over an overlay, and what its nodes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverlayUse {
    /// It needs one over the clients.
    Clients,
    /// It needs one over so many servers.
    Servers(usize),
    /// It has no use for one.
    Refused,
}

/// Nodes of the network that are not clients; they are numbered after the clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerNodes<'a> {
    /// None.
    None,
    /// One, which all clients send to.
    One,
    /// These, which are the nodes of the overlay.
    OnOverlay(&'a Servers),
    /// These, and after them the root that they send to.
    BeneathRoot(&'a Servers),
}

impl<'a> ServerNodes<'a> {
    /// Those that have clients of their own.
    pub fn with_clients(self) -> Option<&'a Servers> {
        match self {
            Self::OnOverlay(servers) | Self::BeneathRoot(servers) => Some(servers),
            Self::None | Self::One => None,
        }
    }

    /// How many.
    pub fn count(self) -> usize {
        match self {
            Self::None => 0,
            Self::One => 1,
            Self::OnOverlay(servers) => servers.count,
            Self::BeneathRoot(servers) => servers.count + 1,
        }
    }

    /// The clients behind each node of the overlay; `None` if its nodes are the clients, or if there is no overlay.
    pub fn overlay_groups(self, setting: &Setting) -> Option<Vec<Vec<u32>>> {
        match self {
            Self::OnOverlay(servers) => Some(servers.clients(setting)),
            Self::None | Self::One | Self::BeneathRoot(_) => None,
        }
    }
}

/// The group of which stragglers are a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StragglerUnit {
    /// The clients alive, each of which trains its own row.
    Clients,
    /// Those that the method draws for a round.
    Participants,
    /// The walks.
    Walks,
}

/// The weight of a round's models in an average over rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IterateWeighting {
    /// The learning rate of the round's first step (DFedRW, below (15)).
    LearningRate,
    /// With a harmonic rate `δ / (t + γ)`, `(t + γ)²` (P-FedAvg, below (10)); with another one as [`LearningRate`].
    ///
    /// [`LearningRate`]: Self::LearningRate
    InverseSquare,
}

/// Says that a method places no limits on its own keys (`check_keys`), on the number of clients (`check_clients`), on
/// overlays (`check_overlay`) or on the eigenvalues of mixing weights (`unstable_at`).
#[macro_export]
macro_rules! no_limits {
    (@ check_keys) => {
        fn check_keys(&self) -> Result<(), $crate::AlgorithmError> {
            Ok(())
        }
    };
    (@ check_clients) => {
        fn check_clients(&self, _: usize) -> Result<(), $crate::AlgorithmError> {
            Ok(())
        }
    };
    (@ check_overlay) => {
        fn check_overlay(
            &self,
            _: &$crate::meshfold_topology::Overlay,
            _: &$crate::meshfold_topology::OverlaySummary,
            _: bool,
        ) -> Result<(), $crate::AlgorithmError> {
            Ok(())
        }
    };
    (@ unstable_at) => {
        fn unstable_at(&self, _: f64) -> Option<String> {
            None
        }
    };
    ($($check:ident),+) => {
        $($crate::no_limits!(@ $check);)+
    };
}

/// Says what most methods say alike: the keys as they are written (`training`, `steps_per_round`), messages between
/// neighbours (`message_scope`), and one exchange of models with all neighbours (`forecast`).
#[macro_export]
macro_rules! usual {
    (@ training) => {
        fn training(&self) -> $crate::Training {
            self.training_keys()
        }
    };
    (@ steps_per_round) => {
        fn steps_per_round(&self, setting: &$crate::Setting) -> $crate::StepsPerRound {
            self.training_keys().steps_per_round(setting)
        }
    };
    (@ message_scope) => {
        fn message_scope(&self, _: &$crate::Setting, _: usize, _: bool) -> $crate::MessageScope {
            $crate::MessageScope::Neighbours
        }
    };
    (@ forecast) => {
        fn forecast(
            &self,
            setting: &$crate::Setting,
            overlay: Option<&$crate::meshfold_topology::Overlay>,
        ) -> $crate::Forecast {
            $crate::Forecast::of_exchange(&self.training_keys(), setting, overlay)
        }
    };
    ($($told:ident),+) => {
        $($crate::usual!(@ $told);)+
    };
}
