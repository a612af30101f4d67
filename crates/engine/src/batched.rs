//! The trainer of models that compute many rows at once in host memory ([`HostModel`](crate::HostModel)): one call for all
//! rows whose batches have the same size.

mod calls;
mod lists;
mod scoring;

use crate::backend::rows::{Rows, downcast, downcast_mut};
use crate::backend::trainer::{GradientRows, StepRule, TrainedRows, Trainer};
use crate::blocked::pass::passes::Passes;
use crate::blocked::pass::stages::Stages;
use crate::blocked::steps::gradient::Gradients;
use crate::blocked::steps::step::RowTrainer;
use crate::blocked::steps::terms::Terms;
use crate::cpu::Cpu;
use crate::error::EngineError;
use crate::kernels::{HeavyBallUpdate, MomentumKind};
use crate::network::Network;
use crate::processor::host_rows::HostRows;
use crate::training::activations::Activations;
use crate::training::batches::{Batches, StepPlan};
use crate::training::context::{Context, RowStates};
use crate::training::row_examples::SeenExamples;
use crate::training::score::{Score, Split};
use crate::training::tally::{LossSum, RowTally};
use crate::training::work::{Amount, RowWork, Sgd, Tasks, WorkloadSize};
use calls::{Group, Taken, groups};
use rayon::prelude::*;

/// The trainer of models that compute in host memory.
#[derive(Debug)]
pub(crate) struct Batched {
    cpu: Cpu,
    /// Such a model has no layers, and so no stages.
    stages: Stages,
}

/// Bytes that the trainer needs besides the models and the examples: velocities, and the inputs and outputs of a call.
/// What the model itself takes for activations is unknown, and not counted.
pub(crate) fn bytes(network: &Network, workload: &WorkloadSize<'_>) -> u64 {
    let (width, features) = (network.layout().width(), network.inputs());
    let velocities = match workload.sgd.momentum == 0.0 {
        true => 0,
        false => workload.rows * width,
    };
    let rows = calls::rows_of_a_call(workload.batch, width).min(workload.rows);
    let call = rows * (2 * width + workload.batch.min(calls::PIECE) * features);
    ((velocities + call) * size_of::<f32>()) as u64
}

/// The state of a row during its local steps.
struct Walk<'a> {
    row: usize,
    batches: Batches<'a>,
    indices: Vec<u32>,
    plan: Option<StepPlan>,
    losses: LossSum,
    tally: &'a mut RowTally,
}

/// The memory of one row that a step changes.
struct Step<'a> {
    place: usize,
    row: usize,
    rate: f32,
    weights: &'a mut [f32],
    velocity: &'a mut [f32],
}

impl Batched {
    /// A trainer of `network`'s rows.
    pub(crate) fn new(cpu: &Cpu, network: &Network) -> Self {
        Self {
            cpu: cpu.clone(),
            stages: Stages::of(network),
        }
    }

    /// The trainer that makes the step of a row.
    fn stepper<'a>(&'a self, context: Context<'a>, tasks: &Tasks<'a>) -> RowTrainer<'a> {
        RowTrainer {
            gradients: self.gradients_of(context),
            sgd: tasks.sgd,
            layers: tasks.layers,
        }
    }

    fn gradients_of<'a>(&'a self, context: Context<'a>) -> Gradients<'a> {
        let passes = Passes {
            cpu: &self.cpu,
            network: context.network,
            stages: &self.stages,
            share: false,
        };
        Gradients {
            passes,
            examples: context.train,
        }
    }

    /// Draws the next batch of every row. Returns the rows that have one, grouped by batch size.
    fn draw(walks: &mut [Walk<'_>]) -> Vec<Group> {
        for walk in walks.iter_mut() {
            walk.plan = walk.batches.next(&mut walk.indices);
        }
        let sizes = walks.iter().enumerate();
        let sizes = sizes.filter(|(_, walk)| walk.plan.is_some());
        groups(sizes.map(|(place, walk)| (place, walk.indices.len())))
    }
}

