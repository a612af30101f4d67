//! The trainer of rows that are dealt over ranks: each rank trains and judges its own rows.

mod dealt_examples;
mod moved_rows;

use super::losses_on_devices::LossesOnDevices;
use super::placement::Placement;
use super::rows::RankedRows;
use super::tally_words::{WORDS, of_words, words};
use super::world::World;
use crate::backend::rows::{Rows, downcast, downcast_mut};
use crate::backend::trainer::{GradientRows, StepRule, TrainedRows, Trainer};
use crate::error::EngineError;
use crate::training::activations::Activations;
use crate::training::batches::{RowKey, ShardPass};
use crate::training::context::{Context, RowStates};
use crate::training::row_examples::SeenExamples;
use crate::training::score::{Score, Split};
use crate::training::tally::{DeviceLosses, LossSum, RowTally};
use crate::training::work::{Amount, RowWork, Sgd, Tasks};
use meshfold_data::Partition;
use moved_rows::MovedRows;
use std::sync::{Arc, OnceLock};

/// Trains the rows of this rank with a trainer of its device. A rank has the examples of its own clients only. A row
/// that needs the examples of another rank's client moves to that rank first.
#[derive(Debug)]
pub(crate) struct RankedTrainer {
    world: Arc<World>,
    inner: Box<dyn Trainer>,
    /// The partition of this rank's clients, with indices into the examples that it holds.
    held: Partition,
    /// These examples, by their numbers among all, ascending.
    own: Vec<u32>,
    /// All examples of the partition.
    examples: u32,
    /// The rank that holds each of them, once it was asked for.
    ranks_of_examples: OnceLock<Vec<u32>>,
    /// For each row, the only rank that knows its losses, or [`ALL_RANKS`]. Rows beyond the end were never trained.
    only_rank_with_losses: Vec<u32>,
    /// The losses that devices keep, if they do. Then all ranks know the same tallies.
    on_devices: Option<LossesOnDevices>,
}

/// Stands for a rank: every rank knows the losses of the row.
const ALL_RANKS: u32 = u32::MAX;

/// The arguments of the inner trainer for the rows of this rank.
struct OwnTasks {
    rows: Vec<RowWork>,
    rate_scales: Option<Vec<f32>>,
    passes: Vec<ShardPass>,
    tallies: Vec<RowTally>,
}

/// The arguments of a call for all rows.
struct AllTasks<'a, 'b> {
    context: Context<'a>,
    states: RowStates<'b>,
    tasks: &'a Tasks<'a>,
}

impl RankedTrainer {
    /// A trainer whose `inner` trainer holds the `examples` training examples that [`World::examples_of`] names.
    ///
    /// # Panics
    /// If their number differs.
    pub(crate) fn new(
        world: &Arc<World>,
        inner: Box<dyn Trainer>,
        partition: &Partition,
        examples: usize,
    ) -> Self {
        let (held, own) = world.examples_of(world.rank(), partition);
        assert_eq!(
            examples,
            own.len(),
            "a rank has the examples that were dealt to it"
        );
        Self {
            held,
            own,
            examples: partition.examples() as u32,
            ranks_of_examples: OnceLock::new(),
            world: world.clone(),
            on_devices: inner.keeps_losses().then(LossesOnDevices::default),
            inner,
            only_rank_with_losses: Vec::new(),
        }
    }

    /// The placement for training or judging: each row with a client goes to the rank of that client, the others stay.
    fn at_clients(
        &self,
        placement: &Arc<Placement>,
        clients: impl Iterator<Item = Option<u32>> + Clone,
    ) -> Arc<Placement> {
        let homes = self.world.placement(self.held.clients());
        let ranks = (0u32..).zip(clients).map(|(row, client)| match client {
            Some(client) => homes.owner(client) as u32,
            None => placement.owner(row) as u32,
        });
        let stays = |(row, rank): (u32, u32)| placement.owner(row) as u32 == rank;
        if (0u32..).zip(ranks.clone()).all(stays) {
            return placement.clone();
        }
        let count = self.world.ranks.count();
        Arc::new(Placement::new(ranks.collect(), count))
    }

    /// [`RankedTrainer::at_clients`] for rows with these tasks; rows without work stay.
    fn at_work(&self, placement: &Arc<Placement>, rows: &[RowWork]) -> Arc<Placement> {
        let client = |work: &RowWork| (work.amount != Amount::Idle).then_some(work.client);
        self.at_clients(placement, rows.iter().map(client))
    }

