//! A user's own model, fitted to a dataset and checked.

use super::OwnModel;
use super::host::host;
use crate::error::EngineError;
use crate::network::layout::Layout;
use crate::network::own_body::OwnBody;
use crate::network::parameter::{Parameter, arrange};
use crate::network::trial::{self, TRIED};
use meshfold_data::Input;
use std::sync::Arc;

/// A user's own model and the parameters that it has for a dataset.
#[derive(Debug, Clone)]
pub(crate) struct FittedOwnModel {
    model: Arc<dyn OwnModel>,
    parameters: Vec<Parameter>,
    pub(in crate::network) layout: Arc<Layout>,
    classes: usize,
}

impl FittedOwnModel {
    /// Asks `model` for its parameters, and tries it on two rows with some made-up examples.
    ///
    /// # Errors
    /// [`EngineError::OwnModel`] if the parameters cannot be, the outputs are of another shape than they must be, or a
    /// row's outputs change with those beside it; whatever the model says itself.
    pub(crate) fn new(
        model: Arc<dyn OwnModel>,
        input: Input,
        classes: usize,
    ) -> Result<Self, EngineError> {
        let parameters = model.parameters(input, classes)?;
        let own = Self {
            layout: Arc::new(arrange(&parameters)?),
            parameters,
            model,
            classes,
        };
        own.try_out(input)?;
        Ok(own)
    }

    pub(super) fn model(&self) -> &dyn OwnModel {
        self.model.as_ref()
    }

    pub(super) fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    pub(super) fn classes(&self) -> usize {
        self.classes
    }

    /// Compares the outputs of a row beside another with its outputs alone, and checks that they can be differentiated.
    fn try_out(&self, input: Input) -> Result<(), EngineError> {
        let width = input.features();
        let models = [self.initialise(0, 0), self.initialise(0, 1)].concat();
        let x = trial::examples(input, self.classes);
        let outputs = |rows: std::ops::Range<usize>| {
            let count = rows.len();
            let models = &models[rows.start * self.layout.width()..][..count * self.layout.width()];
            let x = &x[rows.start * TRIED * width..][..count * TRIED * width];
            let (views, x) = self.on_processor(models, x, [count, TRIED, width]);
            let tape = self.tape(views, x, true)?;
            Ok(host(tape.outputs()))
        };
        let (both, second) = (outputs(0..2)?, outputs(1..2)?);
        trial::expect_apart(&both, &second, "tensors")
    }
}
