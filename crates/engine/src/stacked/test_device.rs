//! The GPU of tests, if the machine has one.

use super::gpu::Gpu;
use super::part::Part;
use crate::device::DeviceRequest;
use crate::layer::Dense;
use crate::layout::Layout;
use burn::tensor::{Tensor, TensorData};

/// The first adapter, or nothing with a word about it. Where `MESHFOLD_CI` is set an adapter must be there.
pub(super) fn gpu() -> Option<Gpu> {
    match Gpu::open(DeviceRequest::Wgpu(0)) {
        Ok(gpu) => Some(gpu),
        Err(error) if std::env::var_os("MESHFOLD_CI").is_some() => {
            panic!("MESHFOLD_CI asks for a GPU: {error}")
        }
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

/// Numbers in ±1 that are the same for the same `seed`.
pub(super) fn numbers(count: usize, seed: u32) -> Vec<f32> {
    (0..count as u32)
        .map(|index| crate::quantiser::uniform([seed, 17], index) * 2.0 - 1.0)
        .collect()
}

/// Host values as a stack of `rows` rows.
pub(super) fn stacked(gpu: &Gpu, values: &[f32], rows: usize) -> Tensor<2> {
    Tensor::from_data(
        TensorData::new(values.to_vec(), [rows, values.len() / rows]),
        gpu.device(),
    )
}

/// Fails unless every value is within `tolerance` of its oracle, relative to one or to the oracle if that is larger.
pub(super) fn expect_close(found: &[f32], oracle: &[f32], tolerance: f32) {
    assert_eq!(found.len(), oracle.len());
    for (index, (found, oracle)) in found.iter().zip(oracle).enumerate() {
        let bound = tolerance * oracle.abs().max(1.0);
        assert!(
            (found - oracle).abs() <= bound,
            "value {index}: {found} but the host has {oracle}"
        );
    }
}

/// A layer that does not begin its row, and the width of the row.
pub(super) fn layer_of(inputs: usize, outputs: usize) -> (Dense, usize) {
    let mut layout = Layout::default();
    layout.push("before", 3, 5);
    let weight = layout.push("weight", inputs, outputs);
    let bias = layout.push("bias", 1, outputs);
    let range = |block: usize| layout.blocks()[block].range();
    (
        Dense {
            places: 1,
            inputs,
            outputs,
            weight: range(weight),
            bias: Some(range(bias)),
        },
        layout.width(),
    )
}

/// A batch of rows that have different numbers of examples.
pub(super) struct Batch {
    pub(super) counts: Vec<u32>,
    pub(super) examples: usize,
    pub(super) first_row: usize,
}

impl Batch {
    /// Three rows: a full batch, none, and one example.
    pub(super) fn uneven(examples: usize, first_row: usize) -> Self {
        Self {
            counts: vec![examples as u32, 0, 1],
            examples,
            first_row,
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.counts.len()
    }

    pub(super) fn part(&self) -> Part {
        Part {
            first_row: self.first_row,
            rows: self.rows(),
            entry: 0,
            own: true,
            table: self.examples,
            first_example: 0,
            examples: self.examples,
        }
    }
}
