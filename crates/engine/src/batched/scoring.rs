//! Scores of models that compute many rows at once.

use super::Batched;
use super::calls::{PASSES, groups, lend, model, rows_of_a_call};
use crate::blocked::evaluation::distinct::Distinct;
use crate::blocked::pass::passes::labels_of;
use crate::error::EngineError;
use crate::kernels::BatchScore;
use crate::network::Network;
use crate::network::host_model::{LentExamples, LentRows, expect_outputs};
use crate::processor::host_rows::HostRows;
use crate::processor::row_memory::RowMemory;
use crate::training::context::{Context, no_validation};
use crate::training::score::{Score, Split};
use meshfold_data::Examples;
use std::sync::Arc;

/// Examples per model in one call: the lower bound applies to many models, the upper one to few.
const EXAMPLES: std::ops::RangeInclusive<usize> = 64..=1024;

impl Batched {
    /// Loss and accuracy of every row on `split`, or on its examples `subset`.
    ///
    /// # Errors
    /// Those of the model.
    pub(super) fn scores(
        &self,
        context: Context<'_>,
        models: &HostRows,
        split: Split<'_>,
        subset: Option<&[u32]>,
    ) -> Result<Vec<Score>, EngineError> {
        let examples = match split {
            Split::Shards(clients) => {
                let shards = context.shards(clients);
                return self.scores_on_own(context.network, models, context.train, &shards);
            }
            Split::LocalTests(clients) => {
                let (of, own) = (
                    context.examples_of_local_tests(),
                    context.local_tests(clients),
                );
                return self.scores_on_own(context.network, models, of, &own);
            }
            Split::Train => context.train,
            Split::Test => context.test,
            Split::Validation => context.validation.ok_or_else(no_validation)?,
        };
        let all: Vec<u32> = match subset {
            Some(subset) => subset.to_vec(),
            None => (0..examples.len() as u32).collect(),
        };
        let width = context.network.layout().width();
        let distinct = self.cpu.install(|| Distinct::of(models.values(), width));
        let each = (PASSES / distinct.rows.len().max(1)).clamp(*EXAMPLES.start(), *EXAMPLES.end());
        let mut outcomes = vec![BatchScore::default(); distinct.rows.len()];
        let most = rows_of_a_call(each, width);
        for (rows, outcomes) in distinct.rows.chunks(most).zip(outcomes.chunks_mut(most)) {
            let lent = lend(self.shared(models), width, rows);
            for indices in all.chunks(each) {
                let seen = LentExamples {
                    same: true,
                    ..self.examples(examples, &[indices])
                };
                let labels: Vec<u16> = labels_of(examples, indices).collect();
                self.judge(
                    context.network,
                    lent.clone(),
                    seen,
                    Labels::Same(&labels),
                    outcomes,
                )?;
            }
        }
        let judged = all.len();
        let score = |row: &usize| Score::of([outcomes[*row]].into_iter(), judged);
        Ok(distinct.which.iter().map(score).collect())
    }

    /// Loss and accuracy of row `i` on the examples `own[i]` of `examples`. Rows with equally many share calls.
    fn scores_on_own(
        &self,
        network: &Network,
        models: &HostRows,
        examples: &Examples,
        own: &[&[u32]],
    ) -> Result<Vec<Score>, EngineError> {
        let width = network.layout().width();
        let mut scores = vec![Score::default(); own.len()];
        for group in groups(own.iter().enumerate().map(|(row, own)| (row, own.len()))) {
            if group.size == 0 {
                continue;
            }
            let each = group.size.min(*EXAMPLES.end());
            for block in group.blocks(width) {
                let rows = &group.places[block];
                let lent = lend(self.shared(models), width, rows);
                let mut outcomes = vec![BatchScore::default(); rows.len()];
                for first in (0..group.size).step_by(each) {
                    let part = first..(first + each).min(group.size);
                    let indices: Vec<&[u32]> =
                        rows.iter().map(|row| &own[*row][part.clone()]).collect();
                    let seen = self.examples(examples, &indices);
                    let all = indices.iter().copied().flatten();
                    let labels: Vec<u16> = labels_of(examples, all).collect();
                    let labels = Labels::Each(&labels);
                    self.judge(network, lent.clone(), seen, labels, &mut outcomes)?;
                }
                for (row, outcome) in rows.iter().zip(outcomes) {
                    scores[*row] = Score::of([outcome].into_iter(), group.size);
                }
            }
        }
        Ok(scores)
    }

    /// Adds the scores of the rows `lent` on `examples` to `outcomes` `[R]`.
    pub(super) fn judge(
        &self,
        network: &Network,
        lent: LentRows,
        examples: LentExamples,
        labels: Labels<'_>,
        outcomes: &mut [BatchScore],
    ) -> Result<(), EngineError> {
        let (batch, classes) = (examples.batch, network.classes());
        let mut outputs = model(network).outputs(lent, examples)?;
        expect_outputs(&outputs, outcomes.len(), batch, classes)?;
        let rows = outputs.chunks_exact_mut((batch * classes).max(1));
        for (row, (outputs, outcome)) in rows.zip(outcomes).enumerate() {
            let labels = match labels {
                Labels::Same(labels) => labels,
                Labels::Each(labels) => &labels[row * batch..][..batch],
            };
            outcome.add(self.cpu.instructions().vectorize(
                #[inline(always)]
                || network.loss().judge(outputs, labels, classes, None),
            ));
        }
        Ok(())
    }

    pub(super) fn shared(&self, models: &HostRows) -> Arc<RowMemory> {
        use crate::backend::rows::Rows;
        models.shared().expect("they lie in host memory")
    }
}

/// The labels of examples: `[B]` if all rows see the same examples, else `[R, B]`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Labels<'a> {
    Same(&'a [u16]),
    Each(&'a [u16]),
}
