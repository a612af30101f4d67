//! The learner: examples, their owners and the model, and the verbs that need all three.

use super::batches::{Pass, Position, RowKey};
use super::context::{Context, RowStates};
use super::score::{Score, Split};
use super::tally::{DeviceLosses, RowTally, Tally};
use super::work::{Amount, BatchSize, LocalWork, RowWork, Sgd, Velocity};
use crate::blocked::Blocked;
use crate::device::Device;
use crate::error::EngineError;
use crate::network::Network;
use crate::stack::Stack;
use meshfold_data::{Partition, Splits};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// From which model rows start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Every row from the same model.
    #[default]
    Same,
    /// Each row from a draw of its own.
    Independent,
}

#[derive(Debug)]
enum Trainer {
    Blocked(Blocked),
    #[cfg(feature = "gpu")]
    Stacked(Box<crate::stacked::Stacked>),
}

/// Everything that local work and evaluation need besides the models: one copy of the examples, who owns which, the
/// network, and how far each row has come through its data.
#[derive(Debug)]
pub struct Learner {
    device: Device,
    network: Network,
    splits: Splits,
    partition: Arc<Partition>,
    seed: u64,
    passes: Vec<Pass>,
    tallies: Vec<RowTally>,
    local_steps: u64,
    examples_seen: u64,
    trainer: Trainer,
}

/// What a learner must be given to go on where another stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnerState {
    positions: Vec<Position>,
    local_steps: u64,
    examples_seen: u64,
    /// The losses of each row since the last tally.
    losses: Vec<RowTally>,
    /// Losses that are still on the GPU.
    on_device: Option<DeviceLosses>,
}

