//! Federated averaging with one server.

use crate::round::{Algorithm, Forecast, OverlayUse, Round, RowKind, Rows, Setting};
use crate::traffic::Message;
use crate::training::{Training, method_config};
use crate::{AlgorithmError, Configured};
use meshfold_engine::{Key, Mixing, Purpose, RowWork, Stack, Velocity, stream};
use meshfold_topology::{MixingMatrix, Overlay};
use rand::seq::index;
use serde::{Deserialize, Serialize};

/// How many clients take part in a round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Participation {
    /// So many, drawn without replacement.
    Clients(usize),
    /// This share of the clients, at least one, rounded to the nearest.
    Share(f64),
}

impl Default for Participation {
    fn default() -> Self {
        Self::Share(1.0)
    }
}

/// What the server's mean is weighted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weighting {
    /// Examples of the participants.
    #[default]
    Examples,
    /// All participants alike.
    Uniform,
}

method_config! {
    /// Parameters of [`Method::Fedavg`](crate::Method::Fedavg).
    ///
    /// # Source
    /// McMahan et al., Communication-efficient learning of deep networks from decentralized data (2017), Algorithm 1.
    ///
    /// # Interpretation
    /// Momentum is zero at the start of each round, as a participant starts from the server's model.
    pub struct Fedavg(local = "crate::training::one_epoch", momentum = "crate::training::no_momentum") {
        /// How many clients take part in a round; all by default.
        #[serde(default)]
        pub participation: Participation,
        /// What the server's mean is weighted by.
        #[serde(default)]
        pub weighting: Weighting,
    }
}

impl Participation {
    fn count(self, clients: usize) -> usize {
        match self {
            Self::Clients(count) => count.min(clients),
            Self::Share(share) => {
                ((share * clients as f64).round() as usize).clamp(1, clients.max(1))
            }
        }
    }
}

struct Running {
    training: Training,
    participation: Participation,
    weighting: Weighting,
    setting: Setting,
}

impl Configured for Fedavg {
    fn training(&self) -> Training {
        self.shared()
    }

    fn check_own(&self) -> Result<(), AlgorithmError> {
        let valid = match self.participation {
            Participation::Clients(count) => count > 0,
            Participation::Share(share) => share > 0.0 && share <= 1.0,
        };
        if valid {
            return Ok(());
        }
        Err(AlgorithmError::Setting {
            key: "participation",
            found: format!("{:?}", self.participation).to_lowercase(),
            needed: "at least one client, or a share above 0 and up to 1, must take part",
        })
    }

    fn overlay_use(&self) -> OverlayUse {
        OverlayUse::Refused
    }

    fn rows(&self, _clients: usize) -> Rows {
        Rows {
            kind: RowKind::Server,
            count: 1,
        }
    }

    fn working_rows(&self, clients: usize) -> usize {
        self.participation.count(clients)
    }

    fn forecast(
        &self,
        shard_sizes: &[usize],
        _overlay: Option<&Overlay>,
        model_bytes: u64,
    ) -> Forecast {
        let (training, count) = (self.shared(), self.participation.count(shard_sizes.len()));
        let all: f64 = shard_sizes
            .iter()
            .map(|shard| f64::from(training.steps_on(*shard)))
            .sum();
        let local_steps = all * count as f64 / shard_sizes.len().max(1) as f64;
        Forecast {
            local_steps,
            bytes: 2 * count as u64 * model_bytes,
        }
    }

    fn build(&self, setting: &Setting) -> Box<dyn Algorithm> {
        Box::new(Running {
            training: self.shared(),
            participation: self.participation,
            weighting: self.weighting,
            setting: setting.clone(),
        })
    }
}

impl Running {
    /// The round's participants, ascending.
    fn participants(&self, round: &Round<'_>) -> Vec<u32> {
        let alive: Vec<u32> = (0..)
            .zip(round.alive)
            .filter(|(_, alive)| **alive)
            .map(|(client, _)| client)
            .collect();
        let count = self
            .participation
            .count(self.setting.clients)
            .min(alive.len());
        let key = Key {
            round: round.number as u64,
            ..Key::default()
        };
        let mut rng = stream(round.seed, Purpose::Participation, key);
        let mut chosen: Vec<u32> = index::sample(&mut rng, alive.len(), count)
            .iter()
            .map(|at| alive[at])
            .collect();
        chosen.sort_unstable();
        chosen
    }

    /// `n_k / n` of the participants.
    fn weights(&self, participants: &[u32]) -> Vec<f64> {
        let examples = |client: &u32| match self.weighting {
            Weighting::Examples => self.setting.shard_sizes[*client as usize] as f64,
            Weighting::Uniform => 1.0,
        };
        let all: f64 = participants.iter().map(examples).sum();
        participants
            .iter()
            .map(|client| examples(client) / all)
            .collect()
    }
}

impl Algorithm for Running {
    fn rows(&self) -> Rows {
        Rows {
            kind: RowKind::Server,
            count: 1,
        }
    }

    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let participants = self.participants(round); // Algorithm 1, S_t
        if participants.is_empty() {
            return Ok(());
        }
        let bytes = self.setting.model_bytes();
        let server = self.setting.clients as u32;
        round.traffic.messages(
            participants
                .iter()
                .map(|to| Message {
                    from: server,
                    to: *to,
                    bytes,
                })
                .collect(),
        );
        let mut slots = models.gather(&vec![0; participants.len()])?; // w_t to every k in S_t
        let amount = self.training.local.amount();
        let rows: Vec<RowWork> = participants
            .iter()
            .map(|client| RowWork {
                client: *client,
                amount,
            })
            .collect();
        let work = round.work(&rows, &self.training);
        let steps = round.learner.train(&mut slots, Velocity::Fresh, &work)?; // ClientUpdate
        let mut per_client = vec![0; self.setting.clients];
        for (client, steps) in participants.iter().zip(steps) {
            per_client[*client as usize] = steps;
        }
        round.traffic.compute(per_client);
        round.traffic.messages(
            participants
                .iter()
                .map(|from| Message {
                    from: *from,
                    to: server,
                    bytes,
                })
                .collect(),
        );
        let mean = MixingMatrix::average(1, self.weights(&participants))?;
        slots.mix(&Mixing::new(&mean))?; // w_{t+1} <- Σ n_k/n w_k
        *models = slots;
        Ok(())
    }
}
