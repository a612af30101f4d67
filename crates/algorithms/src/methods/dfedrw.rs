//! Decentralized federated averaging via random walk, whole or quantised.

mod aggregation;
mod forecast;
mod projection;
mod walk;

pub use projection::Projection;
use schemars::JsonSchema;
pub use walk::{Aggregators, Restart, Source, WalkRows};

use crate::error::AlgorithmError;
use crate::message_scope::MessageScope;
use crate::method_spec::{Holders, MethodSpec, Profile, StragglerUnit};
use crate::quantise::{Aggregate, Quantise, bytes_of_message};
use crate::round::{Algorithm, Forecast, Round, Setting};
use crate::stragglers::Policy;
use crate::training::{StepsPerRound, Training};
use crate::{method_config, no_limits};
use meshfold_engine::Stack;
use meshfold_topology::{Overlay, OverlaySummary};

method_config! {
    /// Parameters of [`Method::Dfedrw`](crate::Method::Dfedrw).
    ///
    /// `M` walkers start at clients with those clients' models; at each of `K` visits a walker trains on the data of
    /// the client where it is, leaves the result there as that client's `last`, and moves to a neighbour with the
    /// probabilities of (7). Then clients average the `last` of some others, weighted by examples (11).
    ///
    /// # Source
    /// Wang et al., Algorithm 1, (7), (10), (11); with `quantise` Algorithm 2, (12)-(14); Section VI-F for walkers
    /// among many clients.
    ///
    /// # Interpretation
    /// The degree in (7) counts the self-loop, so the walk follows the Metropolis-Hastings matrix. A client that no
    /// walker visits has its current model as `last`; of two walkers on one client at one visit the higher one leaves
    /// its result. A walker whose client dies waits there, untrained and heard by nobody. Models are
    /// projected onto no set unless `projection` names one. The learning rate counts visits as epochs:
    /// `k = (t − 1) K + visit`. Momentum is zero at the start of each visit. `simulated_seconds` count the local steps of the
    /// slowest walk: its steps do not wait for those of others, and two walks on one client train side by side. The messages of the `k`-th visits
    /// count as sent at one time, and the slowest of them is counted.
    ///
    /// After its last visit too a walker sends its model on by (7), as line 7 is printed for every `k` up to `K − 1`. The
    /// message is counted: `K` of them, and the aggregation, are the `(K + 1) T_c` of Section VI-F, and twice the visits
    /// are the bytes of the walks in (18). Who receives that model does not train on it, so by (11) it averages, and the
    /// walk has ended, where the last visit was.
    #[derive(JsonSchema)]
    pub struct Dfedrw(local = "crate::training::one_epoch", momentum = "crate::training::no_momentum") {
        /// Walkers, `M`.
        pub walkers: usize,
        /// Visits of a walker in a round, `K`.
        pub hops: u32,
        /// Where walks begin in a round.
        #[serde(default)]
        pub restart: Restart,
        /// Which clients average.
        #[serde(default)]
        pub aggregators: Aggregators,
        /// Whose models they average.
        #[serde(default)]
        pub from: Source,
        /// Most models that a client averages, `|N_A(i)|`; all by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub neighbours: Option<usize>,
        /// Whether a client's own model may be among them.
        #[serde(default = "yes")]
        pub include_self: bool,
        /// Which models exist between rounds: those of all clients, or of the walkers alone.
        #[serde(default)]
        pub rows: WalkRows,
        /// The ball that models are projected onto, `Π_W` of (10); none if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub projection: Option<Projection>,
        /// Sends quantised differences in place of models.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub quantise: Option<Quantise>,
    }
}

fn yes() -> bool {
    true
}

struct DfedrwState {
    config: Dfedrw,
    training: Training,
    setting: Setting,
    /// Where each walker is, once it has walked, `[M]`.
    at: Vec<u32>,
}

impl Algorithm for DfedrwState {
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let walks = self.walk(models, round)?;
        self.at.clone_from(&walks.at);
        match self.config.rows {
            WalkRows::Clients => self.aggregate(models, walks, round),
            WalkRows::Walkers => self.aggregate_walkers(models, walks, round),
        } // line 10
    }

    fn numbers(&self) -> Vec<(String, Vec<f64>)> {
        vec![(
            "at".to_owned(),
            self.at.iter().map(|client| f64::from(*client)).collect(),
        )]
    }

    fn may_keep(&self, name: &str, numbers: &[f64]) -> bool {
        let is_client = |at: &f64| (0..self.setting.clients).contains(&(*at as usize));
        let walks = numbers.is_empty() || numbers.len() == self.config.walkers;
        name == "at" && walks && numbers.iter().all(is_client)
    }

    fn restore_numbers(&mut self, name: &str, numbers: Vec<f64>) {
        if name == "at" {
            self.at = numbers.into_iter().map(|client| client as u32).collect();
        }
    }
}

