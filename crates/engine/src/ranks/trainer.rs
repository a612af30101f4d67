//! The trainer of rows that are dealt over ranks: each trains and judges its own ones.

use super::placement::Placement;
use super::rows::RankedRows;
use super::world::World;
use crate::backend::rows::{Rows, on, on_mut};
use crate::backend::trainer::{AnchorRows, GradientRows, TrainedRows, Trainer};
use crate::error::EngineError;
use crate::training::batches::{Pass, RowKey};
use crate::training::context::{Context, RowStates};
use crate::training::score::{Score, Split};
use crate::training::tally::{DeviceLosses, LossSum, RowTally};
use crate::training::work::{Amount, RowWork, Tasks};
use std::sync::Arc;

/// Has a trainer of the processor train the rows of this rank.
#[derive(Debug)]
pub(crate) struct RankedTrainer {
    world: Arc<World>,
    inner: Box<dyn Trainer>,
    /// The rank that alone knows the losses of a row; [`TOLD`] where all do. Rows beyond the end were never trained.
    untold: Vec<u32>,
}

/// In place of a rank: every rank knows the losses of the row.
const TOLD: u32 = u32::MAX;

/// What a call of the inner trainer is given of the rows of this rank.
struct OwnTasks {
    rows: Vec<RowWork>,
    rate_scales: Option<Vec<f32>>,
    passes: Vec<Pass>,
    tallies: Vec<RowTally>,
}

impl RankedTrainer {
    /// Has `inner` train.
    pub(crate) fn new(world: &Arc<World>, inner: Box<dyn Trainer>) -> Self {
        Self {
            world: world.clone(),
            inner,
            untold: Vec::new(),
        }
    }

    /// The own ones of what is known of all rows. An order that another rank drew is drawn again.
    fn own_tasks(
        &self,
        context: Context<'_>,
        states: &mut RowStates<'_>,
        placement: &Placement,
        tasks: &Tasks<'_>,
    ) -> OwnTasks {
        let rank = self.world.rank();
        let take = |row: &u32| {
            let mut pass = std::mem::take(&mut states.passes[*row as usize]);
            let key = RowKey {
                seed: context.seed,
                row: *row,
            };
            let shard = |client: u32| context.partition.shard(client as usize).to_vec();
            pass.redraw(key, shard);
            pass
        };
        OwnTasks {
            passes: placement.of(rank).iter().map(take).collect(),
            rows: placement.pick(tasks.rows, rank),
            rate_scales: tasks.rate_scales.map(|all| placement.pick(all, rank)),
            tallies: placement.pick(states.tallies, rank),
        }
    }

    /// Puts what the own rows came to among all rows, and moves the others on: each of them did what `done` makes of its task.
    fn put_back(
        &self,
        context: Context<'_>,
        states: RowStates<'_>,
        placement: &Placement,
        own: OwnTasks,
        tasks: &Tasks<'_>,
        done: impl Fn(&RowWork) -> RowWork,
    ) {
        let rank = self.world.rank();
        let of_rows = own.passes.into_iter().zip(own.tallies);
        for (row, (pass, tally)) in placement.of(rank).iter().zip(of_rows) {
            states.passes[*row as usize] = pass;
            states.tallies[*row as usize] = tally;
        }
        for (row, work) in (0u32..).zip(tasks.rows) {
            if placement.owner(row) != rank {
                let shard = context.partition.shard(work.client as usize).len();
                states.passes[row as usize].skip(&done(work), tasks.sgd, shard);
            }
        }
    }

    /// Before rows of `placement` are trained: losses of rows that were on another rank before are told to all.
    fn prepare(&mut self, placement: &Placement, tallies: &mut [RowTally]) {
        self.tell(tallies, |row, owner| placement.owner(row) != owner as usize);
        let rows = placement.rows();
        self.untold.resize(self.untold.len().max(rows), TOLD);
        for (row, untold) in (0u32..).zip(&mut self.untold[..rows]) {
            *untold = placement.owner(row) as u32;
        }
    }

