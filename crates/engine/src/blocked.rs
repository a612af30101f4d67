//! The trainer of the processor: client-blocked. One row per core, kept in cache through all its local steps.

pub(crate) mod evaluation;
pub(crate) mod layers;
pub(crate) mod pass;
pub(crate) mod steps;
mod workers;

use crate::device::Cpu;
use crate::error::EngineError;
use crate::network::Network;
use crate::stack::Stack;
use crate::training::batches::Pass;
use crate::training::context::{Context, RowStates};
use crate::training::tally::RowTally;
use crate::training::work::{Amount, LocalWork, RowWork, Velocity, WorkloadSize};
use evaluation::judged::Judged;
use pass::inputs::Goal;
use pass::passes::Passes;
use pass::scratch::Scratches;
use pass::stages::Stages;
use steps::gradient::Gradients;
use steps::step::{GradientTerms, Trainer};
use workers::{Deal, Workers};

/// The client-blocked trainer: scratch memory per thread, and the normalised test examples once they were asked for.
#[derive(Debug)]
pub(crate) struct Blocked {
    cpu: Cpu,
    workers: Workers,
    stages: Stages,
    scratches: Scratches,
    tests: Option<Judged>,
}

/// Bytes that the trainer needs besides the models and the examples as they are stored: what each of `threads` threads
/// works in, and the test examples as numbers.
pub(crate) fn bytes(network: &Network, workload: &WorkloadSize<'_>, threads: usize) -> u64 {
    let scratch = pass::scratch::floats(network, workload);
    // For each run of test examples a list of the numbers that they share, and one of the others.
    let lists = match Goal::Judging.parts(network) {
        true => 2 * workload.tests.div_ceil(evaluation::judged::ALIKE),
        false => 0,
    };
    let tests = (workload.tests + lists) * network.inputs();
    let floats = (threads * scratch) as u64 + tests as u64;
    floats.saturating_mul(size_of::<f32>() as u64)
}

impl Network {
    /// Bytes that training and judging take on `threads` threads of the processor besides the models and the examples
    /// as they are stored; see [`Device::working_bytes`](crate::Device::working_bytes).
    pub fn working_bytes(&self, workload: &WorkloadSize<'_>, threads: usize) -> u64 {
        bytes(self, workload, threads)
    }
}

/// Everything of one row that its thread needs.
struct Job<'a> {
    row: usize,
    /// The row's weights when it trains, its gradient when that is asked for.
    target: &'a mut [f32],
    velocity: Option<&'a mut [f32]>,
    pass: &'a mut Pass,
    tally: &'a mut RowTally,
    work: &'a RowWork,
}

impl Blocked {
    /// A trainer of `network`'s rows.
    ///
    /// # Errors
    /// [`EngineError::Device`] if threads cannot be started.
    pub(crate) fn new(cpu: &Cpu, network: &Network) -> Result<Self, EngineError> {
        Ok(Self {
            cpu: cpu.clone(),
            workers: Workers::new(cpu, network)?,
            stages: Stages::of(network),
            scratches: Scratches::default(),
            tests: None,
        })
    }

