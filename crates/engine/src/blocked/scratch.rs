//! Memory of one row's step, allocated once and used again.

use super::stages::{Stage, Stages};
use crate::network::Network;
use std::sync::{Mutex, PoisonError};

/// What the nodes of one stage give, keep and get back.
#[derive(Debug, Default)]
pub(super) struct StageMemory {
    /// Outputs, `[B, stage width]`; a sequence has `[T, B, channels]`. After the loss the last stage holds the loss's
    /// gradient by its outputs.
    pub(super) outputs: Vec<f32>,
    /// Gradient of the loss by the outputs, laid out as they are; the last stage needs none.
    pub(super) deltas: Vec<f32>,
    /// What is needed on the way back, `[B, stage kept]`.
    pub(super) kept: Vec<f32>,
}

/// Activations, their gradients and what else a step of one row needs.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Examples of the batch.
    pub(super) indices: Vec<u32>,
    /// What the judged positions are to be, `[positions, B]`.
    pub(super) labels: Vec<u16>,
    /// The examples of the batch, `[B, D]`.
    pub(super) input: Vec<f32>,
    /// Examples of the next batch, and their features, where its first product is taken ahead.
    pub(super) next: (Vec<u32>, Vec<f32>),
    pub(super) stages: Vec<StageMemory>,
    pub(super) buffers: Buffers,
    /// `[P_pad]`, when the update is not fused into the product.
    pub(super) gradient: Vec<f32>,
    /// `[P_pad]`, when momentum starts anew each round.
    pub(super) velocity: Vec<f32>,
}

/// Memory that no value outlives its layer in.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// A weight, transposed.
    pub(super) transposed: Vec<f32>,
    /// The weight of every node that goes example by example, turned for the way back.
    pub(super) turned: Vec<Vec<f32>>,
    /// A grid with its padding.
    pub(super) padded: Vec<f32>,
    /// Gradients that are added up example by example, `[P_pad]`.
    pub(super) sums: Vec<f32>,
    /// As many ones as the batch has rows: the input of a bias.
    pub(super) ones: Vec<f32>,
}

/// Makes room for `size` floats; what is there stays.
pub(super) fn reserve(values: &mut Vec<f32>, size: usize) {
    if values.len() < size {
        values.resize(size, 0.0);
    }
}

impl Scratch {
    /// Makes room for `batch` examples of `network`; for the way back as well if they are trained on.
    pub(super) fn fit(&mut self, network: &Network, stages: &Stages, batch: usize, trains: bool) {
        let stages = &stages.stages;
        self.stages.resize_with(stages.len(), StageMemory::default);
        reserve(&mut self.input, batch * network.inputs());
        let last = stages.len().saturating_sub(1);
        for (index, (memory, stage)) in self.stages.iter_mut().zip(stages).enumerate() {
            memory.fit(stage, batch, trains && index < last);
        }
        let rows = batch * network.positions().max(network.longest_sequence());
        if trains && self.buffers.ones.len() < rows {
            self.buffers.ones.resize(rows, 1.0);
        }
    }
}

/// Floats that one thread needs to train `network` on batches of `batch` examples and to judge it on `judged` at once.
pub(super) fn floats(network: &Network, batch: usize, judged: usize) -> usize {
    let stages = Stages::of(network);
    let (batch, judged) = (batch.min(stages.piece), judged.min(stages.piece));
    let given: usize = stages.stages.iter().map(|stage| stage.width).sum();
    let kept: usize = stages.stages.iter().map(|stage| stage.kept).sum();
    let both = batch.max(judged) * (network.inputs() + given + kept);
    // Deltas on the way back and the next batch; a velocity, sums or turned weights of a row.
    both + batch * (given + network.inputs()) + 2 * network.layout().width()
}

impl StageMemory {
    fn fit(&mut self, stage: &Stage, batch: usize, deltas: bool) {
        reserve(&mut self.outputs, batch * stage.width);
        reserve(&mut self.kept, batch * stage.kept);
        if deltas {
            reserve(&mut self.deltas, batch * stage.width);
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
