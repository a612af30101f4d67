//! The parameters of all rows, as layers read them.

use burn_cubecl::tensor::CubeTensor;

/// Models `[R, width]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StackArena<'a> {
    pub(crate) models: &'a CubeTensor,
    /// Floats of a row.
    pub(crate) width: usize,
}
