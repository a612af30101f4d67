//! Rounds in which every client adds the steps from its own model to one mean of all models.

use crate::error::AlgorithmError;
use crate::method_spec::{Holders, Profile, StragglerUnit};
use crate::participation::{Weighting, down, up};
use crate::round::{Algorithm, Round, Setting};
use crate::traffic::Message;
use crate::training::Training;
use meshfold_engine::{Mixing, Purpose, RowWork, Stack, Velocity};
use meshfold_topology::MixingMatrix;
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// From which model the steps of a client in a round begin.
///
/// # Source
/// `mean`: McMahan et al. (2017), Algorithm 1. `own`: DeceFL (Yuan et al.), section C and SI 4, where
/// `w_k(t+1) = Σ_j p_j w_j(t) − η_t ∇f_k(w_k(t))`. In (8), SI (17) a server takes the mean and `p_j = 1 / K`: `fedavg` with
/// `weighting: uniform`. In SI (24), (25) a client that leads takes it and `p_j` is the weight of client `j`, its share of the
/// examples: `swarm`. (9), SI (32) is `decefl`, with `Σ_j W_kj(t) w_j(t)` in place of the mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepsFrom {
    /// From the mean, which all clients are sent: one model is all there is between rounds.
    #[default]
    Mean,
    /// From its own model. It is sent the mean, and adds its steps to that: every client has a model between rounds.
    Own,
}

impl StepsFrom {
    /// Whether a configuration need not say it.
    #[must_use]
    pub fn is_mean(&self) -> bool {
        *self == Self::Mean
    }

    /// The method's profile, which is `one_model` if clients step from the mean.
    pub(crate) fn profile(self, one_model: Profile<'_>) -> Profile<'_> {
        match self {
            Self::Mean => one_model,
            Self::Own => Profile {
                holders: Holders::Clients,
                stragglers: StragglerUnit::Clients,
                needs_mutual_exchange: true, // who sends nothing is sent no mean
                ..one_model
            },
        }
    }

    /// Rows that the method holds besides the models, if it holds `one_model` where its clients step from the mean.
    pub(crate) fn working_rows(self, clients: usize, one_model: usize) -> usize {
        match self {
            Self::Mean => one_model,
            Self::Own => 3 * clients, // local steps, the models that are averaged, their mean
        }
    }
}

/// The node that takes the mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hub {
    /// The server, which is no client.
    Server,
    /// A client that is drawn in each round.
    Leader,
}

/// `w_k(t+1) = Σ_j p_j w_j(t) − η_t ∇f_k(w_k(t))`, `j` over the clients that take part: (8), SI (17) and SI (25) of DeceFL, as
/// [`StepsFrom`] has them. Where all take part it is DeceFL on a complete overlay with the rows of `W` equal to `p`.
///
/// # Interpretation
/// More than one local step, or a batch that is not full, has `w_k^local − w_k(t)` in place of `−η_t ∇f_k`, as in SI
/// Algorithm 1. A client that fails or is late keeps its model, and counts in no mean.
pub(crate) struct OwnStepsState {
    pub(crate) training: Training,
    pub(crate) weighting: Weighting,
    pub(crate) hub: Hub,
    pub(crate) setting: Setting,
}

impl Algorithm for OwnStepsState {
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let rows = round.client_rows(&self.training);
        let present = present(&rows, round);
        if present.is_empty() {
            return Ok(());
        }
        let mut steps = models.duplicate();
        let work = round.work(&rows, &self.training);
        round.train(&mut steps, Velocity::Fresh, &work)?;
        steps.add_scaled(models, &vec![-1.0; models.rows()])?; // −η_t ∇f_k(w_k(t))
        let hub = self.hub(&present, round);
        let bytes = self.setting.model_bytes();
        round
            .traffic
            .messages(without_messages_to_self(up(hub, &present, bytes)));
        let clients: Vec<u32> = present.iter().map(|row| row.client).collect();
        let shares = self.weighting.shares(&present, &self.setting);
        let mut mean = models.gather(&clients)?;
        mean.mix(&Mixing::new(&MixingMatrix::average(clients.len(), shares)?))?; // Σ_j p_j w_j(t)
        models.scatter(&clients, &mean)?;
        round
            .traffic
            .messages(without_messages_to_self(down(hub, &present, bytes)));
        models.add_scaled(&steps, &vec![1.0; models.rows()])?; // (17), (25)
        Ok(())
    }
}

impl OwnStepsState {
    /// The node that takes the mean of `present` in this round.
    fn hub(&self, present: &[RowWork], round: &Round<'_>) -> u32 {
        match self.hub {
            Hub::Server => self.setting.clients as u32,
            Hub::Leader => leader(present, round),
        }
    }
}

/// The rows of the clients that take part.
fn present(rows: &[RowWork], round: &Round<'_>) -> Vec<RowWork> {
    let here = |row: &&RowWork| round.alive[row.client as usize];
    rows.iter().filter(here).copied().collect()
}

/// The row under which the leader is drawn; participants are drawn under row 0.
const LEADER: u32 = 1;

/// The client of those in `rows`, of which there is one at least, that gathers the models in this round.
pub(crate) fn leader(rows: &[RowWork], round: &Round<'_>) -> u32 {
    let mut rng = round.stream(Purpose::Participation, LEADER, 0);
    rows[rng.random_range(0..rows.len())].client
}

/// `messages` without those from a client to itself.
pub(crate) fn without_messages_to_self(mut messages: Vec<Message>) -> Vec<Message> {
    messages.retain(|message| message.from != message.to);
    messages
}
