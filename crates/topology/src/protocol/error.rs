//! Settings of a simulation that cannot work.

/// A setting of a [`Churn`](super::Churn) that cannot work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting} is {found}, needed {needed}")]
pub struct ChurnError {
    /// Dotted path of the setting, such as `events.2.fail.share`.
    pub setting: String,
    /// The value found.
    pub found: String,
    /// What is needed.
    pub needed: String,
}

impl ChurnError {
    pub(super) fn new(
        setting: impl Into<String>,
        found: impl ToString,
        needed: impl Into<String>,
    ) -> Self {
        Self {
            setting: setting.into(),
            found: found.to_string(),
            needed: needed.into(),
        }
    }
}
