//! Random walks over the clients: where they begin, how they move, who averages what they leave behind.

use super::DfedrwState;
use crate::error::AlgorithmError;
use crate::participation::{alive, share_of};
use crate::quantise::{Aggregate, bytes_of_message};
use crate::round::Round;
use crate::stragglers::Completion;
use crate::traffic::Message;
use crate::training::Training;
use meshfold_engine::{
    Amount, EngineError, LearningRate, Per, Progress, Purpose, RowWork, Stack, Velocity,
};
use meshfold_topology::MetropolisHastings;
use rand::RngExt;
use rand::seq::index;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where walks begin in a round.
///
/// # Source
/// DFedRW (Wang et al.), Algorithm 1, line 3; `continue` is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WalkRows {
    /// One for each client.
    #[default]
    Clients,
    /// One for each walker, which it takes along (DFedRW, Section VI-F): for populations larger than memory.
    Walkers,
}

/// A round's walks.
pub(super) struct Walks {
    /// Where each walker is, `[M]`.
    pub(super) at: Vec<u32>,
    /// The walkers' models, `[M, P]`.
    pub(super) models: Stack,
    /// What every client was left with, `[N, P]`; absent if only walkers hold rows.
    pub(super) last: Option<Stack>,
    /// Clients that were trained on, ascending.
    pub(super) visited: Vec<u32>,
}

/// What a walker does after a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// It goes where its model is sent.
    Moves,
    /// It sends its model on and stays.
    Ends,
    /// Nothing: it has ended before.
    Rests,
}

impl Next {
    /// After visit `visit` of `visits`.
    fn after(visit: u32, visits: u32) -> Self {
        match visit.cmp(&visits) {
            std::cmp::Ordering::Less => Self::Moves,
            std::cmp::Ordering::Equal => Self::Ends,
            std::cmp::Ordering::Greater => Self::Rests,
        }
    }
}

impl DfedrwState {
    /// How a walker trains at visit `visit`, counted from 1: at the rate of epoch `(t − 1) K + visit`.
    ///
    /// # Errors
    /// If the rate is one of a program's own and fails.
    fn training_at(&self, round: &Round<'_>, visit: u32) -> Result<Training, EngineError> {
        let mut training = self.training.clone();
        if matches!(
            self.config.learning_rate.per(),
            Some(Per::Epoch | Per::Round)
        ) {
            let rounds = round.number as u64 - 1;
            let within = u64::from(visit) - 1;
            let done = rounds * u64::from(self.config.hops) + within;
            let rate = self.config.learning_rate.try_at(&Progress {
                rounds,
                steps: [done, within],
                epochs: [done, within],
                epochs_before_call: within,
            })?;
            training.sgd.learning_rate = LearningRate::Constant(rate);
        }
        Ok(training)
    }

    /// Lines 3-9: all walks of a round.
    pub(super) fn walk(
        &self,
        models: &Stack,
        round: &mut Round<'_>,
    ) -> Result<Walks, AlgorithmError> {
        let at = starts(self.config.restart, &self.at, self.config.walkers, round); // line 3
        let next = |walker, at, visit| next_client(round, walker, at, visit);
        let completions = round.walk_completions(&at, self.config.hops, &self.training, next);
        round.wait_for(&completions);
        let (walking, last) = match self.config.rows {
            WalkRows::Clients => (models.gather(&at)?, Some(models.duplicate())),
            WalkRows::Walkers => {
                let rows: Vec<u32> = (0..at.len() as u32).collect();
                (models.gather(&rows)?, None)
            }
        };
        let mut walks = Walks {
            at,
            models: walking,
            last,
            visited: Vec::new(),
        };
        for visit in 1..=self.config.hops {
            let goes_on = |completion: &Completion| match completion {
                Completion::InTime => true,
                Completion::Cut(visits) => visit <= *visits,
                Completion::Dropped => false,
            };
            let walking: Vec<bool> = completions.iter().map(goes_on).collect();
            if !walking.contains(&true) {
                break;
            }
            let before = self.config.quantise.map(|_| walks.models.duplicate());
            self.visit(&mut walks, &walking, round, visit)?; // lines 6-7
            let next: Vec<Next> = completions
                .iter()
                .map(|completion| match completion {
                    Completion::InTime => Next::after(visit, self.config.hops),
                    Completion::Cut(visits) => Next::after(visit, *visits),
                    Completion::Dropped => Next::Rests,
                })
                .collect();
            self.hop(&mut walks, &next, before.as_ref(), round, visit)?;
        }
        walks.visited.sort_unstable();
        walks.visited.dedup();
        Ok(walks)
    }

