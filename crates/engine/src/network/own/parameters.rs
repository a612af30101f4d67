//! The parameters of some rows, as tensors.

use super::body::FittedOwnModel;
use crate::error::EngineError;
use crate::network::parameter::Parameter;
use burn::tensor::{Device, Tensor};

/// The parameters of `R` rows, as [`OwnModel::forward`](super::OwnModel::forward) is given them: views of the stack, which
/// burn differentiates by when the rows are trained.
#[derive(Debug)]
pub struct Parameters<'a> {
    parameters: &'a [Parameter],
    rows: usize,
    device: Device,
    /// `[R, size]` each, in the order of the parameters.
    views: Vec<Tensor<2>>,
}

impl<'a> Parameters<'a> {
    /// The parameters `views` `[R, size]` of `own`, differentiated by if `tracked`.
    pub(super) fn of(own: &'a FittedOwnModel, views: Vec<Tensor<2>>, tracked: bool) -> Self {
        let first = views.first().expect("a model has parameters");
        let ([rows, _], device) = (first.dims(), first.device());
        let views = match tracked {
            true => {
                let leaf = |view: Tensor<2>| view.autodiff().require_grad();
                views.into_iter().map(leaf).collect()
            }
            false => views,
        };
        Self {
            parameters: own.parameters(),
            rows,
            device,
            views,
        }
    }

    /// Number of rows, `R`.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Where the rows live.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The parameter `name` of all rows, `[R, ..shape]`: `D` is one more than its own dimensions.
    ///
    /// # Errors
    /// [`EngineError::OwnModel`] if there is no such parameter, or it has other than `D - 1` dimensions.
    pub fn get<const D: usize>(&self, name: &str) -> Result<Tensor<D>, EngineError> {
        let (index, parameter) = self.find(name)?;
        let shape = [&[self.rows], &parameter.shape[..]].concat();
        shaped(self.views[index].clone(), parameter, shape)
    }

    /// The parameter `name` of row `row`, `[..shape]`.
    ///
    /// # Errors
    /// [`EngineError::OwnModel`] if there is no such parameter or row, or the parameter has other than `D` dimensions.
    pub fn of_row<const D: usize>(&self, name: &str, row: usize) -> Result<Tensor<D>, EngineError> {
        let (index, parameter) = self.find(name)?;
        if row >= self.rows {
            return Err(EngineError::OwnModel {
                reason: format!("row {row} is asked for where there are {}", self.rows),
            });
        }
        let view = self.views[index].clone().narrow(0, row, 1);
        shaped(view, parameter, parameter.shape.clone())
    }

    /// The views that a gradient is taken by.
    pub(super) fn into_views(self) -> Vec<Tensor<2>> {
        self.views
    }

    fn find(&self, name: &str) -> Result<(usize, &Parameter), EngineError> {
        let mut all = self.parameters.iter().enumerate();
        all.find(|(_, parameter)| parameter.name == name)
            .ok_or_else(|| {
                let names = self.parameters.iter().map(|own| own.name.as_str());
                let names = names.collect::<Vec<_>>().join("`, `");
                EngineError::OwnModel {
                    reason: format!("it asks for the parameter `{name}`, but it names `{names}`"),
                }
            })
    }
}

/// `view` as a tensor of `shape`.
fn shaped<const D: usize>(
    view: Tensor<2>,
    parameter: &Parameter,
    shape: Vec<usize>,
) -> Result<Tensor<D>, EngineError> {
    let dimensions = <[usize; D]>::try_from(shape).map_err(|shape| EngineError::OwnModel {
        reason: format!(
            "it asks for the parameter `{}` in {D} dimensions, but its rows give the shape {shape:?}",
            parameter.name
        ),
    })?;
    Ok(view.reshape(dimensions))
}
