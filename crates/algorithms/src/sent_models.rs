//! The models that clients send in a round, for those who ask what receivers learn from them.

use meshfold_engine::Stack;

/// A copy of the models that clients send in a round, if it is asked for.
#[derive(Debug, Default)]
pub struct SentModels {
    is_asked_for: bool,
    models: Option<Stack>,
}

impl SentModels {
    /// None yet.
    pub fn new(is_asked_for: bool) -> Self {
        Self {
            is_asked_for,
            models: None,
        }
    }

    /// Those of the last round that showed any, `[N, P]`.
    pub fn models(&self) -> Option<&Stack> {
        self.models.as_ref()
    }

    /// Forgets those of the round before.
    pub fn clear(&mut self) {
        self.models = None;
    }

    /// Whether a round whose models are judged (`is_recorded`) is still to show what clients send.
    pub(crate) fn are_missing(&self, is_recorded: bool) -> bool {
        self.is_asked_for && is_recorded && self.models.is_none()
    }

    /// Keeps `models`, which belong to a round that is asked for them.
    pub(crate) fn keep(&mut self, models: Stack) {
        self.models = Some(models);
    }
}
