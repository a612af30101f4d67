//! The stacked trainer: local steps and gradients of all rows.

pub(crate) mod evaluate;
mod on_processor;

use crate::backend::rows::{Rows, downcast, downcast_mut};
use crate::backend::trainer::{GradientRows, StepRule, TrainedRows, Trainer};
use crate::error::EngineError;
use crate::network::Network;
use crate::network::layer::{Layer, Node};
use crate::stacked::batches::batch_schedule::BatchSchedule;
use crate::stacked::batches::block_shape::BlockShape;
use crate::stacked::batches::device_batch_schedule::DeviceBatchSchedule;
use crate::stacked::batches::draws::{Draws, SCHEDULE};
use crate::stacked::batches::examples::{DeviceExamples, NetworkReading};
use crate::stacked::coalescing::launch_coalescer::{LaunchCoalescer, Participant};
use crate::stacked::coalescing::shared_gpu::SharedGpu;
use crate::stacked::device::gpu::Gpu;
use crate::stacked::device::memory::{cube, cube_mut, tensor};
use crate::stacked::gpu_rows::GpuRows;
use crate::stacked::gradients::sgd::MomentumFrom;
use crate::stacked::gradients::sink::GradientSink;
use crate::stacked::passes::steps::{PassScratch, ScheduleSize, Steps};
use crate::stacked::passes::tallies::Tallies;
use crate::stacked::passes::workspace::{self, block, largest};
use crate::stacked::requests::evaluation_request::CHUNK;
use crate::stacked::requests::train_batch_request::{
    Arenas, Rule, TrainBatchRequest, layers_step_at_once,
};
use crate::stacked::stack_ops::stack_rows::StackRows;
use crate::training::activations::Activations;
use crate::training::context::{Context, RowStates};
use crate::training::row_examples::SeenExamples;
use crate::training::score::{Score, Split};
use crate::training::tally::{DeviceLosses, LossSum, RowTally};
use crate::training::trained_layers::TrainedLayers;
use crate::training::work::{RowWork, Sgd, Tasks, WorkloadSize};
use burn_cubecl::tensor::CubeTensor;
use meshfold_data::{Examples, Splits};
use on_processor::OnProcessor;
use std::sync::Arc;

/// The least and the most bytes of the largest buffer of activations, if the device allows as much: for small and large
/// GPUs.
const WORKSPACE: [u64; 2] = [256 << 20, 2 << 30];

/// The largest buffer of activations takes one part in so many of a GPU's memory: a block of rows has several buffers.
const SHARE: u64 = 32;

/// The stacked trainer: the examples on its device, and memory that is used again from call to call.
#[derive(Debug)]
pub(crate) struct Stacked {
    pub(crate) gpu: SharedGpu,
    pub(crate) network: Arc<Network>,
    pub(crate) train: Arc<DeviceExamples>,
    pub(crate) test: Arc<DeviceExamples>,
    pub(crate) validation: Option<Arc<DeviceExamples>>,
    /// Most bytes of a buffer of activations.
    pub(crate) workspace_bytes: usize,
    tallies: Option<Tallies>,
    scratch: Option<PassScratch>,
    /// This run's place among the runs that share launches, if any.
    pub(crate) participant: Option<Participant>,
    /// Most indices of a schedule.
    schedule: usize,
    on_processor: OnProcessor,
}

/// Most bytes of a buffer of activations on `gpu`.
fn workspace_bytes(gpu: &Gpu) -> usize {
    let [least, most] = WORKSPACE;
    let capacity = gpu.memory().capacity().filter(|_| !gpu.is_software());
    let bytes = capacity.map_or(least, |bytes| (bytes / SHARE).clamp(least, most));
    bytes.min(gpu.memory().largest_buffer()) as usize
}

/// Bytes that any program with a GPU takes, measured with software Vulkan: for the driver, and for compiling kernels.
const DRIVER: u64 = 110 << 20;

/// The most memory during the upload of the examples, in copies of them, measured with software Vulkan. cubecl 0.11.3 copies a slice twice
/// (`create_from_slice`: the first copy is freed, but the allocator still holds its memory), wgpu copies it to a staging buffer, and the
/// fourth copy is the one on the device.
const UPLOADED: u64 = 4;

