//! The learner: examples, their owners and the model, and the verbs that need all three.

mod aside;
mod checks;
mod counts;
mod examples;
mod rates;
mod start;
mod state;

pub use examples::GradientsOn;
pub use start::Start;
pub use state::LearnerState;

use super::batches::{Position, RowKey, ShardPass};
use super::context::{Context, Problem, RowStates};
use super::local_work::{LocalWork, Velocity};
use super::score::{Score, Split};
use super::tally::RowTally;
use super::work::{RowWork, Sgd};
use crate::backend::trainer::{GradientRows, Trainer};
use crate::device::Device;
use crate::error::EngineError;
use crate::network::Network;
use crate::stack::Stack;
use checks::{check_device, check_examples};
use meshfold_data::{Augment, Partition, Splits};
use std::sync::Arc;

/// Everything that local work and evaluation need besides the models: one copy of the examples, who owns which, the
/// network, and how far each row has come through its data.
#[derive(Debug)]
pub struct Learner {
    device: Device,
    problem: Problem,
    passes: Vec<ShardPass>,
    tallies: Vec<RowTally>,
    local_steps: u64,
    examples_seen: u64,
    before_gradients: Option<BeforeGradients>,
    /// Whether the next gradients are on mini-batches that others were taken on.
    repeats_batches: bool,
    trainer: Box<dyn Trainer>,
}

/// Where the rows stood before the last mini-batch gradients.
#[derive(Debug)]
struct BeforeGradients {
    round: usize,
    positions: Vec<Position>,
}

/// A trainer and what it is given.
struct Call<'a> {
    context: Context<'a>,
    states: RowStates<'a>,
    trainer: &'a mut dyn Trainer,
}

impl Learner {
    /// Brings the examples to `device`. `seed` keys the initial models and the batches. A GPU that was lost is opened anew:
    /// [`Learner::device`] is the one to make stacks on.
    ///
    /// Over several ranks, `splits` are those that [`Device::deal`] gives each of them.
    ///
    /// # Errors
    /// [`EngineError::Setting`] if the network does not fit the examples, [`EngineError::Device`] if they do not fit the
    /// device.
    pub fn upload(
        device: &Device,
        network: Network,
        splits: Splits,
        partition: Arc<Partition>,
        seed: u64,
    ) -> Result<Self, EngineError> {
        check_device(&network, device)?;
        let device = device.renewed();
        check_examples(&network, &splits)?;
        let trainer = device.backend().trainer(&network, &splits, &partition)?;
        let (passes, tallies) = (Vec::new(), Vec::new());
        Ok(Self {
            device,
            problem: Problem {
                network,
                splits,
                partition,
                seed,
                augment: None,
            },
            passes,
            tallies,
            local_steps: 0,
            examples_seen: 0,
            before_gradients: None,
            repeats_batches: false,
            trainer,
        })
    }

    /// The same with the images of all batches augmented. What models are judged on, and
    /// [gradients of shards](Self::shard_gradients), stay as they are.
    ///
    /// # Errors
    /// [`EngineError::Setting`] if nothing is to change, or the training examples cannot be augmented so.
    pub fn augmented(mut self, augment: Augment) -> Result<Self, EngineError> {
        let train = &self.problem.splits.train;
        let fits = || augment.fits(train.input(), train.len());
        augment
            .check()
            .and_then(|()| fits())
            .map_err(|error| EngineError::Setting {
                what: "augmentation",
                found: error.found,
                needed: error.needed,
            })?;
        self.problem.augment = Some(augment);
        Ok(self)
    }

    /// The device that models must live on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The network that a row holds the parameters of.
    pub fn network(&self) -> &Network {
        &self.problem.network
    }

    /// Who owns which training example.
    pub fn partition(&self) -> &Partition {
        &self.problem.partition
    }

    /// The examples; of those for training, where clients are dealt over ranks, those of this rank's clients.
    pub fn splits(&self) -> &Splits {
        &self.problem.splits
    }

    /// Local steps that a row's work amounts to.
    pub fn steps_of(&self, row: &RowWork, sgd: &Sgd) -> u32 {
        sgd.steps_on(
            row.amount,
            self.problem.partition.shard(row.client as usize).len(),
        )
    }

    /// Runs the local steps of every row on the device, without a read-back; `stack` and `velocity` are `[R, P]`.
    ///
    /// Rows that are idle or finished do not move, nor does their velocity. Returns the steps of each row.
    ///
    /// # Errors
    /// [`EngineError::RowCount`], [`EngineError::StackShape`], [`EngineError::Client`] or [`EngineError::Setting`] if
    /// the work does not fit the stack, the clients or the engine; [`EngineError::OwnModel`] or [`EngineError::OwnRate`] if a
    /// model or a learning rate of the user's own fails.
    pub fn train(
        &mut self,
        stack: &mut Stack,
        velocity: Velocity<'_>,
        work: &LocalWork<'_>,
    ) -> Result<Vec<u32>, EngineError> {
        let others = [work.correction, work.anchor.map(|anchor| anchor.models)];
        self.check(stack, work, &others)?;
        if let Velocity::Kept(kept) = &velocity {
            self.check(stack, work, &[Some(kept)])?;
        }
        self.check_own_rates(work)?;
        let steps = self.count(work);
        self.forget_batches();
        let call = self.call(stack.rows());
        let (rows, tasks) = (work.rows_of(stack, velocity), work.tasks());
        call.trainer
            .train(call.context, call.states, rows, &tasks)?;
        Ok(steps)
    }

