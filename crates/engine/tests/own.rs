//! Models of a user's own: their outputs, their gradients, and which are refused.
#![allow(clippy::unwrap_used)]
#![cfg(feature = "own-models")]

mod support;

use meshfold_data::Input;
use meshfold_engine::burn;
use meshfold_engine::burn::module::Module;
use meshfold_engine::burn::nn::conv::{Conv2d, Conv2dConfig};
use meshfold_engine::burn::nn::{
    Dropout, DropoutConfig, Embedding, EmbeddingConfig, GroupNorm, GroupNormConfig, Linear,
    LinearConfig,
};
use meshfold_engine::burn::tensor::{Device as BurnDevice, Tensor, activation};
use meshfold_engine::{
    Amount, Anchor, BatchSize, Device, EngineError, GradientsOn, Initial, Instructions, Learner,
    LearningRate, LocalWork, Model, Network, OwnModel, OwnModels, Parameter, Parameters, Per,
    Restart, RowByRow, Schedule, Sgd, Split, Stack, Start, Step, Velocity,
};
use std::sync::Arc;
use support::*;

const SIZES: [usize; 4] = [23, 8, 3, 16];

/// [`mlp`] once more.
#[derive(Debug)]
struct Transcribed {
    hidden: Vec<usize>,
}

impl OwnModel for Transcribed {
    fn parameters(&self, input: Input, classes: usize) -> Result<Vec<Parameter>, EngineError> {
        let widths = [&[input.features()], &self.hidden[..], &[classes]].concat();
        let layers = widths.windows(2).enumerate();
        Ok(layers
            .flat_map(|(layer, width)| {
                let initial = Initial::of_inputs(width[0]);
                [
                    Parameter::new(format!("dense{layer}.weight"), width, initial),
                    Parameter::new(format!("dense{layer}.bias"), [1, width[1]], initial),
                ]
            })
            .collect())
    }

    fn forward(
        &self,
        parameters: &Parameters<'_>,
        mut x: Tensor<3>,
    ) -> Result<Tensor<3>, EngineError> {
        for layer in 0..=self.hidden.len() {
            if layer > 0 {
                x = activation::relu(x);
            }
            let weight = parameters.get(&format!("dense{layer}.weight"))?;
            x = x.matmul(weight) + parameters.get(&format!("dense{layer}.bias"))?;
        }
        Ok(x)
    }
}

/// [`mlp`] as an ordinary module.
#[derive(Module, Debug)]
struct Perceptron {
    layers: Vec<Linear>,
    dropout: Dropout,
}

impl Perceptron {
    fn new(widths: &[usize]) -> Self {
        let layer = |pair: &[usize]| LinearConfig::new(pair[0], pair[1]).init(&BurnDevice::flex());
        Self {
            layers: widths.windows(2).map(layer).collect(),
            dropout: DropoutConfig::new(0.5).init(),
        }
    }

    fn forward(&self, mut x: Tensor<2>) -> Tensor<2> {
        for (index, layer) in self.layers.iter().enumerate() {
            if index > 0 {
                x = self.dropout.forward(activation::relu(x));
            }
            x = layer.forward(x);
        }
        x
    }
}

/// A convolution, a group normalisation and a dense layer, smooth throughout.
#[derive(Module, Debug)]
struct Smooth {
    convolution: Conv2d,
    norm: GroupNorm,
    output: Linear,
}

impl Smooth {
    /// For 3 x 7 pixels.
    fn new() -> Self {
        let device = BurnDevice::flex();
        Self {
            convolution: Conv2dConfig::new([1, 4], [2, 3]).init(&device),
            norm: GroupNormConfig::new(2, 4).init(&device),
            output: LinearConfig::new(4 * 2 * 5, CLASSES).init(&device),
        }
    }

    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let [batch, _] = x.dims();
        let x = self.convolution.forward(x.reshape([batch, 1, 3, 7]));
        let x = activation::tanh(self.norm.forward(x));
        self.output.forward(x.flatten(1, 3))
    }
}

