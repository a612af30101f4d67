//! Parameters as tensors over views of a row.

use burn::tensor::{Device, Gradients, Tensor, TensorData};
use std::ops::Range;

/// The parameters of one row that a pass has used.
pub(super) struct Views<'a> {
    row: &'a [f32],
    device: Device,
    taken: Vec<(Range<usize>, Tensor<2>)>,
}

impl<'a> Views<'a> {
    /// Views of `row` on a `device` that differentiates.
    pub(super) fn new(row: &'a [f32], device: Device) -> Self {
        Self {
            row,
            device,
            taken: Vec::new(),
        }
    }

    /// Numbers that have no gradient.
    pub(super) fn constant(&self, values: &[f32], shape: [usize; 2]) -> Tensor<2> {
        Tensor::from_data(TensorData::new(values.to_vec(), shape), &self.device)
    }

    /// The floats `range` of the row as a matrix of `shape`.
    pub(super) fn parameter(&mut self, range: &Range<usize>, shape: [usize; 2]) -> Tensor<2> {
        let view = self
            .constant(&self.row[range.clone()], shape)
            .require_grad();
        self.taken.push((range.clone(), view.clone()));
        view
    }

    /// The gradient of the row, `[P_pad]`.
    pub(super) fn gradient(self, mut gradients: Gradients) -> Vec<f32> {
        let mut gradient = vec![0.0; self.row.len()];
        for (range, view) in self.taken {
            let values = view
                .grad_remove(&mut gradients)
                .expect("every parameter takes part in the loss");
            let values = values
                .into_data()
                .try_to_vec::<f32>()
                .expect("gradients are f32");
            gradient[range].copy_from_slice(&values);
        }
        gradient
    }
}
