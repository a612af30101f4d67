//! Algorithms 1 and 2 of DFedRW walker by walker in double precision.

#![allow(
    clippy::needless_range_loop,
    reason = "walkers are followed by their number, as the paper's boxes do"
)]

use super::plain::{self, mean, sum};
use super::quantiser::{Message, quantised};
use super::{MethodRun, Models, SEED, SIZES, Train, full};
use meshfold_algorithms::{Aggregate, Aggregators, Dfedrw, Restart, Source, WalkRows};
use meshfold_engine::{Key, LearningRate, Per, Power, Purpose, Schedule, stream};
use rand::RngExt;
use rand::seq::index;

/// Two steps a visit at `1 / (8 k^0.6)`.
pub(crate) fn train() -> Train {
    let power = Power {
        r: 8.0,
        q: 0.6,
        per: Per::Epoch,
        restart: meshfold_engine::Restart::Never,
        warmup: 0.0,
    };
    let rate = LearningRate::Schedule(Schedule::Power(power));
    full(2).rate(rate).momentum(0.5)
}

fn key(round: usize, row: u32, step: u32) -> Key {
    Key {
        round: round as u64,
        row,
        step,
        layer: 0,
    }
}

fn sampled(purpose: Purpose, key: Key, from: &[usize], count: usize) -> Vec<usize> {
    let drawn = index::sample(&mut stream(SEED, purpose, key), from.len(), count);
    drawn.iter().map(|at| from[at]).collect()
}

fn living(alive: &[bool]) -> Vec<usize> {
    (0..5).filter(|client| alive[*client]).collect()
}

/// The transcription's run.
pub(crate) struct Walks<'a> {
    config: &'a Dfedrw,
    course: &'a MethodRun,
    round: usize,
    alive: Vec<bool>,
    /// `w_i^{t,0}` of clients, or the walkers' models.
    pub(crate) models: Models,
    at: Vec<usize>,
    walking: Models,
    last: Models,
    visited: Vec<usize>,
    pub(crate) messages: usize,
    /// Walks that ended at a dead client.
    pub(crate) waits: usize,
    /// Visits after which the model was within the ball that it is projected onto, and visits after which it was not.
    pub(crate) projected: [usize; 2],
}

impl<'a> Walks<'a> {
    pub(crate) fn new(config: &'a Dfedrw, course: &'a MethodRun) -> Self {
        Self {
            config,
            course,
            round: 0,
            alive: Vec::new(),
            models: course.start.clone(),
            at: Vec::new(),
            walking: Models::new(),
            last: Models::new(),
            visited: Vec::new(),
            messages: 0,
            waits: 0,
            projected: [0, 0],
        }
    }

    /// (7): `P(i, j) = min(1, deg i / deg j) / deg i`, degrees with the self-loop.
    fn next(&self, walker: usize, visit: u32) -> usize {
        let overlay = self.course.scene.overlay(self.round);
        let from = self.at[walker];
        let degree = |node: usize| overlay.degree(node) as f64 + 1.0;
        let mut rng = stream(SEED, Purpose::Walk, key(self.round, walker as u32, visit));
        let mut uniform: f64 = rng.random();
        for to in overlay.neighbours(from) {
            uniform -= f64::min(1.0, degree(from) / degree(*to as usize)) / degree(from);
            if uniform < 0.0 {
                return *to as usize;
            }
        }
        from
    }

    /// `Q(after − before)`.
    fn sent(&self, after: &[f64], before: &[f64], row: usize, visit: u32) -> Vec<f64> {
        let round = self.round;
        let layout = self.course.learner.network().layout();
        let difference = sum(&[(1.0, after), (-1.0, before)]);
        let message = Message { round, row, visit };
        quantised(&difference, layout, self.config.quantise.unwrap(), message)
    }

    fn is_printed(&self) -> bool {
        let quantise = self.config.quantise;
        quantise.is_some_and(|quantise| quantise.aggregate == Aggregate::Printed)
    }

