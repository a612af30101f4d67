//! Tables over runs in Arrow's format, which Python's libraries read without a copy.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator,
    RecordBatchOptions, StringArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use meshfold_comparison::{Cells, Column, CombinedTable, Kind};
use pyo3::exceptions::{PyModuleNotFoundError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::{Map, Value};

use crate::errors::{Failure, results};

/// The name of a capsule that holds a stream, by Arrow's PyCapsule interface.
const STREAM: &CStr = c"arrow_array_stream";

#[doc = documented!("Table")]
#[pyclass(frozen, module = "meshfold._meshfold")]
#[derive(Debug)]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    /// Takes all of `combined`.
    pub(crate) fn of(combined: &CombinedTable<'_>) -> Result<Self, Failure> {
        let fields: Vec<Field> = combined.columns().iter().map(field).collect();
        let schema = Arc::new(Schema::new(fields));
        let batch = |run| {
            let cells = combined.cells(run).map_err(results)?;
            let columns = cells.into_iter().map(array).collect();
            RecordBatch::try_new(Arc::clone(&schema), columns).map_err(results)
        };
        let batches = (0..combined.runs()).map(batch).collect::<Result<_, _>>()?;
        Ok(Self { schema, batches })
    }
}

impl Table {
    /// Rows of plain values: numbers, text or null. What a row lacks is null.
    pub(crate) fn of_records(records: &[Map<String, Value>]) -> Result<Self, Failure> {
        let mut names: Vec<&String> = Vec::new();
        for name in records.iter().flat_map(Map::keys) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let column = |name: &&String| {
            let values = records.iter().map(|record| record.get(*name));
            let values: Vec<&Value> = values.map(|value| value.unwrap_or(&Value::Null)).collect();
            let array = of_values(&values);
            let field = Field::new(name.as_str(), array.data_type().clone(), true);
            (field, array)
        };
        let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = names.iter().map(column).unzip();
        let schema = Arc::new(Schema::new(fields));
        let rows = RecordBatchOptions::new().with_row_count(Some(records.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &rows);
        Ok(Self {
            schema,
            batches: vec![batch.map_err(results)?],
        })
    }
}

/// A column of whole numbers, of numbers, or of text where some value is neither.
fn of_values(values: &[&Value]) -> ArrayRef {
    let known = || values.iter().filter(|value| !value.is_null());
    if known().all(|value| value.is_i64()) && known().count() > 0 {
        return Arc::new(Int64Array::from_iter(
            values.iter().map(|value| value.as_i64()),
        ));
    }
    if known().all(|value| value.is_number()) {
        return Arc::new(Float64Array::from_iter(
            values.iter().map(|value| value.as_f64()),
        ));
    }
    let text = |value: &&Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    Arc::new(StringArray::from_iter(values.iter().map(text)))
}

#[pymethods]
impl Table {
    /// The table as a stream of Arrow's PyCapsule interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A consumer that wants other types converts the columns itself, as the interface allows.
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok::<_, ArrowError>);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, STREAM)
    }

    #[doc = documented!("Table.column_names")]
    #[getter]
    fn column_names(&self) -> Vec<&str> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.name().as_str()).collect()
    }

    #[doc = documented!("Table.descriptions")]
    #[getter]
    fn descriptions(&self) -> BTreeMap<String, String> {
        let about = |field: &Field| field.metadata().get(DESCRIPTION).cloned();
        let fields = self.schema.fields().iter();
        fields
            .map(|field| (field.name().clone(), about(field).unwrap_or_default()))
            .collect()
    }

    #[doc = documented!("Table.to_polars")]
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let polars = package(slf.py(), "polars", "to_polars")?;
        polars.getattr("DataFrame")?.call1((slf,))
    }

    #[doc = documented!("Table.to_pandas")]
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        package(slf.py(), "pandas", "to_pandas")?;
        let pyarrow = package(slf.py(), "pyarrow", "to_pandas")?;
        let table = pyarrow.call_method1("table", (slf,))?;
        table.call_method0("to_pandas")
    }

    #[doc = documented!("Table.to_pyarrow")]
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        package(slf.py(), "pyarrow", "to_pyarrow")?.call_method1("table", (slf,))
    }

    fn __repr__(&self) -> String {
        format!(
            "<Table of {} rows: {}>",
            self.__len__(),
            self.column_names().join(", ")
        )
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a Table cannot be pickled: `table.to_polars()`, `table.to_pandas()` and `table.to_pyarrow()` can",
        ))
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

/// The package `name`, which `method` needs and meshfold does not bring along.
fn package<'py>(py: Python<'py>, name: &str, method: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|error| {
        if !error.is_instance_of::<PyModuleNotFoundError>(py) {
            return error;
        }
        PyModuleNotFoundError::new_err(format!(
            "Table.{method} needs the package {name}: pip install {name}"
        ))
    })
}

/// The key of a column's description in its metadata.
const DESCRIPTION: &str = "description";

fn field(column: &Column) -> Field {
    let kind = match column.kind() {
        Kind::Text => DataType::Utf8,
        Kind::Whole => DataType::Int64,
        Kind::Number => DataType::Float64,
    };
    let about = [(DESCRIPTION.to_owned(), column.description().to_owned())];
    Field::new(column.name(), kind, true).with_metadata(about)
}

fn array(cells: Cells) -> ArrayRef {
    match cells {
        Cells::Text(cells) => Arc::new(StringArray::from(cells)),
        Cells::Whole(cells) => Arc::new(Int64Array::from(cells)),
        Cells::Number(cells) => Arc::new(Float64Array::from(cells)),
    }
}