/// The mean of some characters' vectors, and what may follow.
#[derive(Module, Debug)]
struct Bag {
    embedding: Embedding,
    output: Linear,
}

impl Bag {
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let vectors: Tensor<3> = self.embedding.forward(x.int());
        self.output.forward(vectors.mean_dim(1).flatten(1, 2))
    }
}

fn case() -> Case {
    Case::of_pixels(mlp(), CLASSES)
}

fn transcribed() -> Arc<dyn OwnModel> {
    Arc::new(Transcribed {
        hidden: vec![17, 5],
    })
}

fn row_by_row() -> Arc<dyn OwnModel> {
    let module = Perceptron::new(&[FEATURES, 17, 5, CLASSES]);
    Arc::new(RowByRow::new(module, Perceptron::forward).unwrap())
}

fn smooth() -> Arc<dyn OwnModel> {
    Arc::new(RowByRow::new(Smooth::new(), Smooth::forward).unwrap())
}

fn fitted(model: Arc<dyn OwnModel>) -> Network {
    Network::own(model, case().input, CLASSES).unwrap()
}

fn learner_of(model: Arc<dyn OwnModel>, threads: usize) -> Learner {
    case().learner_of(fitted(model), &cpu(threads, None), &SIZES)
}

fn rule() -> Sgd {
    Sgd {
        momentum: 0.9,
        weight_decay: 0.01,
        ..sgd(5, 0.9)
    }
}

/// What training leaves behind.
#[derive(Debug, PartialEq)]
struct Trained {
    models: Vec<f32>,
    velocity: Vec<f32>,
    gradients: Vec<f32>,
    shard_gradients: Vec<f32>,
    outputs: Vec<f32>,
    /// Of slopes that are shares of the outputs.
    pulled_back: Vec<f32>,
    stepped: Vec<f32>,
    /// Training loss, then loss and accuracy of every row on every split.
    scores: Vec<f64>,
}

/// Two rounds of two epochs from `start`, the third row resting in the second, then gradients and scores.
fn trained(learner: &mut Learner, start: &[f32], rule: &Sgd, extras: bool) -> Trained {
    let layout = learner.network().layout().clone();
    let device = learner.device().clone();
    let of = |values: &[f32]| Stack::from_host(&device, &layout, values.to_vec()).unwrap();
    let mut stack = of(start);
    let extra: Vec<f32> = start.iter().map(|value| 0.1 * value).collect();
    let extra = of(&extra);
    let mut velocity = Stack::zeros(&device, &layout, stack.rows());
    let clients: Vec<u32> = (0..stack.rows() as u32).collect();
    let mut amounts = rows(&vec![Amount::Epochs(2); stack.rows()]);
    let of_round = |round, amounts| LocalWork {
        correction: extras.then_some(&extra),
        anchor: extras.then_some(Anchor {
            models: &extra,
            mu: 0.3,
        }),
        ..work(round, amounts, rule)
    };
    let first = amounts.clone();
    let kept = Velocity::Kept(&mut velocity);
    learner
        .train(&mut stack, kept, &of_round(1, &first))
        .unwrap();
    if let Some(third) = amounts.get_mut(2) {
        third.amount = Amount::Idle;
    }
    learner
        .train(&mut stack, Velocity::Fresh, &of_round(2, &amounts))
        .unwrap();
    let mut scores = vec![learner.tally().train_loss.unwrap()];
    let subset = [7, 100, 3];
    for (split, subset) in [
        (Split::Test, None),
        (Split::Test, Some(&subset[..])),
        (Split::Train, None),
        (Split::Shards(&clients), None),
    ] {
        let judged = learner.evaluate(&stack, split, subset).unwrap();
        scores.extend(judged.iter().flat_map(|score| [score.loss, score.accuracy]));
    }
    let gradients = learner.gradients(&stack, &of_round(3, &amounts)).unwrap();
    let shards = learner.shard_gradients(&stack, &clients).unwrap();
    let examples = learner.next_batches(&of_round(3, &amounts)).unwrap();
    let outputs = learner.outputs(&stack, &examples).unwrap();
    // Means over the batch.
    let shares = |row: &Vec<f32>| row.iter().map(|y| y / row.len() as f32).collect();
    let slopes: Vec<Vec<f32>> = outputs.iter().map(shares).collect();
    let on = GradientsOn {
        slopes: Some(&slopes),
        ..GradientsOn::of(&examples)
    };
    let pulled_back = learner.gradients_on(&stack, &of_round(3, &amounts), &on);
    let mut stepped = stack.duplicate();
    let kept = Velocity::Kept(&mut velocity);
    learner
        .step_on(&mut stepped, kept, &of_round(3, &amounts), &on)
        .unwrap();
    Trained {
        pulled_back: pulled_back.unwrap().to_host(),
        outputs: outputs.concat(),
        stepped: stepped.to_host(),
        models: stack.to_host(),
        velocity: velocity.to_host(),
        gradients: gradients.to_host(),
        shard_gradients: shards.to_host(),
        scores,
    }
}

