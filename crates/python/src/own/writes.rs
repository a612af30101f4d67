//! Overwrites stacks with Python's arrays.

use meshfold_engine::{Block, Stack};
use numpy::PyReadonlyArrayDyn;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::stack::engine;

/// Overwrites all rows of `stack` with `values`, `[R, P]`.
pub(super) fn rows(py: Python<'_>, stack: &mut Stack, values: &Bound<'_, PyAny>) -> PyResult<()> {
    let shape = [stack.rows(), stack.layout().parameters()];
    let values = checked(py, values, "set: the array", &shape)?;
    let mut padded = vec![0.0; stack.rows() * stack.layout().width()];
    let mut begins = 0;
    for block in stack.layout().blocks() {
        let columns = begins..begins + block.size();
        write(&mut padded, stack, block, &values, shape[1], columns.start);
        begins = columns.end;
    }
    replace(py, stack, padded)
}

/// Overwrites the layers of `stack` that `layers` names, `[R, inputs, outputs]` each.
pub(super) fn layers(
    py: Python<'_>,
    stack: &mut Stack,
    layers: &Bound<'_, PyDict>,
) -> PyResult<()> {
    let mut padded = py.detach(|| stack.to_host());
    for (name, values) in layers {
        let name: String = name.extract()?;
        let mut blocks = stack.layout().blocks().iter();
        let Some(block) = blocks.find(|block| block.name == name) else {
            let known = stack.layout().blocks().iter().map(|block| &*block.name);
            return Err(PyValueError::new_err(format!(
                "set: there is no layer `{name}`: there are `{}`",
                known.collect::<Vec<_>>().join("`, `")
            )));
        };
        let shape = [stack.rows(), block.inputs, block.outputs];
        let values = checked(py, &values, &format!("set: the layer `{name}`"), &shape)?;
        write(&mut padded, stack, block, &values, block.size(), 0);
    }
    replace(py, stack, padded)
}

/// The numbers of an array of `shape`, row-major, which `meshfold._arrays` checks and knows by `name`.
fn checked(
    py: Python<'_>,
    values: &Bound<'_, PyAny>,
    name: &str,
    shape: &[usize],
) -> PyResult<Vec<f32>> {
    let shape = pyo3::types::PyTuple::new(py, shape)?;
    let checked = py
        .import("meshfold._arrays")?
        .call_method1("numbers", (values, name, shape))?;
    let array: PyReadonlyArrayDyn<'_, f32> = checked.extract()?;
    Ok(array.as_array().iter().copied().collect())
}

/// Puts columns of `values` `[R, columns]`, from `first` on, in the place of `block` in the rows `padded`.
fn write(
    padded: &mut [f32],
    stack: &Stack,
    block: &Block,
    values: &[f32],
    columns: usize,
    first: usize,
) {
    let rows = padded.chunks_exact_mut(stack.layout().width().max(1));
    for (row, values) in rows.zip(values.chunks_exact(columns.max(1))) {
        row[block.range()].copy_from_slice(&values[first..][..block.size()]);
    }
}

fn replace(py: Python<'_>, stack: &mut Stack, padded: Vec<f32>) -> PyResult<()> {
    let (device, layout) = (stack.device().clone(), stack.layout().clone());
    *stack = py.detach(|| Stack::from_host(&device, &layout, padded).map_err(engine))?;
    Ok(())
}
