//! The stacked trainer: local steps and gradients of all rows.

use super::draws::{Draws, Table};
use super::evaluate::CHUNK;
use super::examples::DeviceExamples;
use super::gpu::Gpu;
use super::memory::{cube, cube_mut, tensor};
use super::norms::clip_scales;
use super::scaled::scale_by;
use super::sgd::{MomentumFrom, Update};
use super::sink::Sink;
use super::steps::{Scratch, Steps};
use super::tallies::Tallies;
use super::workspace::{self, block, largest};
use crate::error::EngineError;
use crate::layer::{Layer, Node};
use crate::learner::{Context, RowStates};
use crate::network::Network;
use crate::stack::Stack;
use crate::tally::RowTally;
use crate::work::{Amount, Demand, LocalWork, RowWork, Velocity};
use meshfold_data::Splits;

/// Bytes of the largest buffer of activations, where the device allows as much: more would not make it busier.
const WORKSPACE: usize = 256 << 20;

/// The stacked trainer: the examples on its device, and memory that is used again from call to call.
#[derive(Debug)]
pub(crate) struct Stacked {
    pub(super) gpu: Gpu,
    pub(super) train: DeviceExamples,
    pub(super) test: DeviceExamples,
    /// Most bytes of a buffer of activations.
    pub(super) workspace_bytes: usize,
    tallies: Option<Tallies>,
    scratch: Option<Scratch>,
}

/// Most bytes of a buffer of activations on `gpu`.
fn workspace_bytes(gpu: &Gpu) -> usize {
    WORKSPACE.min(gpu.memory().largest_buffer() as usize)
}

/// Bytes that the trainer needs on `gpu` besides the models: the examples; what the layers of a block of rows give, keep
/// and get back in training, what they give and keep in judging; and velocities and gradients of all rows where they are
/// kept.
pub(crate) fn bytes(gpu: &Gpu, network: &Network, demand: &Demand<'_>) -> u64 {
    let most = workspace_bytes(gpu);
    let training = block(network, demand.rows, demand.batch, most);
    let judging = block(network, demand.rows, demand.tests.clamp(1, CHUNK), most);
    let written = demand.sgd.clip_norm.is_some()
        || demand.batch > training.1
        || !steps_at_once(network)
        || network.own_model().is_some();
    let stacks = u64::from(demand.sgd.momentum > 0.0) + u64::from(written);
    let row = (network.layout().width() * size_of::<f32>()) as u64;
    [
        demand.stored as u64,
        workspace::bytes(network, training, true),
        workspace::bytes(network, judging, false),
        stacks
            .saturating_mul(demand.rows as u64)
            .saturating_mul(row),
    ]
    .into_iter()
    .fold(0, u64::saturating_add)
}

impl Stacked {
    /// Copies the examples to `gpu`.
    ///
    /// # Errors
    /// [`EngineError::Device`] if they, or one model, are more than a kernel can see at once.
    pub(crate) fn upload(
        gpu: &Gpu,
        network: &Network,
        splits: &Splits,
    ) -> Result<Self, EngineError> {
        gpu.expect_fit("a model", 1, network.layout().width())?;
        gpu.expect_fit("what a layer gives of an example", 1, largest(network))?;
        Ok(Self {
            gpu: gpu.clone(),
            train: DeviceExamples::upload(gpu, &splits.train, network)?,
            test: DeviceExamples::upload(gpu, &splits.test, network)?,
            workspace_bytes: workspace_bytes(gpu),
            tallies: None,
            scratch: None,
        })
    }

