//! A dense layer as a view of the arena, the argument by which kernels find its parameters.

use crate::network::layer::Dense;
use cubecl::prelude::*;

/// Where the weight and the bias lie in a row of the arena, counted in vectors of the kernel's outputs.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct DenseView {
    /// Vectors per row of the arena.
    pub(crate) width: usize,
    /// First vector of the weight `[inputs, outputs]`.
    pub(crate) weight: usize,
    /// First vector of the bias `[outputs]`; unused if there is none.
    pub(crate) bias: usize,
    /// Rows of the weight.
    pub(crate) inputs: usize,
    /// Vectors per row of the weight.
    pub(crate) columns: usize,
    /// Places of an example that the layer is applied to.
    pub(crate) places: usize,
}

/// The argument of a launch over vectors of `vector` floats; `width` floats make a row of the arena.
pub(crate) fn argument(layer: &Dense, width: usize, vector: usize) -> DenseViewLaunch {
    DenseViewLaunch::new(
        width / vector,
        layer.weight.start / vector,
        layer.bias.clone().unwrap_or_default().start / vector,
        layer.inputs,
        layer.outputs / vector,
        layer.places,
    )
}
