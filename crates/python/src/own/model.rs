//! Models that are written in Python: a function of the parameters and examples of many rows.

use std::sync::Arc;

use meshfold_data::Input;
use meshfold_engine::{
    ALIGNMENT, EngineError, HostModel, Initial, LentExamples, LentRows, Parameter,
    ReturnedGradient, TakeGradients,
};
use numpy::ndarray::{Array2, Array3};
use numpy::{PyArray2, PyArray3, PyReadonlyArray1, PyReadonlyArrayDyn};
use pyo3::prelude::*;

use crate::gate;

use super::memory::view;
use super::traceback::raised;

/// Fits the model `model` of Python's to examples of `input` in `classes` classes.
///
/// # Errors
/// [`EngineError::OwnModel`] with what Python raised.
pub(super) fn fit(
    model: &Py<PyAny>,
    input: Input,
    classes: usize,
) -> Result<Arc<dyn HostModel>, EngineError> {
    let tokens = matches!(input, Input::Tokens { .. });
    let fitted = gate::attach(|py| -> PyResult<Fitted> {
        let arguments = (input.features(), classes, tokens);
        let object = model.bind(py).call_method1("fit", arguments)?;
        let named: Vec<(String, Vec<usize>)> = object.getattr("shapes")?.extract()?;
        Ok(Fitted {
            parameters: parameters(named),
            object: object.unbind(),
        })
    });
    Ok(Arc::new(fitted.map_err(|error| failed(&error))?))
}

/// What Python raised, as an error of the engine's.
fn failed(error: &PyErr) -> EngineError {
    EngineError::OwnModel {
        reason: raised(error),
    }
}

/// # Interpretation
/// PyTorch's initial values where Python gives none: uniform in ±1/√inputs, a matrix `[.., outputs]` having its inputs first, and
/// a vector those of the parameter before it.
fn parameters(named: Vec<(String, Vec<usize>)>) -> Vec<Parameter> {
    let mut inputs = 1;
    let named = named.into_iter().map(|(name, shape)| {
        if let [before @ .., _] = &shape[..]
            && !before.is_empty()
        {
            inputs = before.iter().product();
        }
        Parameter::new(name, shape, Initial::of_inputs(inputs))
    });
    named.collect()
}

/// A model for some dataset: an object with `initial`, `outputs`, `gradients` and `pull_back`.
#[derive(Debug)]
struct Fitted {
    object: Py<PyAny>,
    parameters: Vec<Parameter>,
}

impl Fitted {
    /// Where each parameter begins in a row.
    fn offsets(&self) -> Vec<usize> {
        let mut offset = 0;
        let each = self.parameters.iter().map(|parameter| {
            let size: usize = parameter.shape.iter().product();
            let begins = offset;
            offset += size.next_multiple_of(ALIGNMENT);
            begins
        });
        each.collect()
    }

    /// Calls `method` with the models `[R, P_pad]`, the examples `[R, B, D]` and what is `given` besides.
    fn call<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        models: LentRows,
        examples: LentExamples,
        given: Option<Given<'_>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let LentRows {
            values,
            width,
            first,
            rows,
        } = models;
        let models = view(py, &values, first * width, &[rows, width], &[width, 1])?;
        drop(values);
        let (batch, features) = (examples.batch, examples.width);
        let sets = if examples.same { 1 } else { rows };
        let (shape, strides) = ([sets, batch, features], [batch * features, features, 1]);
        let x = view(py, &examples.values, 0, &shape, &strides)?;
        let object = self.object.bind(py);
        match given {
            None => object.call_method1(method, (models, x)),
            Some(given) => {
                let given = given.array(py, [rows, batch]);
                object.call_method1(method, (models, x, given))
            }
        }
    }
}

/// Losses `[R]`, gradients, and whether these are one array `[R, P_pad]` of all parameters rather than one for each.
type Returned<'py> = (
    PyReadonlyArray1<'py, f32>,
    Vec<PyReadonlyArrayDyn<'py, f32>>,
    bool,
);

impl HostModel for Fitted {
    fn parameters(&self) -> Vec<Parameter> {
        self.parameters.clone()
    }

