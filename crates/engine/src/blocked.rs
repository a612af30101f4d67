//! The trainer of the processor: client-blocked. One row per core, kept in cache through all its local steps.

pub(crate) mod evaluation;
pub(crate) mod layers;
pub(crate) mod pass;
pub(crate) mod steps;
mod workers;

use crate::backend::rows::{Rows, downcast, downcast_mut};
use crate::backend::trainer::{GradientRows, StepRule, TrainedRows, Trainer};
use crate::batched;
use crate::cpu::Cpu;
use crate::error::EngineError;
use crate::network::Network;
use crate::processor::host_rows::HostRows;
use crate::training::activations::Activations;
use crate::training::batches::ShardPass;
use crate::training::context::{Context, RowStates, no_validation};
use crate::training::row_examples::SeenExamples;
use crate::training::score::{Score, Split};
use crate::training::tally::{LossSum, RowTally};
use crate::training::work::{Amount, RowWork, Sgd, Tasks, WorkloadSize};
use evaluation::evaluate::HeldOut;
use evaluation::judged::JudgedExamples;
use pass::inputs::Goal;
use pass::passes::Passes;
use pass::scratch::Scratches;
use pass::stages::Stages;
use steps::gradient::Gradients;
use steps::step::{RowTrainer, StepOn};
use steps::terms::Terms;
use workers::{Deal, Workers};

/// The client-blocked trainer: scratch memory per thread, and the normalised examples to judge on once they were asked for.
#[derive(Debug)]
pub(crate) struct Blocked {
    cpu: Cpu,
    workers: Workers,
    stages: Stages,
    scratches: Scratches,
    tests: Option<JudgedExamples>,
    validation: Option<JudgedExamples>,
}

