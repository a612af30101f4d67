//! Hierarchical federated averaging: edge servers beneath one root.

use crate::error::AlgorithmError;
use crate::message_scope::MessageScope;
use crate::method_spec::{MethodSpec, Profile, ServerNodes};
use crate::participation::Weighting;
use crate::round::{Algorithm, Forecast, Round, Setting};
use crate::servers::{PerServer, ServerParticipants, Servers, Slots, Way};
use crate::stragglers::Policy;
use crate::traffic::Message;
use crate::training::{Local, StepsPerRound, Training};
use crate::{method_config, no_limits};
use meshfold_engine::{Mixing, RowWork, Stack, Velocity};
use meshfold_topology::{MixingMatrix, Overlay};
use schemars::JsonSchema;

method_config! {
    /// Parameters of [`Method::Hierfavg`](crate::Method::Hierfavg).
    ///
    /// # Source
    /// Liu et al., Client-edge-cloud hierarchical federated learning (2020), Algorithm 1; the rival in P-FedAvg's
    /// Section VI.
    ///
    /// # Interpretation
    /// A round is one aggregation at the root, after `edge_rounds` at the edge servers, each after the `local` work
    /// (κ1). The clients that an edge server chose stay through all of these; their momentum starts anew at each. Those
    /// that miss a deadline are sent the first model alone. Where a learning rate counts epochs, κ1 κ2 of them are due
    /// in a round.
    /// Means are weighted by the examples of the clients that took part.
    /// On a simulated network the root is a node of its own, behind the edge servers. Its links to them have the capacity
    /// `servers.servers` of `node_capacitated`.
    #[derive(JsonSchema)]
    pub struct Hierfavg(local = "crate::training::one_epoch", momentum = "crate::training::no_momentum") {
        /// The edge servers and their clients.
        pub servers: Servers,
        /// How many clients each edge server chooses in a round; all by default.
        #[serde(default)]
        pub participation: PerServer,
        /// Aggregations at the edge before one at the root, κ2.
        pub edge_rounds: u32,
        /// What the means are weighted by.
        #[serde(default)]
        pub weighting: Weighting,
    }
}

struct HierfavgState {
    training: Training,
    participation: PerServer,
    edge_rounds: u32,
    weighting: Weighting,
    groups: Vec<Vec<u32>>,
    setting: Setting,
}

impl Algorithm for HierfavgState {
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let ServerParticipants {
            sent_to, in_time, ..
        } = self
            .participation
            .choose(&self.groups, round, &self.training);
        let Slots { rows, servers } = &in_time;
        if rows.is_empty() {
            return Ok(());
        }
        round
            .traffic
            .messages(self.root_messages(&sent_to.servers, Way::Down));
        let mut slots = models.gather(&vec![0; rows.len()])?;
        let edge_means = self.edge_means(rows, servers)?;
        // Stragglers that are dropped are waited for once, others in each edge round.
        let is_partial = round.straggler_policy() == Some(Policy::Partial);
        for edge_round in 0..self.edge_rounds {
            let receivers = if edge_round == 0 { &sent_to } else { &in_time };
            round
                .traffic
                .messages(receivers.messages(&self.setting, Way::Down));
            let training = training_at(self.training.clone(), self.edge_rounds, edge_round);
            let work = round.work(rows, &training);
            round.train(&mut slots, Velocity::Fresh, &work)?; // Algorithm 1, line 5
            if round.traffic.lasts_until_deadline() && (edge_round == 0 || is_partial) {
                round.traffic.end_at_deadline();
            }
            round
                .traffic
                .messages(in_time.messages(&self.setting, Way::Up));
            slots.mix(&edge_means)?; // EdgeAggregation, line 9
        }
        round.traffic.messages(self.root_messages(servers, Way::Up));
        let shares = self.weighting.shares(rows, &self.setting);
        slots.mix(&Mixing::new(&MixingMatrix::average(1, shares)?))?; // CloudAggregation, line 16
        *models = slots;
        Ok(())
    }
}

