//! Clients that belong to several servers.

use crate::aggregation::subset;
use crate::error::AlgorithmError;
use crate::lost_messages::Direction;
use crate::round::{Round, Setting};
use crate::traffic::Message;
use crate::training::Training;
use meshfold_engine::{Amount, Key, Purpose, RowWork, stream};
use rand::RngExt;
use rand::seq::SliceRandom;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The servers and their clients.
///
/// # Source
/// P-FedAvg (Liu et al.), Section III and Algorithm 1: `M` servers, each with its `N_i` clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Servers {
    /// Number of servers `M`.
    pub count: usize,
    /// Which clients belong to which.
    #[serde(default)]
    pub assign: Assign,
}

/// Which clients belong to which server.
///
/// # Interpretation
/// P-FedAvg does not say how clients are assigned. It decides whether the overlay matters: with clients dealt at random
/// every server sees all labels.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Assign {
    /// At random, in groups of equal size (within one).
    #[default]
    Random,
    /// Clients sorted by the label of their first example and cut into groups of equal size (within one), the groups
    /// dealt to the servers at random.
    ByLabel,
    /// The server of each client, `[N]`.
    List(Vec<usize>),
}

/// How many of its clients a server chooses each round.
///
/// # Source
/// P-FedAvg (Liu et al.), Algorithm 1, line 4: `K_i` clients; Section IV, partial participation, draws them with replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PerServer {
    /// So many, `K_i`; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_server: Option<usize>,
    /// Whether a client may be drawn again.
    #[serde(default)]
    pub replacement: bool,
}

impl Servers {
    /// Checks the values that depend on no others.
    ///
    /// # Errors
    /// [`AlgorithmError::Setting`].
    pub fn check(&self) -> Result<(), AlgorithmError> {
        if self.count == 0 {
            let needed = "there must be at least one server";
            return Err(AlgorithmError::setting("servers.count", 0, needed));
        }
        match &self.assign {
            Assign::List(list) => match list.iter().find(|server| **server >= self.count) {
                Some(server) => {
                    let found = format!("server {server}");
                    let needed = "servers are numbered from 0 to count - 1";
                    Err(AlgorithmError::setting("servers.assign", found, needed))
                }
                None => Ok(()),
            },
            Assign::Random | Assign::ByLabel => Ok(()),
        }
    }

    /// Checks that the clients are enough for the servers.
    ///
    /// # Errors
    /// [`AlgorithmError::Setting`] if there are more servers than clients, a list has another length, or it leaves a
    /// server without clients.
    pub fn check_clients(&self, clients: usize) -> Result<(), AlgorithmError> {
        if self.count > clients {
            let found = format!("{} for {clients} clients", self.count);
            let needed = "every server needs a client";
            return Err(AlgorithmError::setting("servers.count", found, needed));
        }
        let Assign::List(list) = &self.assign else {
            return Ok(());
        };
        if list.len() != clients {
            let found = format!("a list of {} for {clients} clients", list.len());
            let needed = "every client needs its server";
            return Err(AlgorithmError::setting("servers.assign", found, needed));
        }
        match (0..self.count).find(|server| !list.contains(server)) {
            Some(server) => {
                let found = format!("a list without server {server}");
                let needed = "every server needs a client";
                Err(AlgorithmError::setting("servers.assign", found, needed))
            }
            None => Ok(()),
        }
    }

    /// How many of `clients` clients the largest server has.
    pub fn most_clients(&self, clients: usize) -> usize {
        match &self.assign {
            Assign::List(list) => {
                let of = |server| list.iter().filter(|of| **of == server).count();
                (0..self.count).map(of).max().unwrap_or(0)
            }
            Assign::Random | Assign::ByLabel => clients.div_ceil(self.count),
        }
    }

    /// The clients of each server, ascending, `[M]`.
    pub fn clients(&self, setting: &Setting) -> Vec<Vec<u32>> {
        let mut groups = vec![Vec::new(); self.count];
        if let Assign::List(list) = &self.assign {
            for (client, server) in (0..).zip(list) {
                groups[*server].push(client);
            }
            return groups;
        }
        let mut rng = stream(setting.seed, Purpose::Assignment, Key::default());
        let mut clients: Vec<u32> = (0..setting.clients as u32).collect();
        if self.assign == Assign::Random {
            clients.shuffle(&mut rng);
        } else {
            clients.sort_by_key(|client| (setting.first_labels[*client as usize], *client));
        }
        for (server, group) in groups.iter_mut().enumerate() {
            let cut = |server: usize| server * clients.len() / self.count;
            group.extend_from_slice(&clients[cut(server)..cut(server + 1)]);
            group.sort_unstable();
        }
        groups.shuffle(&mut rng);
        groups
    }
}

