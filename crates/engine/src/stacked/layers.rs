//! The layers as kernels, each beside the plain loop that it must agree with.

pub(crate) mod add;
pub(crate) mod arena;
pub(crate) mod bias_gradient;
pub(crate) mod convolution;
pub(crate) mod dense;
pub(crate) mod dropout;
pub(crate) mod embedding;
pub(crate) mod embedding_gradient;
pub(crate) mod group_norm;
pub(crate) mod group_norm_delta;
pub(crate) mod layer;
pub(crate) mod lstm;
pub(crate) mod lstm_delta;
mod lstm_delta_staged;
mod lstm_staged;
pub(crate) mod max_pool;
pub(crate) mod over_places;
pub(crate) mod product;
pub(crate) mod relu;
pub(crate) mod staged;
pub(crate) mod transpose;
pub(crate) mod window;
