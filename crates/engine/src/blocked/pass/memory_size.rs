//! How much memory the steps of a row take.

use super::scratch::{Scratch, StageMemory, reserve};
use super::stages::{Stage, Stages};
use crate::network::Network;
use crate::network::layer::Source;
use crate::network::precision::Precision;
use crate::training::work::WorkloadSize;

/// Examples that go through a network at once.
pub(crate) const CHUNK: usize = 96;

impl Scratch {
    /// Makes room for `batch` examples of `network`; for the backward pass as well if they are trained on.
    pub(crate) fn fit(&mut self, network: &Network, stages: &Stages, batch: usize, trains: bool) {
        let stages = &stages.stages;
        self.stages.resize_with(stages.len(), StageMemory::default);
        let last = stages.len().saturating_sub(1);
        for (index, (memory, stage)) in self.stages.iter_mut().zip(stages).enumerate() {
            memory.fit(stage, batch, trains && index < last);
        }
        let whole = stages.iter().filter(|stage| !stage.by_example);
        let places = whole.map(|stage| network.nodes()[stage.nodes.start].output.places());
        let rows = batch * places.fold(network.positions(), usize::max);
        if trains && self.buffers.ones.len() < rows {
            self.buffers.ones.resize(rows, 1.0);
        }
    }
}

/// Floats that one thread needs for local steps and for judging.
///
/// Each example of a piece of a batch takes the outputs of all layers, what they keep, and the gradients. Besides there
/// are the largest weight, transposed; the weights of layers over grids, turned, and the sums of their gradients; a
/// velocity, if there is momentum; and the gradient of a row, unless updates are fused with it. Where products take
/// pairs, weights and activations are stored a second time.
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
    both + back + rows * row + weights(network, &stages) + pairs
}

/// Floats of the weights that are held in another order on the backward pass, and of the sums of gradients over examples.
fn weights(network: &Network, stages: &Stages) -> usize {
    let (mut by_example, mut largest) = (0, 0);
    for stage in &stages.stages {
        for node in &network.nodes()[stage.nodes.clone()] {
            let weights = node.layer.facts().weights();
            let sizes = weights.iter().map(|weight| weight.range.len());
            if stage.by_example {
                by_example += 2 * sizes.sum::<usize>();
            } else if node.source != Source::Example {
                largest = sizes.fold(largest, usize::max);
            }
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
            nesterov: false,
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
        let given: usize = scratch.stages.iter().map(of_stage).sum();
        let next = 20 * network.inputs();
        let plain = sgd();
        assert_eq!(
            floats(&network, &workload(&plain)),
            given + 96 * network.inputs() + next + weights(&network, &stages)
        );
    }
}
