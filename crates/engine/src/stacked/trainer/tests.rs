//! The stacked trainer has the same bits with blocks of any size.

use super::*;
use crate::Amount;
use crate::device::Device;
use crate::network::initial::Initial;
use crate::network::model::{CharLstm, GnLenet, Judged, Mlp, Model, NormPlace, Resnet};
use crate::network::own::{OwnModel, Parameters};
use crate::network::parameter::Parameter;
use crate::stack::Stack;
use crate::stacked::device::test_device::{expect_close, gpu, numbers};
use crate::stacked::passes::workspace::widest;
use crate::training::batches::ShardPass;
use crate::training::local_work::{LocalWork, Velocity};
use crate::training::schedule::LearningRate;
use crate::training::work::{BatchSize, Draw, Sgd};
use burn::tensor::{Tensor, activation};
use meshfold_data::{Examples, Input, Partition, Scale, Shape};
use std::sync::Arc;

const SHARDS: [u32; 5] = [19, 4, 33, 12, 20];
const TOTAL: usize = 88;

/// What a run of one epoch of every row but one leaves behind, and scores.
struct Outcome {
    models: Vec<f32>,
    gradients: Vec<f32>,
    scores: Vec<Score>,
}

fn sgd() -> Sgd {
    Sgd {
        learning_rate: LearningRate::Constant(0.1),
        momentum: 0.9,
        nesterov: false,
        weight_decay: 0.01,
        clip_norm: Some(0.8),
        batch_size: BatchSize::Size(8),
        draw: Draw::Shuffled,
    }
}

/// Runs `model` on `examples` with at most `bytes` of activations a buffer.
fn run(gpu: &Gpu, bytes: usize, network: &Network, examples: &Arc<Examples>) -> Outcome {
    let mut next = 0..TOTAL as u32;
    let shards = SHARDS.map(|size| next.by_ref().take(size as usize).collect());
    let partition = Partition::new(shards.to_vec(), TOTAL).unwrap();
    let splits = Splits {
        train: examples.clone(),
        test: examples.clone(),
        validation: None,
    };
    let mut trainer = Stacked {
        workspace_bytes: bytes,
        ..Stacked::upload(&gpu.clone().into(), network, &splits).unwrap()
    };
    let context = Context {
        network,
        train: &splits.train,
        test: &splits.test,
        validation: None,
        partition: &partition,
        seed: 3,
        augment: None,
        rows: None,
        largest_batch: 0,
    };
    let mut rows = [0, 1, 2, 3, 4].map(|client| RowWork {
        client,
        amount: Amount::Epochs(1),
    });
    rows[1].amount = Amount::Idle;
    let sgd = sgd();
    let work = LocalWork::new(1, &rows, &sgd);
    let initial: Vec<f32> = (0..5)
        .flat_map(|row| network.initialise(1, row).unwrap())
        .collect();
    let device = Device::of(SharedGpu::from(gpu.clone()));
    let mut stack = Stack::from_host(&device, network.layout(), initial).unwrap();
    let (mut passes, mut tallies) = (vec![ShardPass::default(); 5], vec![RowTally::default(); 5]);
    let states = RowStates {
        passes: &mut passes,
        tallies: &mut tallies,
    };
    let models = work.rows_of(&mut stack, Velocity::Fresh);
    trainer
        .train(context, states, models, &work.tasks())
        .unwrap();
    let states = RowStates {
        passes: &mut passes,
        tallies: &mut tallies,
    };
    let mut gradients = Stack::zeros(&device, network.layout(), 5);
    let models = GradientRows {
        models: stack.storage(),
        gradients: gradients.storage_mut(),
    };
    trainer
        .gradients(context, states, models, &work.tasks())
        .unwrap();
    let scores = trainer
        .evaluate(context, stack.storage(), Split::Test, None)
        .unwrap();
    Outcome {
        models: stack.to_host(),
        gradients: gradients.to_host(),
        scores,
    }
}

