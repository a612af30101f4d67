//! Weights that rows are averaged by: those of a round, or a matrix of the method's own.

use meshfold_algorithms::Round;
use meshfold_engine::Mixing;
use meshfold_topology::MixingMatrix;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use super::round::in_progress;
use super::stack::PyStack;

/// The most weights in an array: 2 GiB.
const MOST_WEIGHTS: usize = 1 << 28;

#[doc = documented!("Mixing")]
#[pyclass(name = "Mixing", module = "meshfold", frozen)]
pub(crate) struct PyMixing(pub(super) Mixing);

/// Edges `[E, 2]` and their weights, `[E]`.
type EdgesAndWeights<'py> = (Bound<'py, PyArray2<i64>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl PyMixing {
    #[doc = documented!("Mixing.shape")]
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.rows(), self.0.columns())
    }

    #[doc = documented!("Mixing.numpy")]
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (rows, columns) = self.shape();
        if rows.saturating_mul(columns) > MOST_WEIGHTS {
            return Err(PyValueError::new_err(format!(
                "an array of {rows} x {columns} weights is too large: needed at most {MOST_WEIGHTS}; `round.edges` has the links"
            )));
        }
        let mut weights = vec![0.0; rows * columns];
        for (row, of_row) in weights.chunks_exact_mut(columns.max(1)).enumerate() {
            for (column, weight) in self.0.row(row) {
                of_row[column as usize] = weight;
            }
        }
        PyArray1::from_vec(py, weights).reshape([rows, columns])
    }

    #[doc = documented!("Mixing.entries")]
    fn entries<'py>(&self, py: Python<'py>) -> PyResult<EdgesAndWeights<'py>> {
        let (mut edges, mut weights) = (Vec::new(), Vec::new());
        for row in 0..self.0.rows() {
            for (column, weight) in self.0.row(row) {
                edges.extend([i64::from(column), row as i64]);
                weights.push(weight);
            }
            if weights.len() > MOST_WEIGHTS {
                return Err(PyValueError::new_err(format!(
                    "an array of all weights is too large: needed at most {MOST_WEIGHTS}"
                )));
            }
        }
        let edges = PyArray1::from_vec(py, edges).reshape([weights.len(), 2])?;
        Ok((edges, PyArray1::from_vec(py, weights)))
    }

    /// NumPy takes the weights for the matrix of them.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(PyValueError::new_err(
                "the matrix of the weights is made anew, so `copy=False` cannot be",
            ));
        }
        let weights = self.numpy(py)?.into_any();
        match dtype {
            Some(dtype) => weights.call_method1("astype", (dtype,)),
            None => Ok(weights),
        }
    }

    /// NumPy leaves `array @ mixing` to the weights.
    #[classattr]
    #[pyo3(name = "__array_ufunc__")]
    fn array_ufunc(py: Python<'_>) -> Py<PyAny> {
        py.None()
    }

    fn __matmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        no_product(other)
    }

    fn __rmatmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        no_product(other)
    }

    fn __getitem__(&self, _place: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "mixing weights have no items: `round.mixing.numpy()` is the matrix of them, and `round.mixing.entries()` those other than zero",
        ))
    }

    fn __repr__(&self) -> String {
        format!("Mixing({} x {})", self.0.rows(), self.0.columns())
    }
}

fn no_product(other: &Bound<'_, PyAny>) -> PyResult<()> {
    Err(PyTypeError::new_err(
        match other.is_instance_of::<PyStack>() {
            true => {
                "no product of weights and a stack: `models.mix(round.mixing)` mixes in place, and `models.copy()` keeps what was before"
            }
            false => {
                "no product of weights and an array: `round.mixing.numpy()` is the matrix of them"
            }
        },
    ))
}

/// The entries of a matrix other than zero, as `meshfold._arrays.entries` gives them.
#[derive(FromPyObject)]
struct Entries<'py> {
    shape: (usize, usize),
    rows: PyReadonlyArray1<'py, u32>,
    columns: PyReadonlyArray1<'py, u32>,
    values: PyReadonlyArray1<'py, f64>,
}

