//! Which clients take part in a round with a server, and how much each counts.

use crate::aggregation::subset;
use crate::error::AlgorithmError;
use crate::lost_messages::Direction;
use crate::round::{Forecast, Round, Setting};
use crate::traffic::Message;
use crate::training::Training;
use meshfold_engine::{Amount, Purpose, RowWork};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// How many clients take part in a round.
///
/// # Source
/// McMahan et al. (2017), Algorithm 1: `S_t`, `max(C·K, 1)` clients drawn at random.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Participation {
    /// So many, drawn without replacement.
    Clients(usize),
    /// This share of all clients, at least one, rounded to the nearest. Where some are dead it is still that of all, of whom so many are drawn
    /// among those alive; if fewer are alive, all of these take part.
    Share(f64),
}

impl Default for Participation {
    fn default() -> Self {
        Self::Share(1.0)
    }
}

/// As a configuration says it: `{share: 0.1}`.
impl Display for Participation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clients(clients) => write!(f, "{{clients: {clients}}}"),
            Self::Share(share) => write!(f, "{{share: {share}}}"),
        }
    }
}

/// What the server's mean is weighted by.
///
/// # Source
/// McMahan et al. (2017), Algorithm 1: `n_k / n`; DeceFL (Yuan et al.), SI 4.2, weighs all alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Weighting {
    /// Examples of the participants.
    #[default]
    Examples,
    /// All participants alike.
    Uniform,
}

/// The clients that a server chooses for a round, by ascending client.
///
/// # Interpretation
/// DFedRW (Wang et al.) drops the stragglers of a share for the whole round: they are sent nothing. A deadline is over only after the
/// models have been sent, so all who are chosen are sent one.
#[derive(Debug, Clone, PartialEq)]
pub struct Participants {
    /// Those that the server sends its model to.
    pub sent_to: Vec<RowWork>,
    /// The work of those that send models back: dropped stragglers are left out, and so is whoever the server's model does not reach.
    pub rows: Vec<RowWork>,
    /// Whether the model of each of `rows` reaches the server.
    pub arrives: Vec<bool>,
}

impl Participants {
    /// What becomes of the `chosen` of a round.
    pub fn of(chosen: Vec<RowWork>, round: &mut Round<'_>, training: &Training) -> Self {
        let (number, lost) = (round.number, round.lost_messages);
        let is_lost = |row: &RowWork, way| lost.is_lost(number, row.client, way);
        let mut rows = round.in_time(chosen.clone(), training);
        rows.retain(|row| row.amount != Amount::Idle);
        let sent_to = match round.has_deadline() {
            true => chosen,
            false => rows.clone(),
        };
        rows.retain(|row| !is_lost(row, Direction::Down));
        let arrives = rows
            .iter()
            .map(|row| !is_lost(row, Direction::Up))
            .collect();
        Self {
            sent_to,
            rows,
            arrives,
        }
    }
}

impl Participation {
    /// Checks the value.
    ///
    /// # Errors
    /// [`AlgorithmError::Setting`].
    pub fn check(self) -> Result<(), AlgorithmError> {
        let valid = match self {
            Self::Clients(count) => count > 0,
            Self::Share(share) => share > 0.0 && share <= 1.0,
        };
        if valid {
            return Ok(());
        }
        let needed = "at least one client, or a share above 0 and up to 1, must take part";
        Err(AlgorithmError::setting("participation", self, needed))
    }

    /// Checks that there are as many clients as take part, and that their `training` can be counted if those are not all.
    ///
    /// # Errors
    /// [`AlgorithmError::Setting`].
    pub fn check_clients(self, clients: usize, training: &Training) -> Result<(), AlgorithmError> {
        if self.count(clients) < clients {
            training.check_rate_of_chosen()?;
        }
        match self {
            Self::Clients(count) if count > clients => {
                let found = format!("{count} of {clients} clients");
                let needed = "no more can take part than there are";
                Err(AlgorithmError::setting("participation", found, needed))
            }
            Self::Clients(_) | Self::Share(_) => Ok(()),
        }
    }

    /// How many of `clients` take part.
    pub fn count(self, clients: usize) -> usize {
        match self {
            Self::Clients(count) => count.min(clients),
            Self::Share(share) => share_of(share, clients).min(clients.max(1)),
        }
    }

    /// The participants of the round.
    pub fn choose(self, round: &mut Round<'_>, training: &Training) -> Participants {
        let mut alive: Vec<u32> = alive(round).collect();
        let count = self.count(round.alive.len());
        let mut rng = round.stream(Purpose::Participation, 0, 0);
        let chosen = subset(&mut alive, Some(count), &mut rng);
        let amount = training.local.amount();
        let rows = chosen.into_iter().map(|client| RowWork { client, amount });
        Participants::of(rows.collect(), round, training)
    }

    /// Work and traffic of a round in which `messages` models cross the network for each participant.
    pub fn forecast(self, training: &Training, setting: &Setting, messages: u64) -> Forecast {
        let count = self.count(setting.clients);
        let share = count as f64 / setting.clients.max(1) as f64;
        Forecast {
            local_steps: training.steps_of_all(setting) * share,
            bytes: messages * count as u64 * setting.model_bytes(),
        }
    }
}

impl Weighting {
    /// The weight of a client.
    pub fn of_client(self, client: u32, setting: &Setting) -> f64 {
        match self {
            Self::Examples => setting.shard_sizes[client as usize] as f64,
            Self::Uniform => 1.0,
        }
    }

    /// The weight of the participant of `row`.
    pub fn weight(self, row: &RowWork, setting: &Setting) -> f64 {
        self.of_client(row.client, setting)
    }

    /// The weight of each participant, divided by the sum of the weights.
    pub fn shares(self, rows: &[RowWork], setting: &Setting) -> Vec<f64> {
        self.shares_of(rows, &vec![true; rows.len()], setting)
    }

    /// The weight of each participant whose model `arrives`, divided by the sum of their weights, and 0 for the others.
    pub fn shares_of(self, rows: &[RowWork], arrives: &[bool], setting: &Setting) -> Vec<f64> {
        let weight = |(row, arrives): (&RowWork, &bool)| match arrives {
            true => self.weight(row, setting),
            false => 0.0,
        };
        let rows = || rows.iter().zip(arrives);
        let all: f64 = rows().map(weight).sum();
        rows().map(|row| weight(row) / all).collect()
    }
}

/// How many of `clients` a `share` stands for: rounded, at least one.
pub fn share_of(share: f64, clients: usize) -> usize {
    ((share * clients as f64).round() as usize).max(1)
}

/// The clients alive, ascending.
pub fn alive(round: &Round<'_>) -> impl Iterator<Item = u32> {
    (0..)
        .zip(round.alive)
        .filter(|(_, alive)| **alive)
        .map(|(client, _)| client)
}

/// A model of `bytes` from `server` to the client of each row.
pub fn down(server: u32, rows: &[RowWork], bytes: u64) -> Vec<Message> {
    let message = |row: &RowWork| Message {
        from: server,
        to: row.client,
        bytes,
    };
    rows.iter().map(message).collect()
}

/// A model of `bytes` from the client of each row to `server`.
pub fn up(server: u32, rows: &[RowWork], bytes: u64) -> Vec<Message> {
    let message = |row: &RowWork| Message {
        from: row.client,
        to: server,
        bytes,
    };
    rows.iter().map(message).collect()
}
