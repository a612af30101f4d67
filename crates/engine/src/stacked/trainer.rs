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
mod tests {
    use super::*;
    use crate::batches::Pass;
    use crate::device::Device;
    use crate::model::{CharLstm, GnLenet, Judged, Mlp, Model, NormPlace, Resnet};
    use crate::own::{Initial, OwnModel, Parameter, Parameters};
    use crate::schedule::LearningRate;
    use crate::score::{Score, Split};
    use crate::stacked::test_device::{expect_close, gpu, numbers};
    use crate::stacked::workspace::widest;
    use crate::work::{BatchSize, Draw, Sgd};
    use burn::tensor::{Tensor, activation};
    use meshfold_data::{Examples, Input, Partition, Scale, Shape};
    use std::sync::Arc;

    const SHARDS: [u32; 5] = [19, 4, 33, 12, 20];
    const TOTAL: usize = 88;

    /// What a run of one epoch of every row but one leaves behind, and scores.
    struct Outcome {
        models: Vec<f32>,
        gradients: Vec<f32>,
        scores: Vec<Score>,
    }

    fn sgd() -> Sgd {
        Sgd {
            learning_rate: LearningRate::Constant(0.1),
            momentum: 0.9,
            weight_decay: 0.01,
            clip_norm: Some(0.8),
            batch_size: BatchSize::Size(8),
            draw: Draw::Shuffled,
        }
    }

    /// Runs `model` on `examples` with at most `bytes` of activations a buffer.
    fn run(gpu: &Gpu, bytes: usize, network: &Network, examples: &Arc<Examples>) -> Outcome {
        let mut next = 0..TOTAL as u32;
        let shards = SHARDS.map(|size| next.by_ref().take(size as usize).collect());
        let partition = Partition::new(shards.to_vec(), TOTAL).unwrap();
        let splits = Splits {
            train: examples.clone(),
            test: examples.clone(),
        };
        let mut trainer = Stacked {
            workspace_bytes: bytes,
            ..Stacked::upload(gpu, network, &splits).unwrap()
        };
        let context = Context {
            network,
            train: &splits.train,
            test: &splits.test,
            partition: &partition,
            seed: 3,
        };
        let mut rows = [0, 1, 2, 3, 4].map(|client| RowWork {
            client,
            amount: Amount::Epochs(1),
        });
        rows[1].amount = Amount::Idle;
        let work = LocalWork {
            round: 1,
            rows: &rows,
            sgd: &sgd(),
            correction: None,
            anchor: None,
            rate_scales: None,
        };
        let initial: Vec<f32> = (0..5).flat_map(|row| network.initialise(1, row)).collect();
        let mut stack =
            Stack::from_host(&Device::Gpu(gpu.clone()), network.layout(), initial).unwrap();
        let (mut passes, mut tallies) = (vec![Pass::default(); 5], vec![RowTally::default(); 5]);
        let states = RowStates {
            passes: &mut passes,
            tallies: &mut tallies,
        };
        trainer
            .train(context, states, &mut stack, Velocity::Fresh, &work)
            .unwrap();
        let states = RowStates {
            passes: &mut passes,
            tallies: &mut tallies,
        };
        let gradients = trainer.gradients(context, states, &stack, &work).unwrap();
        let scores = trainer
            .evaluate(context, &stack, Split::Test, None)
            .unwrap();
        Outcome {
            models: stack.to_host(),
            gradients: gradients.to_host(),
            scores,
        }
    }

    /// Bytes that look random.
    fn images(channels: usize, height: usize, width: usize) -> Examples {
        let shape = Shape {
            channels,
            height,
            width,
        };
        let byte = |value: &f32| (value * 127.0 + 127.0) as u8;
        let features: Vec<u8> = numbers(TOTAL * shape.features(), 1)
            .iter()
            .map(byte)
            .collect();
        let examples = features.chunks_exact(shape.features());
        let labels = examples.map(|example| u16::from(example[0] / 86)).collect();
        Examples::new(features, labels, shape, 3, Scale::UNIT).unwrap()
    }

    /// Windows of a text that looks random.
    fn windows(length: usize) -> Examples {
        let symbol = |value: &f32| (value * 1.49 + 1.5) as u16;
        let text: Vec<u16> = numbers(TOTAL + length, 2).iter().map(symbol).collect();
        let starts = (0..TOTAL as u32).collect();
        Examples::windows(Arc::new(text), starts, length, 3).unwrap()
    }

    fn compare(model: &Model, examples: Examples) {
        let network = Network::new(model, examples.input(), 3).unwrap();
        compare_network(&network, examples, 0.0);
    }

    fn compare_network(network: &Network, examples: Examples, tolerance: f32) {
        let Some(gpu) = gpu() else { return };
        let examples = Arc::new(examples);
        let example = widest(network) * 4;
        let whole = run(&gpu, 100 * example, network, &examples);
        // Two rows of a whole batch, one row of a whole batch, three examples of one.
        for bytes in [2 * 8 * example, 8 * example, 3 * example] {
            let cut = run(&gpu, bytes, network, &examples);
            expect_close(&cut.models, &whole.models, tolerance);
            expect_close(&cut.gradients, &whole.gradients, tolerance);
            for (cut, whole) in cut.scores.iter().zip(&whole.scores) {
                // Losses are summed chunk by chunk.
                assert!((cut.loss - whole.loss).abs() < 1e-6 && cut.accuracy == whole.accuracy);
            }
        }
    }

    #[test]
    fn blocks_of_rows_and_pieces_of_batches_do_not_change_a_bit() {
        let mlp = Model::Mlp(Mlp {
            hidden: vec![24, 7],
            dropout: 0.2,
        });
        compare(&mlp, images(1, 3, 6));
    }

    #[test]
    fn nor_do_they_where_layers_look_at_windows() {
        let lenet = Model::GnLenet(GnLenet {
            pool_padding: 1,
            norm: NormPlace::AfterPool,
        });
        compare(&lenet, images(2, 5, 6));
        let resnet = Model::Resnet(Resnet {
            depth: 10,
            width: 4,
            groups: 2,
        });
        compare(&resnet, images(2, 1, 9));
    }

    /// A hidden layer with the hyperbolic tangent.
    #[derive(Debug)]
    struct Hyperbolic;

    impl OwnModel for Hyperbolic {
        fn parameters(&self, input: Input, classes: usize) -> Result<Vec<Parameter>, EngineError> {
            let inputs = input.features();
            Ok(vec![
                Parameter::new("below", [inputs, 10], Initial::of_inputs(inputs)),
                Parameter::new("above", [10, classes], Initial::of_inputs(10)),
            ])
        }

        fn forward(
            &self,
            parameters: &Parameters<'_>,
            x: Tensor<3>,
        ) -> Result<Tensor<3>, EngineError> {
            let hidden = activation::tanh(x.matmul(parameters.get("below")?));
            Ok(hidden.matmul(parameters.get("above")?))
        }
    }

    #[test]
    fn a_users_own_model_is_cut_as_well() {
        let images = images(1, 3, 6);
        let network = Network::own(Arc::new(Hyperbolic), images.input(), 3).unwrap();
        // Burn chooses its kernels by shapes, and a gradient is added up piece by piece.
        compare_network(&network, images, 1e-5);
    }

    #[test]
    fn nor_do_they_where_layers_remember() {
        let lstm = Model::CharLstm(CharLstm {
            embedding: 3,
            hidden: 6,
            layers: 2,
            loss: Judged::EveryPosition,
        });
        compare(&lstm, windows(5));
    }
}
