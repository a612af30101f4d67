//! How methods in Python compress messages.

use meshfold_algorithms::{Aggregate, Quantise};
use meshfold_engine::NormScope;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Messages of `bits` bits a parameter, with one norm for the whole `model` or for each `layer`.
pub(super) fn quantise(bits: u32, norm: &str) -> PyResult<Quantise> {
    let norm = match norm {
        "model" => NormScope::Model,
        "layer" => NormScope::Layer,
        _ => {
            return Err(PyValueError::new_err(format!(
                "quantize: `norm` is `{norm}`, needed `model` or `layer`"
            )));
        }
    };
    let quantise = Quantise {
        bits,
        norm,
        aggregate: Aggregate::default(),
    };
    match quantise.check() {
        Ok(()) => Ok(quantise),
        Err(_) => Err(PyValueError::new_err(format!(
            "quantize: found {bits} bits, needed 2 to 24, one of them the sign"
        ))),
    }
}
