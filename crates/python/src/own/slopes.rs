//! The gradients of a method's own loss, by what models compute of a batch.

use meshfold_engine::GradientsOn;
use numpy::PyReadonlyArrayDyn;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::batch::PyBatch;

/// The arguments `slopes` and `representation_slopes`, a list `[B, T, ..]` for each row, as [`GradientsOn`] takes them.
#[derive(Default)]
pub(super) struct Slopes {
    outputs: Option<Vec<Vec<f32>>>,
    representations: Option<Vec<Vec<f32>>>,
}

impl Slopes {
    /// Reads what `verb` was given for `rows` rows.
    pub(super) fn read(
        verb: &str,
        rows: usize,
        batch: Option<&PyBatch>,
        slopes: Option<&Bound<'_, PyAny>>,
        by_representations: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let Some(batch) = batch else {
            let wrong = match (slopes, by_representations) {
                (Some(_), _) => ("slopes", "outputs"),
                (None, Some(_)) => ("representation_slopes", "representations"),
                (None, None) => return Ok(Self::default()),
            };
            return Err(PyValueError::new_err(format!(
                "{verb}: found `{}` and no `batch`, needed both: `batch = round.batch()`, then slopes by `round.{}(models, batch)`",
                wrong.0, wrong.1
            )));
        };
        let outputs = slopes.map(|slopes| {
            let name = format!("{verb}: `slopes`");
            read_lists(&name, slopes, batch, batch.outputs, rows)
        });
        let representations = by_representations.map(|slopes| {
            let Some(width) = batch.representation else {
                return Err(PyValueError::new_err(format!(
                    "{verb}: found `representation_slopes` and a model that has no representations, needed a built-in model with a hidden \
                     layer"
                )));
            };
            let name = format!("{verb}: `representation_slopes`");
            read_lists(&name, slopes, batch, width, rows)
        });
        Ok(Self {
            outputs: outputs.transpose()?,
            representations: representations.transpose()?,
        })
    }

    /// `on` along these slopes.
    pub(super) fn of<'a>(&'a self, on: GradientsOn<'a>) -> GradientsOn<'a> {
        GradientsOn {
            slopes: self.outputs.as_deref(),
            representation_slopes: self.representations.as_deref(),
            ..on
        }
    }
}

/// The array `slopes`, `width` numbers for each judged position, without those where a row has no example; errors name it `name`.
fn read_lists(
    name: &str,
    slopes: &Bound<'_, PyAny>,
    batch: &PyBatch,
    width: usize,
    rows: usize,
) -> PyResult<Vec<Vec<f32>>> {
    let arrays = slopes.py().import("meshfold._arrays")?;
    let shape = PyTuple::new(slopes.py(), batch.shape(rows, width))?;
    let checked = arrays.call_method1("floats", (slopes, name, shape))?;
    let checked: PyReadonlyArrayDyn<'_, f32> = checked.extract()?;
    let (all, each) = (checked.as_slice()?, batch.positions * width);
    let row = |row: usize| {
        let mut own = Vec::with_capacity(batch.examples.of_row(row).len() * each);
        for example in 0..batch.examples.of_row(row).len() {
            let place = batch.place(row, example);
            let slopes = &all[(row * batch.width + place) * each..][..each];
            if let Some(wrong) = slopes.iter().find(|slope| !slope.is_finite()) {
                return Err(PyValueError::new_err(format!(
                    "{name} has {wrong} at [{row}, {place}], needed finite numbers. If the outputs are not finite either, the models have \
                     diverged: lower the learning rate, or set `clip_norm`"
                )));
            }
            own.extend_from_slice(slopes);
        }
        Ok(own)
    };
    (0..rows).map(row).collect()
}
