//! Forward passes and gradients on mini-batches that are drawn first, or on examples of a method's choice.

use super::Learner;
use crate::backend::trainer::{GradientRows, StepRule};
use crate::blocked::pass::passes::labels_of;
use crate::error::EngineError;
use crate::stack::Stack;
use crate::training::activations::Activations;
use crate::training::batches::{RowKey, ShardPass};
use crate::training::context::Context;
use crate::training::local_work::{LocalWork, Velocity};
use crate::training::row_examples::{ExampleSet, RowExamples, RowSlopes, SeenExamples};
use crate::training::tally::LossSum;
use crate::training::work::Amount;
use meshfold_data::Features;

/// What gradients are taken of, and on which examples.
#[derive(Debug, Clone, Copy)]
pub struct GradientsOn<'a> {
    /// The examples of each row.
    pub examples: &'a RowExamples,
    /// The gradient of each row's loss by its outputs, `[B, T, C]` for row `i` as [`Learner::outputs`] has them; if absent, the loss is
    /// that of the network, the mean over the examples.
    pub slopes: Option<&'a [Vec<f32>]>,
    /// The gradient of what is added to that loss by each row's representations, `[B, T, H]` for row `i` as [`Learner::representations`] has
    /// them; if absent, nothing is.
    pub representation_slopes: Option<&'a [Vec<f32>]>,
    /// The rows whose losses and examples have counted before, `[R]`, and do not count again; none if empty.
    pub counted: &'a [bool],
    /// The learning rate of each row's step, `[R]`; if absent, that which mini-batches were drawn with, or that of the next step.
    pub rates: Option<&'a [f32]>,
    /// Whether nothing counts, as of gradients that are only looked at.
    pub aside: bool,
}

impl<'a> GradientsOn<'a> {
    /// Those of the network's loss on `examples`, which count.
    pub fn of(examples: &'a RowExamples) -> Self {
        Self {
            examples,
            slopes: None,
            representation_slopes: None,
            counted: &[],
            rates: None,
            aside: false,
        }
    }
}

impl Learner {
    /// Draws the next mini-batch of every row that is not idle, as [`Learner::gradients`] would: what comes after draws the one behind it.
    /// It is no local step, and counts nowhere; [`Learner::gradients_on`] is.
    ///
    /// # Errors
    /// As [`Learner::gradients`].
    pub fn next_batches(&mut self, work: &LocalWork<'_>) -> Result<RowExamples, EngineError> {
        self.check_work(work)?;
        self.check_own_rates(work)?;
        self.forget_batches();
        // Over ranks, nobody holds the examples of all rows. All ranks draw all batches, from the shards as the partition numbers them.
        let over_ranks = self.device.ranks().is_some();
        let (count, seed) = (work.rows.len(), self.problem.seed);
        let examples = match over_ranks {
            true => self.problem.partition.examples(),
            false => self.problem.splits.train.len(),
        };
        let known = self.passes.len().max(count);
        self.passes.resize_with(known, ShardPass::default);
        let (context, tasks) = (self.problem.context(), work.tasks());
        let (mut lists, mut steps) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (row, (pass, work)) in self.passes.iter_mut().zip(work.rows).enumerate() {
            let (work, mut list) = (work.one_step(), Vec::new());
            let key = RowKey {
                seed,
                row: row as u32,
            };
            if over_ranks {
                *pass = ShardPass::at(pass.position()).in_round_of(pass);
                let shard = |client: u32| context.partition.shard(client as usize).to_vec();
                pass.redraw(key, shard);
            }
            let batches = context.batches(pass, &work, &tasks, row);
            steps.push(batches.among(examples).next(&mut list));
            lists.push(list);
            if over_ranks {
                *pass = ShardPass::at(pass.position()).in_round_of(pass);
            }
        }
        Ok(RowExamples::drawn(lists, steps))
    }

    /// What the judged positions of the examples of each list are to be, `[B, T]` each: their labels, or, of models of the next token, tokens.
    ///
    /// # Errors
    /// As [`Learner::outputs`]; [`EngineError::Setting`] for training examples over several ranks, none of which has them all.
    pub fn targets(&self, examples: &RowExamples) -> Result<Vec<Vec<u16>>, EngineError> {
        if examples.set() == ExampleSet::Train && self.device.ranks().is_some() {
            return Err(EngineError::Setting {
                what: "labels over several ranks",
                found: "those of training examples".to_owned(),
                needed: "those of other examples",
            });
        }
        let rows = examples.rows().unwrap_or(0);
        self.check_row_examples(rows, examples)?;
        let of = examples.set().of(&self.problem.context())?;
        let positions = self.problem.network.positions();
        let each = |list: &Vec<u32>| match of.features() {
            Features::Tokens(windows) if positions > 1 => {
                let tokens = |index: &u32| &windows.window(*index as usize)[1..=positions];
                list.iter().flat_map(tokens).copied().collect()
            }
            Features::Bytes { .. } | Features::Numbers(_) | Features::Tokens(_) => {
                labels_of(of, list).collect()
            }
        };
        Ok(examples.lists().iter().map(each).collect())
    }

