//! Outputs and gradients of rows on examples that they are given, of models that compute many rows at once.

use super::calls::{Called, Group, Taken, groups, lend, model};
use super::scoring::Labels;
use super::{Batched, chosen};
use crate::backend::rows::{downcast, downcast_mut};
use crate::backend::trainer::GradientRows;
use crate::blocked::pass::passes::labels_of;
use crate::error::EngineError;
use crate::kernels::BatchScore;
use crate::network::host_model::{LentExamples, LentRows, TakeGradients, expect_outputs};
use crate::processor::host_rows::HostRows;
use crate::training::context::Context;
use crate::training::row_examples::SeenExamples;
use crate::training::tally::LossSum;
use meshfold_data::Examples;
use std::ops::Range;

/// Some rows of a stack that see equally many examples.
struct Rows<'a> {
    models: &'a HostRows,
    rows: &'a [usize],
    /// The examples of each.
    lists: Vec<&'a [u32]>,
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
        let mut all = vec![Vec::new(); seen.rows.len()];
        for group in groups_of(seen) {
            for block in group.blocks(width) {
                let rows = &group.places[block];
                let lists: Vec<&[u32]> = rows.iter().map(|row| seen.rows[*row]).collect();
                let lent = lend(self.shared(models), width, rows);
                let seen = match seen.is_one_list() {
                    true => LentExamples {
                        same: true,
                        ..self.examples(examples, &lists[..1])
                    },
                    false => self.examples(examples, &lists),
                };
                let classes = context.network.classes();
                let outputs = model(context.network).outputs(lent, seen)?;
                expect_outputs(&outputs, rows.len(), group.size, classes)?;
                let outputs = outputs.chunks_exact((group.size * classes).max(1));
                for (row, outputs) in rows.iter().zip(outputs) {
                    all[*row] = outputs.to_vec();
                }
            }
        }
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
        let (examples, width) = (seen.set.of(&context)?, context.network.layout().width());
        let models: &HostRows = downcast("gradients", rows.models)?;
        let targets: &mut HostRows = downcast_mut("gradients", rows.gradients)?;
        let mut sums = vec![LossSum::default(); seen.rows.len()];
        for group in groups_of(seen) {
            for block in group.blocks(width) {
                let rows = &group.places[block];
                let lists: Vec<&[u32]> = rows.iter().map(|row| seen.rows[*row]).collect();
                let mut losses = vec![0.0; rows.len()];
                let mut fill = |taken: &Taken<'_>| {
                    losses.copy_from_slice(taken.losses());
                    let targets = chosen(targets.values_mut(), width, rows);
                    self.fill(targets, rows, taken, &finish)
                };
                match &seen.slopes {
                    None => {
                        let on = (context.network, examples);
                        self.call(on, self.shared(models), rows, &lists, &mut fill)?;
                    }
                    Some(slopes) => {
                        let slopes: Vec<&[f32]> = rows.iter().map(|row| slopes[*row]).collect();
                        let of = Rows {
                            models,
                            rows,
                            lists,
                        };
                        self.pull_back(context, examples, &of, &slopes, &mut fill)?;
                        losses = self.losses_of(context, examples, &of)?;
                    }
                }
                for (row, loss) in rows.iter().zip(losses) {
                    sums[*row].add(f64::from(loss), group.size);
                }
            }
        }
        Ok(sums)
    }

    /// Calls `take` with the gradients of `slopes` `[B, C]` times the outputs of each of the rows `of`.
    fn pull_back(
        &self,
        context: Context<'_>,
        examples: &Examples,
        of: &Rows<'_>,
        slopes: &[&[f32]],
        take: &mut (dyn FnMut(&Taken<'_>) -> Result<(), EngineError> + Send),
    ) -> Result<(), EngineError> {
        let (network, classes) = (context.network, context.network.classes());
        let called = Called {
            layout: network.layout(),
            rows: of.rows,
            batch: of.lists[0].len(),
            means: false,
        };
        let mut of_piece = |lent: LentRows, part: Range<usize>, take: &mut TakeGradients<'_>| {
            let lists: Vec<&[u32]> = of.lists.iter().map(|list| &list[part.clone()]).collect();
            let slopes = slopes.iter().flat_map(|slopes| {
                let slopes = &slopes[part.start * classes..part.end * classes];
                slopes.iter().copied()
            });
            let slopes: Vec<f32> = slopes.collect();
            model(network).pull_back(lent, self.examples(examples, &lists), &slopes, take)
        };
        called.gradients(self.shared(of.models), &mut of_piece, take)
    }

    /// The mean cross-entropy of each of the rows `of`.
    fn losses_of(
        &self,
        context: Context<'_>,
        examples: &Examples,
        of: &Rows<'_>,
    ) -> Result<Vec<f32>, EngineError> {
        let lent = lend(self.shared(of.models), of.models.width(), of.rows);
        let labels: Vec<u16> = labels_of(examples, of.lists.iter().copied().flatten()).collect();
        let mut outcomes = vec![BatchScore::default(); of.rows.len()];
        let seen = self.examples(examples, &of.lists);
        let labels = Labels::Each(&labels);
        self.judge(context.network, lent, seen, labels, &mut outcomes)?;
        let count = of.lists[0].len() as f64;
        let mean = |outcome: BatchScore| (outcome.loss / count) as f32;
        Ok(outcomes.into_iter().map(mean).collect())
    }
}