/// Bytes that the trainer needs on `gpu` besides the models: the driver; the examples; the buffers of a block of rows
/// for training (outputs, kept values, gradients) and for judging (outputs, kept values); and velocities and gradients
/// of all rows, if they are kept.
pub(crate) fn bytes(gpu: &Gpu, network: &Network, workload: &WorkloadSize<'_>) -> u64 {
    let most = workspace_bytes(gpu);
    let blocks = block(network, workload.rows, workload.batch, most);
    let evaluation = block(network, workload.rows, workload.tests.clamp(1, CHUNK), most);
    let written = network.needs_whole_gradient(workload.sgd.clip_norm, workload.adds)
        || workload.batch > blocks.examples
        || !layers_step_at_once(network);
    let stacks = u64::from(workload.sgd.momentum > 0.0) + u64::from(written);
    let row = (network.layout().width() * size_of::<f32>()) as u64;
    let stored = workload.stored as u64;
    let training = [
        stored,
        workspace::bytes(network, blocks, true),
        workspace::bytes(network, evaluation, false),
        stacks
            .saturating_mul(workload.rows as u64)
            .saturating_mul(row),
    ]
    .into_iter()
    .fold(0, u64::saturating_add);
    training.max(UPLOADED * stored).saturating_add(DRIVER)
}

/// Fails if kernels of `network` cannot be compiled to SPIR-V for `gpu`. Kernels with shared memory are invalid if the
/// driver lacks `VK_KHR_workgroup_memory_explicit_layout`, as software Vulkan does (cubecl-spirv 0.11.3,
/// `lower_shared_implicit`: the variable is a pointer to a pointer), and the driver then ends the process. Such kernels
/// are those of group normalisation and burn's matrix products.
///
/// # Errors
/// [`EngineError::Device`].
fn expect_kernels(gpu: &Gpu, network: &Network) -> Result<(), EngineError> {
    if !(gpu.is_software() && gpu.takes_spirv()) {
        return Ok(());
    }
    let norms = |node: &Node| matches!(node.layer, Layer::GroupNorm(_));
    let what = if network.own_model().is_some() {
        "models of a user's own"
    } else if network.nodes().iter().any(norms) {
        "group normalisation"
    } else {
        return Ok(());
    };
    Err(EngineError::Device {
        device: gpu.kind(),
        reason: format!(
            "this binary compiles kernels to SPIR-V, and those of {what} would crash software Vulkan; build with \
             `--features gpu` alone, or use `--device cpu`"
        ),
    })
}

impl Stacked {
    /// Copies the examples to `gpu`.
    ///
    /// # Errors
    /// [`EngineError::Device`] if they, or one model, are more than a kernel can see at once, or the driver cannot run
    /// the model's kernels.
    pub(crate) fn upload(
        gpu: &SharedGpu,
        network: &Network,
        splits: &Splits,
    ) -> Result<Self, EngineError> {
        expect_kernels(gpu, network)?;
        gpu.expect_fit("a model", 1, network.layout().width())?;
        gpu.expect_fit("what a layer gives of an example", 1, largest(network))?;
        let upload = |examples: &Arc<Examples>| match gpu.coalescer() {
            Some(coalescer) => coalescer.examples.upload(gpu, examples, network),
            None => {
                DeviceExamples::upload(gpu, examples, NetworkReading::of(network)).map(Arc::new)
            }
        };
        Ok(Self {
            gpu: gpu.clone(),
            network: Arc::new(network.clone()),
            train: upload(&splits.train)?,
            test: upload(&splits.test)?,
            validation: splits.validation.as_ref().map(upload).transpose()?,
            workspace_bytes: workspace_bytes(gpu),
            tallies: None,
            scratch: None,
            // How rows are cut into blocks may change the rounding of a user's own model, so it does not share
            // launches.
            participant: gpu
                .coalescer()
                .filter(|_| network.own_model().is_none())
                .map(LaunchCoalescer::participant),
            schedule: SCHEDULE,
            on_processor: OnProcessor::default(),
        })
    }

    /// The same trainer with schedules of so many indices.
    #[cfg(test)]
    pub(crate) fn in_schedules(self, schedule: usize) -> Self {
        Self { schedule, ..self }
    }