impl PerServer {
    /// How many different clients a server asks for; `None` if all, or if one may be drawn again.
    pub fn different(self) -> Option<usize> {
        self.per_server.filter(|_| !self.replacement)
    }

    /// Checks the value, and that the `training` of the chosen can be counted.
    ///
    /// # Errors
    /// [`AlgorithmError::Setting`].
    pub fn check(self, training: &Training) -> Result<(), AlgorithmError> {
        if self.per_server != Some(0) {
            return match self.per_server {
                Some(_) => training.check_rate_of_chosen(),
                None => Ok(()),
            };
        }
        Err(AlgorithmError::setting(
            "participation.per_server",
            0,
            "a server chooses at least one client",
        ))
    }

    /// How many a server with `clients` clients chooses.
    pub fn count(self, clients: usize) -> usize {
        match self.per_server {
            Some(count) if self.replacement => count,
            Some(count) => count.min(clients),
            None => clients,
        }
    }

    /// Expected local steps of the clients that the servers of `groups` choose in a round, and how many clients those
    /// are.
    pub fn expected(
        self,
        groups: &[Vec<u32>],
        training: &Training,
        setting: &Setting,
    ) -> (f64, u64) {
        let (mut local_steps, mut slots) = (0.0, 0);
        for group in groups {
            let chosen = self.count(group.len());
            let all: f64 = group
                .iter()
                .map(|client| f64::from(training.steps_on(setting.shard_sizes[*client as usize])))
                .sum();
            local_steps += all * chosen as f64 / group.len() as f64;
            slots = u64::saturating_add(slots, chosen as u64);
        }
        (local_steps, slots)
    }

    /// The clients that the servers choose for the round.
    pub fn choose(
        self,
        groups: &[Vec<u32>],
        round: &mut Round<'_>,
        training: &Training,
    ) -> ServerParticipants {
        let amount = training.local.amount();
        let mut chosen = Slots::default();
        for (server, group) in (0..).zip(groups) {
            let clients = self.chosen(group, server, round);
            chosen.servers.extend(clients.iter().map(|_| server));
            let rows = clients.into_iter().map(|client| RowWork { client, amount });
            chosen.rows.extend(rows);
        }
        let in_time = Slots {
            rows: round.in_time(chosen.rows.clone(), training),
            servers: chosen.servers.clone(),
        };
        let in_time = in_time.only(|row| row.amount != Amount::Idle);
        let sent_to = match round.has_deadline() {
            true => chosen,
            false => in_time.clone(),
        };
        let (number, lost) = (round.number, round.lost_messages);
        let arrives = |row: &RowWork, way| !lost.is_lost(number, row.client, way);
        let in_time = in_time.only(|row| arrives(row, Direction::Down));
        let arrives = in_time
            .rows
            .iter()
            .map(|row| arrives(row, Direction::Up))
            .collect();
        ServerParticipants {
            sent_to,
            in_time,
            arrives,
        }
    }

    /// The clients alive that `server` chooses, ascending.
    fn chosen(self, group: &[u32], server: u32, round: &Round<'_>) -> Vec<u32> {
        let mut alive: Vec<u32> = group
            .iter()
            .copied()
            .filter(|client| round.alive[*client as usize])
            .collect();
        if alive.is_empty() {
            return alive;
        }
        let mut rng = round.stream(Purpose::Participation, server, 0);
        let count = self.count(alive.len());
        if !self.replacement {
            return subset(&mut alive, Some(count), &mut rng);
        }
        let one = |_| alive[rng.random_range(0..alive.len())];
        let mut chosen: Vec<u32> = (0..count).map(one).collect();
        chosen.sort_unstable();
        chosen
    }
}

