//! Evaluation of every row's model.

use crate::error::EngineError;
use crate::stacked::requests::evaluation_request::{EvaluationRequest, Lists};
use crate::stacked::trainer::Stacked;
use crate::training::context::{Context, no_validation};
use crate::training::score::{Score, Split};
use burn_cubecl::tensor::CubeTensor;

impl Stacked {
    /// Loss and accuracy of every row of `models` on `split`, or on its examples `subset`. Waits for the device.
    ///
    /// # Errors
    /// [`EngineError::Device`] if another run panicked; [`EngineError::Setting`] if there are no such examples; errors
    /// of a user's own model.
    pub(super) fn judge(
        &self,
        context: Context<'_>,
        models: CubeTensor,
        split: Split<'_>,
        subset: Option<&[u32]>,
    ) -> Result<Vec<Score>, EngineError> {
        let (examples, size) = match split {
            Split::LocalTests(_) if context.partition.has_tests_of_owners() => {
                (&self.test, context.test.len())
            }
            Split::Test => (&self.test, context.test.len()),
            Split::Validation => {
                let validation = self.validation.as_ref().zip(context.validation);
                let (stored, examples) = validation.ok_or_else(no_validation)?;
                (stored, examples.len())
            }
            Split::Train | Split::Shards(_) | Split::LocalTests(_) => {
                (&self.train, context.train.len())
            }
        };
        let own = |lists: Vec<&[u32]>| Lists::Own(lists.into_iter().map(<[u32]>::to_vec).collect());
        let lists = match (split, subset) {
            (Split::Shards(clients), _) => own(context.shards(clients)),
            (Split::LocalTests(clients), _) => own(context.local_tests(clients)),
            (_, Some(subset)) => Lists::Shared(subset.to_vec()),
            (_, None) => Lists::Shared((0..size as u32).collect()),
        };
        let evaluation = EvaluationRequest {
            network: self.network.clone(),
            examples: examples.clone(),
            rows: models.meta.shape()[0],
            models,
            lists,
        };
        match &self.participant {
            Some(participant) => participant.judge(evaluation, &self.gpu, self.workspace_bytes),
            None => evaluation.scores(self.gpu.memory(), self.workspace_bytes),
        }
    }
}