    /// Carries out requests until nothing is left to draw. Returns the arenas, and whether all requests succeeded.
    ///
    /// # Errors
    /// [`EngineError::Device`] if another run panicked: then the arenas are lost.
    fn requests(
        &mut self,
        mut draws: Draws<'_>,
        (rule, layers): (Rule, Option<&TrainedLayers>),
        arenas: Arenas,
        tallies: &mut [RowTally],
        round: usize,
    ) -> Result<(Arenas, Result<(), EngineError>), EngineError> {
        let mut request = TrainBatchRequest {
            network: self.network.clone(),
            examples: self.train.clone(),
            rule,
            layers: layers.cloned(),
            schedule: BatchSchedule::idle(0, 0, 1),
            arenas,
            tallies: self.room_for(tallies),
        };
        let mut outcome = Ok(());
        while let (Ok(()), Some(schedule)) = (&outcome, draws.next()) {
            request.tallies.count(&schedule, round);
            request.schedule = schedule;
            match &self.participant {
                Some(participant) => {
                    request = participant.carry_out(request, &self.gpu, self.workspace_bytes)?
                }
                None => outcome = self.alone(&request),
            }
            request.rule = request.rule.going_on();
        }
        self.tallies = Some(request.tallies);
        Ok((request.arenas, outcome))
    }

    /// Carries out `request` by itself, in memory that is kept for the next.
    fn alone(&mut self, request: &TrainBatchRequest) -> Result<(), EngineError> {
        let (schedule, memory) = (&request.schedule, self.gpu.memory());
        let shape = self.block(&request.network, schedule.rows, schedule.width);
        let size = ScheduleSize::of(schedule);
        let old = self.scratch.take();
        let scratch = PassScratch::fitting(old, memory, &request.network, size, shape);
        request.make(memory, self.scratch.insert(scratch), shape)
    }

    fn block(&self, network: &Network, rows: usize, table: usize) -> BlockShape {
        block(network, rows, table, self.workspace_bytes)
    }

    /// Takes out the device's tallies. If they have fewer rows than `tallies`, moves them there first and makes new
    /// ones.
    fn room_for(&mut self, tallies: &mut [RowTally]) -> Tallies {
        let rows = tallies.len();
        if self.tallies.as_ref().is_some_and(|own| own.rows() < rows) {
            self.collect(tallies);
        }
        let own = self.tallies.take();
        own.unwrap_or_else(|| Tallies::new(self.gpu.memory(), rows))
    }
}

impl Trainer for Stacked {
    fn train(
        &mut self,
        context: Context<'_>,
        states: RowStates<'_>,
        rows: TrainedRows<'_>,
        tasks: &Tasks<'_>,
    ) -> Result<(), EngineError> {
        let (count, width) = (tasks.rows.len(), context.network.layout().width());
        self.gpu.expect_fit("a stack", count, width)?;
        let models: &mut GpuRows = downcast_mut("train", rows.models)?;
        let mut kept = match rows.velocity {
            Some(kept) => Some(downcast_mut::<GpuRows>("train", kept)?),
            None => None,
        };
        let correction = match rows.correction {
            Some(correction) => Some(arena("train", correction)?),
            None => None,
        };
        let anchor = match rows.anchor {
            Some(anchor) => Some(arena("train", anchor.rows)?),
            None => None,
        };
        let rule = Rule::of(
            tasks.sgd,
            rows.anchor.map(|anchor| anchor.mu),
            kept.is_none(),
        );
        let draws = Draws::new(context, states.passes, tasks, self.schedule);
        // If runs share launches, the trainer's own memory does not persist between requests.
        let carried = self.gpu.coalescer().is_some() && rule.first == MomentumFrom::Zero;
        let carried = carried && draws.schedules() > 1;
        let velocities = kept.as_mut().map(|kept| cube_mut(kept.rows().take()));
        let (unmixed, mixing) = match &self.participant {
            Some(_) => models.rows().take_unmixed(),
            None => (models.rows().take(), None),
        };
        let arenas = Arenas {
            models: cube_mut(unmixed),
            mixing,
            velocities: velocities
                .or_else(|| carried.then(|| self.gpu.memory().zeros(count, width))),
            correction,
            anchor,
            gradients: None,
        };
        let steps = (rule, tasks.layers);
        let (arenas, outcome) = self.requests(draws, steps, arenas, states.tallies, tasks.round)?;
        if let Some((kept, velocities)) = kept.zip(arenas.velocities) {
            *kept.rows() = StackRows::new(tensor(velocities));
        }
        *models.rows() = StackRows::unmixed(tensor(arenas.models), arenas.mixing);
        outcome
    }