    /// The clipped mini-batch gradient of every row at its next batch, `[R, P]`; zero for idle rows.
    ///
    /// # Errors
    /// As [`Learner::train`].
    pub fn gradients(&mut self, stack: &Stack, work: &LocalWork<'_>) -> Result<Stack, EngineError> {
        self.check(stack, work, &[])?;
        let rows: Vec<RowWork> = work.rows.iter().map(RowWork::one_step).collect();
        let work = &LocalWork {
            rows: &rows,
            ..*work
        };
        self.check_own_rates(work)?;
        let repeats = std::mem::take(&mut self.repeats_batches);
        let examples_before = self.examples_seen;
        self.count(work);
        let losses_before = repeats.then(|| self.losses());
        let mut gradients = Stack::zeros(stack.device(), stack.layout(), stack.rows());
        let rows = GradientRows {
            models: stack.storage(),
            gradients: gradients.storage_mut(),
        };
        let call = self.call(stack.rows());
        let positions = call.states.passes.iter().map(ShardPass::position).collect();
        call.trainer
            .gradients(call.context, call.states, rows, &work.tasks())?;
        if let Some(losses) = losses_before {
            self.examples_seen = examples_before;
            self.restore_losses(&losses);
        }
        self.before_gradients = Some(BeforeGradients {
            round: work.round,
            positions,
        });
        Ok(gradients)
    }

    /// Puts every row back to where it stood before the last [`gradients`](Self::gradients): the same call then takes gradients on the
    /// same mini-batches, at whatever models (STORM, SAM). They count as further local steps, but their losses and examples do not count
    /// again.
    ///
    /// # Errors
    /// [`EngineError::Setting`] if `round` has taken none since it last trained.
    pub fn rewind_batches(&mut self, round: usize) -> Result<(), EngineError> {
        let before = self.before_gradients.take();
        let before = before
            .filter(|before| before.round == round)
            .ok_or_else(|| EngineError::Setting {
                what: "mini-batches to take again",
                found: "none".to_owned(),
                needed: "those of gradients that the round has taken since it last trained",
            })?;
        let again = self.passes_at(&before.positions).into_iter();
        let again = again
            .zip(&self.passes)
            .map(|(pass, now)| pass.in_round_of(now));
        let again: Vec<ShardPass> = again.collect();
        self.passes.splice(..again.len(), again);
        self.repeats_batches = true;
        Ok(())
    }

    /// From now on there are no mini-batches to take again.
    fn forget_batches(&mut self) {
        self.before_gradients = None;
        self.repeats_batches = false;
    }

    /// The ways of the first rows through their shards, at these positions.
    fn passes_at(&self, positions: &[Position]) -> Vec<ShardPass> {
        let (partition, seed) = (&self.problem.partition, self.problem.seed);
        // A rank draws the order of what it holds when it needs it.
        let draws = self.device.ranks().is_none();
        let pass_at = |(row, position): (u32, &Position)| {
            let pass = ShardPass::at(*position);
            let shard = |client: u32| partition.shard(client as usize).to_vec();
            match draws {
                true => pass.redrawn(RowKey { seed, row }, shard),
                false => pass,
            }
        };
        (0..).zip(positions).map(pass_at).collect()
    }

    /// The gradient of every row's model on all training examples of a client, `[R, P]`: row `i` on the shard of client
    /// `clients[i]`, the mean over it without clipping, decay, dropout or augmentation; zero where the shard is empty.
    ///
    /// It is no local step: no batch is drawn and nothing is tallied. The gradient on several clients' examples is the
    /// mean of theirs, weighted by the sizes of their shards.
    ///
    /// # Errors
    /// [`EngineError::RowCount`] if there is not one client per row, [`EngineError::Client`] if one does not exist,
    /// [`EngineError::Setting`] if the rows are not the network's, [`EngineError::Device`] if the shards are more than a kernel can
    /// see at once.
    pub fn shard_gradients(&self, stack: &Stack, clients: &[u32]) -> Result<Stack, EngineError> {
        self.check_models(stack)?;
        stack.expect_per_row("shard_gradients", clients.len())?;
        self.check_clients(clients.iter().copied())?;
        let mut gradients = Stack::zeros(stack.device(), stack.layout(), stack.rows());
        let rows = GradientRows {
            models: stack.storage(),
            gradients: gradients.storage_mut(),
        };
        self.trainer
            .shard_gradients(self.problem.context(), rows, clients)?;
        Ok(gradients)
    }

    /// Judges every row on `split`, or on its examples `subset`; what clients hold is judged whole. Waits for the device.
    ///
    /// # Errors
    /// [`EngineError::RowCount`] if examples of clients are asked for and not one client per row is named, [`EngineError::Client`] if one does not
    /// exist, [`EngineError::Setting`] if the rows are not the network's or there are no such examples.
    pub fn evaluate(
        &mut self,
        stack: &Stack,
        split: Split<'_>,
        subset: Option<&[u32]>,
    ) -> Result<Vec<Score>, EngineError> {
        self.check_models(stack)?;
        if let Some(clients) = split.clients() {
            stack.expect_per_row("evaluate", clients.len())?;
            self.check_clients(clients.iter().copied())?;
        }
        self.check_subset(split, subset)?;
        let call = self.call(stack.rows());
        call.trainer
            .evaluate(call.context, stack.storage(), split, subset)
    }

    /// What a call of the trainer on `rows` rows is given.
    fn call(&mut self, rows: usize) -> Call<'_> {
        let known = self.passes.len().max(rows);
        self.passes.resize_with(known, ShardPass::default);
        self.tallies.resize_with(known, RowTally::default);
        let states = RowStates {
            passes: &mut self.passes[..rows],
            tallies: &mut self.tallies[..rows],
        };
        Call {
            context: self.problem.context(),
            states,
            trainer: self.trainer.as_mut(),
        }
    }
}
