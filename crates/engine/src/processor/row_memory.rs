//! Where the rows of a stack lie in host memory.

use crate::shared_memory::arena::Piece;
use std::ops::{Deref, DerefMut};

/// Floats in host memory, of this process alone or where other ranks of the machine can read them.
#[derive(Debug, Clone)]
pub struct RowMemory(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Own(Vec<f32>),
    Shared(Piece),
}

impl RowMemory {
    /// The piece that other ranks can read; `None` if they cannot.
    pub(crate) fn piece(&self) -> Option<&Piece> {
        match &self.0 {
            Kind::Own(_) => None,
            Kind::Shared(piece) => Some(piece),
        }
    }
}

impl From<Vec<f32>> for RowMemory {
    fn from(values: Vec<f32>) -> Self {
        Self(Kind::Own(values))
    }
}

impl From<Piece> for RowMemory {
    fn from(piece: Piece) -> Self {
        Self(Kind::Shared(piece))
    }
}

impl Default for RowMemory {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl Deref for RowMemory {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        match &self.0 {
            Kind::Own(values) => values,
            Kind::Shared(piece) => piece,
        }
    }
}

impl DerefMut for RowMemory {
    fn deref_mut(&mut self) -> &mut [f32] {
        match &mut self.0 {
            Kind::Own(values) => values,
            Kind::Shared(piece) => piece,
        }
    }
}