/// Some tens of f32 steps of size 0.05 with momentum on weights near 1.
const TOLERANCE: f64 = 2e-5;

fn expect_close(found: &Trained, needed: &Trained, words: &str) {
    let apart = |a: &[f32], b: &[f32]| {
        let b: Vec<f64> = b.iter().map(|value| f64::from(*value)).collect();
        difference(a, &b)
    };
    let scores = found.scores.iter().zip(&needed.scores);
    let scores = scores.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    for (what, apart) in [
        ("models", apart(&found.models, &needed.models)),
        ("velocity", apart(&found.velocity, &needed.velocity)),
        ("gradients", apart(&found.gradients, &needed.gradients)),
        (
            "shard gradients",
            apart(&found.shard_gradients, &needed.shard_gradients),
        ),
        ("outputs", apart(&found.outputs, &needed.outputs)),
        (
            "pulled back",
            apart(&found.pulled_back, &needed.pulled_back),
        ),
        ("scores", scores),
    ] {
        assert!(apart < TOLERANCE, "{words}, {what}: {apart}");
    }
}

#[test]
fn a_transcription_of_mlp_learns_as_the_engines() {
    let halving = LearningRate::Schedule(Schedule::Step(Step {
        initial: 0.05,
        factor: 0.5,
        every: 1.0,
        per: Per::Epoch,
        restart: Restart::Never,
        warmup: 0.0,
    }));
    let constant = LearningRate::Constant(0.05);
    for (clip, extras, nesterov, rate) in [
        (None, false, false, constant.clone()),
        (Some(0.5), false, false, halving),
        (None, true, false, constant.clone()),
        (Some(0.5), true, true, constant.clone()),
        (None, false, true, constant),
    ] {
        let rule = Sgd {
            nesterov,
            clip_norm: clip,
            learning_rate: rate,
            ..rule()
        };
        let mut built_in = case().learner(&cpu(2, None), &SIZES);
        let start = built_in.initial(4, Start::Independent).unwrap().to_host();
        let needed = trained(&mut built_in, &start, &rule, extras);
        for (words, model) in [("stacked", transcribed()), ("by row", row_by_row())] {
            let mut own = learner_of(model, 2);
            assert_eq!(own.network().layout().width(), start.len() / 4);
            let found = trained(&mut own, &start, &rule, extras);
            expect_close(
                &found,
                &needed,
                &format!("{words} {clip:?} {extras} {nesterov}"),
            );
        }
    }
}

#[test]
fn whole_shards_are_batches_and_larger_ones_are_cut() {
    let sizes = [300, 5];
    let rule = Sgd {
        batch_size: BatchSize::Full,
        ..rule()
    };
    let mut built_in = case().learner(&cpu(2, None), &sizes);
    let start = built_in.initial(2, Start::Independent).unwrap().to_host();
    let needed = trained(&mut built_in, &start, &rule, false);
    let mut own = case().learner_of(fitted(transcribed()), &cpu(2, None), &sizes);
    let found = trained(&mut own, &start, &rule, false);
    expect_close(&found, &needed, "full batches");
}

