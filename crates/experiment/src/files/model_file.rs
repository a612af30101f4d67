//! A safetensors file of models, from which the rows of a run start.

use std::io::{self, Read};
use std::path::Path;

use meshfold_engine::Layout;
use safetensors::tensor::{Dtype, TensorInfo};

use crate::files::tensor_file::{TensorFile, invalid};

/// An open file that has a tensor `[R, inputs, outputs]` for each parameter of a model.
pub(crate) struct ModelFile {
    file: TensorFile,
    /// In the order of the layout.
    parameters: Vec<Place>,
    rows: usize,
}

/// Where one parameter lies in the file, and in a row of a stack.
struct Place {
    info: TensorInfo,
    range: std::ops::Range<usize>,
}

impl ModelFile {
    /// Opens the file at `path`, which must have the parameters of `layout` and no others, all for the same number of rows. A tensor
    /// `[inputs, outputs]` is one row.
    ///
    /// # Errors
    /// Those of the system; [`io::ErrorKind::InvalidData`] with the tensor at fault.
    pub(crate) fn open(path: &Path, layout: &Layout) -> io::Result<Self> {
        let file = TensorFile::open(path)?;
        let mut rows = None;
        let mut parameters = Vec::new();
        for block in layout.blocks() {
            let name = &block.name;
            let Some(info) = file.metadata.info(name) else {
                return Err(invalid(&missing(name, &file, layout)));
            };
            let shape = [block.inputs, block.outputs];
            let found = match info.shape.as_slice() {
                [found, rest @ ..] if *rest == shape => *found,
                rest if *rest == shape => 1,
                other => {
                    let [inputs, outputs] = shape;
                    let found = format!("`{name}` has the shape {other:?}");
                    return Err(invalid(&format!(
                        "{found}, needed [rows, {inputs}, {outputs}] or {shape:?}"
                    )));
                }
            };
            if info.dtype != Dtype::F32 {
                return Err(invalid(&format!(
                    "`{name}` is {:?}, needed F32",
                    info.dtype
                )));
            }
            match rows {
                Some((first, rows)) if rows != found => {
                    let text = format!("`{first}` has {rows} rows and `{name}` has {found}");
                    return Err(invalid(&format!("{text}, needed as many of each")));
                }
                _ => rows = Some((name, found)),
            }
            parameters.push(Place {
                info: info.clone(),
                range: block.range(),
            });
        }
        let names = file.metadata.offset_keys();
        let is_foreign = |name: &&String| layout.blocks().iter().all(|block| block.name != **name);
        if let Some(name) = names.iter().find(is_foreign) {
            return Err(invalid(&format!("the model has no parameter `{name}`")));
        }
        let rows = rows.map_or(0, |(_, rows)| rows);
        Ok(Self {
            file,
            parameters,
            rows,
        })
    }

    /// Models in the file.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Reads the model `row` into `values`, a row of a stack, whose padding stays as it is.
    ///
    /// # Errors
    /// Those of the system; [`io::ErrorKind::InvalidData`] if a number is not finite.
    pub(crate) fn read(&mut self, row: usize, values: &mut [f32]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for place in &self.parameters {
            let values = &mut values[place.range.clone()];
            bytes.resize(4 * values.len(), 0);
            self.file.seek(&place.info, row * bytes.len())?;
            self.file.file.read_exact(&mut bytes)?;
            for (value, bytes) in values.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *value = f32::from_le_bytes(*bytes);
            }
            if let Some(value) = values.iter().find(|value| !value.is_finite()) {
                return Err(invalid(&format!("the model {row} has the number {value}")));
            }
        }
        Ok(())
    }
}

/// The complaint about a parameter that the file lacks.
fn missing(name: &str, file: &TensorFile, layout: &Layout) -> String {
    let names = |names: Vec<&str>| names.join("`, `");
    let needed = names(
        layout
            .blocks()
            .iter()
            .map(|block| block.name.as_str())
            .collect(),
    );
    let found = file.metadata.offset_keys();
    let found = names(found.iter().map(String::as_str).collect());
    format!("it has no tensor `{name}`: found `{found}`, needed `{needed}`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::tensor::{TensorView, serialize};
    use std::fs;

    fn layout() -> Layout {
        let mut layout = Layout::default();
        layout.push("weight", 3, 2);
        layout.push("bias", 1, 2);
        layout
    }

    /// A file with these tensors, whose numbers count from 0.
    fn opened(tensors: &[(&str, Dtype, &[usize])]) -> io::Result<ModelFile> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("models.safetensors");
        let numbers: Vec<u8> = (0u8..100)
            .flat_map(|number| f32::from(number).to_le_bytes())
            .collect();
        let tensors = tensors.iter().map(|(name, dtype, shape)| {
            let size = shape.iter().product::<usize>() * dtype.bitsize() / 8;
            let view = TensorView::new(*dtype, shape.to_vec(), &numbers[..size]);
            (*name, view.unwrap())
        });
        fs::write(&path, serialize(tensors, None).unwrap())?;
        ModelFile::open(&path, &layout())
    }

    #[test]
    fn rows_are_read_into_their_places() {
        let f32 = Dtype::F32;
        let mut file = opened(&[("weight", f32, &[2, 3, 2]), ("bias", f32, &[2, 1, 2])]).unwrap();
        assert_eq!(file.rows(), 2);
        let mut row = vec![-1.0; layout().width()];
        file.read(1, &mut row).unwrap();
        assert_eq!(row[..7], [6.0, 7.0, 8.0, 9.0, 10.0, 11.0, -1.0]);
        assert_eq!(row[64..67], [2.0, 3.0, -1.0]);
    }

    #[test]
    fn one_model_needs_no_dimension_of_rows() {
        let f32 = Dtype::F32;
        let file = opened(&[("weight", f32, &[3, 2]), ("bias", f32, &[1, 2])]).unwrap();
        assert_eq!(file.rows(), 1);
    }

    #[test]
    fn tensors_that_are_no_models_of_this_kind_are_told() {
        let f32 = Dtype::F32;
        let bias: (&str, Dtype, &[usize]) = ("bias", f32, &[2, 1, 2]);
        let weight: (&str, Dtype, &[usize]) = ("weight", f32, &[2, 3, 2]);
        for (tensors, needed) in [
            (
                vec![weight],
                "it has no tensor `bias`: found `weight`, needed `weight`, `bias`",
            ),
            (
                vec![("weight", f32, &[2, 2, 3][..]), bias],
                "`weight` has the shape [2, 2, 3], needed [rows, 3, 2] or [3, 2]",
            ),
            (
                vec![("weight", Dtype::F16, &[2, 3, 2][..]), bias],
                "`weight` is F16, needed F32",
            ),
            (
                vec![weight, ("bias", f32, &[1, 1, 2][..])],
                "`weight` has 2 rows and `bias` has 1, needed as many of each",
            ),
            (
                vec![weight, bias, ("scale", f32, &[2][..])],
                "the model has no parameter `scale`",
            ),
        ] {
            let error = opened(&tensors).err().expect("refused").to_string();
            assert_eq!(error, needed);
        }
    }
}
