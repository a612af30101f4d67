//! Stacks as arrays that Python reads.
//!
//! On the processor they share the memory of the stack. They show its rows as they are when the array is made: whatever changes the
//! stack later copies its rows first if such an array is still there. On a GPU the rows are copied to the processor.

use std::sync::Arc;

use meshfold_engine::{RowMemory, Stack};
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::memory::view;

/// The rows `[R, P_pad]` of `stack`: its own memory, or a copy of it from a GPU.
fn memory(py: Python<'_>, stack: &Stack) -> Arc<RowMemory> {
    py.detach(|| {
        stack
            .shared()
            .unwrap_or_else(|| Arc::new(stack.to_host().into()))
    })
}

/// The rows `[R, P]`, or `[R, P_pad]` if `padded`. Those without padding are copied if there is some between two layers.
pub(super) fn rows<'py>(
    py: Python<'py>,
    stack: &Stack,
    padded: bool,
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    let layout = stack.layout();
    let (width, parameters) = (layout.width(), layout.parameters());
    let end = layout.blocks().last().map_or(0, |block| block.range().end);
    if padded || end == parameters {
        let columns = if padded { width } else { parameters };
        let memory = memory(py, stack);
        return view(py, &memory, 0, &[stack.rows(), columns], &[width, 1]);
    }
    let array = PyArray1::from_vec(py, py.detach(|| stack.unpadded()))
        .reshape([stack.rows(), parameters])?;
    array.readwrite().make_nonwriteable();
    Ok(array.to_dyn().clone())
}

/// A dict from the names of the layers to `[R, inputs, outputs]`.
pub(super) fn by_layer<'py>(py: Python<'py>, stack: &Stack) -> PyResult<Bound<'py, PyDict>> {
    let (layout, memory) = (stack.layout(), memory(py, stack));
    let layers = PyDict::new(py);
    for block in layout.blocks() {
        let shape = [stack.rows(), block.inputs, block.outputs];
        let strides = [layout.width(), block.outputs, 1];
        let array = view(py, &memory, block.offset, &shape, &strides)?;
        layers.set_item(&block.name, array)?;
    }
    Ok(layers)
}

/// A capsule with a copy of the rows `[R, P_pad]`, or, if `copy=False` is asked for, with the rows themselves, as NumPy makes it.
///
/// There are frameworks that write to arrays which say that they must not be written to. So they are given a copy, unless whoever asks
/// says that there must be none.
pub(super) fn dlpack<'py>(
    py: Python<'py>,
    stack: &Stack,
    asked: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    dlpack_device(stack)?;
    let array = rows(py, stack, true)?.into_any();
    let asked_for = |name: &str| asked.map(|asked| asked.get_item(name)).transpose();
    let copy: Option<bool> = match asked_for("copy")?.flatten() {
        Some(copy) => copy.extract()?,
        None => None,
    };
    match copy {
        Some(false) => array.call_method("__dlpack__", (), asked),
        _ => array.call_method0("copy")?.call_method0("__dlpack__"),
    }
}

/// `(1, 0)`, the processor.
///
/// # Errors
/// `BufferError` on a GPU.
pub(super) fn dlpack_device(stack: &Stack) -> PyResult<(i32, i32)> {
    match stack.host().is_some() {
        true => Ok((1, 0)),
        false => Err(PyBufferError::new_err(format!(
            "the stack is on the device {}, whose memory DLPack cannot share: `stack.numpy()` copies it to the processor",
            stack.device().kind()
        ))),
    }
}
