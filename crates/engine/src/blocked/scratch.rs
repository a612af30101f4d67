//! Memory of one row's step, allocated once and used again.

use crate::network::Network;
use std::sync::{Mutex, PoisonError};

/// Activations, their gradients and what else a step of one row needs.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Examples of the batch.
    pub(super) indices: Vec<u32>,
    pub(super) labels: Vec<u16>,
    /// The examples of the batch, `[B, D]`.
    pub(super) input: Vec<f32>,
    /// Output of each layer, `[B, outputs]`; after the last one's loss it holds the loss's gradient by it.
    pub(super) outputs: Vec<Vec<f32>>,
    /// Gradient of the loss by each output but the last.
    pub(super) deltas: Vec<Vec<f32>>,
    /// The weight of one layer, transposed: `[outputs, inputs]`.
    pub(super) transposed: Vec<f32>,
    /// As many ones as the batch has examples: the input of a bias.
    pub(super) ones: Vec<f32>,
    /// `[P_pad]`, when the update is not fused into the product.
    pub(super) gradient: Vec<f32>,
    /// `[P_pad]`, when momentum starts anew each round.
    pub(super) velocity: Vec<f32>,
}

fn reserve(values: &mut Vec<f32>, size: usize) {
    if values.len() < size {
        values.resize(size, 0.0);
    }
}

impl Scratch {
    /// Makes room for `batch` examples of `network`.
    pub(super) fn fit(&mut self, network: &Network, batch: usize) {
        let layers = network.layers();
        self.outputs.resize_with(layers.len(), Vec::new);
        self.deltas.resize_with(layers.len() - 1, Vec::new);
        reserve(&mut self.input, batch * network.inputs());
        for (index, layer) in layers.iter().enumerate() {
            reserve(&mut self.outputs[index], batch * layer.outputs);
            if index > 0 {
                reserve(&mut self.deltas[index - 1], batch * layer.inputs);
                reserve(&mut self.transposed, layer.inputs * layer.outputs);
            }
        }
        if self.ones.len() < batch {
            self.ones.resize(batch, 1.0);
        }
    }
}

/// Scratches that no thread is using.
#[derive(Debug, Default)]
pub(super) struct Scratches(Mutex<Vec<Scratch>>);

impl Scratches {
    pub(super) fn take(&self) -> Scratch {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop()
            .unwrap_or_default()
    }

    pub(super) fn put(&self, scratch: Scratch) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(scratch);
    }
}