impl HierfavgState {
    /// Every slot takes the mean of its edge server's slots.
    fn edge_means(&self, rows: &[RowWork], servers: &[u32]) -> Result<Mixing, AlgorithmError> {
        let mut slots_of = vec![Vec::new(); self.groups.len()];
        for (slot, server) in (0u32..).zip(servers) {
            slots_of[*server as usize].push(slot);
        }
        let mean = |server: &u32| -> Vec<(u32, f64)> {
            let slots = &slots_of[*server as usize];
            let weight = |slot: &u32| self.weighting.weight(&rows[*slot as usize], &self.setting);
            let all: f64 = slots.iter().map(weight).sum();
            slots
                .iter()
                .map(|slot| (*slot, weight(slot) / all))
                .collect()
        };
        let means = servers.iter().map(mean).collect();
        Ok(Mixing::new(&MixingMatrix::from_rows(rows.len(), means)?))
    }

    /// Models between the edge servers that are busy and the root, node `N + M`.
    fn root_messages(&self, servers: &[u32], way: Way) -> Vec<Message> {
        let (clients, root) = (
            self.setting.clients as u32,
            (self.setting.clients + self.groups.len()) as u32,
        );
        let mut busy = servers.to_vec();
        busy.dedup();
        let message = |server| {
            let (from, to) = match way {
                Way::Up => (clients + server, root),
                Way::Down => (root, clients + server),
            };
            Message {
                from,
                to,
                bytes: self.setting.model_bytes(),
            }
        };
        busy.into_iter().map(message).collect()
    }
}

/// `training` after `edge_round` of the `edge_rounds` aggregations at the edge in a round.
fn training_at(mut training: Training, edge_rounds: u32, edge_round: u32) -> Training {
    if let Local::Epochs(epochs) = training.local {
        let due = |rounds: u32| rounds.saturating_mul(epochs);
        let rate = training.sgd.learning_rate;
        training.sgd.learning_rate = rate.with_epochs_due(due(edge_rounds), due(edge_round));
    }
    training
}

impl MethodSpec for Hierfavg {
    fn profile(&self) -> Profile<'_> {
        Profile {
            servers: ServerNodes::BeneathRoot(&self.servers),
            asked_per_server: self.participation.different(),
            ..Profile::one_server()
        }
    }

    fn training(&self) -> Training {
        training_at(self.training_keys(), self.edge_rounds, 0)
    }

    fn check_keys(&self) -> Result<(), AlgorithmError> {
        if self.edge_rounds == 0 {
            let needed = "the edge servers aggregate at least once before the root";
            return Err(AlgorithmError::setting("edge_rounds", 0, needed));
        }
        self.servers.check()?;
        self.participation.check(&self.training_keys())
    }

    fn check_clients(&self, clients: usize) -> Result<(), AlgorithmError> {
        self.servers.check_clients(clients)
    }

    no_limits!(check_overlay, unstable_at);

    fn working_rows(&self, clients: usize) -> usize {
        let chosen = self.participation.per_server;
        chosen
            .map_or(clients, |count| count.saturating_mul(self.servers.count))
            .saturating_mul(2)
    }

    fn message_scope(&self, setting: &Setting, _rounds: usize, _undisturbed: bool) -> MessageScope {
        let (clients, count) = (setting.clients as u32, self.servers.count as u32);
        let root = (clients..clients + count).map(|server| (clients + count, server));
        let groups = (clients..).zip(self.servers.clients(setting));
        let of_group =
            groups.flat_map(|(server, group)| group.into_iter().map(move |c| (server, c)));
        MessageScope::Pairs(of_group.chain(root).collect())
    }

    fn forecast(&self, setting: &Setting, _overlay: Option<&Overlay>) -> Forecast {
        let groups = self.servers.clients(setting);
        let training = self.training_keys();
        let (local_steps, slots) = self.participation.expected(&groups, &training, setting);
        let edge = slots
            .saturating_mul(2)
            .saturating_mul(u64::from(self.edge_rounds));
        let root = 2 * self.servers.count as u64;
        Forecast {
            local_steps: local_steps * f64::from(self.edge_rounds),
            bytes: edge
                .saturating_add(root)
                .saturating_mul(setting.model_bytes()),
        }
    }

    fn steps_per_round(&self, setting: &Setting) -> StepsPerRound {
        let once = self.training_keys().steps_per_round(setting);
        StepsPerRound {
            steps: f64::from(self.edge_rounds) * once.steps,
            epochs: f64::from(self.edge_rounds) * once.epochs,
        }
    }

    fn begin(&self, setting: &Setting) -> Box<dyn Algorithm> {
        Box::new(HierfavgState {
            training: self.training_keys(),
            participation: self.participation,
            edge_rounds: self.edge_rounds,
            weighting: self.weighting,
            groups: self.servers.clients(setting),
            setting: setting.clone(),
        })
    }
}
