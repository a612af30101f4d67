//! What the method of a run keeps besides the models, as its last checkpoint has it.

use std::path::Path;
use std::sync::Arc;

use meshfold_engine::{Device, Stack};

use crate::results::checkpoint::MODELS;
use crate::results::trained_models::{ModelsError, open};

/// Stacks and numbers of a method after some round, by the names that the method gives them.
#[derive(Debug)]
pub struct MethodState {
    /// The stacks, on the processor, `[R, P]` each.
    pub stacks: Vec<(String, Stack)>,
    /// The numbers.
    pub numbers: Vec<(String, Vec<f64>)>,
}

impl MethodState {
    /// Reads what the method of the run in `folder` kept: after the last round if the run is finished, and otherwise at its last checkpoint.
    ///
    /// # Errors
    /// [`ModelsError`] if the run has no checkpoint that can be read.
    pub fn of(folder: &Path) -> Result<Self, ModelsError> {
        let (path, mut checkpoint, layout) = open(folder)?;
        let (layout, device) = (Arc::new(layout), Device::cpu()?);
        let is_of_method =
            |(name, [_, width]): &&(String, [usize; 2])| name != MODELS && *width == layout.width();
        let known: Vec<_> = checkpoint
            .stacks()
            .iter()
            .filter(is_of_method)
            .cloned()
            .collect();
        let mut stacks = Vec::with_capacity(known.len());
        for (name, [rows, _]) in known {
            let mut stack = Stack::zeros(&device, &layout, rows);
            let taken = checkpoint.read_tensor(&name, &mut stack);
            taken.map_err(|source| ModelsError::Read {
                path: path.clone(),
                source,
            })?;
            stacks.push((name, stack));
        }
        let numbers = checkpoint.saved.numbers.into_iter().collect();
        Ok(Self { stacks, numbers })
    }
}
