//! Outputs, gradients and steps of rows on examples that they are given, of models that compute many rows at once.

use super::calls::{Called, Group, Taken, groups, lend, model};
use super::scoring::Labels;
use super::{Batched, chosen, steps, velocities};
use crate::backend::rows::{downcast, downcast_mut};
use crate::backend::trainer::{GradientRows, StepRule, TrainedRows};
use crate::blocked::pass::passes::labels_of;
use crate::blocked::steps::step::RowTrainer;
use crate::blocked::steps::terms::Terms;
use crate::error::EngineError;
use crate::kernels::BatchScore;
use crate::network::host_model::{LentExamples, LentRows, TakeGradients, expect_outputs};
use crate::processor::host_rows::HostRows;
use crate::processor::row_memory::RowMemory;
use crate::training::context::Context;
use crate::training::row_examples::SeenExamples;
use crate::training::tally::LossSum;
use meshfold_data::Examples;
use std::ops::Range;
use std::sync::Arc;

/// Some rows of a stack that see equally many examples.
struct Block<'a> {
    /// Ascending.
    rows: &'a [usize],
    /// The examples of each.
    lists: Vec<&'a [u32]>,
}

impl Block<'_> {
    /// Examples of each row.
    fn size(&self) -> usize {
        self.lists.first().map_or(0, |list| list.len())
    }

    /// Adds the mean losses of the rows to those of `all`.
    fn tell(&self, losses: &[f32], all: &mut [LossSum]) {
        for (row, loss) in self.rows.iter().zip(losses) {
            all[*row].add(f64::from(*loss), self.size());
        }
    }
}

/// Calls `work` with all rows that have examples, in blocks of one call each.
fn for_each_block(
    seen: &SeenExamples<'_>,
    width: usize,
    mut work: impl FnMut(&Block<'_>) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    for group in groups_of(seen) {
        for block in group.blocks(width) {
            let rows = &group.places[block];
            let lists = rows.iter().map(|row| seen.rows[*row]).collect();
            work(&Block { rows, lists })?;
        }
    }
    Ok(())
}

/// The rows that have examples, those with equally many together.
fn groups_of(seen: &SeenExamples<'_>) -> impl Iterator<Item = Group> {
    let sizes = seen.rows.iter().map(|list| list.len()).enumerate();
    groups(sizes.filter(|(_, size)| *size > 0)).into_iter()
}

