//! Losses and gradients against those of PyTorch, which `fixtures/make.py` wrote in double precision.

use crate::support::*;
use meshfold_data::{Examples, Input, Partition, Splits};
use meshfold_engine::{
    CharLstm, Device, Dnn8, GnLenet, Judged, Learner, Linear, Mlp, Model, Network, NormPlace,
    Resnet, Split, Stack, WordLstm, oracle,
};
use safetensors::SafeTensors;
use std::sync::Arc;

/// Numbers of a block's gradient that a fixture keeps at most.
const ENTRIES: usize = 512;

/// The fixture's name and what it is of.
fn fixtures() -> Vec<(&'static str, Case)> {
    let mut all = dense_fixtures();
    all.extend(convolutional_fixtures());
    all.extend(recurrent_fixtures());
    all
}

fn dense_fixtures() -> Vec<(&'static str, Case)> {
    let still = || Model::Dnn8(Dnn8 { dropout: 0.0 });
    let mlp = Model::Mlp(Mlp {
        hidden: vec![17, 5],
        dropout: 0.0,
        ..Mlp::default()
    });
    vec![
        (
            "linear",
            Case::of_pixels(Model::Linear(Linear::default()), 3),
        ),
        ("mlp", Case::of_pixels(mlp, 3)),
        ("dnn8", Case::of_pixels(still(), 3)),
        ("dnn8_two_classes", Case::of_pixels(still(), 2)),
    ]
}

fn convolutional_fixtures() -> Vec<(&'static str, Case)> {
    let lenet = |pool_padding, norm| Model::GnLenet(GnLenet { pool_padding, norm });
    let resnet = |depth, width| {
        Model::Resnet(Resnet {
            depth,
            width,
            groups: 2,
        })
    };
    let (after, before) = (NormPlace::AfterPool, NormPlace::BeforeRelu);
    let case = |name, model, input, classes| {
        let case = Case {
            model,
            input,
            classes,
            margin: 0,
            precision: meshfold_engine::Precision::F32,
        };
        (name, case)
    };
    vec![
        case("gn_lenet", lenet(0, after), image(3, 17, 15), 5),
        case("gn_lenet_padded", lenet(1, after), image(3, 11, 9), 5),
        case("gn_lenet_before_relu", lenet(1, before), image(3, 11, 9), 5),
        case("cnn_femnist", Model::CnnFemnist, image(1, 7, 9), 5),
        case("cnn_cifar", Model::CnnCifar, image(3, 5, 6), 5),
        case("lenet", Model::Lenet, image(3, 17, 19), 5),
        case("resnet10", resnet(10, 8), image(3, 9, 11), 5),
        case("resnet18", resnet(18, 4), image(1, 10, 7), 5),
        case("resnet10_signals", resnet(10, 8), image(2, 1, 19), 4),
    ]
}

fn recurrent_fixtures() -> Vec<(&'static str, Case)> {
    let chars = |layers, loss| {
        Model::CharLstm(CharLstm {
            embedding: 3,
            hidden: 5,
            layers,
            loss,
        })
    };
    let words = Model::WordLstm(WordLstm {
        embedding: 6,
        hidden: 9,
        layers: 2,
        loss: Judged::Last,
    });
    let case = |name, model, window, classes| {
        let input = Input::Tokens { window };
        let case = Case {
            model,
            input,
            classes,
            margin: 0,
            precision: meshfold_engine::Precision::F32,
        };
        (name, case)
    };
    vec![
        case("char_lstm", chars(2, Judged::EveryPosition), 6, 7),
        case("char_lstm_last", chars(1, Judged::Last), 6, 7),
        case("word_lstm", words, 5, 23),
    ]
}

/// What PyTorch was given and what it found.
struct Fixture {
    network: Network,
    row: Vec<f32>,
    x: Vec<f32>,
    targets: Vec<u16>,
    loss: f64,
    blocks: Vec<BlockGradient>,
}

/// Every `step`-th number of a block's gradient, and its length.
struct BlockGradient {
    entries: Vec<f64>,
    step: usize,
    length: f64,
}

impl Fixture {
    fn read(name: &str, case: &Case) -> Self {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
        let bytes = std::fs::read(format!("{folder}/{name}.safetensors")).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let floats = |name: &str| -> Vec<f32> {
            let numbers = tensors.tensor(name).unwrap().data().chunks_exact(4);
            numbers
                .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
                .collect()
        };
        let double = |name: &str| {
            f64::from_le_bytes(tensors.tensor(name).unwrap().data().try_into().unwrap())
        };
        let targets = tensors.tensor("targets").unwrap();
        let targets = targets.data().chunks_exact(2);
        let network = case.network();
        let blocks = network.layout().blocks().iter().map(|block| {
            let entries = floats(&format!("{}.gradient", block.name));
            BlockGradient {
                entries: entries.into_iter().map(f64::from).collect(),
                step: block.size().div_ceil(ENTRIES) | 1,
                length: double(&format!("{}.length", block.name)),
            }
        });
        Self {
            blocks: blocks.collect(),
            row: parameters(&network),
            network,
            x: floats("x"),
            targets: targets
                .map(|bytes| u16::from_le_bytes(bytes.try_into().unwrap()))
                .collect(),
            loss: double("loss"),
        }
    }

