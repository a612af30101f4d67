//! The models that clients send in a round, for those who ask what receivers learn from them.

use meshfold_engine::Stack;

/// A copy of the models that clients send in a round, if it is asked for.
#[derive(Debug, Default)]
pub struct SentModels {
    is_asked_for: bool,
    models: Option<Stack>,
    /// Which clients have sent theirs, `[N]`.
    senders: Vec<bool>,
}

impl SentModels {
    /// None yet.
    pub fn new(is_asked_for: bool) -> Self {
        Self {
            is_asked_for,
            ..Self::default()
        }
    }

    /// Whether somebody asks for them.
    pub fn are_asked_for(&self) -> bool {
        self.is_asked_for
    }

    /// Those of the last round that showed any, `[N, P]`.
    pub fn models(&self) -> Option<&Stack> {
        self.models.as_ref()
    }

    /// Which clients have sent theirs in that round, `[N]`.
    pub fn senders(&self) -> &[bool] {
        &self.senders
    }

    /// Forgets those of the round before.
    pub fn clear(&mut self) {
        (self.models, self.senders) = (None, Vec::new());
    }

    /// Keeps `models` as those that clients send.
    pub fn keep(&mut self, models: Stack) {
        self.models = Some(models);
    }

    /// Notes which clients have sent theirs, `[N]`.
    pub fn note_senders(&mut self, senders: Vec<bool>) {
        self.senders = senders;
    }
}