    pub(crate) fn round(&mut self) {
        self.round += 1;
        self.alive = self.course.scene.alive(self.round);
        (self.messages, self.visited) = (0, Vec::new());
        if self.config.restart == Restart::Uniform || self.at.is_empty() {
            let (key, living) = (key(self.round, u32::MAX, 0), living(&self.alive));
            let walking = self.config.walkers.min(living.len());
            self.at = sampled(Purpose::Walk, key, &living, walking);
            let dead = (0..5).filter(|client| !living.contains(client));
            self.at.extend(dead.take(self.config.walkers - walking));
        }
        self.last = self.models.clone();
        self.walking = match self.config.rows {
            WalkRows::Clients => self.at.iter().map(|i| self.models[*i].clone()).collect(),
            WalkRows::Walkers => self.models.clone(),
        };
        for visit in 1..=self.config.hops {
            self.visit(visit);
        }
        self.waits += self
            .at
            .iter()
            .filter(|client| !self.alive[**client])
            .count();
        match self.config.rows {
            WalkRows::Clients => self.aggregate(),
            WalkRows::Walkers => self.aggregate_walkers(),
        }
    }

    fn visit(&mut self, visit: u32) {
        let before = self.walking.clone();
        let k = (self.round as u32 - 1) * self.config.hops + visit;
        let rate = 1.0 / (8.0 * f64::from(k).powf(0.6));
        let descent = plain::steps(2).rate(rate).momentum(0.5);
        for walker in 0..self.at.len() {
            let client = self.at[walker];
            if self.alive[client] {
                let w = descent.from(&self.course.learner, client, &self.walking[walker]);
                self.walking[walker] = self.projection(w);
                if self.config.rows == WalkRows::Clients {
                    self.last[client] = self.walking[walker].clone();
                }
                self.visited.push(client);
            }
        }
        for walker in 0..self.at.len() {
            if !self.alive[self.at[walker]] {
                continue;
            }
            let to = self.next(walker, visit);
            if to == self.at[walker] {
                continue;
            }
            self.messages += 1; // line 7, after the last visit too
            if visit == self.config.hops {
                continue;
            }
            self.at[walker] = to;
            if self.config.quantise.is_some() {
                let q = self.sent(&self.walking[walker], &before[walker], walker, visit);
                let base = if self.is_printed() {
                    &self.last[to]
                } else {
                    &before[walker]
                };
                self.walking[walker] = sum(&[(1.0, base), (1.0, &q)]);
            }
        }
    }

    /// `Π_W w` of (10).
    fn projection(&mut self, mut w: Vec<f64>) -> Vec<f64> {
        let Some(ball) = self.config.projection else {
            return w;
        };
        let (norm, radius) = (
            w.iter().map(|w| w * w).sum::<f64>().sqrt(),
            f64::from(ball.radius),
        );
        self.projected[usize::from(norm > radius)] += 1;
        if norm > radius {
            w.iter_mut().for_each(|w| *w *= radius / norm);
        }
        w
    }

    /// `N_A(i)` of those that average.
    fn sources(&self, client: usize) -> Vec<usize> {
        let overlay = self.course.scene.overlay(self.round);
        let mut from: Vec<usize> = match self.config.from {
            Source::Neighbours => {
                let own = std::iter::once(client as u32);
                let all = overlay.neighbours(client).iter().copied().chain(own);
                all.map(|other| other as usize).collect()
            }
            Source::Visited => self.visited.clone(),
            Source::WalkEnds => self.at.iter().copied().filter(|i| self.alive[*i]).collect(),
        };
        from.retain(|other| self.config.include_self || *other != client);
        self.some(from, client)
    }

