//! Models of a user's own, written with burn, and differentiated by it.

mod body;
mod host;
mod parameters;
mod row_by_row;
mod rows;
pub(crate) mod tape;

pub use parameters::Parameters;
pub use row_by_row::RowByRow;

pub(crate) use body::FittedOwnModel;

use super::own_models::OwnModels;
use super::parameter::Parameter;
use super::{Body, Network};
use crate::error::EngineError;
use burn::tensor::Tensor;
use meshfold_data::Input;
use std::fmt::Debug;
use std::sync::Arc;

/// A model that is no variant of [`Model`](crate::Model): its parameters, and how it computes outputs from examples.
///
/// The model defines only the forward pass, for all rows at once, and burn differentiates it. The engine does all else:
/// batches, learning rates, momentum, clipping, corrections, the cross-entropy of the outputs, scores and mixing. The
/// parameters of all rows lie in one [`Stack`](crate::Stack), as those of other models do. An ordinary burn module,
/// written for one model, becomes an own model through [`RowByRow`].
///
/// The first dimension of every tensor is the row. Rows must be independent: the outputs of a row depend on its own
/// parameters and examples alone, and its outputs for an example on that example alone. The engine may cut batches and
/// compute rows one by one. On the processor it does, a row to a thread, so that neither the number of threads nor the
/// other rows change a bit. Nothing may be random.
///
/// ```
/// use meshfold_data::{Input, Shape};
/// use meshfold_engine::burn::tensor::{Tensor, activation};
/// use meshfold_engine::{EngineError, Initial, Network, OwnModel, Parameter, Parameters};
/// use std::sync::Arc;
///
/// /// One hidden layer with the hyperbolic tangent.
/// #[derive(Debug)]
/// struct Hyperbolic {
///     hidden: usize,
/// }
///
/// impl OwnModel for Hyperbolic {
///     fn parameters(&self, input: Input, classes: usize) -> Result<Vec<Parameter>, EngineError> {
///         let inputs = input.features();
///         Ok(vec![
///             Parameter::new("hidden", [inputs, self.hidden], Initial::of_inputs(inputs)),
///             Parameter::new("output", [self.hidden, classes], Initial::of_inputs(self.hidden)),
///             Parameter::new("bias", [1, classes], Initial::Constant(0.0)),
///         ])
///     }
///
///     fn forward(&self, parameters: &Parameters<'_>, x: Tensor<3>) -> Result<Tensor<3>, EngineError> {
///         let hidden = activation::tanh(x.matmul(parameters.get("hidden")?));
///         Ok(hidden.matmul(parameters.get("output")?) + parameters.get("bias")?)
///     }
/// }
///
/// let network = Network::own(Arc::new(Hyperbolic { hidden: 20 }), Input::Numbers(Shape::flat(784)), 10)?;
/// assert_eq!(network.layout().parameters(), 784 * 20 + 20 * 10 + 10);
/// # Ok::<(), EngineError>(())
/// ```
pub trait OwnModel: Debug + Send + Sync {
    /// The parameters of one model for examples of `input` in `classes` classes, in the order of the rows of a stack.
    ///
    /// # Errors
    /// [`EngineError::OwnModel`] if the model cannot read such examples.
    fn parameters(&self, input: Input, classes: usize) -> Result<Vec<Parameter>, EngineError>;

    /// The outputs `[R, B, C]` of `R` rows for `B` examples of each, one per class before the softmax.
    ///
    /// `x` is `[R, B, D]`, every example as it is stored: images channel by channel, so that `x.reshape([R, B, channels,
    /// height, width])` is one; the tokens of a window as whole numbers, which `x.int()` gives. A constant belongs on
    /// `x.device()`.
    ///
    /// # Errors
    /// [`EngineError::OwnModel`] if a parameter is asked for that [`OwnModel::parameters`] does not name.
    fn forward(&self, parameters: &Parameters<'_>, x: Tensor<3>) -> Result<Tensor<3>, EngineError>;
}

impl Network {
    /// Fits a model of the user's own to examples of `input` in `classes` classes. It is judged by the cross-entropy of one
    /// output per class, at one position: the class of an example, or the token that follows a window.
    ///
    /// # Errors
    /// [`EngineError::OwnModel`] if its parameters cannot be, its outputs are of another shape than rows, examples and
    /// classes, or a row's outputs change with the rows beside it; whatever the model says itself.
    pub fn own(
        model: Arc<dyn OwnModel>,
        input: Input,
        classes: usize,
    ) -> Result<Self, EngineError> {
        let own = FittedOwnModel::new(model, input, classes)?;
        let layout = own.layout.clone();
        Ok(Self::of_body(
            Body::Own(Arc::new(own)),
            layout,
            input,
            classes,
        ))
    }
}

impl OwnModels {
    /// These models and `model` under `name`, in place of any that had it.
    pub fn with(self, name: impl Into<String>, model: impl OwnModel + 'static) -> Self {
        let model: Arc<dyn OwnModel> = Arc::new(model);
        let fit = move |input, classes| Network::own(model.clone(), input, classes);
        let name: String = name.into();
        self.and(name.as_str().into(), Arc::new(fit))
    }
}
