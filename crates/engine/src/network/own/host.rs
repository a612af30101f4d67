//! Reading tensors of the processor.

use burn::tensor::Tensor;

/// The numbers of a tensor of the processor, row-major.
pub(super) fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor
        .into_data()
        .try_to_vec()
        .expect("what is computed from f32 is f32")
}