impl Trainer for Batched {
    fn train(
        &mut self,
        context: Context<'_>,
        states: RowStates<'_>,
        rows: TrainedRows<'_>,
        tasks: &Tasks<'_>,
    ) -> Result<(), EngineError> {
        let width = context.network.layout().width();
        let terms = Terms::of(&rows)?;
        let models: &mut HostRows = downcast_mut("train", rows.models)?;
        let (begins, mut own) = (rows.velocity.is_none(), Vec::new());
        let velocities = velocities(rows.velocity, tasks.sgd, tasks.rows.len() * width, &mut own)?;
        let stepper = self.stepper(context, tasks);
        let mut walks = walks(context, states, tasks, |row| *row);
        // Rows make their first step together, as all draw a batch whenever they have one.
        let mut first = begins;
        loop {
            let groups = Self::draw(&mut walks);
            if groups.is_empty() {
                break;
            }
            for group in groups {
                let Drawn {
                    rows,
                    indices,
                    rates,
                } = Drawn::by(&walks, &group);
                let mut losses = vec![0.0; rows.len()];
                for block in group.blocks(width) {
                    let own = &rows[block.clone()];
                    let shared = models.shared().expect("they lie in host memory");
                    let mut step = |taken: &Taken<'_>| {
                        losses[block.clone()].copy_from_slice(taken.losses());
                        let steps = steps(
                            models.values_mut(),
                            velocities,
                            width,
                            own,
                            &rates[block.clone()],
                        );
                        self.step(&stepper, steps, terms, first, taken)
                    };
                    self.call(
                        (context.network, context.train),
                        shared,
                        own,
                        &indices[block.clone()],
                        &mut step,
                    )?;
                }
                count(&mut walks, &group, &losses);
            }
            first = false;
        }
        tell(walks, tasks.round);
        Ok(())
    }

    fn gradients(
        &mut self,
        context: Context<'_>,
        states: RowStates<'_>,
        rows: GradientRows<'_>,
        tasks: &Tasks<'_>,
    ) -> Result<(), EngineError> {
        let width = context.network.layout().width();
        let models: &HostRows = downcast("gradients", rows.models)?;
        let targets: &mut HostRows = downcast_mut("gradients", rows.gradients)?;
        let stepper = self.stepper(context, tasks);
        let mut walks = walks(context, states, tasks, RowWork::one_step);
        for group in Self::draw(&mut walks) {
            let Drawn { rows, indices, .. } = Drawn::by(&walks, &group);
            let mut losses = vec![0.0; rows.len()];
            for block in group.blocks(width) {
                let own = &rows[block.clone()];
                let shared = models.shared().expect("they lie in host memory");
                let mut fill = |taken: &Taken<'_>| {
                    losses[block.clone()].copy_from_slice(taken.losses());
                    let targets = chosen(targets.values_mut(), width, own);
                    self.fill(targets, own, taken, |gradient| stepper.clip(gradient))
                };
                self.call(
                    (context.network, context.train),
                    shared,
                    own,
                    &indices[block.clone()],
                    &mut fill,
                )?;
            }
            count(&mut walks, &group, &losses);
        }
        tell(walks, tasks.round);
        Ok(())
    }

    fn shard_gradients(
        &self,
        context: Context<'_>,
        rows: GradientRows<'_>,
        clients: &[u32],
    ) -> Result<(), EngineError> {
        let shards = SeenExamples::of_shards(&context, clients);
        self.gradients_of_lists(context, rows, &shards, |_| {})?;
        Ok(())
    }

    fn activations(
        &self,
        context: Context<'_>,
        models: &dyn Rows,
        of: Activations,
        seen: &SeenExamples<'_>,
    ) -> Result<Vec<Vec<f32>>, EngineError> {
        // Whose representations are asked for is checked before.
        of.of_position(context.network)?;
        self.outputs_for(context, downcast("outputs", models)?, seen)
    }

    fn gradients_on(
        &self,
        context: Context<'_>,
        rows: GradientRows<'_>,
        seen: &SeenExamples<'_>,
        sgd: &Sgd,
    ) -> Result<Vec<LossSum>, EngineError> {
        let trainer = RowTrainer {
            gradients: self.gradients_of(context),
            sgd,
            layers: None,
        };
        self.gradients_of_lists(context, rows, seen, |gradient| trainer.clip(gradient))
    }

    fn step_on(
        &mut self,
        context: Context<'_>,
        rows: TrainedRows<'_>,
        seen: &SeenExamples<'_>,
        step: &StepRule<'_>,
    ) -> Result<Vec<LossSum>, EngineError> {
        self.step_of_lists(context, rows, seen, step)
    }

    fn evaluate(
        &mut self,
        context: Context<'_>,
        models: &dyn Rows,
        split: Split<'_>,
        subset: Option<&[u32]>,
    ) -> Result<Vec<Score>, EngineError> {
        self.scores(context, downcast("evaluate", models)?, split, subset)
    }
}

