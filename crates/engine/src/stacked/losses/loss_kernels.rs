//! The buffers that the kernels of all losses read and write.

use crate::stacked::batches::labels::Labels;
use burn_cubecl::tensor::CubeTensor;

/// The labels that examples are judged by, and where losses and hits go.
pub(crate) struct LossKernels<'a> {
    pub(crate) labels: &'a Labels,
    pub(crate) indices: &'a CubeTensor,
    /// Positions of an example that are judged; one but for texts, which are judged by cross-entropy.
    pub(crate) positions: usize,
    /// `[rows, table, positions]`.
    pub(crate) losses: &'a CubeTensor,
    /// `[rows, table, positions]`, written unless `backward`.
    pub(crate) hits: &'a CubeTensor,
    pub(crate) backward: bool,
}

impl LossKernels<'_> {
    /// Numbers that are written to judge `count` times `width` outputs.
    pub(crate) fn written(&self, count: usize, width: usize) -> usize {
        count * (1 + if self.backward { width } else { 1 })
    }
}
