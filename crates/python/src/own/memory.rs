//! Memory of the engine that Python reads without a copy.
//!
//! NumPy reads memory that Rust owns, which takes `unsafe` code. The memory is an `Arc` in a Python object, [`Memory`],
//! which every array over it keeps alive. The engine copies shared memory before it changes it, so that nobody sees it
//! change; the arrays cannot be written to.

use std::any::Any;
use std::ops::Deref;
use std::sync::Arc;

use numpy::ndarray::{ArrayView, IxDyn, ShapeBuilder};
use numpy::{PyArrayDyn, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Numbers that some arrays are views of.
#[pyclass(name = "Memory", module = "meshfold", frozen)]
struct Memory(#[expect(dead_code, reason = "it is held, not read")] Arc<dyn Any + Send + Sync>);

/// An array of `shape` over `memory`, which cannot be written to: it begins at `first`, and `strides` are numbers.
///
/// # Errors
/// `ValueError` if the array would reach beyond the memory.
#[allow(
    unsafe_code,
    reason = "NumPy is told of memory that an object of Python's keeps alive"
)]
pub(super) fn view<'py, M: Deref<Target = [f32]> + Send + Sync + 'static>(
    py: Python<'py>,
    memory: &Arc<M>,
    first: usize,
    shape: &[usize],
    strides: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    let refuse = || PyValueError::new_err("an array would reach beyond its memory");
    let from_first = memory.get(first..).ok_or_else(refuse)?;
    let strided = IxDyn(shape).strides(IxDyn(strides));
    // Checks that every element lies within the slice.
    let array = ArrayView::from_shape(strided, from_first).map_err(|_| refuse())?;
    let held: Arc<M> = Arc::clone(memory);
    let owner = Bound::new(py, Memory(held))?;
    // SAFETY: `owner` becomes the array's base and holds the `Arc`, so that the numbers live as long as the array. They are never
    // changed or reallocated meanwhile: `Memory` is frozen and gives nothing away, and whoever else has the `Arc` cannot change
    // what is in it while it is shared, as `Arc::get_mut` and `Arc::make_mut` see to. The array is made read-only before anybody
    // has it, and NumPy makes none writeable again whose base is no array or buffer.
    let array = unsafe { PyArrayDyn::borrow_from_array(&array, owner.into_any()) };
    array.readwrite().make_nonwriteable();
    Ok(array)
}