    /// Replaces the losses of rows, of which one rank alone knows them, by what that rank knows: of those that `chosen` takes,
    /// given a row and its rank.
    fn tell(&self, tallies: &mut [RowTally], chosen: impl Fn(u32, u32) -> bool) {
        let mut rows = vec![Vec::new(); self.world.ranks.count()];
        for (row, owner) in (0u32..).zip(&self.untold).take(tallies.len()) {
            if *owner != TOLD && chosen(row, *owner) {
                rows[*owner as usize].push(row);
            }
        }
        if rows.iter().all(Vec::is_empty) {
            return;
        }
        let own = rows[self.world.rank()].iter();
        let own: Vec<u64> = own.flat_map(|row| words(&tallies[*row as usize])).collect();
        let lengths: Vec<usize> = rows.iter().map(|rows| WORDS * rows.len()).collect();
        let all = self.world.ranks.transport().all_gather(&own, &lengths);
        for (rows, all) in rows.iter().zip(&all) {
            for (row, words) in rows.iter().zip(all.as_chunks::<WORDS>().0) {
                tallies[*row as usize] = of_words(*words);
            }
        }
    }

    /// The result of this rank's part of a call. If one rank fails, it ends all of them.
    fn expect<T>(&self, result: Result<T, EngineError>) -> T {
        result.unwrap_or_else(|error| self.world.ranks.abort(&error.to_string()))
    }
}

impl Trainer for RankedTrainer {
    fn train(
        &mut self,
        context: Context<'_>,
        mut states: RowStates<'_>,
        rows: TrainedRows<'_>,
        tasks: &Tasks<'_>,
    ) -> Result<(), EngineError> {
        let models: &mut RankedRows = on_mut("train", rows.models)?;
        let placement = models.placement().clone();
        self.prepare(&placement, states.tallies);
        let velocity = match rows.velocity {
            Some(kept) => Some(on_mut::<RankedRows>("train", kept)?.own_mut() as &mut dyn Rows),
            None => None,
        };
        let correction = match rows.correction {
            Some(correction) => Some(own("train", correction)?),
            None => None,
        };
        let anchor = match rows.anchor {
            Some(anchor) => Some(AnchorRows {
                rows: own("train", anchor.rows)?,
                mu: anchor.mu,
            }),
            None => None,
        };
        let mut part = self.own_tasks(context, &mut states, &placement, tasks);
        let own_rows = TrainedRows {
            models: models.own_mut(),
            velocity,
            correction,
            anchor,
        };
        let own_states = RowStates {
            passes: &mut part.passes,
            tallies: &mut part.tallies,
        };
        let own_tasks = Tasks {
            rows: &part.rows,
            rate_scales: part.rate_scales.as_deref(),
            ..*tasks
        };
        let own_context = Context {
            rows: Some(placement.of(self.world.rank())),
            ..context
        };
        let done = self
            .inner
            .train(own_context, own_states, own_rows, &own_tasks);
        self.expect(done);
        self.put_back(context, states, &placement, part, tasks, |work| *work);
        Ok(())
    }

