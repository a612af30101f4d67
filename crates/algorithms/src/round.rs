//! What a method is given each round, and what it must be able to do.

use crate::error::AlgorithmError;
use crate::traffic::Traffic;
use meshfold_engine::{Learner, LocalWork, Mixing, RowWork, Stack};
use meshfold_topology::Overlay;

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
}

/// The models that exist between rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// What they stand for.
    pub kind: RowKind,
    /// How many.
    pub count: usize,
}

/// Whether a method exchanges over an overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverlayUse {
    /// It needs one.
    Required,
    /// It has no use for one.
    Refused,
}

/// Expected work and traffic of one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// Local steps of all rows together.
    pub local_steps: f64,
    /// Bytes that cross the network, each message counted once.
    pub bytes: u64,
}

/// What a method is built for.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Number of clients `N`.
    pub clients: usize,
    /// Examples of each client, `[N]`.
    pub shard_sizes: Vec<usize>,
    /// Seed of the run.
    pub seed: u64,
    /// Parameters of a model, `P`.
    pub parameters: usize,
}

impl Setting {
    /// Bytes of a model sent in f32.
    pub fn model_bytes(&self) -> u64 {
        4 * self.parameters as u64
    }
}

/// One communication round.
#[derive(Debug)]
pub struct Round<'a> {
    /// Number of the round, from 1.
    pub number: usize,
    /// Local steps and gradients.
    pub learner: &'a mut Learner,
    /// The overlay of this round, if the method uses one.
    pub overlay: Option<&'a Overlay>,
    /// Its mixing matrix.
    pub mixing: Option<&'a Mixing>,
    /// Which clients take part at all, `[N]`.
    pub alive: &'a [bool],
    /// Seed of the run.
    pub seed: u64,
    /// Where the round's messages are counted.
    pub traffic: &'a mut Traffic,
}

impl Round<'_> {
    /// The mixing matrix of a method that requires an overlay.
    pub(crate) fn mixing(&self) -> &Mixing {
        self.mixing
            .expect("a method that requires an overlay is only run with one")
    }

    /// Counts one exchange of models with all alive neighbours.
    pub(crate) fn exchange_models(&mut self, model_bytes: u64) {
        let overlay = self
            .overlay
            .expect("a method that requires an overlay is only run with one");
        let alive = |node: usize| self.alive.get(node).copied().unwrap_or(true);
        let degree = |node: usize| {
            overlay
                .neighbours(node)
                .iter()
                .filter(|other| alive(**other as usize))
                .count() as u32
        };
        let degrees = (0..overlay.nodes())
            .map(|node| if alive(node) { degree(node) } else { 0 })
            .collect();
        self.traffic.neighbours(model_bytes, degrees);
    }

    /// Local work in this round.
    pub(crate) fn work<'b>(
        &self,
        rows: &'b [RowWork],
        training: &'b crate::Training,
    ) -> LocalWork<'b> {
        LocalWork {
            round: self.number,
            rows,
            sgd: &training.sgd,
            correction: None,
            anchor: None,
        }
    }
}

/// A running method.
pub trait Algorithm: Send {
    /// What the rows of the models are and how many.
    fn rows(&self) -> Rows;

    /// Advances all models, `[R, P]`, by one communication round, without a read-back.
    ///
    /// # Errors
    /// [`AlgorithmError`] if the engine refuses a verb.
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError>;

    /// The models that a user of the method would hold, judged by evaluation.
    fn deployed<'a>(&'a self, models: &'a Stack) -> &'a Stack {
        models
    }

    /// Stacks that the method keeps from round to round besides the models, by name, for checkpoints.
    fn state(&self) -> Vec<(&'static str, &Stack)> {
        Vec::new()
    }

    /// Takes back a stack that [`Algorithm::state`] named; an unknown name is ignored.
    fn restore(&mut self, _name: &str, _stack: Stack) {}
}