/// Bytes that look random.
fn images(channels: usize, height: usize, width: usize) -> Examples {
    let shape = Shape {
        channels,
        height,
        width,
    };
    let byte = |value: &f32| (value * 127.0 + 127.0) as u8;
    let features: Vec<u8> = numbers(TOTAL * shape.features(), 1)
        .iter()
        .map(byte)
        .collect();
    let examples = features.chunks_exact(shape.features());
    let labels = examples.map(|example| u16::from(example[0] / 86)).collect();
    Examples::new(features, labels, shape, 3, Scale::UNIT).unwrap()
}

/// Windows of a text that looks random.
fn windows(length: usize) -> Examples {
    let symbol = |value: &f32| (value * 1.49 + 1.5) as u16;
    let text: Vec<u16> = numbers(TOTAL + length, 2).iter().map(symbol).collect();
    let starts = (0..TOTAL as u32).collect();
    Examples::windows(Arc::new(text), starts, length, 3).unwrap()
}

fn compare(model: &Model, examples: Examples) {
    let network = Network::new(model, examples.input(), 3).unwrap();
    compare_network(&network, examples, 0.0);
}

fn compare_network(network: &Network, examples: Examples, tolerance: f32) {
    let gpu = gpu();
    let examples = Arc::new(examples);
    let example = widest(network) * 4;
    let whole = run(&gpu, 100 * example, network, &examples);
    // Two rows of a whole batch, one row of a whole batch, three examples of one.
    for bytes in [2 * 8 * example, 8 * example, 3 * example] {
        let cut = run(&gpu, bytes, network, &examples);
        expect_close(&cut.models, &whole.models, tolerance);
        expect_close(&cut.gradients, &whole.gradients, tolerance);
        for (cut, whole) in cut.scores.iter().zip(&whole.scores) {
            // Losses are summed chunk by chunk.
            assert!((cut.loss - whole.loss).abs() < 1e-6 && cut.accuracy == whole.accuracy);
        }
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn blocks_of_rows_and_pieces_of_batches_do_not_change_a_bit() {
    let mlp = Model::Mlp(Mlp {
        hidden: vec![24, 7],
        dropout: 0.2,
        ..Mlp::default()
    });
    compare(&mlp, images(1, 3, 6));
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn nor_do_they_where_layers_look_at_windows() {
    let lenet = Model::GnLenet(GnLenet {
        pool_padding: 1,
        norm: NormPlace::AfterPool,
    });
    compare(&lenet, images(2, 5, 6));
    let resnet = Model::Resnet(Resnet {
        depth: 10,
        width: 4,
        groups: 2,
    });
    compare(&resnet, images(2, 1, 9));
}

/// A hidden layer with the hyperbolic tangent.
#[derive(Debug)]
struct Hyperbolic;

impl OwnModel for Hyperbolic {
    fn parameters(&self, input: Input, classes: usize) -> Result<Vec<Parameter>, EngineError> {
        let inputs = input.features();
        Ok(vec![
            Parameter::new("below", [inputs, 10], Initial::of_inputs(inputs)),
            Parameter::new("above", [10, classes], Initial::of_inputs(10)),
        ])
    }

    fn forward(&self, parameters: &Parameters<'_>, x: Tensor<3>) -> Result<Tensor<3>, EngineError> {
        let hidden = activation::tanh(x.matmul(parameters.get("below")?));
        Ok(hidden.matmul(parameters.get("above")?))
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn a_users_own_model_is_cut_as_well() {
    let images = images(1, 3, 6);
    let network = Network::own(Arc::new(Hyperbolic), images.input(), 3).unwrap();
    // Burn chooses its kernels by shapes, and a gradient is added up piece by piece.
    compare_network(&network, images, 1e-5);
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn nor_do_they_where_layers_remember() {
    let lstm = Model::CharLstm(CharLstm {
        embedding: 3,
        hidden: 6,
        layers: 2,
        loss: Judged::EveryPosition,
    });
    compare(&lstm, windows(5));
}