#[test]
fn neither_threads_nor_instructions_nor_other_rows_change_a_bit_of_a_row() {
    let rule = Sgd {
        clip_norm: Some(0.5),
        ..rule()
    };
    for model in [transcribed(), row_by_row(), smooth()] {
        let learn = |threads: usize, rows: usize| {
            let mut learner = learner_of(model.clone(), threads);
            let start = learner.initial(rows, Start::Independent).unwrap();
            trained(&mut learner, &start.to_host(), &rule, true)
        };
        let one = learn(1, 4);
        for threads in [2, 3] {
            assert!(learn(threads, 4) == one, "{threads} threads");
        }
        let alone = learn(2, 1);
        let width = alone.models.len();
        assert_eq!(alone.models, one.models[..width]);
        assert_eq!(alone.gradients, one.gradients[..width]);
        assert_eq!(alone.shard_gradients, one.shard_gradients[..width]);
    }
}

#[test]
fn products_large_enough_for_burn_to_share_them_have_the_same_bits_on_any_threads() {
    // 21 · 700 · 600 multiplications are above the seven million from which burn takes several threads.
    let model = || {
        Arc::new(Transcribed {
            hidden: vec![700, 600],
        })
    };
    let learn = |threads| {
        let network = Network::own(model(), case().input, CLASSES).unwrap();
        let device = cpu(threads, Some(Instructions::detect()));
        let mut learner = case().learner_of(network, &device, &[128, 128]);
        let mut stack = learner.initial(2, Start::Independent).unwrap();
        let (amounts, rule) = (rows(&[Amount::Steps(2); 2]), sgd(128, 0.5));
        learner
            .train(&mut stack, Velocity::Fresh, &work(1, &amounts, &rule))
            .unwrap();
        stack.to_host()
    };
    assert!(learn(1) == learn(2));
}

#[cfg(feature = "gpu")]
#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn a_gpu_learns_as_the_processor() {
    let gpu = gpu();
    let rule = Sgd {
        clip_norm: Some(0.5),
        ..rule()
    };
    for model in [transcribed(), row_by_row(), smooth(), Arc::new(Curved)] {
        for extras in [false, true] {
            let mut on_processor = learner_of(model.clone(), 1);
            let start = on_processor.initial(4, Start::Independent).unwrap();
            let start = start.to_host();
            let needed = trained(&mut on_processor, &start, &rule, extras);
            let network = fitted(model.clone());
            let mut on_gpu = case().learner_of(network, &gpu, &SIZES);
            let found = trained(&mut on_gpu, &start, &rule, extras);
            expect_close(&found, &needed, &format!("{model:?} {extras}"));
        }
    }
}

#[test]
fn gradients_are_the_slopes_of_the_loss() {
    for model in [smooth(), Arc::new(Curved)] {
        let mut learner = learner_of(model, 1);
        let layout = learner.network().layout().clone();
        let start = shaken(&learner, 1);
        let row = start.to_host();
        let gradient = learner.shard_gradients(&start, &[0]).unwrap().to_host();
        let largest = gradient.iter().fold(0.0f32, |most, g| most.max(g.abs()));
        assert!(largest > 1e-2, "there is a slope");
        for block in layout.blocks() {
            for at in block.range().step_by(block.size().div_ceil(5)) {
                let mut loss = |shift: f32| {
                    let mut moved = row.clone();
                    moved[at] += shift;
                    let moved = Stack::from_host(learner.device(), &layout, moved).unwrap();
                    let scores = learner.evaluate(&moved, Split::Shards(&[0]), None);
                    scores.unwrap()[0].loss
                };
                let slope = (loss(1e-2) - loss(-1e-2)) / 2e-2;
                let found = f64::from(gradient[at]);
                // The losses come from f32 outputs, good to about 1e-7, so the slopes are to 1e-5; the step leaves about
                // its square times the third derivative.
                assert!(
                    (slope - found).abs() < 2e-4,
                    "{} at {at}: {slope} {found}",
                    block.name
                );
            }
        }
    }
}