    fn initial(&self, seed: u64, row: u32) -> Result<Option<Vec<Vec<f32>>>, EngineError> {
        let initial = gate::attach(|py| -> PyResult<Option<Vec<Vec<f32>>>> {
            let initial = self.object.bind(py).call_method1("initial", (seed, row))?;
            let initial: Option<Vec<PyReadonlyArrayDyn<'_, f32>>> = initial.extract()?;
            let numbers =
                |array: PyReadonlyArrayDyn<'_, f32>| array.as_array().iter().copied().collect();
            Ok(initial.map(|arrays| arrays.into_iter().map(numbers).collect()))
        });
        initial.map_err(|error| failed(&error))
    }

    fn outputs(&self, models: LentRows, examples: LentExamples) -> Result<Vec<f32>, EngineError> {
        let outputs = gate::attach(|py| -> PyResult<Vec<f32>> {
            let outputs = self.call(py, "outputs", models, examples, None)?;
            let outputs: PyReadonlyArrayDyn<'_, f32> = outputs.extract()?;
            Ok(match outputs.as_slice() {
                Ok(numbers) => numbers.to_vec(),
                Err(_) => outputs.as_array().iter().copied().collect(),
            })
        });
        outputs.map_err(|error| failed(&error))
    }

    fn gradients(
        &self,
        models: LentRows,
        examples: LentExamples,
        labels: &[u16],
        take: &mut TakeGradients<'_>,
    ) -> Result<(), EngineError> {
        self.take_gradients("gradients", models, examples, Given::Labels(labels), take)
    }

    fn pull_back(
        &self,
        models: LentRows,
        examples: LentExamples,
        slopes: &[f32],
        take: &mut TakeGradients<'_>,
    ) -> Result<(), EngineError> {
        self.take_gradients("pull_back", models, examples, Given::Slopes(slopes), take)
    }
}

/// What gradients are taken by, beside models and examples.
#[derive(Clone, Copy)]
enum Given<'a> {
    /// `[R, B]`.
    Labels(&'a [u16]),
    /// `[R, B, C]`.
    Slopes(&'a [f32]),
}

impl Given<'_> {
    fn array<'py>(self, py: Python<'py>, [rows, batch]: [usize; 2]) -> Bound<'py, PyAny> {
        match self {
            Self::Labels(labels) => {
                let labels: Vec<i64> = labels.iter().map(|label| i64::from(*label)).collect();
                let labels = Array2::from_shape_vec([rows, batch], labels);
                let labels = labels.expect("there is a label for each example");
                PyArray2::from_owned_array(py, labels).into_any()
            }
            Self::Slopes(slopes) => {
                let outputs = slopes.len() / (rows * batch).max(1);
                let slopes = Array3::from_shape_vec([rows, batch, outputs], slopes.to_vec());
                let slopes = slopes.expect("each example has as many outputs");
                PyArray3::from_owned_array(py, slopes).into_any()
            }
        }
    }
}

impl Fitted {
    /// Calls `take` with the losses and gradients that `method` returns for `given`.
    fn take_gradients(
        &self,
        method: &str,
        models: LentRows,
        examples: LentExamples,
        given: Given<'_>,
        take: &mut TakeGradients<'_>,
    ) -> Result<(), EngineError> {
        let width = models.width;
        gate::attach(|py| {
            let returned = self.call(py, method, models, examples, Some(given));
            let returned = returned.and_then(|returned| returned.extract::<Returned<'_>>());
            let (losses, arrays, flat) = returned.map_err(|error| failed(&error))?;
            let losses = losses.as_array().to_vec();
            let slices = arrays.iter().map(|array| array.as_slice());
            let slices: Vec<&[f32]> = slices
                .collect::<Result<_, _>>()
                .map_err(|error| failed(&PyErr::from(error)))?;
            let gradients: Vec<ReturnedGradient<'_>> = match (flat, &slices[..]) {
                (true, [all]) => {
                    let offsets = self.offsets().into_iter();
                    let gradient = |first| ReturnedGradient {
                        values: all,
                        first,
                        stride: width,
                    };
                    offsets.map(gradient).collect()
                }
                _ => {
                    let each = slices.iter().zip(&self.parameters);
                    each.map(|(values, parameter)| ReturnedGradient {
                        values,
                        first: 0,
                        stride: parameter.shape.iter().product(),
                    })
                    .collect()
                }
            };
            py.detach(|| take(&losses, &gradients))
        })
    }
}