    /// Runs all local steps of all rows.
    ///
    /// # Errors
    /// [`EngineError::Device`] if the stack is more than a kernel can see at once; those of a model of the user's own.
    pub(crate) fn train(
        &mut self,
        context: Context<'_>,
        states: RowStates<'_>,
        stack: &mut Stack,
        velocity: Velocity<'_>,
        work: &LocalWork<'_>,
    ) -> Result<(), EngineError> {
        let (rows, width) = (stack.rows(), stack.layout().width());
        self.gpu.expect_fit("a stack", rows, width)?;
        let mut draws = Draws::new(context, states.passes, work, work.rows);
        let (mut scratch, mut tallies) = self.prepare(
            context.network,
            rows,
            (draws.width(), draws.steps()),
            states.tallies,
        );
        let memory = self.gpu.memory();
        let correction = work.correction.map(|stack| cube(stack.tensor()));
        let anchor = work
            .anchor
            .map(|anchor| (cube(anchor.models.tensor()), anchor.mu));
        let models = cube_mut(stack.take_tensor());
        let (own, kept) = match velocity {
            Velocity::Fresh if work.sgd.momentum == 0.0 => (None, None),
            Velocity::Fresh => (
                Some(
                    scratch
                        .velocities
                        .take()
                        .unwrap_or_else(|| memory.zeros(rows, width)),
                ),
                None,
            ),
            Velocity::Kept(kept) => (None, Some((cube_mut(kept.take_tensor()), kept))),
        };
        let arenas = (&models, own.as_ref().or(kept.as_ref().map(|kept| &kept.0)));
        let shape = self.block(context.network, rows, draws.width());
        let at_once = at_once(context.network, work) && shape.1 >= draws.width();
        let mut whole = scratch.gradients.take();
        if whole.is_none() && !(at_once && steps_at_once(context.network)) {
            whole = Some(memory.zeros(rows, width));
        }
        let nothing = || memory.floats(&[4]);
        let gradients = &whole.clone().unwrap_or_else(nothing);
        let (mut fresh, mut outcome) = (own.is_some(), Ok(()));
        while let Some(table) = draws.next(memory) {
            tallies.count(&table, work.round);
            let steps = Steps {
                network: context.network,
                examples: &self.train,
                table: &table,
                models: &models,
                scratch: &scratch,
                tallies: Some((&tallies, work.round)),
                block: shape,
            };
            outcome = steps.each(|part| {
                let momentum_from = match work.sgd.momentum {
                    0.0 => MomentumFrom::Nothing,
                    _ if fresh && part.entry < rows => MomentumFrom::Zero,
                    _ => MomentumFrom::Velocity,
                };
                let rates = &table.scalars;
                if at_once {
                    let sink =
                        Sink::stepping(work.sgd, gradients, arenas, rates, (width, momentum_from));
                    return steps.gradient(part, &sink);
                }
                steps.gradient(part, &Sink::writing(gradients, width))?;
                let clip = |largest| clip_scales(gradients, part.stack_rows(), width, largest);
                let scales = work.sgd.clip_norm.map(clip);
                let update = Update {
                    momentum: work.sgd.momentum,
                    decay: work.sgd.weight_decay,
                    gradients,
                    width,
                    scales: scales.as_ref(),
                    correction: correction.as_ref(),
                    anchor: anchor.as_ref().map(|(models, mu)| (models, *mu)),
                    momentum_from,
                };
                update.launch_on(0..width, arenas, rates, part);
                Ok(())
            });
            if outcome.is_err() {
                break;
            }
            fresh = false;
        }
        if let Some((velocities, stack)) = kept {
            stack.put_tensor(tensor(velocities));
        }
        stack.put_tensor(tensor(models));
        scratch.velocities = own.or(scratch.velocities);
        scratch.gradients = whole;
        (self.scratch, self.tallies) = (Some(scratch), Some(tallies));
        outcome
    }

    /// The mini-batch gradient of every row at its next batch, `[R, P]`; zero for idle rows.
    ///
    /// # Errors
    /// As [`Stacked::train`].
    pub(crate) fn gradients(
        &mut self,
        context: Context<'_>,
        states: RowStates<'_>,
        stack: &Stack,
        work: &LocalWork<'_>,
    ) -> Result<Stack, EngineError> {
        let (rows, width) = (stack.rows(), stack.layout().width());
        self.gpu.expect_fit("a stack", rows, width)?;
        let once = |row: &RowWork| match row.amount {
            Amount::Idle => *row,
            _ => RowWork {
                client: row.client,
                amount: Amount::Steps(1),
            },
        };
        let tasks: Vec<RowWork> = work.rows.iter().map(once).collect();
        let mut draws = Draws::new(context, states.passes, work, &tasks);
        let (scratch, mut tallies) = self.prepare(
            context.network,
            rows,
            (draws.width(), draws.steps()),
            states.tallies,
        );
        let models = cube(stack.tensor());
        let mut out = Stack::zeros(stack.device(), stack.layout(), rows);
        let gradients = cube_mut(out.take_tensor());
        while let Some(table) = draws.next(self.gpu.memory()) {
            tallies.count(&table, work.round);
            let steps = Steps {
                network: context.network,
                examples: &self.train,
                table: &table,
                models: &models,
                scratch: &scratch,
                tallies: Some((&tallies, work.round)),
                block: self.block(context.network, rows, table.width),
            };
            steps.each(|part| {
                steps.gradient(part, &Sink::writing(&gradients, width))?;
                if let Some(largest) = work.sgd.clip_norm {
                    let scales = clip_scales(&gradients, part.stack_rows(), width, largest);
                    scale_by(&gradients, &scales, part.stack_rows(), width);
                }
                Ok(())
            })?;
        }
        out.put_tensor(tensor(gradients));
        (self.scratch, self.tallies) = (Some(scratch), Some(tallies));
        Ok(out)
    }