impl Learner {
    /// Brings the examples to `device`. `seed` keys the initial models and the batches. A GPU that was lost is opened anew:
    /// [`Learner::device`] is the one to make stacks on.
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
        for (found, needed) in [
            (splits.train.width(), network.inputs()),
            (splits.test.width(), network.inputs()),
            (splits.train.classes(), network.classes()),
            (splits.test.classes(), network.classes()),
        ] {
            if found != needed {
                return Err(EngineError::Setting {
                    what: "examples",
                    found: format!("{found} features or classes where the network has {needed}"),
                    needed: "of the network's shape",
                });
            }
        }
        for examples in [&splits.train, &splits.test] {
            if !network.reads(examples.input()) {
                return Err(EngineError::Setting {
                    what: "examples",
                    found: format!("{:?}", examples.input()),
                    needed: "what the network was built for",
                });
            }
        }
        let device = device.renewed();
        let trainer = match &device {
            Device::Cpu(cpu) => {
                // What an earlier run held may be of other shapes.
                cpu.recycled().clear();
                Trainer::Blocked(Blocked::new(cpu, &network)?)
            }
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => Trainer::Stacked(Box::new(crate::stacked::Stacked::upload(
                gpu, &network, &splits,
            )?)),
        };
        let (passes, tallies) = (Vec::new(), Vec::new());
        Ok(Self {
            device,
            network,
            splits,
            partition,
            seed,
            passes,
            tallies,
            local_steps: 0,
            examples_seen: 0,
            trainer,
        })
    }

    /// The device that models must live on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The network that a row holds the parameters of.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Who owns which training example.
    pub fn partition(&self) -> &Partition {
        &self.partition
    }

    /// The examples.
    pub fn splits(&self) -> &Splits {
        &self.splits
    }

    /// The first models of a run, `[rows, P]`.
    ///
    /// # Errors
    /// Those of [`Stack::from_host`].
    pub fn initial(&self, rows: usize, start: Start) -> Result<Stack, EngineError> {
        let values = match start {
            Start::Same => self.network.initialise(self.seed, 0).repeat(rows),
            Start::Independent => (0..rows as u32)
                .flat_map(|row| self.network.initialise(self.seed, row))
                .collect(),
        };
        Stack::from_host(&self.device, self.network.layout(), values)
    }

    /// Local steps that a row's work amounts to.
    pub fn steps_of(&self, row: &RowWork, sgd: &Sgd) -> u32 {
        sgd.steps_on(row.amount, self.partition.shard(row.client as usize).len())
    }

    /// The learning rate of each row's next step; 0 for idle rows.
    pub fn rates(&self, work: &LocalWork<'_>) -> Vec<f32> {
        let rate = |(row, task): (usize, &RowWork)| match task.amount {
            Amount::Idle => 0.0,
            _ => {
                let start = self.passes.get(row).map(Pass::position).unwrap_or_default();
                let progress = start.progress(work.round as u64 - 1);
                work.rate_scale(row) * work.sgd.learning_rate.at(&progress) as f32
            }
        };
        work.rows.iter().enumerate().map(rate).collect()
    }

    /// Runs the local steps of every row on the device, without a read-back; `stack` and `velocity` are `[R, P]`.
    ///
    /// Rows that are idle or finished do not move, nor does their velocity. Returns the steps of each row.
    ///
    /// # Errors
    /// [`EngineError::RowCount`], [`EngineError::StackShape`], [`EngineError::Client`] or [`EngineError::Setting`] if
    /// the work does not fit the stack, the clients or the engine; [`EngineError::OwnModel`] if a model of the user's own
    /// fails.
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
        let steps = self.count(work, |learner, row| learner.steps_of(row, work.sgd));
        let (context, states, trainer) = self.context(stack.rows());
        match trainer {
            Trainer::Blocked(trainer) => trainer.train(context, states, stack, velocity, work)?,
            #[cfg(feature = "gpu")]
            Trainer::Stacked(trainer) => trainer.train(context, states, stack, velocity, work)?,
        }
        Ok(steps)
    }

    /// The clipped mini-batch gradient of every row at its next batch, `[R, P]`; zero for idle rows.
    ///
    /// # Errors
    /// As [`Learner::train`].
    pub fn gradients(&mut self, stack: &Stack, work: &LocalWork<'_>) -> Result<Stack, EngineError> {
        self.check(stack, work, &[])?;
        self.count(work, |_, row| u32::from(row.amount != Amount::Idle));
        let (context, states, trainer) = self.context(stack.rows());
        match trainer {
            Trainer::Blocked(trainer) => trainer.gradients(context, states, stack, work),
            #[cfg(feature = "gpu")]
            Trainer::Stacked(trainer) => trainer.gradients(context, states, stack, work),
        }
    }

    /// The gradient of every row's model on all training examples of a client, `[R, P]`: row `i` on the shard of client
    /// `clients[i]`, the mean over it without clipping, decay or dropout; zero where the shard is empty.
    ///
    /// It is no local step: no batch is drawn and nothing is tallied. The gradient on several clients' examples is the
    /// mean of theirs, weighted by the sizes of their shards.
    ///
    /// # Errors
    /// [`EngineError::RowCount`] if there is not one client per row, [`EngineError::Client`] if one does not exist,
    /// [`EngineError::Device`] if the shards are more than a kernel can see at once.
    pub fn shard_gradients(&self, stack: &Stack, clients: &[u32]) -> Result<Stack, EngineError> {
        if clients.len() != stack.rows() {
            return Err(EngineError::RowCount {
                verb: "shard_gradients",
                found: clients.len(),
                rows: stack.rows(),
            });
        }
        let count = self.partition.clients();
        let missing = |client: &u32| *client as usize >= count;
        if let Some(row) = clients.iter().position(missing) {
            return Err(EngineError::Client {
                row,
                client: clients[row] as usize,
                reason: "does not exist",
            });
        }
        let context = Context {
            network: &self.network,
            train: &self.splits.train,
            test: &self.splits.test,
            partition: &self.partition,
            seed: self.seed,
        };
        match &self.trainer {
            Trainer::Blocked(trainer) => trainer.shard_gradients(context, stack, clients),
            #[cfg(feature = "gpu")]
            Trainer::Stacked(trainer) => trainer.shard_gradients(context, stack, clients),
        }
    }

    /// Judges every row on `split`, or on its examples `subset`. Waits for the device.
    ///
    /// # Errors
    /// [`EngineError::RowCount`] if shards are asked for and not one client per row is named.
    pub fn evaluate(
        &mut self,
        stack: &Stack,
        split: Split<'_>,
        subset: Option<&[u32]>,
    ) -> Result<Vec<Score>, EngineError> {
        if let Split::Shards(clients) = split
            && clients.len() != stack.rows()
        {
            return Err(EngineError::RowCount {
                verb: "evaluate",
                found: clients.len(),
                rows: stack.rows(),
            });
        }
        let (context, _, trainer) = self.context(stack.rows());
        match trainer {
            Trainer::Blocked(trainer) => trainer.evaluate(context, stack, split, subset),
            #[cfg(feature = "gpu")]
            Trainer::Stacked(trainer) => trainer.evaluate(context, stack, split, subset),
        }
    }

    /// Work done so far and the mean training loss since the last call. Waits for the device.
    pub fn tally(&mut self) -> Tally {
        #[cfg(feature = "gpu")]
        self.collect();
        let trained: Vec<f64> = self
            .tallies
            .iter_mut()
            .map(|tally| std::mem::take(&mut tally.recent))
            .filter(|recent| recent.steps > 0)
            .map(|recent| recent.sum / recent.steps as f64)
            .collect();
        let train_loss =
            (!trained.is_empty()).then(|| trained.iter().sum::<f64>() / trained.len() as f64);
        Tally {
            local_steps: self.local_steps,
            examples_seen: self.examples_seen,
            train_loss,
        }
    }

    /// Fails if a loss or a model of a row that `alive` names was not finite, naming the first round and its lowest
    /// row. Waits for the device.
    ///
    /// # Errors
    /// [`EngineError::NonFinite`].
    pub fn expect_finite(
        &mut self,
        stack: &Stack,
        alive: &[bool],
        round: usize,
    ) -> Result<(), EngineError> {
        #[cfg(feature = "gpu")]
        self.collect();
        self.tallies
            .resize_with(self.tallies.len().max(stack.rows()), RowTally::default);
        for (row, finite) in stack.finite_rows().into_iter().enumerate() {
            if !finite && alive.get(row).copied().unwrap_or(true) {
                self.tallies[row].mark_broken(round);
            }
        }
        let first = self
            .tallies
            .iter()
            .enumerate()
            .filter_map(|(row, tally)| Some((tally.broken?, row)))
            .min();
        first.map_or(Ok(()), |(round, row)| {
            Err(EngineError::NonFinite { round, row })
        })
    }

    /// What another learner needs to continue from here. It includes the losses since the last [`tally`](Self::tally), which
    /// remain to be tallied. Waits for the device.
    pub fn state(&self) -> LearnerState {
        LearnerState {
            positions: self.passes.iter().map(Pass::position).collect(),
            local_steps: self.local_steps,
            examples_seen: self.examples_seen,
            losses: self.tallies.clone(),
            on_device: match &self.trainer {
                Trainer::Blocked(_) => None,
                #[cfg(feature = "gpu")]
                Trainer::Stacked(trainer) => trainer.losses(),
            },
        }
    }

    /// Whether a learner of the same clients, examples and device kind can be in `state`.
    pub fn fits(&self, state: &LearnerState) -> bool {
        let on_device = state.on_device.as_ref().is_none_or(|losses| {
            let is_gpu = match &self.trainer {
                Trainer::Blocked(_) => false,
                #[cfg(feature = "gpu")]
                Trainer::Stacked(_) => true,
            };
            is_gpu && losses.is_whole()
        });
        let is_within = |position: &Position| position.is_within(&self.partition);
        on_device
            && state.positions.iter().all(is_within)
            && state.losses.len() >= state.positions.len()
            && (state.local_steps == 0 || !state.positions.is_empty())
    }

    /// Goes on from where another learner of the same run stopped.
    ///
    /// # Panics
    /// If the state does not [fit](Self::fits).
    pub fn resume(&mut self, state: &LearnerState) {
        assert!(self.fits(state), "the state of a learner of the same run");
        let (partition, seed) = (&self.partition, self.seed);
        self.passes = (0u32..)
            .zip(&state.positions)
            .map(|(row, position)| {
                Pass::resume(*position, RowKey { seed, row }, |client| {
                    partition.shard(client as usize).to_vec()
                })
            })
            .collect();
        self.tallies.clone_from(&state.losses);
        (self.local_steps, self.examples_seen) = (state.local_steps, state.examples_seen);
        #[cfg(feature = "gpu")]
        if let Trainer::Stacked(trainer) = &mut self.trainer {
            trainer.resume(state.on_device.as_ref());
        }
    }

    #[cfg(feature = "gpu")]
    fn collect(&mut self) {
        if let Trainer::Stacked(trainer) = &mut self.trainer {
            trainer.collect(&mut self.tallies);
        }
    }

    fn context(&mut self, rows: usize) -> (Context<'_>, RowStates<'_>, &mut Trainer) {
        if self.passes.len() < rows {
            self.passes.resize_with(rows, Pass::default);
            self.tallies.resize_with(rows, RowTally::default);
        }
        let context = Context {
            network: &self.network,
            train: &self.splits.train,
            test: &self.splits.test,
            partition: &self.partition,
            seed: self.seed,
        };
        let states = RowStates {
            passes: &mut self.passes[..rows],
            tallies: &mut self.tallies[..rows],
        };
        (context, states, &mut self.trainer)
    }

    /// Adds the work to the counts; returns the steps of each row.
    fn count(&mut self, work: &LocalWork<'_>, steps: impl Fn(&Self, &RowWork) -> u32) -> Vec<u32> {
        let counted: Vec<u32> = work.rows.iter().map(|row| steps(self, row)).collect();
        for (index, (row, steps)) in work.rows.iter().zip(&counted).enumerate() {
            let shard = self.partition.shard(row.client as usize).len();
            let position = self.passes.get(index).map(Pass::position);
            self.local_steps += u64::from(*steps);
            self.examples_seen +=
                position
                    .unwrap_or_default()
                    .examples_of((row, *steps), work.sgd, shard);
        }
        counted
    }

    fn check(
        &self,
        stack: &Stack,
        work: &LocalWork<'_>,
        others: &[Option<&Stack>],
    ) -> Result<(), EngineError> {
        if work.rows.len() != stack.rows() {
            return Err(EngineError::RowCount {
                verb: "train",
                found: work.rows.len(),
                rows: stack.rows(),
            });
        }
        if let Some(scales) = work.rate_scales {
            stack.expect_per_row("train", scales.len())?;
        }
        for other in others.iter().flatten() {
            stack.expect_same("train", other)?;
        }
        if work.round == 0 || work.sgd.batch_size == BatchSize::Size(0) {
            let (what, found) = if work.round == 0 {
                ("round", "0")
            } else {
                ("batch size", "0")
            };
            return Err(EngineError::Setting {
                what,
                found: found.to_owned(),
                needed: "at least 1",
            });
        }
        for (row, task) in work
            .rows
            .iter()
            .enumerate()
            .filter(|(_, task)| task.amount != Amount::Idle)
        {
            let client = task.client as usize;
            let reason = if client >= self.partition.clients() {
                "does not exist"
            } else if self.partition.shard(client).is_empty() {
                "holds no examples"
            } else {
                continue;
            };
            return Err(EngineError::Client {
                row,
                client,
                reason,
            });
        }
        Ok(())
    }
}
