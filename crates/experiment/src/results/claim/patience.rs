//! How long a claim may stand still.

use std::sync::OnceLock;
use std::time::Duration;

/// The environment variable that says for how many seconds the claim of another machine may stand still.
const VARIABLE: &str = "MESHFOLD_CLAIM_SECONDS";

/// Seconds without it: a file server that is restarted must not cost a run.
const SECONDS: f64 = 60.0;

/// How long a claim may stand still before its process counts as dead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience(Duration);

impl Patience {
    #[cfg(test)]
    pub(super) fn of(limit: Duration) -> Self {
        Self(limit)
    }

    /// That of this process.
    pub(crate) fn here() -> &'static Self {
        static HERE: OnceLock<Patience> = OnceLock::new();
        HERE.get_or_init(|| {
            let asked = std::env::var(VARIABLE).ok();
            let asked = asked.and_then(|text| text.parse::<f64>().ok());
            let seconds = asked.filter(|seconds| (0.1..=86_400.0).contains(seconds));
            Self(Duration::from_secs_f64(seconds.unwrap_or(SECONDS)))
        })
    }

    /// How long a claim may stand still.
    pub(super) fn limit(&self) -> Duration {
        self.0
    }

    /// How often a process gives a sign of life.
    pub(super) fn between_signs(&self) -> Duration {
        self.0 / 12
    }

    /// How often a claim is looked at while somebody waits for a verdict.
    pub(super) fn between_looks(&self) -> Duration {
        self.between_signs().min(Duration::from_secs(1))
    }
}