    /// The gradient of row `i`'s model on the whole shard of client `clients[i]`, `[R, P]`.
    ///
    /// # Errors
    /// [`EngineError::Device`] if the stack or the shards are more than a kernel can see at once; those of a model of the
    /// user's own.
    pub(crate) fn shard_gradients(
        &self,
        context: Context<'_>,
        stack: &Stack,
        clients: &[u32],
    ) -> Result<Stack, EngineError> {
        let (rows, width, memory) = (stack.rows(), stack.layout().width(), self.gpu.memory());
        self.gpu.expect_fit("a stack", rows, width)?;
        let mut out = Stack::zeros(stack.device(), stack.layout(), rows);
        let shard = |client: &u32| context.partition.shard(*client as usize);
        let shards: Vec<&[u32]> = clients.iter().map(shard).collect();
        let longest = shards.iter().map(|shard| shard.len()).max().unwrap_or(0);
        if longest == 0 {
            return Ok(out);
        }
        let longest_in_positions = longest * context.network.positions();
        self.gpu
            .expect_fit("the shards", rows, longest_in_positions)?;
        let table = Table::of_shards(memory, &shards);
        let block = self.block(context.network, rows, table.width);
        let scratch = Scratch::new(memory, context.network, (rows, table.width, 1), block);
        let models = cube(stack.tensor());
        let gradients = cube_mut(out.take_tensor());
        let steps = Steps {
            network: context.network,
            examples: &self.train,
            table: &table,
            models: &models,
            scratch: &scratch,
            tallies: None,
            block,
        };
        let sink = Sink::writing(&gradients, width);
        steps.each(|part| steps.gradient(part, &sink))?;
        out.put_tensor(tensor(gradients));
        Ok(out)
    }

    /// Moves the losses seen so far to `tallies`. Waits for the device.
    pub(crate) fn collect(&mut self, tallies: &mut [RowTally]) {
        if let Some(own) = self.tallies.take() {
            own.collect(tallies);
        }
    }

    fn block(&self, network: &Network, rows: usize, table: usize) -> (usize, usize) {
        block(network, rows, table, self.workspace_bytes)
    }

    /// Takes out memory for `rows` rows with batches of up to `table` examples, `steps` of them a table; it is to be put back.
    fn prepare(
        &mut self,
        network: &Network,
        rows: usize,
        (table, steps): (usize, usize),
        tallies: &mut [RowTally],
    ) -> (Scratch, Tallies) {
        if self.tallies.as_ref().is_some_and(|own| own.rows() < rows) {
            self.collect(tallies);
        }
        let memory = self.gpu.memory();
        let shape = self.block(network, rows, table);
        let fits = |old: &Scratch| {
            old.rows == rows
                && old.table >= table
                && old.steps >= steps
                && old.workspace.fits(shape)
        };
        let scratch = self.scratch.take().filter(fits);
        let scratch =
            scratch.unwrap_or_else(|| Scratch::new(memory, network, (rows, table, steps), shape));
        let tallies = self
            .tallies
            .take()
            .unwrap_or_else(|| Tallies::new(memory, rows));
        (scratch, tallies)
    }
}

/// Whether nothing but momentum and decay acts on the gradients of `work`, so that layers may step as they have them.
fn at_once(network: &Network, work: &LocalWork<'_>) -> bool {
    let acts = work.sgd.clip_norm.is_some() || work.correction.is_some() || work.anchor.is_some();
    !acts && network.own_model().is_none()
}

/// Whether every layer can.
fn steps_at_once(network: &Network) -> bool {
    let embeds = |node: &Node| matches!(node.layer, Layer::Embedding(_));
    !network.nodes().iter().any(embeds)
}

#[cfg(test)]
mod tests;
