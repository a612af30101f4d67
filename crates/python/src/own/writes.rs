//! Overwrites stacks with Python's arrays.

use std::sync::Arc;

use meshfold_engine::{Block, Stack};
use numpy::{PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::layers;
use super::stack::engine;

/// `value` as an array of NumPy's, which `meshfold._arrays` knows by `name`.
pub(super) fn array<'py>(value: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let arrays = value.py().import("meshfold._arrays")?;
    arrays.call_method1("plain", (value, name))
}

/// `layers` with arrays of NumPy's, by their names.
pub(super) fn arrays<'py>(layers: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(layers.py());
    for (name, value) in layers {
        let value = array(&value, &format!("set: the layer `{name}`"))?;
        made.set_item(name, value)?;
    }
    Ok(made)
}

/// Overwrites all rows of `stack` with `values`, `[R, P]`, or `[R, P_pad]`, whose padding is left out. Errors name `verb`.
pub(super) fn rows(
    py: Python<'_>,
    stack: &mut Stack,
    values: &Bound<'_, PyAny>,
    verb: &str,
) -> PyResult<()> {
    let (rows, layout) = (stack.rows(), Arc::clone(stack.layout()));
    let widths = [layout.parameters(), layout.width()];
    let name = format!("{verb}: the array");
    let values = checked(py, values, &name, &[rows], &widths)?;
    let (values, columns) = (values.as_slice()?, values.shape()[1]);
    let is_padded = columns == layout.width();
    *stack = py.detach(|| {
        let mut new = Stack::zeros(stack.device(), &layout, rows);
        change(&mut new, |row, to| {
            let from = &values[row * columns..][..columns];
            let mut begin = 0;
            for block in layout.blocks() {
                let place = if is_padded { block.offset } else { begin };
                to[block.range()].copy_from_slice(&from[place..][..block.size()]);
                begin += block.size();
            }
        })?;
        Ok::<_, PyErr>(new)
    })?;
    Ok(())
}

/// Overwrites the layers of `stack` that `layers` names, `[R, inputs, outputs]` each.
pub(super) fn layers(
    py: Python<'_>,
    stack: &mut Stack,
    given_layers: &Bound<'_, PyDict>,
) -> PyResult<()> {
    let layout = Arc::clone(stack.layout());
    let mut given = Vec::new();
    for (name, values) in given_layers {
        let name: String = name.extract()?;
        layers::expect_known(&layout, &name, "set")?;
        let block = layout.blocks().iter().find(|block| block.name == name);
        let block = block.expect("the layer is there");
        let shape = [stack.rows(), block.inputs];
        let name = format!("set: the layer `{name}`");
        given.push((
            block,
            checked(py, &values, &name, &shape, &[block.outputs])?,
        ));
    }
    let given: PyResult<Vec<(&Block, &[f32])>> = given
        .iter()
        .map(|(block, values)| Ok((*block, values.as_slice()?)))
        .collect();
    let given = given?;
    py.detach(|| {
        change(stack, |row, to| {
            for (block, values) in &given {
                let from = &values[row * block.size()..][..block.size()];
                to[block.range()].copy_from_slice(from);
            }
        })
    })
}

/// Calls `work` on `stack`, and then gives `blocks` back what they had.
pub(super) fn sparing(
    stack: &mut Stack,
    blocks: &[&Block],
    work: impl FnOnce(&mut Stack) -> PyResult<()>,
) -> PyResult<()> {
    if blocks.is_empty() {
        return work(stack);
    }
    let (before, width) = (stack.to_host(), stack.layout().width());
    work(stack)?;
    change(stack, |row, to| {
        for block in blocks {
            let range = block.range();
            to[range.clone()].copy_from_slice(&before[row * width..][range]);
        }
    })
}

/// An array of shape `[..shape, one of last]`, row-major, which `meshfold._arrays` checks and knows by `name`.
fn checked<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    name: &str,
    shape: &[usize],
    last: &[usize],
) -> PyResult<PyReadonlyArrayDyn<'py, f32>> {
    let checked = py.import("meshfold._arrays")?.call_method1(
        "rows",
        (values, name, PyTuple::new(py, shape)?, last.to_vec()),
    )?;
    checked.extract()
}

/// Lets `write` change each row `[P_pad]` of `stack`: in place, or on a GPU by a copy in host memory.
fn change(stack: &mut Stack, write: impl Fn(usize, &mut [f32])) -> PyResult<()> {
    let width = stack.layout().width().max(1);
    let write_all = |rows: &mut [f32]| {
        let rows = rows.chunks_exact_mut(width).enumerate();
        rows.for_each(|(row, to)| write(row, to));
    };
    if let Some(rows) = stack.host_mut() {
        write_all(rows);
        return Ok(());
    }
    let mut rows = stack.to_host();
    write_all(&mut rows);
    let (device, layout) = (stack.device().clone(), stack.layout().clone());
    *stack = Stack::from_host(&device, &layout, rows).map_err(engine)?;
    Ok(())
}