    fn gradients(
        &mut self,
        context: Context<'_>,
        states: RowStates<'_>,
        rows: GradientRows<'_>,
        tasks: &Tasks<'_>,
    ) -> Result<(), EngineError> {
        let (count, width) = (tasks.rows.len(), context.network.layout().width());
        self.gpu.expect_fit("a stack", count, width)?;
        let models = arena("gradients", rows.models)?;
        let out: &mut GpuRows = downcast_mut("gradients", rows.gradients)?;
        let single: Vec<RowWork> = tasks.rows.iter().map(RowWork::one_step).collect();
        let single = Tasks {
            rows: &single,
            ..*tasks
        };
        let draws = Draws::new(context, states.passes, &single, self.schedule);
        let arenas = Arenas {
            models,
            mixing: None,
            velocities: None,
            correction: None,
            anchor: None,
            gradients: Some(cube_mut(out.rows().take())),
        };
        let rule = Rule::of(tasks.sgd, None, true);
        let (arenas, outcome) =
            self.requests(draws, (rule, None), arenas, states.tallies, tasks.round)?;
        if let Some(gradients) = arenas.gradients {
            *out.rows() = StackRows::new(tensor(gradients));
        }
        outcome
    }

    fn shard_gradients(
        &self,
        context: Context<'_>,
        rows: GradientRows<'_>,
        clients: &[u32],
    ) -> Result<(), EngineError> {
        let (count, width) = (clients.len(), context.network.layout().width());
        self.gpu.expect_fit("a stack", count, width)?;
        let models = arena("shard_gradients", rows.models)?;
        let out: &mut GpuRows = downcast_mut("shard_gradients", rows.gradients)?;
        let shard = |client: &u32| context.partition.shard(*client as usize);
        let shards: Vec<&[u32]> = clients.iter().map(shard).collect();
        let longest = shards.iter().map(|shard| shard.len()).max().unwrap_or(0);
        if longest == 0 {
            return Ok(());
        }
        let longest_in_positions = longest * context.network.positions();
        self.gpu
            .expect_fit("the shards", count, longest_in_positions)?;
        let (memory, schedule) = (self.gpu.memory(), BatchSchedule::of_shards(&shards));
        let table = DeviceBatchSchedule::upload(memory, &schedule, &[]);
        let block = self.block(context.network, count, table.width);
        let scratch = PassScratch::new(memory, context.network, ScheduleSize::of(&schedule), block);
        let gradients = cube_mut(out.rows().take());
        let steps = Steps {
            network: context.network,
            examples: &self.train,
            schedule: &schedule,
            table: &table,
            models: &models,
            scratch: &scratch,
            tallies: &[],
            block,
        };
        let sink = GradientSink::writing(&gradients, width);
        let outcome = steps.each(|part| steps.gradient(part, &sink));
        *out.rows() = StackRows::new(tensor(gradients));
        outcome
    }

    fn activations(
        &self,
        context: Context<'_>,
        models: &dyn Rows,
        of: Activations,
        seen: &SeenExamples<'_>,
    ) -> Result<Vec<Vec<f32>>, EngineError> {
        self.on_processor.activations(context, models, of, seen)
    }

    fn gradients_on(
        &self,
        context: Context<'_>,
        rows: GradientRows<'_>,
        seen: &SeenExamples<'_>,
        sgd: &Sgd,
    ) -> Result<Vec<LossSum>, EngineError> {
        self.gradients_by_processor(context, rows, seen, sgd)
    }

    fn step_on(
        &mut self,
        context: Context<'_>,
        rows: TrainedRows<'_>,
        seen: &SeenExamples<'_>,
        step: &StepRule<'_>,
    ) -> Result<Vec<LossSum>, EngineError> {
        self.step_by_processor(context, rows, seen, step)
    }

    fn evaluate(
        &mut self,
        context: Context<'_>,
        models: &dyn Rows,
        split: Split<'_>,
        subset: Option<&[u32]>,
    ) -> Result<Vec<Score>, EngineError> {
        let models = arena("evaluate", models)?;
        self.judge(context, models, split, subset)
    }

    fn collect(&mut self, tallies: &mut [RowTally]) {
        if let Some(own) = self.tallies.take() {
            own.collect(tallies);
        }
    }

    fn keeps_losses(&self) -> bool {
        true
    }

    fn losses(&self) -> Option<DeviceLosses> {
        self.tallies.as_ref().map(Tallies::saved)
    }

    fn can_restore(&self, losses: &DeviceLosses) -> bool {
        Tallies::are_whole(losses)
    }

    fn resume(&mut self, losses: Option<&DeviceLosses>) {
        let memory = self.gpu.memory();
        self.tallies = losses.map(|losses| Tallies::of_saved(memory, losses));
    }
}

/// `rows` as kernels read them, for the verb `verb`.
fn arena(verb: &'static str, rows: &dyn Rows) -> Result<CubeTensor, EngineError> {
    downcast::<GpuRows>(verb, rows).map(|rows| cube(rows.tensor()))
}

#[cfg(test)]
mod tests;
