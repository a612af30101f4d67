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

use crate::column::{Cells, Column, Kind};

/// A file in progress.
pub(crate) struct ParquetTable<'a>(SerializedFileWriter<&'a mut File>);

impl<'a> ParquetTable<'a> {
    /// An empty table called `name`. The description of each column stands in the file's metadata under its name.
    pub(crate) fn new(
        file: &'a mut File,
        name: &str,
        columns: &[Column],
    ) -> Result<Self, ParquetError> {
        let fields = columns.iter().map(stored).collect::<Result<_, _>>()?;
        let schema = Type::group_type_builder(name).with_fields(fields).build()?;
        let about = columns
            .iter()
            .map(|column| KeyValue::new(column.name().to_owned(), column.description().to_owned()));
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

/// How a column is stored.
fn stored(column: &Column) -> Result<Arc<Type>, ParquetError> {
    let (physical, converted) = match column.kind() {
        Kind::Text => (PhysicalType::BYTE_ARRAY, ConvertedType::UTF8),
        Kind::Whole => (PhysicalType::INT64, ConvertedType::NONE),
        Kind::Number => (PhysicalType::DOUBLE, ConvertedType::NONE),
    };
    let described = Type::primitive_type_builder(column.name(), physical)
        .with_converted_type(converted)
        .with_repetition(Repetition::OPTIONAL);
    described.build().map(Arc::new)
}
