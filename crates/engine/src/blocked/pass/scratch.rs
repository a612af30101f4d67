//! Memory of one row's step, allocated once and used again.

use super::inputs::Inputs;
use super::stages::{Stage, Stages};
use crate::network::Network;
use crate::network::layer::{Layer, Source};
use crate::network::precision::Precision;
use crate::training::work::WorkloadSize;
use std::sync::{Mutex, PoisonError};

/// Examples that go through a network at once.
pub(crate) const CHUNK: usize = 96;

/// What the nodes of one stage give, keep and get back.
#[derive(Debug, Default)]
pub(crate) struct StageMemory {
    /// Outputs, `[B, stage width]`; a sequence has `[T, B, channels]`. After the loss the last stage holds the loss's
    /// gradient by its outputs.
    pub(crate) outputs: Vec<f32>,
    /// Gradient of the loss by the outputs, laid out as they are; the last stage needs none.
    pub(crate) deltas: Vec<f32>,
    /// What is needed on the way back, `[B, stage kept]`.
    pub(crate) kept: Vec<f32>,
}

/// Activations, their gradients and what else a step of one row needs.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Examples of the batch.
    pub(crate) indices: Vec<u32>,
    /// What the judged positions are to be, `[positions, B]`.
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

/// Memory that no value outlives its layer in.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    /// A weight, transposed.
    pub(crate) transposed: Vec<f32>,
    /// The weight of every node that goes example by example, turned for the way back.
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
    /// Whether the last two are there.
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

impl Scratch {
    /// Makes room for `batch` examples of `network`; for the way back as well if they are trained on.
    pub(crate) fn fit(&mut self, network: &Network, stages: &Stages, batch: usize, trains: bool) {
        let stages = &stages.stages;
        self.stages.resize_with(stages.len(), StageMemory::default);
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

/// Floats that one thread needs for local steps and for judging.
///
/// Layers give, keep and get back so many floats of each example of a piece of a batch. Besides there are the largest
/// weight, transposed; the weights of layers over grids, turned, and the sums of their gradients; a velocity, if there
/// is momentum; and the gradient of a row, where it is not fed to the weights as it comes. Where products take pairs, weights and
/// activations are there once more.
pub(crate) fn floats(network: &Network, workload: &WorkloadSize<'_>) -> usize {
    let stages = Stages::of(network);
    let batch = workload.batch.min(stages.piece);
    let judged = workload.tests.min(CHUNK).min(stages.piece);
    let given: usize = stages.stages.iter().map(|stage| stage.width).sum();
    let kept: usize = stages.stages.iter().map(|stage| stage.kept).sum();
    let last = stages.stages.last().map_or(0, |stage| stage.width);
    let both = batch.max(judged) * (network.inputs() + given + kept);
    // The next batch is read while this one goes back.
    let back = batch * (given - last + network.inputs());
    let row = network.layout().width();
    let written = network.needs_whole_gradient(workload.sgd.clip_norm, workload.adds)
        || workload.batch > stages.piece;
    let rows = usize::from(workload.sgd.momentum > 0.0) + usize::from(written);
    // What is multiplied in pairs is half as long, along either side of a matrix.
    let pairs = match network.precision() {
        Precision::F32 => 0,
        Precision::Bf16 => row + both,
    };
    both + back + rows * row + weights(network) + pairs
}

/// Floats of the weights that are held in another order on the way back, and of the sums of gradients over examples.
fn weights(network: &Network) -> usize {
    let (mut by_example, mut largest) = (0, 0);
    for node in network.nodes() {
        match &node.layer {
            Layer::Convolution(layer) => by_example += 2 * layer.weight.len(),
            Layer::Dense(layer) if node.source != Source::Example => {
                largest = layer.weight.len().max(largest);
            }
            Layer::Lstm(layer) => {
                let weights = [&layer.input_weight, &layer.hidden_weight];
                largest = weights
                    .map(|w| w.len())
                    .into_iter()
                    .fold(largest, usize::max);
            }
            Layer::Dense(_)
            | Layer::GroupNorm(_)
            | Layer::MaxPool(_)
            | Layer::MeanPool(_)
            | Layer::Add(_)
            | Layer::Embedding(_)
            | Layer::Last(_) => {}
        }
    }
    by_example + largest
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::model::{GnLenet, Mlp, Model};
    use crate::training::schedule::LearningRate;
    use crate::training::work::{BatchSize, Draw, Sgd};
    use meshfold_data::{Input, Shape};

    fn sgd() -> Sgd {
        Sgd {
            learning_rate: LearningRate::Constant(0.1),
            momentum: 0.0,
            weight_decay: 0.0,
            clip_norm: None,
            batch_size: BatchSize::Size(20),
            draw: Draw::Shuffled,
        }
    }

    fn workload(sgd: &Sgd) -> WorkloadSize<'_> {
        WorkloadSize {
            rows: 7,
            sgd,
            batch: 20,
            tests: 1000,
            stored: 0,
            adds: false,
        }
    }

    #[test]
    fn a_hidden_layer_takes_what_it_gives_and_its_weight_transposed() {
        let model = Model::Mlp(Mlp {
            hidden: vec![50],
            dropout: 0.0,
            ..Mlp::default()
        });
        let network = Network::of_features(&model, 30, 10).unwrap();
        let plain = sgd();
        let given = 96 * (30 + 50 + 10) + 20 * (50 + 30) + 50 * 10;
        assert_eq!(floats(&network, &workload(&plain)), given);
        let moving = Sgd {
            momentum: 0.9,
            clip_norm: Some(1.0),
            ..sgd()
        };
        let rows = 2 * network.layout().width();
        assert_eq!(floats(&network, &workload(&moving)), given + rows);
        let adding = WorkloadSize {
            adds: true,
            ..workload(&plain)
        };
        assert_eq!(floats(&network, &adding), given + rows / 2);
    }

    #[test]
    fn what_was_made_room_for_is_what_is_counted() {
        let shape = Shape {
            channels: 3,
            height: 32,
            width: 32,
        };
        let model = Model::GnLenet(GnLenet::default());
        let network = Network::new(&model, Input::Numbers(shape), 10).unwrap();
        let (stages, mut scratch) = (Stages::of(&network), Scratch::default());
        scratch.fit(&network, &stages, 96, false);
        scratch.fit(&network, &stages, 20, true);
        let of_stage =
            |memory: &StageMemory| memory.outputs.len() + memory.deltas.len() + memory.kept.len();
        let stages: usize = scratch.stages.iter().map(of_stage).sum();
        let next = 20 * network.inputs();
        let plain = sgd();
        assert_eq!(
            floats(&network, &workload(&plain)),
            stages + 96 * network.inputs() + next + weights(&network)
        );
    }
}