/// The weights `given` to the rows of a stack of `rows` rows in their sum, `[R]`.
pub(super) fn of_one_row(given: &Bound<'_, PyAny>, rows: usize) -> PyResult<Mixing> {
    let arrays = given.py().import("meshfold._arrays")?;
    let array = arrays.call_method1("plain", (given, "mean: `weights`"))?;
    let weights: Option<Vec<f64>> = array.call_method0("tolist")?.extract().ok();
    let Some(weights) = weights.filter(|weights| weights.len() == rows) else {
        return Err(PyValueError::new_err(format!(
            "mean: `weights` is of shape {}, needed numbers, one for each of {rows} rows",
            array.getattr("shape")?
        )));
    };
    let matrix = MixingMatrix::average(1, weights);
    let matrix = matrix.map_err(|error| PyValueError::new_err(format!("mean: {error}")))?;
    Ok(Mixing::new(&matrix))
}

/// The weights `given` for a stack of `rows` rows: those of a round, or a matrix `[R, R]` of NumPy or SciPy.
pub(super) fn read(given: &Bound<'_, PyAny>, rows: usize) -> PyResult<Mixing> {
    if let Ok(mixing) = given.cast::<PyMixing>() {
        return Ok(mixing.get().0.clone());
    }
    if given.is_instance_of::<PyStack>() {
        return Err(PyTypeError::new_err(
            "mix: found a stack, needed weights: those of the round, `models.mix(round.mixing)`, or a matrix [R, R]",
        ));
    }
    let arrays = given.py().import("meshfold._arrays")?;
    let entries: Entries<'_> = arrays
        .call_method1("entries", (given, "mix", "R"))?
        .extract()?;
    if entries.shape != (rows, rows) {
        return Err(PyValueError::new_err(format!(
            "mix: found weights of shape {:?}, needed {:?}: a row and a column for each row of the stack",
            entries.shape,
            (rows, rows)
        )));
    }
    let mut by_row = vec![Vec::new(); rows];
    let places = entries
        .rows
        .as_slice()?
        .iter()
        .zip(entries.columns.as_slice()?);
    for ((row, column), weight) in places.zip(entries.values.as_slice()?) {
        by_row[*row as usize].push((*column, *weight));
    }
    in_progress(|lent| {
        if !lent.uses.absent.is_noted() && concerns_absent(&by_row, &lent.round) {
            lent.uses.absent.note();
        }
    });
    let matrix = MixingMatrix::from_rows(rows, by_row);
    let matrix = matrix.map_err(|error| PyValueError::new_err(format!("mix: {error}")))?;
    Ok(Mixing::new(&matrix))
}

/// Whether the weights of `by_row`, if it has a row for each client, concern clients that take no part in `round` other than its own
/// weights do, by which a straggler may receive.
fn concerns_absent(by_row: &[Vec<(u32, f64)>], round: &Round<'_>) -> bool {
    if by_row.len() != round.alive.len() || round.alive.iter().all(|alive| *alive) {
        return false;
    }
    let is_absent = |client: usize| !round.alive[client];
    let known = |row: usize, column: u32| {
        let of_round = round.mixing.map(|mixing| mixing.row(row));
        of_round.is_some_and(|of_round| of_round.iter().any(|(place, _)| *place == column))
    };
    by_row.iter().enumerate().any(|(row, weights)| {
        let stays =
            matches!(weights[..], [(column, weight)] if column as usize == row && weight == 1.0);
        let mut others = weights.iter().map(|(column, _)| *column);
        let concerns = |column: u32| is_absent(row) || is_absent(column as usize);
        !(stays && is_absent(row))
            && (weights.is_empty() && is_absent(row)
                || others.any(|column| concerns(column) && !known(row, column)))
    })
}
