//! The projection Π_W onto a ball.

use crate::error::AlgorithmError;
use meshfold_engine::Stack;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The projection `Π_W` of (6), (10) and (13) onto the ball `W = {w: ‖w‖ <= R}`, `w` being all parameters of a model.
///
/// # Source
/// DFedRW (Wang et al.), (6), (10), (13), and Section III: `W` is a closed and bounded set of models.
///
/// # Interpretation
/// The paper names no set. A ball around zero is closed, bounded and convex, so that averages (11) stay in it, and its
/// projection is `w <- min(1, R / ‖w‖) w`. (10) is one update for each visit of a walker, so the model is projected once, when
/// the local steps of the visit are done and before it is left there or sent on; with one local step in a visit that is (6). Models
/// that are not trained are not projected: first models that lie outside stay there until a walker takes them along.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Projection {
    /// Largest norm of a model, `R`.
    pub radius: f32,
}

impl Projection {
    /// Checks the value.
    ///
    /// # Errors
    /// [`AlgorithmError::Setting`].
    pub fn check(self) -> Result<(), AlgorithmError> {
        if self.radius > 0.0 && self.radius.is_finite() {
            return Ok(());
        }
        Err(AlgorithmError::setting(
            "projection.radius",
            self.radius,
            "it must be positive and finite",
        ))
    }

    /// Projects the rows `trained` of `models`; the others do not move.
    ///
    /// # Errors
    /// [`AlgorithmError::Engine`].
    pub(super) fn of(self, models: &mut Stack, trained: &[u32]) -> Result<(), AlgorithmError> {
        if trained.len() == models.rows() {
            models.project(self.radius);
            return Ok(());
        }
        let mut some = models.gather(trained)?;
        some.project(self.radius);
        Ok(models.scatter(trained, &some)?)
    }
}