    /// The outputs of every row's model for its examples, `[B, T, C]` for row `i`: `T` judged positions of `C` numbers each, before the
    /// softmax. Nothing moves, and nothing counts. Waits for the device.
    ///
    /// # Errors
    /// [`EngineError::RowCount`] if the examples are those of more or fewer rows; [`EngineError::Setting`] if one does not exist, or, over
    /// several ranks, no rank holds all training examples of a row; [`EngineError::OwnModel`] if a model of the user's own fails.
    pub fn outputs(
        &self,
        stack: &Stack,
        examples: &RowExamples,
    ) -> Result<Vec<Vec<f32>>, EngineError> {
        self.activations(Activations::Outputs, stack, examples)
    }

    /// The representations of the examples of every row by its model, `[B, T, H]` for row `i`: the `H` numbers that the last layer reads at
    /// each of `T` judged positions, after ReLU, in the order of the rows of its weight. Nothing moves, and nothing counts. Waits for the
    /// device.
    ///
    /// # Errors
    /// As [`Learner::outputs`]; [`EngineError::Setting`] if the model has no hidden layer, or is one's own, whose layers are not known.
    pub fn representations(
        &self,
        stack: &Stack,
        examples: &RowExamples,
    ) -> Result<Vec<Vec<f32>>, EngineError> {
        self.activations(Activations::Representations, stack, examples)
    }

    /// The loss of every row's model on each of its examples, `[B]` for row `i`: the mean over the judged positions. Nothing moves, and
    /// nothing counts. Waits for the device.
    ///
    /// # Errors
    /// As [`Learner::outputs`] and [`Learner::targets`].
    pub fn example_losses(
        &self,
        stack: &Stack,
        examples: &RowExamples,
    ) -> Result<Vec<Vec<f32>>, EngineError> {
        let (network, targets) = (&self.problem.network, self.targets(examples)?);
        let (width, positions) = (network.outputs(), network.positions());
        let mut outputs = self.outputs(stack, examples)?;
        let of_row = |(row, outputs): (usize, &mut Vec<f32>)| {
            // One list is for all rows.
            let targets = &targets[row.min(targets.len() - 1)];
            let each = outputs
                .chunks_exact_mut(positions * width)
                .zip(targets.chunks_exact(positions));
            let loss = |(outputs, targets): (&mut [f32], &[u16])| {
                let score = network.loss().judge(outputs, targets, width, None);
                (score.loss / positions as f64) as f32
            };
            each.map(loss).collect()
        };
        Ok(outputs.iter_mut().enumerate().map(of_row).collect())
    }

    fn activations(
        &self,
        of: Activations,
        stack: &Stack,
        examples: &RowExamples,
    ) -> Result<Vec<Vec<f32>>, EngineError> {
        of.of_position(&self.problem.network)?;
        self.check_models(stack)?;
        self.check_row_examples(stack.rows(), examples)?;
        let context = self.problem.context();
        let seen = self.seen(stack.rows(), examples);
        self.trainer
            .activations(context, stack.storage(), of, &seen)
    }

    /// The clipped gradient of every row on given examples, `[R, P]`: of the network's loss, or of a loss whose gradient by the outputs is
    /// given. Rows that are idle or have no examples are zero. It counts as a local step of the others, and the loss is tallied that the
    /// network's own is. On chosen examples, the learning rate of a schedule over steps moves on by one.
    ///
    /// # Errors
    /// As [`Learner::outputs`], and as [`Learner::train`] of `work`; [`EngineError::Setting`] if slopes are not as many as outputs.
    pub fn gradients_on(
        &mut self,
        stack: &Stack,
        work: &LocalWork<'_>,
        on: &GradientsOn<'_>,
    ) -> Result<Stack, EngineError> {
        self.check(stack, work, &[])?;
        let seen = self.seen_on(stack.rows(), work, on)?;
        let mut gradients = Stack::zeros(stack.device(), stack.layout(), stack.rows());
        let of_rows = GradientRows {
            models: stack.storage(),
            gradients: gradients.storage_mut(),
        };
        let context = self.problem.context();
        let losses = self
            .trainer
            .gradients_on(context, of_rows, &seen, work.sgd)?;
        self.count_on(work, on, &seen, &losses);
        Ok(gradients)
    }

    /// One local step of every row on given examples, in place of one on its next mini-batch: as [`Learner::train`] makes it, along the
    /// gradient that [`Learner::gradients_on`] takes. Returns the steps of each row.
    ///
    /// # Errors
    /// As [`Learner::gradients_on`].
    pub fn step_on(
        &mut self,
        stack: &mut Stack,
        velocity: Velocity<'_>,
        work: &LocalWork<'_>,
        on: &GradientsOn<'_>,
    ) -> Result<Vec<u32>, EngineError> {
        let others = [work.correction, work.anchor.map(|anchor| anchor.models)];
        self.check(stack, work, &others)?;
        if let Velocity::Kept(kept) = &velocity {
            self.check(stack, work, &[Some(kept)])?;
        }
        let seen = self.seen_on(stack.rows(), work, on)?;
        let rates = match on
            .rates
            .map(<[f32]>::to_vec)
            .or_else(|| on.examples.rates())
        {
            Some(rates) => rates,
            None => self.rates(work)?,
        };
        let rule = StepRule {
            sgd: work.sgd,
            rates: &rates,
            layers: work.layers,
        };
        let (context, rows) = (self.problem.context(), work.rows_of(stack, velocity));
        let losses = self.trainer.step_on(context, rows, &seen, &rule)?;
        self.count_on(work, on, &seen, &losses);
        let steps = seen.rows.iter().map(|list| u32::from(!list.is_empty()));
        Ok(steps.collect())
    }

