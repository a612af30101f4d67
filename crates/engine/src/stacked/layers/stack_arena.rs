//! The arena that holds the parameters of all rows, as layers read it.

use burn_cubecl::tensor::CubeTensor;

/// The models of all rows, `[R, width]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StackArena<'a> {
    pub(crate) models: &'a CubeTensor,
    /// Floats of a row.
    pub(crate) width: usize,
}