/// A parameter of three dimensions, one that is a single number, and one that takes no part.
#[derive(Debug)]
struct Curved;

impl OwnModel for Curved {
    fn parameters(&self, input: Input, classes: usize) -> Result<Vec<Parameter>, EngineError> {
        let deviation = 0.3;
        Ok(vec![
            Parameter::new(
                "planes",
                [2, input.features(), classes],
                Initial::Normal { deviation },
            ),
            Parameter::new("unused", [3], Initial::Constant(1.0)),
            Parameter::new("steepness", [1], Initial::Constant(0.7)),
        ])
    }

    fn forward(&self, parameters: &Parameters<'_>, x: Tensor<3>) -> Result<Tensor<3>, EngineError> {
        let planes: Tensor<4> = parameters.get("planes")?;
        let steepness: Tensor<2> = parameters.get("steepness")?;
        let x: Tensor<4> = x.unsqueeze_dim(1);
        let heights = activation::tanh(x.matmul(planes)).sum_dim(1);
        let outputs: Tensor<3> = heights.squeeze_dim(1);
        Ok(outputs * steepness.unsqueeze_dim(2))
    }
}

#[test]
fn a_parameter_that_takes_no_part_moves_by_weight_decay_alone() {
    let mut learner = learner_of(Arc::new(Curved), 1);
    let mut stack = learner.initial(1, Start::Same).unwrap();
    let (amounts, mut rule) = (rows(&[Amount::Steps(1)]), sgd(5, 0.0));
    rule.weight_decay = 0.1;
    learner
        .train(&mut stack, Velocity::Fresh, &work(1, &amounts, &rule))
        .unwrap();
    let unused = &learner.network().layout().blocks()[1];
    // 1 − 0.05 · 0.1 in f32.
    assert!(
        stack.to_host()[unused.range()]
            .iter()
            .all(|w| (w - 0.995).abs() < 1e-6)
    );
}

#[test]
fn text_is_read_as_whole_numbers() {
    text_is_learnt_on(&cpu(1, None));
}

#[cfg(feature = "gpu")]
#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn a_gpu_reads_text_as_whole_numbers() {
    text_is_learnt_on(&gpu());
}

fn text_is_learnt_on(device: &Device) {
    let input = Input::Tokens { window: 6 };
    let case = Case {
        model: Model::Own("".into()),
        input,
        classes: 5,
        margin: 0,
        precision: meshfold_engine::Precision::F32,
    };
    let burn = BurnDevice::flex();
    let bag = Bag {
        embedding: EmbeddingConfig::new(5, 8).init(&burn),
        output: LinearConfig::new(8, 5).init(&burn),
    };
    let bag = Arc::new(RowByRow::new(bag, Bag::forward).unwrap());
    let network = Network::own(bag, input, 5).unwrap();
    assert_eq!((network.positions(), network.outputs()), (1, 5));
    let mut learner = case.learner_of(network, device, &[60]);
    let mut stack = learner.initial(1, Start::Same).unwrap();
    let before = learner.evaluate(&stack, Split::Train, None).unwrap()[0];
    let (amounts, rule) = (rows(&[Amount::Epochs(30)]), sgd(10, 0.9));
    learner
        .train(&mut stack, Velocity::Fresh, &work(1, &amounts, &rule))
        .unwrap();
    let after = learner.evaluate(&stack, Split::Train, None).unwrap()[0];
    assert!(after.loss < 0.9 * before.loss, "{before:?} {after:?}");
}