    /// What trainers are given of `on` for `rows` rows, of which those that idle see nothing.
    fn seen_on<'a>(
        &mut self,
        rows: usize,
        work: &LocalWork<'_>,
        on: &GradientsOn<'a>,
    ) -> Result<SeenExamples<'a>, EngineError> {
        self.check_row_examples(rows, on.examples)?;
        let all = [
            (Activations::Outputs, on.slopes),
            (Activations::Representations, on.representation_slopes),
        ];
        for (by, slopes) in all {
            self.check_slopes(rows, on.examples, by, slopes)?;
        }
        self.forget_batches();
        let mut seen = self.seen(rows, on.examples);
        for (row, own) in seen.slopes.iter_mut().enumerate() {
            *own = RowSlopes {
                outputs: on.slopes.map(|slopes| &*slopes[row]),
                representations: on.representation_slopes.map(|slopes| &*slopes[row]),
            };
        }
        for (list, work) in seen.rows.iter_mut().zip(work.rows) {
            if work.amount == Amount::Idle {
                *list = &[];
            }
        }
        Ok(seen)
    }

    /// Counts the steps of the rows that have `seen` examples, and their `losses`.
    fn count_on(
        &mut self,
        work: &LocalWork<'_>,
        on: &GradientsOn<'_>,
        seen: &SeenExamples<'_>,
        losses: &[LossSum],
    ) {
        let rows = seen.rows.len();
        let moves = |row: &usize| !on.aside && !seen.rows[*row].is_empty();
        let moved: Vec<usize> = (0..rows).filter(moves).collect();
        self.local_steps += moved.len() as u64;
        let has_counted = |row: &usize| on.counted.get(*row).copied().unwrap_or(false);
        let is_chosen = on.examples.steps().is_none();
        for row in moved.into_iter().filter(|row| !has_counted(row)) {
            self.examples_seen += seen.rows[row].len() as u64;
            let states = self.call(rows).states;
            states.tallies[row].add(losses[row], work.round);
            if is_chosen {
                states.passes[row].count_step(work.round as u64 - 1);
            }
        }
    }

    /// What trainers are given of `examples`, without slopes.
    fn seen<'a>(&self, rows: usize, examples: &'a RowExamples) -> SeenExamples<'a> {
        let network = &self.problem.network;
        let dropout = |row: usize| {
            let step = examples.steps()?[row]?;
            step.dropout(network)
        };
        SeenExamples {
            set: examples.set(),
            rows: (0..rows).map(|row| examples.of_row(row)).collect(),
            dropout: (0..rows).map(dropout).collect(),
            slopes: vec![RowSlopes::default(); rows],
        }
    }

    /// Whether `examples` are those of `rows` rows, and exist.
    fn check_row_examples(&self, rows: usize, examples: &RowExamples) -> Result<(), EngineError> {
        if let Some(found) = examples.rows().filter(|found| *found != rows) {
            return Err(EngineError::RowCount {
                verb: "examples",
                found,
                rows,
            });
        }
        if examples.steps().is_some() {
            return Ok(());
        }
        let context: Context<'_> = self.problem.context();
        let count = match (examples.set(), self.device.ranks()) {
            (ExampleSet::Train, Some(_)) => self.problem.partition.examples(),
            (set, _) => set.of(&context)?.len(),
        };
        let mut all = examples.lists().iter().flatten();
        match all.find(|index| **index as usize >= count) {
            None => Ok(()),
            Some(beyond) => Err(EngineError::Setting {
                what: "examples of rows",
                found: format!("number {beyond} of {count}, counted from 0"),
                needed: "there",
            }),
        }
    }

    /// Whether there is a slope for each of the numbers `by`, if there are `slopes`.
    fn check_slopes(
        &self,
        rows: usize,
        examples: &RowExamples,
        by: Activations,
        slopes: Option<&[Vec<f32>]>,
    ) -> Result<(), EngineError> {
        let Some(slopes) = slopes else {
            return Ok(());
        };
        let network = &self.problem.network;
        let each = network.positions() * by.of_position(network)?;
        let needed = |row: usize| examples.of_row(row).len() * each;
        let fits = slopes.len() == rows && (0..rows).all(|row| slopes[row].len() == needed(row));
        match fits {
            true => Ok(()),
            false => Err(EngineError::Setting {
                what: "slopes",
                found: "more or fewer numbers than outputs or representations".to_owned(),
                needed: "one for each number of each row",
            }),
        }
    }
}