    /// Every walker still walking trains where it is and leaves the result there.
    fn visit(
        &self,
        walks: &mut Walks,
        walking: &[bool],
        round: &mut Round<'_>,
        visit: u32,
    ) -> Result<(), AlgorithmError> {
        let training = self.training_at(round, visit)?;
        let row = |(client, walking): (&u32, &bool)| RowWork {
            client: *client,
            amount: if *walking && round.alive[*client as usize] {
                training.local.amount()
            } else {
                Amount::Idle
            },
        };
        let rows: Vec<RowWork> = walks.at.iter().zip(walking).map(row).collect();
        let work = round.work(&rows, &training);
        let steps = round
            .learner
            .train(&mut walks.models, Velocity::Fresh, &work)?; // (10)
        let clients = rows.iter().map(|row| row.client).collect();
        round.traffic.visits(clients, steps);
        if let Some(projection) = self.config.projection {
            let trained = (0u32..).zip(&rows);
            let trained = trained.filter(|(_, row)| row.amount != Amount::Idle);
            let trained: Vec<u32> = trained.map(|(walker, _)| walker).collect();
            projection.of(&mut walks.models, &trained)?; // Π_W
        }
        let (mut clients, mut walkers) = (Vec::new(), Vec::new());
        for (walker, row) in rows.iter().enumerate().rev() {
            if row.amount != Amount::Idle && !clients.contains(&row.client) {
                clients.push(row.client);
                walkers.push(walker as u32);
            }
        }
        if let Some(last) = &mut walks.last {
            last.scatter(&clients, &walks.models.gather(&walkers)?)?;
        }
        walks.visited.extend(clients);
        Ok(())
    }

    /// Every walker sends its model on by (7); one that has visits left moves along with it.
    fn hop(
        &self,
        walks: &mut Walks,
        next: &[Next],
        before: Option<&Stack>,
        round: &mut Round<'_>,
        visit: u32,
    ) -> Result<(), AlgorithmError> {
        let bytes = bytes_of_message(self.config.quantise, &self.setting);
        let mut messages = Vec::new();
        let mut moved = Vec::new();
        for (walker, next) in (0..).zip(next) {
            let from = walks.at[walker as usize];
            if *next == Next::Rests || !round.alive[from as usize] {
                continue;
            }
            let to = next_client(round, walker, from, visit);
            if to != from {
                messages.push(Message { from, to, bytes });
            }
            if to != from && *next == Next::Moves {
                moved.push(walker);
                walks.at[walker as usize] = to;
            }
        }
        round.traffic.messages(messages);
        let (Some(quantise), Some(before)) = (self.config.quantise, before) else {
            return Ok(());
        };
        if moved.is_empty() {
            return Ok(());
        }
        let mut arrived = quantise.difference(&walks.models, before, round, visit)?;
        arrived = arrived.gather(&moved)?;
        let base = match (&walks.last, quantise.aggregate) {
            (Some(last), Aggregate::Printed) => {
                let at: Vec<u32> = moved
                    .iter()
                    .map(|walker| walks.at[*walker as usize])
                    .collect();
                last.gather(&at)? // (13): the receiver's own model
            }
            _ => before.gather(&moved)?,
        };
        arrived.add_scaled(&base, &vec![1.0; moved.len()])?;
        walks.models.scatter(&moved, &arrived)?;
        Ok(())
    }
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
                let mut rng = round.stream(Purpose::Aggregation, Round::NO_ROW, 0);
                let count = share_of(share, clients).min(living.len());
                for at in index::sample(&mut rng, living.len(), count) {
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
    let mut rng = round.stream(Purpose::Walk, Round::NO_ROW, 0);
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
    let mut left: f64 = round.stream(Purpose::Walk, walker, visit).random();
    let (overlay, at) = (round.overlay(), client as usize);
    for neighbour in overlay.neighbours(at) {
        left -= MetropolisHastings::weight(overlay, at, *neighbour as usize);
        if left < 0.0 {
            return *neighbour;
        }
    }
    client
}