    fn some(&self, mut from: Vec<usize>, row: usize) -> Vec<usize> {
        from.sort_unstable();
        from.dedup();
        let most = self.config.neighbours.unwrap_or(usize::MAX);
        if most < from.len() {
            let key = key(self.round, row as u32, 0);
            from = sampled(Purpose::Aggregation, key, &from, most);
            from.sort_unstable();
        }
        if from.is_empty() { vec![row] } else { from }
    }

    fn averages(&self, client: usize) -> bool {
        let living = living(&self.alive);
        living.contains(&client)
            && match self.config.aggregators {
                Aggregators::All => true,
                Aggregators::WalkEnds => self.at.contains(&client),
                Aggregators::Share(share) => {
                    let count = (share * 5.0).round() as usize;
                    let key = key(self.round, u32::MAX, 0);
                    sampled(Purpose::Aggregation, key, &living, count).contains(&client)
                }
            }
    }

    /// (11), and (14).
    fn aggregate(&mut self) {
        let mut next = self.last.clone();
        let averaging = (0..5).filter(|client| self.averages(*client));
        let averaging: Vec<(usize, Vec<usize>)> = averaging
            .map(|client| (client, self.sources(client)))
            .collect();
        let sent = heard_by_others(&averaging);
        for (client, sources) in averaging {
            self.messages += sources.iter().filter(|other| **other != client).count();
            if sources == [client] {
                continue;
            }
            let known = |l: usize| -> Vec<f64> {
                if self.config.quantise.is_none() {
                    return self.last[l].clone();
                }
                let q = if sent.contains(&l) {
                    self.sent(&self.last[l], &self.models[l], l, 0)
                } else {
                    sum(&[(1.0, &self.last[l]), (-1.0, &self.models[l])])
                };
                let base = if self.is_printed() { client } else { l };
                sum(&[(1.0, &self.models[base]), (1.0, &q)])
            };
            let models: Models = sources.iter().map(|l| known(*l)).collect();
            let weights = sources.iter().map(|l| SIZES[*l] as f64);
            next[client] = mean(
                &weights
                    .zip(models.iter().map(Vec::as_slice))
                    .collect::<Vec<_>>(),
            );
        }
        self.models = next;
    }

    /// Section VI-F: the walkers' models alone.
    fn aggregate_walkers(&mut self) {
        let mut next = self.walking.clone();
        let all = 0..self.at.len();
        let active: Vec<usize> = all.filter(|walker| self.alive[self.at[*walker]]).collect();
        let own = self.config.include_self;
        let averaging = active.iter().map(|walker| {
            let others = active.iter().copied();
            let others = others.filter(|o| own || o != walker).collect();
            (*walker, self.some(others, *walker))
        });
        let averaging: Vec<(usize, Vec<usize>)> = averaging.collect();
        let sent = heard_by_others(&averaging);
        for (walker, sources) in averaging {
            let elsewhere = |other: &&usize| self.at[**other] != self.at[walker];
            self.messages += sources.iter().filter(elsewhere).count();
            if sources == [walker] {
                continue;
            }
            let known = |l: usize| -> Vec<f64> {
                if self.config.quantise.is_none() {
                    return self.walking[l].clone();
                }
                if !sent.contains(&l) {
                    return self.walking[l].clone();
                }
                let q = self.sent(&self.walking[l], &self.models[l], l, 0);
                sum(&[(1.0, &self.models[l]), (1.0, &q)])
            };
            let models: Models = sources.iter().map(|l| known(*l)).collect();
            let weights = sources.iter().map(|l| SIZES[self.at[*l]] as f64);
            next[walker] = mean(
                &weights
                    .zip(models.iter().map(Vec::as_slice))
                    .collect::<Vec<_>>(),
            );
        }
        self.models = next;
    }
}

/// Those whose model some other averages.
fn heard_by_others(averaging: &[(usize, Vec<usize>)]) -> Vec<usize> {
    let others = averaging.iter().flat_map(|(row, sources)| {
        let others = sources.iter().copied();
        others.filter(move |other| other != row)
    });
    others.collect()
}