    /// Has the inner trainer carry out `call` on the rows of this rank, which lie as `placement` says. The positions of
    /// all other rows move on by the work that `done` returns for their task.
    fn on_own_rows(
        &mut self,
        placement: &Placement,
        mut all: AllTasks<'_, '_>,
        done: impl Fn(&RowWork) -> RowWork,
        call: impl FnOnce(
            &mut dyn Trainer,
            Context<'_>,
            RowStates<'_>,
            &Tasks<'_>,
        ) -> Result<(), EngineError>,
    ) {
        let largest_batch = self.prepare(placement, &mut all, &done);
        let mut part = self.own_tasks(placement, &mut all);
        let states = RowStates {
            passes: &mut part.passes,
            tallies: &mut part.tallies,
        };
        let tasks = Tasks {
            rows: &part.rows,
            rate_scales: part.rate_scales.as_deref(),
            ..*all.tasks
        };
        let context = Context {
            rows: Some(placement.of(self.world.rank())),
            partition: &self.held,
            largest_batch,
            ..all.context
        };
        if !part.rows.is_empty() {
            let result = call(self.inner.as_mut(), context, states, &tasks);
            self.world.expect(result);
        }
        self.put_back(placement, all, part, done);
    }

    /// Picks the arguments for this rank's rows. If another rank drew the order of a pass, it is drawn again here.
    fn own_tasks(&self, placement: &Placement, all: &mut AllTasks<'_, '_>) -> OwnTasks {
        let rank = self.world.rank();
        let take = |row: &u32| {
            let mut pass = std::mem::take(&mut all.states.passes[*row as usize]);
            let key = RowKey {
                seed: all.context.seed,
                row: *row,
            };
            let shard = |client: u32| self.held.shard(client as usize).to_vec();
            pass.redraw(key, shard);
            pass
        };
        OwnTasks {
            passes: placement.of(rank).iter().map(take).collect(),
            rows: placement.pick(all.tasks.rows, rank),
            rate_scales: all.tasks.rate_scales.map(|all| placement.pick(all, rank)),
            tallies: placement.pick(all.states.tallies, rank),
        }
    }

    /// Stores the results of this rank's rows, and advances the passes of all other rows.
    fn put_back(
        &self,
        placement: &Placement,
        all: AllTasks<'_, '_>,
        own: OwnTasks,
        done: impl Fn(&RowWork) -> RowWork,
    ) {
        let rank = self.world.rank();
        let of_rows = own.passes.into_iter().zip(own.tallies);
        for (row, (pass, tally)) in placement.of(rank).iter().zip(of_rows) {
            all.states.passes[*row as usize] = pass;
            all.states.tallies[*row as usize] = tally;
        }
        for (row, work) in (0u32..).zip(all.tasks.rows) {
            if placement.owner(row) != rank {
                let shard = all.context.partition.shard(work.client as usize).len();
                all.states.passes[row as usize].skip(&done(work), all.tasks.sgd, shard);
            }
        }
    }

    /// Called before rows of `placement` are trained. Losses of rows that come from another rank are sent to all ranks,
    /// or move with the rows. Returns the [largest batch](Context::largest_batch) if the device must know it, else 0.
    fn prepare(
        &mut self,
        placement: &Placement,
        all: &mut AllTasks<'_, '_>,
        done: impl Fn(&RowWork) -> RowWork,
    ) -> usize {
        let tallies = &mut *all.states.tallies;
        if let Some(on_devices) = &mut self.on_devices {
            let tasks = all.tasks;
            on_devices.prepare(&self.world, self.inner.as_mut(), placement, tallies);
            let shard = |work: &RowWork| all.context.partition.shard(work.client as usize).len();
            let steps = |work| tasks.sgd.steps_on(done(work).amount, shard(work));
            if tasks.rows.iter().any(|work| steps(work) > 0) {
                on_devices.train(tasks.round);
            }
            return tasks.largest_batch(all.context.partition);
        }
        self.tell(tallies, |row, owner| placement.owner(row) != owner as usize);
        let rows = placement.rows();
        self.only_rank_with_losses
            .resize(self.only_rank_with_losses.len().max(rows), ALL_RANKS);
        for (row, only_rank_with_losses) in (0u32..).zip(&mut self.only_rank_with_losses[..rows]) {
            *only_rank_with_losses = placement.owner(row) as u32;
        }
        0
    }