impl MethodSpec for Dfedrw {
    fn profile(&self) -> Profile<'_> {
        Profile {
            holders: match self.rows {
                WalkRows::Clients => Holders::Clients,
                WalkRows::Walkers => Holders::Walkers(self.walkers),
            },
            stragglers: StragglerUnit::Walks,
            straggler_policy: Policy::Partial,
            mixes_by_weights: false,
            may_lose_messages: false,
            momentum_begins_anew: true,
            counts_itself: true, // visits
            shows_models: false, // they go from hop to hop
            ..Profile::gossip()
        }
    }

    fn training(&self) -> Training {
        let mut training = self.training_keys();
        training.sgd.learning_rate = self.learning_rate.clone().with_epochs_due(self.hops, 0);
        training
    }

    fn check_keys(&self) -> Result<(), AlgorithmError> {
        if self.walkers == 0 {
            let needed = "there must be at least one walker";
            return Err(AlgorithmError::setting("walkers", "0", needed));
        }
        if self.hops == 0 {
            let needed = "a walk has at least one visit";
            return Err(AlgorithmError::setting("hops", "0", needed));
        }
        if self.neighbours == Some(0) {
            let needed = "a client averages at least one model";
            return Err(AlgorithmError::setting("neighbours", "0", needed));
        }
        if let Aggregators::Share(share) = self.aggregators
            && !(share > 0.0 && share <= 1.0)
        {
            return Err(AlgorithmError::setting(
                "aggregators",
                format!("a share of {share}"),
                "it must be above 0 and up to 1",
            ));
        }
        if self.rows == WalkRows::Walkers {
            if self.aggregators != Aggregators::WalkEnds || self.from != Source::WalkEnds {
                let needed =
                    "where only walkers hold models, `aggregators` and `from` must be walk_ends";
                return Err(AlgorithmError::setting("rows", "walkers", needed));
            }
            if self
                .quantise
                .is_some_and(|quantise| quantise.aggregate == Aggregate::Printed)
            {
                let needed =
                    "the printed form adds differences to models of clients, which hold none here";
                return Err(AlgorithmError::setting(
                    "quantise.aggregate",
                    "printed",
                    needed,
                ));
            }
        }
        self.projection.map_or(Ok(()), Projection::check)?;
        self.quantise.map_or(Ok(()), Quantise::check)
    }

    fn check_clients(&self, clients: usize) -> Result<(), AlgorithmError> {
        if self.walkers <= clients {
            return Ok(());
        }
        let found = format!("{} for {clients} clients", self.walkers);
        let needed = "walks begin at distinct clients";
        Err(AlgorithmError::setting("walkers", found, needed))
    }

    fn check_overlay(
        &self,
        overlay: &Overlay,
        _summary: &OverlaySummary,
        _varies: bool,
    ) -> Result<(), AlgorithmError> {
        match overlay.is_directed() {
            false => Ok(()),
            true => Err(AlgorithmError::Overlay {
                method: "dfedrw",
                needed: "an overlay whose links go both ways, as its walks do".to_owned(),
            }),
        }
    }

    no_limits!(unstable_at);

    fn working_rows(&self, clients: usize) -> usize {
        let (copies, last) = match (self.rows, self.quantise) {
            (WalkRows::Clients, None) => (2, 3 * clients),
            (WalkRows::Clients, Some(_)) => (4, 3 * clients),
            (WalkRows::Walkers, None) => (3, 0),
            (WalkRows::Walkers, Some(_)) => (5, 0),
        };
        let projected = usize::from(self.projection.is_some());
        (copies + projected) * self.walkers + last
    }

    fn message_scope(
        &self,
        _setting: &Setting,
        _rounds: usize,
        _undisturbed: bool,
    ) -> MessageScope {
        // Walk ends and whoever else averages hear from clients that need not be their neighbours.
        match self.rows == WalkRows::Walkers || self.from != Source::Neighbours {
            true => MessageScope::AnyTwo,
            false => MessageScope::Neighbours,
        }
    }

    fn forecast(&self, setting: &Setting, overlay: Option<&Overlay>) -> Forecast {
        let visits = self.walkers as f64 * f64::from(self.hops);
        let clients = setting.clients.max(1) as f64;
        let messages = overlay.map_or(0.0, |overlay| self.messages(overlay));
        Forecast {
            local_steps: visits * self.training_keys().steps_of_all(setting) / clients,
            bytes: (messages * bytes_of_message(self.quantise, setting) as f64).round() as u64,
        }
    }

    fn steps_per_round(&self, setting: &Setting) -> StepsPerRound {
        StepsPerRound {
            steps: f64::from(self.hops) * self.training_keys().steps_per_round(setting).steps,
            epochs: f64::from(self.hops), // a visit counts as one
        }
    }

    fn begin(&self, setting: &Setting) -> Box<dyn Algorithm> {
        Box::new(DfedrwState {
            config: self.clone(),
            training: self.training_keys(),
            setting: setting.clone(),
            at: Vec::new(),
        })
    }
}