    /// Asserts that `loss` and `gradient` are PyTorch's, within `tolerance` of the loss and of the length of every block.
    fn expect(&self, loss: f64, gradient: &[f64], tolerance: f64, of: &str) {
        let apart = (loss - self.loss).abs() / self.loss;
        assert!(apart < tolerance, "{of}: loss {loss}, not {}", self.loss);
        let length = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>().sqrt();
        for (block, expected) in self.network.layout().blocks().iter().zip(&self.blocks) {
            let found = &gradient[block.range()];
            let entries: Vec<f64> = found.iter().step_by(expected.step).copied().collect();
            assert_eq!(
                entries.len(),
                expected.entries.len(),
                "{of}: {}",
                block.name
            );
            let errors: Vec<f64> = entries
                .iter()
                .zip(&expected.entries)
                .map(|(found, expected)| found - expected)
                .collect();
            let share = length(&expected.entries).max(1e-3 * expected.length);
            let apart = length(&errors) / share;
            assert!(apart < tolerance, "{of}: {} is {apart} apart", block.name);
            let apart = (length(found) / expected.length - 1.0).abs();
            assert!(apart < tolerance, "{of}: {} is {apart} longer", block.name);
        }
    }

    /// A client that owns the examples.
    fn learner(&self, device: &Device, case: &Case) -> Learner {
        let examples = match case.input {
            Input::Numbers(shape) => {
                let (x, labels) = (self.x.clone(), self.targets.clone());
                Examples::numbers(x, labels, shape, case.classes).unwrap()
            }
            Input::Tokens { window } => self.windows(window, case.classes),
        };
        let count = examples.len() as u32;
        let partition = Partition::new(vec![(0..count).collect()], count as usize).unwrap();
        let splits = Splits {
            train: Arc::new(examples.clone()),
            test: Arc::new(examples),
            validation: None,
        };
        let network = self.network.clone();
        Learner::upload(device, network, splits, Arc::new(partition), SEED).unwrap()
    }

    /// The windows as parts of one text, each followed by its last target.
    fn windows(&self, window: usize, symbols: usize) -> Examples {
        let mut text = Vec::new();
        let targets = self.targets.chunks_exact(self.network.positions());
        for (tokens, targets) in self.x.chunks_exact(window).zip(targets) {
            text.extend(tokens.iter().map(|token| *token as u16));
            text.extend(targets.last());
        }
        let starts = (0..(text.len() / (window + 1)) as u32).map(|at| at * (window as u32 + 1));
        Examples::windows(Arc::new(text), starts.collect(), window, symbols).unwrap()
    }
}

/// A row of the numbers that the script's head describes.
fn parameters(network: &Network) -> Vec<f32> {
    let mut row = vec![0.0f32; network.layout().width()];
    let mut state = 0u64;
    for block in network.layout().blocks() {
        let factors = block.name.starts_with("norm") && block.name.ends_with("weight");
        let mean = if factors { 1.0 } else { 0.0 };
        let reach = match block.inputs {
            1 => 0.5,
            rows => (3.0 / rows as f64).sqrt(),
        };
        for value in &mut row[block.range()] {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            let uniform = ((z ^ (z >> 31)) >> 40) as f64 / 16_777_216.0;
            *value = (mean + reach * (2.0 * uniform - 1.0)) as f32;
        }
    }
    row
}

fn doubles(values: &[f32]) -> Vec<f64> {
    values.iter().map(|value| f64::from(*value)).collect()
}

#[test]
fn the_plain_loops_find_what_pytorch_finds() {
    for (name, case) in fixtures() {
        let fixture = Fixture::read(name, &case);
        let (row, x) = (doubles(&fixture.row), doubles(&fixture.x));
        let (loss, gradient) = oracle::plain(&fixture.network, &row, &x, &fixture.targets);
        // Both in double precision; the fixture's gradients are rounded to f32, to 6e-8 of each number.
        fixture.expect(loss, &gradient, 1e-7, name);
    }
}

#[test]
fn burn_finds_what_pytorch_finds() {
    for (name, case) in fixtures() {
        let f = Fixture::read(name, &case);
        let (loss, gradient) = oracle::autodiff(&f.network, &f.row, &f.x, &f.targets);
        f.expect(f64::from(loss), &doubles(&gradient), 1e-4, name);
    }
}

/// Holds the trainer of `device` against the fixtures.
fn the_trainer_agrees(device: &Device) {
    for (name, case) in fixtures() {
        let fixture = Fixture::read(name, &case);
        let mut learner = fixture.learner(device, &case);
        let layout = fixture.network.layout();
        let stack = Stack::from_host(device, layout, fixture.row.clone()).unwrap();
        let gradient = learner.shard_gradients(&stack, &[0]).unwrap().to_host();
        let loss = learner.evaluate(&stack, Split::Train, None).unwrap()[0].loss;
        fixture.expect(loss, &doubles(&gradient), 1e-4, name);
    }
}

#[test]
fn the_trainer_finds_what_pytorch_finds() {
    the_trainer_agrees(&cpu(2, None));
}
