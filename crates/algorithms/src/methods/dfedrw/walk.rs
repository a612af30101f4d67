//! Random walks over the clients: where they begin, how they move, who averages what they leave behind.

use crate::participation::alive;
use crate::round::Round;
use meshfold_engine::{Key, Purpose, stream};
use rand::RngExt;
use rand::seq::index;
use serde::{Deserialize, Serialize};

/// Where walks begin in a round.
///
/// # Source
/// DFedRW (Wang et al.), Algorithm 1, line 3; `continue` is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restart {
    /// At clients drawn uniformly without replacement.
    #[default]
    Uniform,
    /// Where they ended in the round before; at first as `uniform`.
    Continue,
}

/// Which clients average after the walks.
///
/// # Source
/// DFedRW (Wang et al.), Algorithm 1, (11); the walk ends of Section VI-F.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregators {
    /// All.
    #[default]
    All,
    /// This share, drawn anew each round, at least one.
    Share(f64),
    /// Those at which walks end.
    WalkEnds,
}

/// Whose models are averaged.
///
/// # Source
/// DFedRW (Wang et al.), (11): `N_A(i)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Neighbours of the averaging client.
    #[default]
    Neighbours,
    /// All clients that a walker trained on in the round.
    Visited,
    /// The clients at which walks end.
    WalkEnds,
}

/// Which models exist between rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WalkRows {
    /// One for each client.
    #[default]
    Clients,
    /// One for each walker, which it takes along (DFedRW, Section VI-F): for populations larger than memory.
    Walkers,
}

impl Aggregators {
    /// Which of `clients` average, given the walk ends `ends`; the dead do not.
    pub(crate) fn chosen(self, clients: usize, ends: &[u32], round: &Round<'_>) -> Vec<bool> {
        let living: Vec<u32> = alive(round).collect();
        let mut chosen = vec![false; clients];
        match self {
            Self::All => living
                .iter()
                .for_each(|client| chosen[*client as usize] = true),
            Self::Share(share) => {
                let key = Key {
                    round: round.number as u64,
                    row: u32::MAX,
                    ..Key::default()
                };
                let mut rng = stream(round.seed, Purpose::Aggregation, key);
                let count = ((share * clients as f64).round() as usize).max(1);
                for at in index::sample(&mut rng, living.len(), count.min(living.len())) {
                    chosen[living[at] as usize] = true;
                }
            }
            Self::WalkEnds => ends.iter().for_each(|client| {
                chosen[*client as usize] = round.alive[*client as usize];
            }),
        }
        chosen
    }
}

/// Where `walkers` walks begin: at distinct clients alive; if those are too few, the other walkers wait at dead ones.
pub(crate) fn starts(
    restart: Restart,
    ended: &[u32],
    walkers: usize,
    round: &Round<'_>,
) -> Vec<u32> {
    if restart == Restart::Continue && !ended.is_empty() {
        return ended.to_vec();
    }
    let living: Vec<u32> = alive(round).collect();
    let key = Key {
        round: round.number as u64,
        row: u32::MAX,
        ..Key::default()
    };
    let mut rng = stream(round.seed, Purpose::Walk, key);
    let drawn = index::sample(&mut rng, living.len(), walkers.min(living.len()));
    let dead = (0..).zip(round.alive).filter(|(_, alive)| !**alive);
    drawn
        .iter()
        .map(|at| living[at])
        .chain(dead.map(|(client, _)| client))
        .take(walkers)
        .collect()
}

/// Where `walker` goes from `client` after `visit`.
///
/// # Source
/// DFedRW, (7): to a neighbour `j` with probability `1 / max(deg i, deg j)`, else it stays; the degrees count the
/// self-loop, which makes this a row of the Metropolis-Hastings matrix, whose stationary distribution is uniform.
pub(crate) fn next_client(round: &Round<'_>, walker: u32, client: u32, visit: u32) -> u32 {
    let key = Key {
        round: round.number as u64,
        row: walker,
        step: visit,
        ..Key::default()
    };
    let mut left: f64 = stream(round.seed, Purpose::Walk, key).random();
    let overlay = round.overlay();
    let degree = |node: u32| overlay.degree(node as usize) as f64 + 1.0;
    let own = degree(client);
    for neighbour in overlay.neighbours(client as usize) {
        left -= 1.0 / own.max(degree(*neighbour));
        if left < 0.0 {
            return *neighbour;
        }
    }
    client
}