#[test]
fn initial_models_come_from_the_seed_and_a_modules_rules_are_pytorchs() {
    let network = fitted(smooth());
    let names = network
        .layout()
        .blocks()
        .iter()
        .map(|block| &block.name[..]);
    assert_eq!(
        names.collect::<Vec<_>>(),
        [
            "convolution.weight",
            "convolution.bias",
            "norm.gamma",
            "norm.beta",
            "output.weight",
            "output.bias"
        ]
    );
    let learner = learner_of(smooth(), 1);
    let independent = learner.initial(2, Start::Independent).unwrap().to_host();
    assert_eq!(
        independent,
        learner_of(smooth(), 2)
            .initial(2, Start::Independent)
            .unwrap()
            .to_host()
    );
    let (first, second) = independent.split_at(independent.len() / 2);
    let bounds = [6f32, 6.0, 0.0, 0.0, 40.0, 40.0];
    for (block, inputs) in network.layout().blocks().iter().zip(bounds) {
        let (first, second) = (&first[block.range()], &second[block.range()]);
        match block.name.as_str() {
            "norm.gamma" => assert!(first.iter().all(|value| *value == 1.0)),
            "norm.beta" => assert!(first.iter().all(|value| *value == 0.0)),
            name => {
                let bound = 1.0 / inputs.sqrt();
                assert!(first.iter().all(|value| value.abs() <= bound), "{name}");
                assert!(
                    first.iter().any(|value| value.abs() > 0.5 * bound),
                    "{name}"
                );
                assert_ne!(first, second, "{name}");
            }
        }
    }
    let zero = |name: &str, _: &[usize]| name.ends_with("bias").then_some(Initial::Constant(0.25));
    let module = RowByRow::new(Smooth::new(), Smooth::forward).unwrap();
    let learner = learner_of(Arc::new(module.starting_from(zero)), 1);
    let start = learner.initial(1, Start::Same).unwrap().to_host();
    let bias = &learner.network().layout().blocks()[5];
    assert!(start[bias.range()].iter().all(|value| *value == 0.25));
}

#[test]
fn models_are_found_by_their_names() {
    let models = OwnModels::new().with("mine", Curved);
    let build = |name: &str| models.network(&Model::Own(name.into()), case().input, CLASSES);
    assert_eq!(build("mine").unwrap().layout().blocks().len(), 3);
    let unknown = build("yours").unwrap_err().to_string();
    assert!(unknown.contains("none is named `yours`"), "{unknown}");
    let engines = models.network(&mlp(), case().input, CLASSES).unwrap();
    assert_eq!(engines.layout().parameters(), 22 * 17 + 18 * 5 + 6 * 3);
    let direct = Network::new(&Model::Own("mine".into()), case().input, CLASSES);
    assert!(direct.unwrap_err().to_string().contains("`mine`"));
}

#[test]
fn local_test_sets_are_judged_as_other_examples_are() {
    let splits = learner_of(transcribed(), 1).splits().clone();
    let parted = [
        with_local_tests(partition(&SIZES), 0.4),
        with_tests_of_owners(partition(&SIZES), splits.test.len()),
    ];
    for partition in parted.map(Arc::new) {
        let (network, splits) = (fitted(transcribed()), splits.clone());
        let mut learner = Learner::upload(&cpu(2, None), network, splits, partition, SEED).unwrap();
        let clients: Vec<u32> = (0..SIZES.len() as u32)
            .rev()
            .filter(|client| learner.partition().local_test(*client as usize).len() > 1)
            .collect();
        assert!(clients.len() > 1, "several clients have test sets");
        let stack = learner.initial(clients.len(), Start::Independent).unwrap();
        expect_scores_on_local_tests(&mut learner, &stack, &clients);
    }
}

#[test]
fn examples_of_another_shape_are_refused_although_their_number_fits() {
    let flat = Case {
        input: image(1, 1, FEATURES),
        ..case()
    };
    let splits = learner_of(transcribed(), 1).splits().clone();
    let network = Network::own(transcribed(), flat.input, CLASSES).unwrap();
    let partition = Arc::new(partition(&SIZES));
    let refused = Learner::upload(&cpu(1, None), network, splits, partition, SEED);
    assert!(matches!(refused, Err(EngineError::Setting { .. })));
}
