//! Layers that a call names.

use meshfold_engine::{Block, Layout, TrainedLayers};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The layers of `layout` that local steps are to move, by `names`; `None` if that is all of them.
pub(super) fn read(names: &Bound<'_, PyAny>, layout: &Layout) -> PyResult<Option<TrainedLayers>> {
    let names = named(names, layout, "train")?;
    Ok(TrainedLayers::of(layout, |layer| {
        names.iter().any(|name| name == layer)
    }))
}

/// The blocks of `layout` that `names` names, which `verb` was given, and the others.
pub(super) fn parted<'a>(
    names: &Bound<'_, PyAny>,
    layout: &'a Layout,
    verb: &str,
) -> PyResult<(Vec<&'a Block>, Vec<&'a Block>)> {
    let names = named(names, layout, verb)?;
    let blocks = layout.blocks().iter();
    Ok(blocks.partition(|block| names.contains(&block.name)))
}

/// The `names` of layers of `layout` that `verb` was given.
fn named(names: &Bound<'_, PyAny>, layout: &Layout, verb: &str) -> PyResult<Vec<String>> {
    let names: Option<Vec<String>> = match names.is_instance_of::<PyString>() {
        true => None,
        false => names
            .try_iter()
            .and_then(Iterator::collect::<PyResult<Vec<_>>>)
            .ok()
            .and_then(|names| names.iter().map(|name| name.extract().ok()).collect()),
    };
    let names = names.ok_or_else(|| {
        PyTypeError::new_err(format!(
            "{verb}: `layers` needs a list of names, such as `list(models.by_layer())`"
        ))
    })?;
    for name in &names {
        expect_known(layout, name, verb)?;
    }
    Ok(names)
}

/// Makes sure that `layout` has a layer `name`, which `verb` was given.
pub(super) fn expect_known(layout: &Layout, name: &str, verb: &str) -> PyResult<()> {
    let known = || layout.blocks().iter().map(|block| &*block.name);
    if known().any(|layer| layer == name) {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "{verb}: there is no layer `{name}`: there are `{}`",
        known().collect::<Vec<_>>().join("`, `")
    )))
}