    /// Runs all local steps of all rows.
    ///
    /// # Errors
    /// Those of a model of the user's own.
    pub(crate) fn train(
        &mut self,
        context: Context<'_>,
        states: RowStates<'_>,
        stack: &mut Stack,
        velocity: Velocity<'_>,
        work: &LocalWork<'_>,
    ) -> Result<(), EngineError> {
        let width = stack.layout().width();
        let (correction, anchor) = (
            host(work.correction),
            host(work.anchor.map(|anchor| anchor.models)),
        );
        let velocities: Vec<Option<&mut [f32]>> = match velocity {
            Velocity::Kept(kept) => rows_of(kept, width).map(Some).collect(),
            Velocity::Fresh => (0..stack.rows()).map(|_| None).collect(),
        };
        let jobs = jobs(states, rows_of(stack, width), velocities, work.rows);
        let share_rows = self.workers.share(jobs.len());
        let trainer = Trainer {
            gradients: self.gradients_of(context, share_rows),
            sgd: work.sgd,
        };
        let train = |job: Job<'_>| {
            let mut batches = context.batches(job.pass, job.work, work, job.row);
            let extras = GradientTerms {
                correction: correction.map(|all| &all[job.row * width..][..width]),
                anchor: anchor
                    .zip(work.anchor)
                    .map(|(all, anchor)| (&all[job.row * width..][..width], anchor.mu)),
            };
            let mut scratch = self.scratches.take();
            let loss =
                trainer.train(job.target, job.velocity, extras, &mut batches, &mut scratch)?;
            job.tally.add(loss, work.round);
            self.scratches.put(scratch);
            Ok(())
        };
        let deal = match share_rows {
            true => Deal::InTurn,
            false => Deal::Grains((jobs.len() / (16 * self.cpu.threads())).max(1)),
        };
        self.workers.map(jobs, deal, train)?;
        Ok(())
    }

    /// The mini-batch gradient of every row at its next batch, `[R, P]`; zero for idle rows.
    ///
    /// # Errors
    /// Those of a model of the user's own.
    pub(crate) fn gradients(
        &mut self,
        context: Context<'_>,
        states: RowStates<'_>,
        stack: &Stack,
        work: &LocalWork<'_>,
    ) -> Result<Stack, EngineError> {
        let width = stack.layout().width();
        let mut out = Stack::zeros(stack.device(), stack.layout(), stack.rows());
        let models = stack.host().unwrap_or_default();
        let none = (0..stack.rows()).map(|_| None).collect();
        let jobs = jobs(states, rows_of(&mut out, width), none, work.rows);
        let trainer = Trainer {
            gradients: self.gradients_of(context, false),
            sgd: work.sgd,
        };
        let fill = |job: Job<'_>| {
            let task = RowWork {
                client: job.work.client,
                amount: Amount::Steps(1),
            };
            let mut batches = context.batches(job.pass, &task, work, job.row);
            let mut scratch = self.scratches.take();
            let model = &models[job.row * width..][..width];
            let loss = trainer.gradient(model, &mut batches, &mut scratch)?;
            job.target.copy_from_slice(&scratch.gradient);
            job.tally.add(loss, work.round);
            self.scratches.put(scratch);
            Ok(())
        };
        self.workers.map(jobs, Deal::Grains(usize::MAX), fill)?;
        Ok(out)
    }

    /// The gradient of row `i`'s model on the whole shard of client `clients[i]`, `[R, P]`.
    ///
    /// # Errors
    /// Those of a model of the user's own.
    pub(crate) fn shard_gradients(
        &self,
        context: Context<'_>,
        stack: &Stack,
        clients: &[u32],
    ) -> Result<Stack, EngineError> {
        let width = stack.layout().width();
        let mut out = Stack::zeros(stack.device(), stack.layout(), stack.rows());
        let models = stack.host().unwrap_or_default();
        let share_rows = self.workers.share(stack.rows());
        let gradients = self.gradients_of(context, share_rows);
        let fill = |((target, model), client): ((&mut [f32], &[f32]), &u32)| {
            let shard = context.partition.shard(*client as usize);
            if shard.is_empty() {
                return Ok(());
            }
            let mut scratch = self.scratches.take();
            scratch.indices.clear();
            scratch.indices.extend_from_slice(shard);
            gradients.accumulate(model, &mut scratch, None)?;
            target.copy_from_slice(&scratch.gradient);
            self.scratches.put(scratch);
            Ok(())
        };
        let rows: Vec<_> = rows_of(&mut out, width)
            .zip(models.chunks_exact(width))
            .zip(clients)
            .collect();
        let deal = match share_rows {
            true => Deal::InTurn,
            false => Deal::Grains(1),
        };
        self.workers.map(rows, deal, fill)?;
        Ok(out)
    }

    fn gradients_of<'a>(&'a self, context: Context<'a>, share: bool) -> Gradients<'a> {
        Gradients {
            passes: self.passes(context.network, share),
            examples: context.train,
        }
    }

    fn passes<'a>(&'a self, network: &'a Network, share: bool) -> Passes<'a> {
        Passes {
            cpu: &self.cpu,
            network,
            stages: &self.stages,
            share,
        }
    }
}

/// The rows that have something to do.
fn jobs<'a>(
    states: RowStates<'a>,
    targets: impl Iterator<Item = &'a mut [f32]>,
    velocities: Vec<Option<&'a mut [f32]>>,
    work: &'a [RowWork],
) -> Vec<Job<'a>> {
    let rows = targets
        .zip(velocities)
        .zip(states.passes)
        .zip(states.tallies)
        .zip(work)
        .enumerate();
    rows.filter(|(_, (_, work))| work.amount != Amount::Idle)
        .map(|(row, ((((target, velocity), pass), tally), work))| Job {
            row,
            target,
            velocity,
            pass,
            tally,
            work,
        })
        .collect()
}

fn host(stack: Option<&Stack>) -> Option<&[f32]> {
    stack.and_then(Stack::host)
}

fn rows_of(stack: &mut Stack, width: usize) -> std::slice::ChunksExactMut<'_, f32> {
    stack.host_mut().unwrap_or_default().chunks_exact_mut(width)
}
