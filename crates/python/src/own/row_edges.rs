//! Edges between rows: which rows of a stack each row of a new one is made of, and pairs of rows.

use meshfold_engine::RowLists;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

/// Edges as a call of Python's gives them.
pub(super) struct RowEdges {
    pub(super) lists: RowLists,
    /// Numbers of edges, `E`.
    pub(super) count: usize,
}

impl RowEdges {
    /// The `edges` `[E, 2]` that `verb` was given, each from one of `sources` rows to one of `targets` new ones.
    pub(super) fn read(
        verb: &str,
        edges: &Bound<'_, PyAny>,
        sources: usize,
        targets: usize,
    ) -> PyResult<Self> {
        let edges = pairs(edges, &format!("{verb}: `edges`"), (sources, targets))?;
        Ok(Self {
            lists: RowLists::of_edges(&edges, targets),
            count: edges.len(),
        })
    }
}

/// The pairs `[E, 2]` called `name`: a row of `counts.0`, and one of `counts.1`.
pub(super) fn pairs(
    given: &Bound<'_, PyAny>,
    name: &str,
    counts: (usize, usize),
) -> PyResult<Vec<(u32, u32)>> {
    let arrays = given.py().import("meshfold._arrays")?;
    let checked = arrays.call_method1("row_pairs", (given, name, counts))?;
    let pairs: PyReadonlyArray2<'_, u32> = checked.extract()?;
    let flat = pairs.as_slice()?.chunks_exact(2);
    Ok(flat.map(|pair| (pair[0], pair[1])).collect())
}

/// The finite numbers called `name`: one for each of `count` edges, or one for all.
pub(super) fn weights(given: &Bound<'_, PyAny>, name: &str, count: usize) -> PyResult<Vec<f32>> {
    let arrays = given.py().import("meshfold._arrays")?;
    let checked = arrays.call_method1("one_or_each", (given, name, count))?;
    let weights: PyReadonlyArray1<'_, f32> = checked.extract()?;
    Ok(weights.as_slice()?.to_vec())
}