/// Clients that servers choose, a slot each, by ascending server.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Slots {
    /// The work of each client.
    pub rows: Vec<RowWork>,
    /// The server of each slot.
    pub servers: Vec<u32>,
}

/// The clients that servers choose for a round.
///
/// # Interpretation
/// As for [`Participants`](crate::participation::Participants) of one server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerParticipants {
    /// Those that their server sends its model to.
    pub sent_to: Slots,
    /// Those that send models back: dropped stragglers are left out, and so is whoever the model of their server does not reach.
    pub in_time: Slots,
    /// Whether the model of each of `in_time` reaches its server.
    pub arrives: Vec<bool>,
}

impl Slots {
    /// The slots whose clients' work is `wanted`.
    fn only(self, wanted: impl Fn(&RowWork) -> bool) -> Self {
        let slots = self.rows.into_iter().zip(self.servers);
        let (rows, servers) = slots.filter(|(row, _)| wanted(row)).unzip();
        Self { rows, servers }
    }

    /// A model between the client of each slot and its server; server `i` is node `N + i` of the network.
    pub fn messages(&self, setting: &Setting, way: Way) -> Vec<Message> {
        let message = |(row, server): (&RowWork, &u32)| {
            let server = setting.clients as u32 + server;
            let (from, to) = match way {
                Way::Up => (row.client, server),
                Way::Down => (server, row.client),
            };
            Message {
                from,
                to,
                bytes: setting.model_bytes(),
            }
        };
        self.rows.iter().zip(&self.servers).map(message).collect()
    }
}

/// Which way models go between servers and their clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the server.
    Up,
    /// To the clients.
    Down,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn setting(first_labels: Vec<u16>) -> Setting {
        Setting {
            clients: first_labels.len(),
            shard_sizes: vec![1; first_labels.len()],
            first_labels,
            seed: 5,
            rounds: 7,
            layout: Arc::default(),
        }
    }

    fn servers(count: usize, assign: Assign) -> Servers {
        Servers { count, assign }
    }

    #[test]
    fn every_client_has_one_server_and_the_groups_are_of_one_size() {
        let setting = setting((0..103).map(|client| client % 10).collect());
        for assign in [Assign::Random, Assign::ByLabel] {
            let groups = servers(9, assign).clients(&setting);
            assert!(groups.iter().all(|group| (11..=12).contains(&group.len())));
            let mut all = groups.concat();
            all.sort_unstable();
            assert_eq!(all, (0..103).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn by_label_a_server_has_few_labels_and_at_random_many() {
        let setting = setting((0..1000).map(|client| client % 10).collect());
        let labels = |assign| -> Vec<usize> {
            let groups = servers(10, assign).clients(&setting);
            let mut kinds = Vec::new();
            for group in groups {
                let mut labels: Vec<u32> = group.iter().map(|client| client % 10).collect();
                labels.sort_unstable();
                labels.dedup();
                kinds.push(labels.len());
            }
            kinds
        };
        assert_eq!(labels(Assign::ByLabel), [1; 10]);
        assert!(labels(Assign::Random).iter().all(|kinds| *kinds == 10));
    }

    #[test]
    fn more_servers_than_clients_and_servers_without_one_are_refused() {
        assert_eq!(
            servers(0, Assign::Random).check().unwrap_err().to_string(),
            "servers.count is 0, but there must be at least one server"
        );
        assert_eq!(
            servers(4, Assign::Random)
                .check_clients(3)
                .unwrap_err()
                .to_string(),
            "servers.count is 4 for 3 clients, but every server needs a client"
        );
        assert_eq!(
            servers(2, Assign::List(vec![0, 2]))
                .check()
                .unwrap_err()
                .to_string(),
            "servers.assign is server 2, but servers are numbered from 0 to count - 1"
        );
        assert_eq!(
            servers(2, Assign::List(vec![0, 0, 0]))
                .check_clients(3)
                .unwrap_err()
                .to_string(),
            "servers.assign is a list without server 1, but every server needs a client"
        );
        assert_eq!(
            servers(2, Assign::List(vec![0, 1]))
                .check_clients(3)
                .unwrap_err()
                .to_string(),
            "servers.assign is a list of 2 for 3 clients, but every client needs its server"
        );
        servers(2, Assign::List(vec![1, 0, 1]))
            .check_clients(3)
            .unwrap();
    }
}
