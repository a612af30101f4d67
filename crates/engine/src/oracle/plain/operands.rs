//! Operands of products, rounded to the network's precision.

use crate::kernels::to_bf16;
use crate::network::Network;
use crate::network::precision::Precision;
use std::borrow::Cow;

/// `values` as operands of a product: as they are, or each rounded to bfloat16.
pub(super) fn operands(precision: Precision, values: &[f64]) -> Cow<'_, [f64]> {
    let rounded = |value: &f64| f64::from(to_bf16(*value as f32));
    match precision {
        Precision::F32 => Cow::Borrowed(values),
        Precision::Bf16 => Cow::Owned(values.iter().map(rounded).collect()),
    }
}

/// A row with its weights as operands; biases, embeddings and the parameters of normalisation stay as they are.
pub(super) fn row_of_operands<'a>(network: &Network, row: &'a [f64]) -> Cow<'a, [f64]> {
    if network.precision() == Precision::F32 {
        return Cow::Borrowed(row);
    }
    let mut result = row.to_vec();
    for node in network.nodes() {
        for weight in node.layer.facts().weights() {
            let range = weight.range;
            let rounded = operands(network.precision(), &row[range.clone()]);
            result[range].copy_from_slice(&rounded);
        }
    }
    Cow::Owned(result)
}