    fn gradients(
        &mut self,
        context: Context<'_>,
        mut states: RowStates<'_>,
        rows: GradientRows<'_>,
        tasks: &Tasks<'_>,
    ) -> Result<(), EngineError> {
        let models: &RankedRows = on("gradients", rows.models)?;
        let placement = models.placement().clone();
        self.prepare(&placement, states.tallies);
        let gradients: &mut RankedRows = on_mut("gradients", rows.gradients)?;
        let mut part = self.own_tasks(context, &mut states, &placement, tasks);
        let own_rows = GradientRows {
            models: models.own(),
            gradients: gradients.own_mut(),
        };
        let own_states = RowStates {
            passes: &mut part.passes,
            tallies: &mut part.tallies,
        };
        let own_tasks = Tasks {
            rows: &part.rows,
            rate_scales: part.rate_scales.as_deref(),
            ..*tasks
        };
        let own_context = Context {
            rows: Some(placement.of(self.world.rank())),
            ..context
        };
        let done = self
            .inner
            .gradients(own_context, own_states, own_rows, &own_tasks);
        self.expect(done);
        let one_step = |work: &RowWork| match work.amount {
            Amount::Idle => *work,
            Amount::Steps(_) | Amount::Epochs(_) => RowWork {
                client: work.client,
                amount: Amount::Steps(1),
            },
        };
        self.put_back(context, states, &placement, part, tasks, one_step);
        Ok(())
    }

    fn shard_gradients(
        &self,
        context: Context<'_>,
        rows: GradientRows<'_>,
        clients: &[u32],
    ) -> Result<(), EngineError> {
        let models: &RankedRows = on("shard_gradients", rows.models)?;
        let clients = models.placement().pick(clients, self.world.rank());
        let gradients: &mut RankedRows = on_mut("shard_gradients", rows.gradients)?;
        let own_rows = GradientRows {
            models: models.own(),
            gradients: gradients.own_mut(),
        };
        self.expect(self.inner.shard_gradients(context, own_rows, &clients));
        Ok(())
    }

    fn evaluate(
        &mut self,
        context: Context<'_>,
        models: &dyn Rows,
        split: Split<'_>,
        subset: Option<&[u32]>,
    ) -> Result<Vec<Score>, EngineError> {
        let models: &RankedRows = on("evaluate", models)?;
        let placement = models.placement();
        let clients: Vec<u32>;
        let split = match split {
            Split::Shards(all) => {
                clients = placement.pick(all, self.world.rank());
                Split::Shards(&clients)
            }
            other => other,
        };
        let own = match placement.of(self.world.rank()) {
            [] => Vec::new(),
            _ => {
                let scores = self.inner.evaluate(context, models.own(), split, subset);
                self.expect(scores)
            }
        };
        let words = own
            .iter()
            .map(|score| [score.loss.to_bits(), score.accuracy.to_bits()]);
        let all = self.world.per_row(placement, words).into_iter();
        let score = |[loss, accuracy]: [u64; 2]| Score {
            loss: f64::from_bits(loss),
            accuracy: f64::from_bits(accuracy),
        };
        Ok(all.map(score).collect())
    }

    fn collect(&mut self, tallies: &mut [RowTally]) {
        self.share(tallies);
        self.untold.clear();
    }

    fn share(&self, tallies: &mut [RowTally]) {
        self.tell(tallies, |_, _| true);
    }

    fn losses(&self) -> Option<DeviceLosses> {
        None
    }

    fn keeps(&self, _: &DeviceLosses) -> bool {
        false
    }

    fn resume(&mut self, _: Option<&DeviceLosses>) {
        self.untold.clear();
    }
}

/// The own rows of `rows`, for the verb `verb`.
fn own<'a>(verb: &'static str, rows: &'a dyn Rows) -> Result<&'a dyn Rows, EngineError> {
    let rows: &RankedRows = on(verb, rows)?;
    Ok(rows.own())
}

/// Words of a tally.
const WORDS: usize = 4;

/// A tally as words, for other ranks.
fn words(tally: &RowTally) -> [u64; WORDS] {
    let RowTally { recent, broken } = tally;
    let broken = broken.map_or(0, |round| round as u64 + 1);
    [recent.sum.to_bits(), recent.steps, recent.examples, broken]
}

fn of_words([sum, steps, examples, broken]: [u64; WORDS]) -> RowTally {
    RowTally {
        recent: LossSum {
            sum: f64::from_bits(sum),
            steps,
            examples,
        },
        broken: broken.checked_sub(1).map(|round| round as usize),
    }
}
