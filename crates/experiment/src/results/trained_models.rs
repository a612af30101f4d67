//! The models of a run, as its last checkpoint has them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshfold_engine::{Block, Device, EngineError, Layout, Stack};
use safetensors::tensor::{Dtype, View, serialize_to_file};

use crate::files::whole_file::{persist, temporary};
use crate::files::write_error::plain_write_error;
use crate::results::checkpoint::{CheckpointFile, MODELS, SavedParameter, VerifiedCheckpoint};
use crate::results::run_folder::CHECKPOINT;
use crate::results::run_reader::folder_name;

/// The models of a run after some round, on the processor.
#[derive(Debug)]
pub struct TrainedModels {
    /// The run's id.
    pub run: String,
    /// Rounds done.
    pub round: usize,
    /// `[R, P]`: row `i` is row `i` of `clients.parquet`.
    pub models: Stack,
    /// Whether each row was alive in that round, `[R]`.
    pub alive: Vec<bool>,
}

/// Why the models of a run cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelsError {
    /// The run has no checkpoint.
    #[error(
        "{}: found no checkpoint, from which models are taken. A finished run keeps one with `checkpoint: {{keep: true}}`: `meshfold run FILE --set \
         checkpoint.keep=true --again` runs it again and keeps its models",
        folder.display()
    )]
    NoCheckpoint {
        /// The run's folder.
        folder: PathBuf,
    },
    /// The checkpoint does not say which parameters the models have.
    #[error(
        "{}: an older version wrote this checkpoint, without the names of parameters: run it again with --again",
        path.display()
    )]
    NoNames {
        /// The checkpoint.
        path: PathBuf,
    },
    /// The checkpoint cannot be read, or is damaged.
    #[error("{} cannot be read: {source}", path.display())]
    Read {
        /// The checkpoint.
        path: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// The processor cannot hold the models.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl TrainedModels {
    /// Reads the models of the run in `folder`: those after its last round if it is finished, and otherwise those of its last checkpoint.
    ///
    /// # Errors
    /// [`ModelsError`] if the run has no checkpoint that can be read.
    pub fn of(folder: &Path) -> Result<Self, ModelsError> {
        let (path, mut checkpoint, layout) = open(folder)?;
        let read = |source| ModelsError::Read {
            path: path.clone(),
            source,
        };
        let mut stacks = checkpoint.stacks().iter();
        let Some(&(_, [rows, width])) = stacks.find(|(name, _)| name == MODELS) else {
            return Err(read(io::Error::other("it has no models")));
        };
        if width != layout.width() {
            let found = format!(
                "its models have {width} numbers, its parameters take {}",
                layout.width()
            );
            return Err(read(io::Error::other(found)));
        }
        let mut models = Stack::zeros(&Device::cpu()?, &Arc::new(layout), rows);
        let taken = checkpoint.read_tensor(MODELS, &mut models);
        taken.map_err(read)?;
        Ok(Self {
            run: folder_name(folder),
            round: checkpoint.saved.round,
            alive: match checkpoint.saved.alive {
                alive if alive.len() == rows => alive,
                _ => vec![true; rows],
            },
            models,
        })
    }

    /// The mean of the models that were alive, as a stack of one row: that of `mean_model_accuracy`.
    #[must_use]
    pub fn mean(self) -> Self {
        Self {
            models: self.models.mean_row(&self.alive),
            alive: vec![true],
            ..self
        }
    }

    /// Writes a safetensors file with a tensor `[R, inputs, outputs]` for each parameter, under its name. Its metadata tell the run, the
    /// round, and in `failed` the rows that were not alive, if any were not. An older file is replaced when the new one is complete.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let file = temporary(folder.unwrap_or(Path::new(".")))?;
        let blocks = self.models.layout().blocks().iter();
        let tensors = blocks.map(|block| (&block.name, Tensor::new(block, &self.models)));
        let mut about = vec![
            ("run".to_owned(), self.run.clone()),
            ("round".to_owned(), self.round.to_string()),
        ];
        let failed = (0..).zip(&self.alive).filter(|(_, alive)| !**alive);
        let failed: Vec<String> = failed.map(|(row, _): (usize, _)| row.to_string()).collect();
        if !failed.is_empty() {
            about.push(("failed".to_owned(), failed.join(",")));
        }
        let written = serialize_to_file(tensors, Some(in_order(&about)), file.path());
        written.map_err(|error| match error {
            safetensors::SafeTensorError::IoError(error) => plain_write_error(error),
            error => io::Error::other(error),
        })?;
        persist(file, path).map_err(plain_write_error)
    }
}

/// A map of `about` that is written in the order of its keys, so that the same models always give the same bytes. The order of a
/// `HashMap` is random, and these are few keys: some map has the right one.
fn in_order(about: &[(String, String)]) -> HashMap<String, String> {
    let mut maps = std::iter::repeat_with(|| about.iter().cloned().collect());
    let found = maps.find(|map: &HashMap<String, String>| map.keys().is_sorted());
    found.unwrap_or_default()
}

/// The checkpoint of the run in `folder`, at its path, and how its rows are laid out.
pub(super) fn open(folder: &Path) -> Result<(PathBuf, VerifiedCheckpoint, Layout), ModelsError> {
    let path = folder.join(CHECKPOINT);
    let found = CheckpointFile::new(path.clone()).of_run(&folder_name(folder));
    let checkpoint = found.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ModelsError::NoCheckpoint {
            folder: folder.to_owned(),
        },
        _ => ModelsError::Read {
            path: path.clone(),
            source: error,
        },
    })?;
    let layout = layout(&checkpoint.saved.parameters);
    match layout.blocks().is_empty() {
        true => Err(ModelsError::NoNames { path }),
        false => Ok((path, checkpoint, layout)),
    }
}

/// How rows of these parameters lie in a stack.
fn layout(parameters: &[SavedParameter]) -> Layout {
    let mut layout = Layout::default();
    for parameter in parameters {
        layout.push(&parameter.name, parameter.inputs, parameter.outputs);
    }
    layout
}

/// One parameter of all rows, `[R, inputs, outputs]`.
struct Tensor<'a> {
    block: &'a Block,
    shape: [usize; 3],
    models: &'a Stack,
}

impl<'a> Tensor<'a> {
    fn new(block: &'a Block, models: &'a Stack) -> Self {
        let shape = [models.rows(), block.inputs, block.outputs];
        Self {
            block,
            shape,
            models,
        }
    }
}

impl View for Tensor<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        let values = self.models.host().expect("the models are on the processor");
        let rows = values.chunks_exact(self.models.layout().width());
        let values = rows.flat_map(|row| &row[self.block.range()]);
        values.flat_map(|value| value.to_le_bytes()).collect()
    }

    fn data_len(&self) -> usize {
        4 * self.shape.iter().product::<usize>()
    }
}
