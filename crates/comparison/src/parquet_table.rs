//! Tables of texts and numbers, some absent, as Parquet with a description of each column.

use std::fs::File;
use std::sync::Arc;

use parquet::basic::{ConvertedType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// UTF-8.
    Text,
    /// 64-bit integers.
    Whole,
    /// 64-bit floating-point numbers.
    Number,
}

/// A column and what it means.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    name: String,
    pub(crate) kind: Kind,
    description: String,
}

impl Column {
    pub(crate) fn new(name: &str, kind: Kind, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            description: description.to_owned(),
        }
    }

    pub(crate) fn text(name: &str, description: &str) -> Self {
        Self::new(name, Kind::Text, description)
    }

    pub(crate) fn whole(name: &str, description: &str) -> Self {
        Self::new(name, Kind::Whole, description)
    }

    pub(crate) fn number(name: &str, description: &str) -> Self {
        Self::new(name, Kind::Number, description)
    }

    fn schema(&self) -> Result<Arc<Type>, ParquetError> {
        let (physical, converted) = match self.kind {
            Kind::Text => (PhysicalType::BYTE_ARRAY, ConvertedType::UTF8),
            Kind::Whole => (PhysicalType::INT64, ConvertedType::NONE),
            Kind::Number => (PhysicalType::DOUBLE, ConvertedType::NONE),
        };
        let column = Type::primitive_type_builder(&self.name, physical)
            .with_converted_type(converted)
            .with_repetition(Repetition::OPTIONAL);
        column.build().map(Arc::new)
    }
}

/// The cells of a column in a group of rows.
#[derive(Clone, Debug)]
pub(crate) enum Cells {
    Text(Vec<Option<String>>),
    Whole(Vec<Option<i64>>),
    Number(Vec<Option<f64>>),
}

/// A file in progress.
pub(crate) struct ParquetTable<'a>(SerializedFileWriter<&'a mut File>);

impl<'a> ParquetTable<'a> {
    /// An empty table called `name`. The description of each column stands in the file's metadata under its name.
    pub(crate) fn new(
        file: &'a mut File,
        name: &str,
        columns: Vec<Column>,
    ) -> Result<Self, ParquetError> {
        let fields = columns
            .iter()
            .map(Column::schema)
            .collect::<Result<_, _>>()?;
        let schema = Type::group_type_builder(name).with_fields(fields).build()?;
        let about = columns
            .into_iter()
            .map(|column| KeyValue::new(column.name, column.description));
        let properties = WriterProperties::builder()
            .set_key_value_metadata(Some(about.collect()))
            .build();
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
        Ok(Self(writer))
    }

    /// Appends a group of rows: the cells of each column, in the order of the columns.
    pub(crate) fn write(&mut self, columns: &[Cells]) -> Result<(), ParquetError> {
        let mut rows = self.0.next_row_group()?;
        for cells in columns {
            match cells {
                Cells::Text(cells) => {
                    let bytes = |text: &String| ByteArray::from(text.as_str());
                    let cells: Vec<Option<ByteArray>> =
                        cells.iter().map(|cell| cell.as_ref().map(bytes)).collect();
                    write_column::<ByteArrayType>(&mut rows, &cells)?;
                }
                Cells::Whole(cells) => write_column::<Int64Type>(&mut rows, cells)?,
                Cells::Number(cells) => write_column::<DoubleType>(&mut rows, cells)?,
            }
        }
        rows.close()?;
        Ok(())
    }

    /// Writes the end of the file.
    pub(crate) fn close(self) -> Result<(), ParquetError> {
        self.0.close().map(drop)
    }
}

fn write_column<T: DataType>(
    rows: &mut SerializedRowGroupWriter<'_, &mut File>,
    cells: &[Option<T::T>],
) -> Result<(), ParquetError> {
    let there: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    let values: Vec<T::T> = cells.iter().flatten().cloned().collect();
    let missing = || ParquetError::General("there are more cells than columns".to_owned());
    let mut column = rows.next_column()?.ok_or_else(missing)?;
    column
        .typed::<T>()
        .write_batch(&values, Some(&there), None)?;
    column.close()
}