    /// Sends to all ranks the losses that only one rank knows, for the rows for which `chosen(row, rank)` is true.
    fn tell(&self, tallies: &mut [RowTally], chosen: impl Fn(u32, u32) -> bool) {
        let mut rows = vec![Vec::new(); self.world.ranks.count()];
        for (row, owner) in (0u32..)
            .zip(&self.only_rank_with_losses)
            .take(tallies.len())
        {
            if *owner != ALL_RANKS && chosen(row, *owner) {
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
}

impl RankedTrainer {
    /// The losses of all rows, given those of this rank's.
    fn losses_of_all(&self, placement: &Placement, own: &[LossSum]) -> Vec<LossSum> {
        let words = own
            .iter()
            .map(|losses| [losses.sum.to_bits(), losses.steps, losses.examples]);
        let all = self.world.per_row(placement, words).into_iter();
        let losses = |[sum, steps, examples]: [u64; 3]| LossSum {
            sum: f64::from_bits(sum),
            steps,
            examples,
        };
        all.map(losses).collect()
    }
}

impl Trainer for RankedTrainer {
    fn train(
        &mut self,
        context: Context<'_>,
        states: RowStates<'_>,
        rows: TrainedRows<'_>,
        tasks: &Tasks<'_>,
    ) -> Result<(), EngineError> {
        let models: &mut RankedRows = downcast_mut("train", rows.models)?;
        let placement = self.at_work(models.placement(), tasks.rows);
        let mut moved = MovedRows::to(
            &placement,
            models,
            rows.velocity,
            rows.correction,
            rows.anchor,
        )?;
        let own_rows = moved.own();
        let all = AllTasks {
            context,
            states,
            tasks,
        };
        let train =
            |inner: &mut dyn Trainer,
             context: Context<'_>,
             states: RowStates<'_>,
             tasks: &Tasks<'_>| { inner.train(context, states, own_rows, tasks) };
        self.on_own_rows(&placement, all, |work| *work, train);
        Ok(())
    }

    fn gradients(
        &mut self,
        context: Context<'_>,
        states: RowStates<'_>,
        rows: GradientRows<'_>,
        tasks: &Tasks<'_>,
    ) -> Result<(), EngineError> {
        let models: &RankedRows = downcast("gradients", rows.models)?;
        let gradients: &mut RankedRows = downcast_mut("gradients", rows.gradients)?;
        let placement = self.at_work(models.placement(), tasks.rows);
        gradients.move_to(&placement);
        let models = models.at(&placement);
        let own_rows = GradientRows {
            models: models.own(),
            gradients: gradients.own_mut(),
        };
        let all = AllTasks {
            context,
            states,
            tasks,
        };
        let compute =
            |inner: &mut dyn Trainer,
             context: Context<'_>,
             states: RowStates<'_>,
             tasks: &Tasks<'_>| { inner.gradients(context, states, own_rows, tasks) };
        self.on_own_rows(&placement, all, RowWork::one_step, compute);
        Ok(())
    }

    fn shard_gradients(
        &self,
        context: Context<'_>,
        rows: GradientRows<'_>,
        clients: &[u32],
    ) -> Result<(), EngineError> {
        let models: &RankedRows = downcast("shard_gradients", rows.models)?;
        let gradients: &mut RankedRows = downcast_mut("shard_gradients", rows.gradients)?;
        let placement = self.at_clients(models.placement(), clients.iter().copied().map(Some));
        gradients.move_to(&placement);
        let models = models.at(&placement);
        let own_rows = GradientRows {
            models: models.own(),
            gradients: gradients.own_mut(),
        };
        let context = Context {
            partition: &self.held,
            ..context
        };
        let clients = placement.pick(clients, self.world.rank());
        self.world
            .expect(self.inner.shard_gradients(context, own_rows, &clients));
        Ok(())
    }

    fn activations(
        &self,
        context: Context<'_>,
        models: &dyn Rows,
        of: Activations,
        seen: &SeenExamples<'_>,
    ) -> Result<Vec<Vec<f32>>, EngineError> {
        let models: &RankedRows = downcast("outputs", models)?;
        let dealt = self.dealt(models.placement(), &context, seen)?;
        let models = models.at(&dealt.placement);
        let context = Context {
            partition: &self.held,
            ..context
        };
        let own = match dealt.lists.is_empty() {
            true => Vec::new(),
            false => {
                let found = self
                    .inner
                    .activations(context, models.own(), of, &dealt.seen());
                self.world.expect(found)
            }
        };
        let network = context.network;
        let each = network.positions() * of.of_position(network)?;
        let size = |row: u32| seen.rows[row as usize].len() * each;
        let words: Vec<u64> = own
            .iter()
            .flatten()
            .map(|x| u64::from(x.to_bits()))
            .collect();
        let ranks = 0..self.world.ranks.count();
        let of_rank = |rank| dealt.placement.of(rank).iter().map(|row| size(*row)).sum();
        let lengths: Vec<usize> = ranks.map(of_rank).collect();
        let told = self.world.ranks.transport().all_gather(&words, &lengths);
        let mut told: Vec<_> = told.iter().map(|words| words.iter()).collect();
        let all = (0..seen.rows.len() as u32).map(|row| {
            let words = told[dealt.placement.owner(row)].by_ref().take(size(row));
            words.map(|bits| f32::from_bits(*bits as u32)).collect()
        });
        Ok(all.collect())
    }

    fn gradients_on(
        &self,
        context: Context<'_>,
        rows: GradientRows<'_>,
        seen: &SeenExamples<'_>,
        sgd: &Sgd,
    ) -> Result<Vec<LossSum>, EngineError> {
        let models: &RankedRows = downcast("gradients", rows.models)?;
        let gradients: &mut RankedRows = downcast_mut("gradients", rows.gradients)?;
        let dealt = self.dealt(models.placement(), &context, seen)?;
        gradients.move_to(&dealt.placement);
        let models = models.at(&dealt.placement);
        let own_rows = GradientRows {
            models: models.own(),
            gradients: gradients.own_mut(),
        };
        let context = Context {
            partition: &self.held,
            ..context
        };
        let own = match dealt.lists.is_empty() {
            true => Vec::new(),
            false => {
                let losses = self
                    .inner
                    .gradients_on(context, own_rows, &dealt.seen(), sgd);
                self.world.expect(losses)
            }
        };
        Ok(self.losses_of_all(&dealt.placement, &own))
    }

    fn step_on(
        &mut self,
        context: Context<'_>,
        rows: TrainedRows<'_>,
        seen: &SeenExamples<'_>,
        step: &StepRule<'_>,
    ) -> Result<Vec<LossSum>, EngineError> {
        let models: &mut RankedRows = downcast_mut("train", rows.models)?;
        let dealt = self.dealt(models.placement(), &context, seen)?;
        let mut moved = MovedRows::to(
            &dealt.placement,
            models,
            rows.velocity,
            rows.correction,
            rows.anchor,
        )?;
        let context = Context {
            partition: &self.held,
            ..context
        };
        let rates = dealt.placement.pick(step.rates, self.world.rank());
        let step = StepRule {
            rates: &rates,
            ..*step
        };
        let own = match dealt.lists.is_empty() {
            true => Vec::new(),
            false => {
                let losses = self
                    .inner
                    .step_on(context, moved.own(), &dealt.seen(), &step);
                self.world.expect(losses)
            }
        };
        Ok(self.losses_of_all(&dealt.placement, &own))
    }

    /// # Errors
    /// [`EngineError::Setting`] for evaluation on all training examples, as no rank has them all.
    fn evaluate(
        &mut self,
        context: Context<'_>,
        models: &dyn Rows,
        split: Split<'_>,
        subset: Option<&[u32]>,
    ) -> Result<Vec<Score>, EngineError> {
        let models: &RankedRows = downcast("evaluate", models)?;
        let rank = self.world.rank();
        let mut placement = models.placement().clone();
        let clients: Vec<u32>;
        let split = match split {
            Split::Train => {
                return Err(EngineError::Setting {
                    what: "examples to judge models by over several ranks",
                    found: "all training examples".to_owned(),
                    needed: "those of clients, or test examples",
                });
            }
            Split::Shards(all) | Split::LocalTests(all) => {
                placement = self.at_clients(&placement, all.iter().copied().map(Some));
                clients = placement.pick(all, rank);
                match split {
                    Split::LocalTests(_) => Split::LocalTests(&clients),
                    _ => Split::Shards(&clients),
                }
            }
            other => other,
        };
        let context = Context {
            partition: &self.held,
            ..context
        };
        let models = models.at(&placement);
        let own = match placement.of(rank) {
            [] => Vec::new(),
            _ => {
                let scores = self.inner.evaluate(context, models.own(), split, subset);
                self.world.expect(scores)
            }
        };
        let words = own
            .iter()
            .map(|score| [score.loss.to_bits(), score.accuracy.to_bits()]);
        let all = self.world.per_row(&placement, words).into_iter();
        let score = |[loss, accuracy]: [u64; 2]| Score {
            loss: f64::from_bits(loss),
            accuracy: f64::from_bits(accuracy),
        };
        Ok(all.map(score).collect())
    }

    fn collect(&mut self, tallies: &mut [RowTally]) {
        if let Some(on_devices) = &mut self.on_devices {
            return on_devices.collect(&self.world, self.inner.as_mut(), tallies);
        }
        self.share(tallies);
        self.only_rank_with_losses.clear();
    }

    fn share(&self, tallies: &mut [RowTally]) {
        self.tell(tallies, |_, _| true);
    }

    fn keeps_losses(&self) -> bool {
        self.on_devices.is_some()
    }

    fn losses(&self) -> Option<DeviceLosses> {
        let on_devices = self.on_devices.as_ref()?;
        on_devices.all(&self.world, self.inner.as_ref())
    }

    fn can_restore(&self, losses: &DeviceLosses) -> bool {
        self.inner.can_restore(losses)
    }

    fn resume(&mut self, losses: Option<&DeviceLosses>) {
        self.only_rank_with_losses.clear();
        if let Some(on_devices) = &mut self.on_devices {
            on_devices.resume(&self.world, self.inner.as_mut(), losses);
        }
    }
}