impl Batched {
    /// Every row of a block makes its step.
    fn step(
        &self,
        stepper: &RowTrainer<'_>,
        steps: Vec<Step<'_>>,
        terms: Terms<'_>,
        fresh: bool,
        taken: &Taken<'_>,
    ) -> Result<(), EngineError> {
        let width = taken.width();
        let row = |gradient: &mut Vec<f32>, step: Step<'_>| {
            taken.read(step.place, step.row, gradient)?;
            stepper.freeze(gradient);
            let ball = HeavyBallUpdate {
                weights: step.weights,
                velocity: step.velocity,
                rate: step.rate,
                momentum: stepper.sgd.momentum,
                decay: stepper.sgd.weight_decay,
                kind: MomentumKind::new(fresh, stepper.sgd.nesterov),
            };
            stepper.apply(ball, terms.of_row(step.row, width), gradient);
            Ok(())
        };
        self.cpu.install(|| {
            let steps = steps.into_par_iter();
            steps.map_init(|| vec![0.0; width], row).collect()
        })
    }

    /// The gradient of every row of a block into its target, changed by `finish`.
    fn fill(
        &self,
        targets: Vec<&mut [f32]>,
        rows: &[usize],
        taken: &Taken<'_>,
        finish: impl Fn(&mut [f32]) + Sync,
    ) -> Result<(), EngineError> {
        let row = |(place, (target, row)): (usize, (&mut [f32], &usize))| {
            taken.read(place, *row, target)?;
            finish(target);
            Ok(())
        };
        self.cpu.install(|| {
            let rows = targets.into_par_iter().zip(rows.par_iter()).enumerate();
            rows.map(row).collect()
        })
    }
}

/// The batches and learning rates that the rows of a group have drawn.
struct Drawn<'a> {
    rows: Vec<usize>,
    indices: Vec<&'a [u32]>,
    rates: Vec<f32>,
}

impl<'a> Drawn<'a> {
    fn by(walks: &'a [Walk<'_>], group: &Group) -> Self {
        let members = || group.places.iter().map(|place| &walks[*place]);
        let rate = |walk: &Walk<'_>| walk.plan.map_or(0.0, |plan| plan.rate);
        Self {
            rows: members().map(|walk| walk.row).collect(),
            indices: members().map(|walk| &walk.indices[..]).collect(),
            rates: members().map(rate).collect(),
        }
    }
}

/// Adds the losses of a step of the rows of `group`.
fn count(walks: &mut [Walk<'_>], group: &Group, losses: &[f32]) {
    for (place, loss) in group.places.iter().zip(losses) {
        walks[*place].losses.add(f64::from(*loss), group.size);
    }
}

/// Adds the losses of all steps to the tallies of the rows.
fn tell(walks: Vec<Walk<'_>>, round: usize) {
    for walk in walks {
        walk.tally.add(walk.losses, round);
    }
}

/// The rows that have work to do; `amount` maps the work of a row to what it actually does.
fn walks<'a>(
    context: Context<'a>,
    states: RowStates<'a>,
    tasks: &Tasks<'a>,
    amount: impl Fn(&RowWork) -> RowWork,
) -> Vec<Walk<'a>> {
    let rows = states.passes.iter_mut().zip(states.tallies);
    let rows = rows.zip(tasks.rows).enumerate();
    rows.filter(|(_, (_, work))| work.amount != Amount::Idle)
        .map(|(row, ((pass, tally), work))| Walk {
            row,
            batches: context.batches(pass, &amount(work), tasks, row),
            indices: Vec::new(),
            plan: None,
            losses: LossSum::default(),
            tally,
        })
        .collect()
}

/// The rows `rows` of `all` `[_, width]`; `rows` ascend.
fn chosen<'a>(all: &'a mut [f32], width: usize, rows: &[usize]) -> Vec<&'a mut [f32]> {
    let mut wanted = rows.iter().peekable();
    let all = all.chunks_exact_mut(width).enumerate();
    all.filter(|(row, _)| wanted.next_if_eq(&row).is_some())
        .map(|(_, values)| values)
        .collect()
}

/// The velocities of rows of `size` floats together: those that are `kept`, or zeros in `own`; none without momentum.
fn velocities<'a>(
    kept: Option<&'a mut dyn Rows>,
    sgd: &Sgd,
    size: usize,
    own: &'a mut Vec<f32>,
) -> Result<&'a mut [f32], EngineError> {
    match kept {
        Some(kept) => Ok(downcast_mut::<HostRows>("train", kept)?.values_mut()),
        None if sgd.momentum == 0.0 => Ok(&mut []),
        None => {
            own.resize(size, 0.0);
            Ok(own)
        }
    }
}

/// The memory that the steps of `rows` change; velocities are empty if `velocities` is.
fn steps<'a>(
    models: &'a mut [f32],
    velocities: &'a mut [f32],
    width: usize,
    rows: &[usize],
    rates: &[f32],
) -> Vec<Step<'a>> {
    let weights = chosen(models, width, rows);
    let mut velocities = chosen(velocities, width, rows).into_iter();
    let steps = weights.into_iter().zip(rows).zip(rates).enumerate();
    steps
        .map(|(place, ((weights, row), rate))| Step {
            place,
            row: *row,
            rate: *rate,
            weights,
            velocity: velocities.next().unwrap_or_default(),
        })
        .collect()
}
