//! From which models the rows of a run start.

use meshfold_engine::{EngineError, Learner, Stack, Start};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// From which models the rows start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InitialModels {
    /// Every row from the same model.
    #[default]
    Same,
    /// Each row from a draw of its own.
    Independent,
    /// Each client's one parameter from the label of its first example: the private value `w_k(0)` of DeceFL's consensus problem
    /// (Yuan et al., (7) and SI (16)).
    Label,
}

impl InitialModels {
    /// The first models, `[rows, P]`, by `seed`; `first_labels` are those of the clients, `[N]`.
    ///
    /// # Errors
    /// Those of [`Learner::initial_of`].
    pub(crate) fn models(
        self,
        learner: &Learner,
        seed: u64,
        rows: usize,
        first_labels: &[u16],
    ) -> Result<Stack, EngineError> {
        match self {
            Self::Same => learner.initial_of(seed, rows, Start::Same),
            Self::Independent => learner.initial_of(seed, rows, Start::Independent),
            Self::Label => {
                let values: Vec<f32> = first_labels.iter().map(|label| f32::from(*label)).collect();
                learner.initial_at(&values)
            }
        }
    }
}