impl Batched {
    /// The outputs `[B, C]` of every row for its examples.
    ///
    /// # Errors
    /// Those of the model.
    pub(super) fn outputs_for(
        &self,
        context: Context<'_>,
        models: &HostRows,
        seen: &SeenExamples<'_>,
    ) -> Result<Vec<Vec<f32>>, EngineError> {
        let (examples, width) = (seen.set.of(&context)?, context.network.layout().width());
        let classes = context.network.classes();
        let mut all = vec![Vec::new(); seen.rows.len()];
        for_each_block(seen, width, |block| {
            let lent = lend(self.shared(models), width, block.rows);
            let lent_examples = match seen.is_one_list() {
                true => LentExamples {
                    same: true,
                    ..self.examples(examples, &block.lists[..1])
                },
                false => self.examples(examples, &block.lists),
            };
            let outputs = model(context.network).outputs(lent, lent_examples)?;
            expect_outputs(&outputs, block.rows.len(), block.size(), classes)?;
            let outputs = outputs.chunks_exact((block.size() * classes).max(1));
            for (row, outputs) in block.rows.iter().zip(outputs) {
                all[*row] = outputs.to_vec();
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// The gradient of every row on its examples, changed by `finish`, into `rows.gradients`; rows without examples keep zeros. Returns
    /// their losses.
    ///
    /// # Errors
    /// Those of the model.
    pub(super) fn gradients_of_lists(
        &self,
        context: Context<'_>,
        rows: GradientRows<'_>,
        seen: &SeenExamples<'_>,
        finish: impl Fn(&mut [f32]) + Sync,
    ) -> Result<Vec<LossSum>, EngineError> {
        let width = context.network.layout().width();
        let models: &HostRows = downcast("gradients", rows.models)?;
        let targets: &mut HostRows = downcast_mut("gradients", rows.gradients)?;
        let mut all = vec![LossSum::default(); seen.rows.len()];
        for_each_block(seen, width, |block| {
            let mut fill = |taken: &Taken<'_>| {
                let targets = chosen(targets.values_mut(), width, block.rows);
                self.fill(targets, block.rows, taken, &finish)
            };
            let losses = self.take(context, seen, self.shared(models), block, &mut fill)?;
            block.tell(&losses, &mut all);
            Ok(())
        })?;
        Ok(all)
    }

    /// One step of every row on its examples; rows without examples stay. Returns their losses.
    ///
    /// # Errors
    /// Those of the model.
    pub(super) fn step_of_lists(
        &self,
        context: Context<'_>,
        rows: TrainedRows<'_>,
        seen: &SeenExamples<'_>,
        rule: &StepRule<'_>,
    ) -> Result<Vec<LossSum>, EngineError> {
        let width = context.network.layout().width();
        let terms = Terms::of(&rows)?;
        let models: &mut HostRows = downcast_mut("train", rows.models)?;
        let (is_fresh, mut own) = (rows.velocity.is_none(), Vec::new());
        let velocities = velocities(rows.velocity, rule.sgd, seen.rows.len() * width, &mut own)?;
        let stepper = RowTrainer {
            gradients: self.gradients_of(context),
            sgd: rule.sgd,
            layers: rule.layers,
        };
        let mut all = vec![LossSum::default(); seen.rows.len()];
        for_each_block(seen, width, |block| {
            let rates: Vec<f32> = block.rows.iter().map(|row| rule.rates[*row]).collect();
            let shared = self.shared(models);
            let mut step = |taken: &Taken<'_>| {
                let steps = steps(models.values_mut(), velocities, width, block.rows, &rates);
                self.step(&stepper, steps, terms, is_fresh, taken)
            };
            let losses = self.take(context, seen, shared, block, &mut step)?;
            block.tell(&losses, &mut all);
            Ok(())
        })?;
        Ok(all)
    }

    /// Calls `use_them` with the gradients of the rows of `block`; returns their losses.
    fn take(
        &self,
        context: Context<'_>,
        seen: &SeenExamples<'_>,
        models: Arc<RowMemory>,
        block: &Block<'_>,
        use_them: &mut (dyn FnMut(&Taken<'_>) -> Result<(), EngineError> + Send),
    ) -> Result<Vec<f32>, EngineError> {
        let (network, examples) = (context.network, seen.set.of(&context)?);
        let slopes = block.rows.iter().map(|row| seen.slopes[*row].outputs);
        let Some(slopes) = slopes.collect::<Option<Vec<&[f32]>>>() else {
            let mut losses = Vec::new();
            let mut both = |taken: &Taken<'_>| {
                losses = taken.losses().to_vec();
                use_them(taken)
            };
            self.call(
                (network, examples),
                models,
                block.rows,
                &block.lists,
                &mut both,
            )?;
            return Ok(losses);
        };
        let losses = self.losses_of(context, examples, models.clone(), block)?;
        self.pull_back(context, examples, (models, block), &slopes, use_them)?;
        Ok(losses)
    }

    /// Calls `take` with the gradients of `slopes` `[B, C]` times the outputs of each row of `block`.
    fn pull_back(
        &self,
        context: Context<'_>,
        examples: &Examples,
        (models, block): (Arc<RowMemory>, &Block<'_>),
        slopes: &[&[f32]],
        take: &mut (dyn FnMut(&Taken<'_>) -> Result<(), EngineError> + Send),
    ) -> Result<(), EngineError> {
        let (network, classes) = (context.network, context.network.classes());
        let called = Called {
            layout: network.layout(),
            rows: block.rows,
            batch: block.size(),
            means: false,
        };
        let mut of_piece = |lent: LentRows, part: Range<usize>, take: &mut TakeGradients<'_>| {
            let lists: Vec<&[u32]> = block.lists.iter().map(|list| &list[part.clone()]).collect();
            let slopes = slopes.iter().flat_map(|slopes| {
                let slopes = &slopes[part.start * classes..part.end * classes];
                slopes.iter().copied()
            });
            let slopes: Vec<f32> = slopes.collect();
            model(network).pull_back(lent, self.examples(examples, &lists), &slopes, take)
        };
        called.gradients(models, &mut of_piece, take)
    }

    /// The mean cross-entropy of each row of `block`.
    fn losses_of(
        &self,
        context: Context<'_>,
        examples: &Examples,
        models: Arc<RowMemory>,
        block: &Block<'_>,
    ) -> Result<Vec<f32>, EngineError> {
        let lent = lend(models, context.network.layout().width(), block.rows);
        let all = block.lists.iter().copied().flatten();
        let labels: Vec<u16> = labels_of(examples, all).collect();
        let mut outcomes = vec![BatchScore::default(); block.rows.len()];
        let seen = self.examples(examples, &block.lists);
        let labels = Labels::Each(&labels);
        self.judge(context.network, lent, seen, labels, &mut outcomes)?;
        let mean = |outcome: BatchScore| (outcome.loss / block.size() as f64) as f32;
        Ok(outcomes.into_iter().map(mean).collect())
    }
}