/// Bytes that the trainer needs besides the models and the examples as they are stored: what each of `threads` threads
/// works in, and the test examples as numbers.
pub(crate) fn bytes(network: &Network, workload: &WorkloadSize<'_>, threads: usize) -> u64 {
    if network.host_model().is_some() {
        return batched::bytes(network, workload);
    }
    let scratch = pass::memory_size::floats(network, workload);
    // For each run of test examples a list of the numbers that they share, and one of the others.
    let lists = match Goal::Judging.parts(network) {
        true => 2 * workload.tests.div_ceil(evaluation::judged::SHARED_CHUNK),
        false => 0,
    };
    let pairs = match network.begins_with_pairs() {
        true => workload.tests * network.inputs().div_ceil(2),
        false => 0,
    };
    let tests = (workload.tests + lists) * network.inputs() + pairs;
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
    pass: &'a mut ShardPass,
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
            validation: None,
        })
    }

    fn gradients_of<'a>(&'a self, context: Context<'a>, share: bool) -> Gradients<'a> {
        Gradients {
            passes: self.passes(context.network, share),
            examples: context.train,
        }
    }

    /// How rows that see `seen` are dealt to threads, and what computes them.
    fn of_lists<'a>(
        &'a self,
        context: Context<'a>,
        seen: &SeenExamples<'_>,
    ) -> Result<(Deal, Gradients<'a>), EngineError> {
        let share_rows = self.workers.share(seen.rows.len());
        let deal = match share_rows {
            true => Deal::InTurn,
            false => Deal::Grains(1),
        };
        let gradients = Gradients {
            passes: self.passes(context.network, share_rows),
            examples: seen.set.of(&context)?,
        };
        Ok((deal, gradients))
    }

    /// The gradient of every row on its examples, changed by `finish`, into `rows.gradients`; rows without examples keep zeros. Returns
    /// their losses.
    fn gradients_of_lists(
        &self,
        context: Context<'_>,
        rows: GradientRows<'_>,
        seen: &SeenExamples<'_>,
        finish: impl Fn(Gradients<'_>, &mut [f32]) + Sync + Send,
    ) -> Result<Vec<LossSum>, EngineError> {
        let width = context.network.layout().width();
        let (deal, gradients) = self.of_lists(context, seen)?;
        let fill = |(row, (target, model)): (usize, (&mut [f32], &[f32]))| {
            let (list, mut losses) = (seen.rows[row], LossSum::default());
            if list.is_empty() {
                return Ok(losses);
            }
            let mut scratch = self.scratches.take();
            scratch.indices.clear();
            scratch.indices.extend_from_slice(list);
            let (dropout, slopes) = (seen.dropout[row].as_ref(), seen.slopes[row]);
            let loss = gradients.accumulate(model, &mut scratch, dropout, slopes)?;
            finish(gradients, &mut scratch.gradient);
            target.copy_from_slice(&scratch.gradient);
            self.scratches.put(scratch);
            losses.add(loss / list.len() as f64, list.len());
            Ok(losses)
        };
        let models = values("gradients", rows.models)?.chunks_exact(width);
        let targets = values_mut("gradients", rows.gradients)?.chunks_exact_mut(width);
        let rows = targets.zip(models).enumerate().collect();
        self.workers.map(rows, deal, fill)
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

impl Trainer for Blocked {
    fn train(
        &mut self,
        context: Context<'_>,
        states: RowStates<'_>,
        rows: TrainedRows<'_>,
        tasks: &Tasks<'_>,
    ) -> Result<(), EngineError> {
        let width = context.network.layout().width();
        let terms = Terms::of(&rows)?;
        let velocities = velocities(rows.velocity, width, tasks.rows.len())?;
        let targets = values_mut("train", rows.models)?.chunks_exact_mut(width);
        let jobs = jobs(states, targets, velocities, tasks.rows);
        let share_rows = self.workers.share(jobs.len());
        let trainer = RowTrainer {
            gradients: self.gradients_of(context, share_rows),
            sgd: tasks.sgd,
            layers: tasks.layers,
        };
        let train = |job: Job<'_>| {
            let mut batches = context.batches(job.pass, job.work, tasks, job.row);
            let terms = terms.of_row(job.row, width);
            let mut scratch = self.scratches.take();
            let loss =
                trainer.train(job.target, job.velocity, terms, &mut batches, &mut scratch)?;
            job.tally.add(loss, tasks.round);
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

    fn gradients(
        &mut self,
        context: Context<'_>,
        states: RowStates<'_>,
        rows: GradientRows<'_>,
        tasks: &Tasks<'_>,
    ) -> Result<(), EngineError> {
        let width = context.network.layout().width();
        let models = values("gradients", rows.models)?;
        let targets = values_mut("gradients", rows.gradients)?.chunks_exact_mut(width);
        let none = tasks.rows.iter().map(|_| None).collect();
        let jobs = jobs(states, targets, none, tasks.rows);
        let trainer = RowTrainer {
            gradients: self.gradients_of(context, false),
            sgd: tasks.sgd,
            layers: None,
        };
        let fill = |job: Job<'_>| {
            let task = job.work.one_step();
            let mut batches = context.batches(job.pass, &task, tasks, job.row);
            let mut scratch = self.scratches.take();
            let model = &models[job.row * width..][..width];
            let loss = trainer.gradient(model, &mut batches, &mut scratch)?;
            job.target.copy_from_slice(&scratch.gradient);
            job.tally.add(loss, tasks.round);
            self.scratches.put(scratch);
            Ok(())
        };
        self.workers.map(jobs, Deal::Grains(usize::MAX), fill)?;
        Ok(())
    }

    fn shard_gradients(
        &self,
        context: Context<'_>,
        rows: GradientRows<'_>,
        clients: &[u32],
    ) -> Result<(), EngineError> {
        let shards = SeenExamples::of_shards(&context, clients);
        self.gradients_of_lists(context, rows, &shards, |_, _| ())?;
        Ok(())
    }

    fn activations(
        &self,
        context: Context<'_>,
        models: &dyn Rows,
        of: Activations,
        seen: &SeenExamples<'_>,
    ) -> Result<Vec<Vec<f32>>, EngineError> {
        let width = context.network.layout().width();
        let (deal, gradients) = self.of_lists(context, seen)?;
        let look = |(row, model): (usize, &[f32])| {
            let mut scratch = self.scratches.take();
            scratch.indices.clear();
            scratch.indices.extend_from_slice(seen.rows[row]);
            let dropout = seen.dropout[row].as_ref();
            let found = gradients.activations(of, model, &mut scratch, dropout);
            self.scratches.put(scratch);
            found
        };
        let models = values("outputs", models)?.chunks_exact(width);
        self.workers.map(models.enumerate().collect(), deal, look)
    }

    fn gradients_on(
        &self,
        context: Context<'_>,
        rows: GradientRows<'_>,
        seen: &SeenExamples<'_>,
        sgd: &Sgd,
    ) -> Result<Vec<LossSum>, EngineError> {
        self.gradients_of_lists(context, rows, seen, |gradients, gradient| {
            let trainer = RowTrainer {
                gradients,
                sgd,
                layers: None,
            };
            trainer.clip(gradient);
        })
    }

    fn step_on(
        &mut self,
        context: Context<'_>,
        rows: TrainedRows<'_>,
        seen: &SeenExamples<'_>,
        step: &StepRule<'_>,
    ) -> Result<Vec<LossSum>, EngineError> {
        let width = context.network.layout().width();
        let terms = Terms::of(&rows)?;
        let (deal, gradients) = self.of_lists(context, seen)?;
        let trainer = RowTrainer {
            gradients,
            sgd: step.sgd,
            layers: step.layers,
        };
        let models = values_mut("train", rows.models)?.chunks_exact_mut(width);
        let velocities = velocities(rows.velocity, width, seen.rows.len())?;
        let make = |(row, (weights, kept)): (usize, (&mut [f32], Option<&mut [f32]>))| {
            if seen.rows[row].is_empty() {
                return Ok(LossSum::default());
            }
            let on = StepOn {
                terms: terms.of_row(row, width),
                rate: step.rates[row],
                dropout: seen.dropout[row].as_ref(),
                slopes: seen.slopes[row],
            };
            let mut scratch = self.scratches.take();
            scratch.indices.clear();
            scratch.indices.extend_from_slice(seen.rows[row]);
            let losses = trainer.step_on(weights, kept, on, &mut scratch);
            self.scratches.put(scratch);
            losses
        };
        let rows = models.zip(velocities).enumerate().collect();
        self.workers.map(rows, deal, make)
    }

    fn evaluate(
        &mut self,
        context: Context<'_>,
        models: &dyn Rows,
        split: Split<'_>,
        subset: Option<&[u32]>,
    ) -> Result<Vec<Score>, EngineError> {
        let models = values("evaluate", models)?;
        match split {
            Split::Shards(clients) => {
                let shards = context.shards(clients);
                self.scores_on_own(context.network, models, context.train, &shards)
            }
            Split::LocalTests(clients) => {
                let (of, own) = (
                    context.examples_of_local_tests(),
                    context.local_tests(clients),
                );
                self.scores_on_own(context.network, models, of, &own)
            }
            Split::Train => self.scores(context.network, models, context.train, subset),
            Split::Test => {
                let set = HeldOut {
                    examples: context.test,
                    kept: |own| &mut own.tests,
                };
                self.held_out_scores(context.network, models, set, subset)
            }
            Split::Validation => {
                let set = HeldOut {
                    examples: context.validation.ok_or_else(no_validation)?,
                    kept: |own| &mut own.validation,
                };
                self.held_out_scores(context.network, models, set, subset)
            }
        }
    }
}

/// The velocity of each of `rows` rows of `width` floats, if it is kept.
fn velocities(
    kept: Option<&mut dyn Rows>,
    width: usize,
    rows: usize,
) -> Result<Vec<Option<&mut [f32]>>, EngineError> {
    let Some(kept) = kept else {
        return Ok((0..rows).map(|_| None).collect());
    };
    let kept = values_mut("train", kept)?.chunks_exact_mut(width);
    Ok(kept.map(Some).collect())
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

/// The numbers of `rows`, for the verb `verb`.
fn values<'a>(verb: &'static str, rows: &'a dyn Rows) -> Result<&'a [f32], EngineError> {
    downcast(verb, rows).map(HostRows::values)
}

fn values_mut<'a>(
    verb: &'static str,
    rows: &'a mut dyn Rows,
) -> Result<&'a mut [f32], EngineError> {
    downcast_mut(verb, rows).map(HostRows::values_mut)
}
