//! What rows of a stack make of one another, edge by edge.

use meshfold_engine::Stack;
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::super::number_lists;
use super::super::row_edges::{self, RowEdges};
use super::{PyStack, engine};

impl PyStack {
    /// The stack, and the `edges` that `verb` was given, from its rows to `rows` new ones; to as many if absent.
    fn with_edges(
        &self,
        verb: &str,
        edges: &Bound<'_, PyAny>,
        rows: Option<usize>,
    ) -> PyResult<(&Stack, RowEdges)> {
        let stack = self.stack()?;
        let edges = RowEdges::read(verb, edges, stack.rows(), rows.unwrap_or(stack.rows()))?;
        Ok((stack, edges))
    }
}

#[pymethods]
impl PyStack {
    #[doc = documented!("Stack.weighted_sums")]
    #[pyo3(signature = (edges, weights, rows=None))]
    fn weighted_sums(
        &self,
        py: Python<'_>,
        edges: &Bound<'_, PyAny>,
        weights: &Bound<'_, PyAny>,
        rows: Option<usize>,
    ) -> PyResult<Self> {
        let (stack, edges) = self.with_edges("weighted_sums", edges, rows)?;
        let weights = row_edges::weights(weights, "weighted_sums: `weights`", edges.count)?;
        let sums = py.detach(|| stack.weighted_sums(&edges.lists, &weights));
        sums.map(Self::of).map_err(engine)
    }

    #[doc = documented!("Stack.trimmed_means")]
    #[pyo3(signature = (edges, trim, rows=None))]
    fn trimmed_means(
        &self,
        py: Python<'_>,
        edges: &Bound<'_, PyAny>,
        trim: &Bound<'_, PyAny>,
        rows: Option<usize>,
    ) -> PyResult<Self> {
        let (stack, edges) = self.with_edges("trimmed_means", edges, rows)?;
        let (name, count) = ("trimmed_means: `trim`", edges.lists.len());
        let trims = number_lists::one_or_each(trim, name, count, "row")?;
        let trims: Result<Vec<u32>, _> = trims.into_iter().map(u32::try_from).collect();
        let trims = trims.map_err(|_| {
            PyValueError::new_err(format!("{name} has a number below 0 or above {}", u32::MAX))
        })?;
        let means = py.detach(|| stack.trimmed_means(&edges.lists, &trims));
        means.map(Self::of).map_err(engine)
    }

    #[doc = documented!("Stack.medians")]
    #[pyo3(signature = (edges, rows=None))]
    fn medians(
        &self,
        py: Python<'_>,
        edges: &Bound<'_, PyAny>,
        rows: Option<usize>,
    ) -> PyResult<Self> {
        let (stack, edges) = self.with_edges("medians", edges, rows)?;
        let medians = py.detach(|| stack.medians(&edges.lists));
        medians.map(Self::of).map_err(engine)
    }

    #[doc = documented!("Stack.deviations")]
    #[pyo3(signature = (edges, rows=None))]
    fn deviations(
        &self,
        py: Python<'_>,
        edges: &Bound<'_, PyAny>,
        rows: Option<usize>,
    ) -> PyResult<Self> {
        let (stack, edges) = self.with_edges("deviations", edges, rows)?;
        let deviations = py.detach(|| stack.deviations(&edges.lists));
        deviations.map(Self::of).map_err(engine)
    }

    #[doc = documented!("Stack.distances")]
    #[pyo3(signature = (pairs, other=None))]
    fn distances<'py>(
        &self,
        py: Python<'py>,
        pairs: &Bound<'py, PyAny>,
        other: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let stack = self.stack()?;
        let other = other.map(|other| Self::argument(other, "distances: `other`"));
        let other = other.transpose()?.map(Bound::try_borrow).transpose()?;
        let other = other.as_deref().unwrap_or(self).stack()?;
        let counts = (stack.rows(), other.rows());
        let pairs = row_edges::pairs(pairs, "distances: `pairs`", counts)?;
        let squares = py.detach(|| stack.squared_pair_distances(other, &pairs));
        let distances = squares.map_err(engine)?.into_iter().map(f64::sqrt);
        Ok(PyArray1::from_iter(py, distances))
    }
}
