//! One pass of a user's own model, and the backward pass.

use super::body::FittedOwnModel;
use super::parameters::Parameters;
use crate::error::EngineError;
use burn::tensor::Tensor;

/// Outputs of some rows, and what burn remembers of the way to them.
pub(crate) struct Tape {
    outputs: Tensor<3>,
    /// `[R, size]` each, in the order of the blocks.
    views: Vec<Tensor<2>>,
}

impl FittedOwnModel {
    /// Outputs of the rows whose parameters are `views` `[R, size]`, in the order of the blocks, for their examples `x`
    /// `[R, B, D]`, remembered if `tracked`.
    ///
    /// # Errors
    /// [`EngineError::OwnModel`] if they are not `[R, B, C]`, or come from no parameter where they are tracked.
    pub(crate) fn tape(
        &self,
        views: Vec<Tensor<2>>,
        x: Tensor<3>,
        tracked: bool,
    ) -> Result<Tape, EngineError> {
        let [rows, batch, _] = x.dims();
        let needed = [rows, batch, self.classes()];
        let parameters = Parameters::of(self, views, tracked);
        let outputs = self.model().forward(&parameters, x)?;
        let found = outputs.dims();
        let reason = if found != needed {
            format!(
                "its outputs are {found:?}, but they must be {needed:?}: rows, examples and classes"
            )
        } else if tracked && !outputs.is_tracked() {
            "its outputs do not depend on its parameters".to_owned()
        } else {
            let views = parameters.into_views();
            return Ok(Tape { outputs, views });
        };
        Err(EngineError::OwnModel { reason })
    }
}

impl Tape {
    /// The outputs, `[R, B, C]`.
    pub(crate) fn outputs(&self) -> Tensor<3> {
        self.outputs.clone().inner()
    }

    /// The gradient by every block, `[R, size]` each, given the gradient `slopes` by the outputs; `None` for a parameter
    /// that the outputs do not depend on.
    pub(crate) fn back(self, slopes: Tensor<3>) -> Vec<Option<Tensor<2>>> {
        let mut gradients = (self.outputs * slopes).sum().backward();
        let views = self.views.into_iter();
        views.map(|view| view.grad_remove(&mut gradients)).collect()
    }
}
