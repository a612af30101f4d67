//! Memory of one row's step, allocated once and used again.

use super::inputs::Inputs;
use super::stage_io::StageIo;
use std::sync::{Mutex, PoisonError};

/// The outputs of one stage's nodes, their gradients, and what is kept for the backward pass.
#[derive(Debug, Default)]
pub(crate) struct StageMemory {
    /// Outputs, `[B, stage width]`, or `[T, B, channels]` for a sequence. After the loss, the last stage holds the
    /// gradient of the loss with respect to its outputs.
    pub(crate) outputs: Vec<f32>,
    /// Gradient of the loss with respect to the outputs, in the same layout; the last stage needs none.
    pub(crate) deltas: Vec<f32>,
    /// What is needed on the backward pass, `[B, stage kept]`.
    pub(crate) kept: Vec<f32>,
}

/// Activations, their gradients and what else a step of one row needs.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Examples of the batch.
    pub(crate) indices: Vec<u32>,
    /// The targets of the judged positions, `[positions, B]`.
    pub(crate) labels: Vec<u16>,
    /// The examples of the batch.
    pub(crate) input: Inputs,
    /// Examples of the next batch, and what is read of them where its first product is taken ahead.
    pub(crate) next: (Vec<u32>, Inputs),
    pub(crate) stages: Vec<StageMemory>,
    pub(crate) buffers: Buffers,
    /// `[P_pad]`, when the update is not fused into the product.
    pub(crate) gradient: Vec<f32>,
    /// `[P_pad]`, when momentum starts anew each round.
    pub(crate) velocity: Vec<f32>,
    /// The weights in pairs, `[P_pad]`, where products take such.
    pub(crate) weight_pairs: Vec<f32>,
}

/// Buffers whose contents are used within one layer only.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    /// A weight, transposed.
    pub(crate) transposed: Vec<f32>,
    /// The weight of every node that goes example by example, turned for the backward pass.
    pub(crate) turned: Vec<Vec<f32>>,
    pub(crate) grids: Grids,
    /// What a product reads in pairs, and what it multiplies that by.
    pub(crate) pairs: [Vec<f32>; 2],
    /// Gradients that are added up example by example, `[P_pad]`.
    pub(crate) sums: Vec<f32>,
    /// As many ones as the batch has rows: the input of a bias.
    pub(crate) ones: Vec<f32>,
}

/// Grids of one example, as a convolution reads them.
#[derive(Debug, Default)]
pub(crate) struct Grids {
    /// A grid with its padding.
    pub(crate) padded: Vec<f32>,
    /// The same in pairs.
    pub(crate) pairs: Vec<f32>,
    /// Each number of it with that of the next window.
    pub(crate) windows: Vec<f32>,
    /// The gradient by the output in pairs of places.
    pub(crate) deltas: Vec<f32>,
    /// Whether `windows` and `deltas` are filled in.
    pub(crate) written: bool,
}

impl Grids {
    /// Forgets what is there.
    pub(crate) fn clear(&mut self) {
        self.padded.clear();
        self.written = false;
    }
}

/// Makes room for `size` floats; what is there stays.
pub(crate) fn reserve(values: &mut Vec<f32>, size: usize) {
    if values.len() < size {
        values.resize(size, 0.0);
    }
}

impl StageMemory {
    /// The gradient by what the stage gave, that of `io`. After the loss the last stage's outputs are the gradient by them.
    pub(crate) fn gradient(&self, io: &StageIo<'_>) -> &[f32] {
        let gradient = if io.last { &self.outputs } else { &self.deltas };
        &gradient[..io.batch * io.width]
    }
}

/// Scratches that no thread is using.
#[derive(Debug, Default)]
pub(crate) struct Scratches(Mutex<Vec<Scratch>>);

impl Scratches {
    pub(crate) fn take(&self) -> Scratch {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop()
            .unwrap_or_default()
    }

    pub(crate) fn put(&self, scratch: Scratch) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(scratch);
    }
}
