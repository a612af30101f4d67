//! Tests of networks: counts of parameters and operations, and what is refused.

use super::checks::{MOST_LAYERS, MOST_UNITS};
use super::dropout::LeftOut;
use super::model::{CharLstm, Dnn8, GnLenet, Linear, Mlp, NormPlace, Resnet, Targets, WordLstm};
use super::*;

fn mlp(hidden: &[usize], dropout: f32) -> Model {
    Model::Mlp(Mlp {
        hidden: hidden.to_vec(),
        dropout,
        ..Mlp::default()
    })
}

fn count(model: &Model, classes: usize) -> usize {
    let network = Network::of_features(model, 784, classes).unwrap();
    network.layout().parameters()
}

#[test]
fn parameter_counts_are_those_of_the_literature() {
    assert_eq!(count(&Model::Logistic, 10), 7_850);
    assert_eq!(count(&mlp(&[200], 0.0), 10), 159_010);
    assert_eq!(count(&mlp(&[200, 200], 0.0), 10), 199_210);
}

#[test]
fn the_layers_of_dnn8_add_up() {
    // Products of neighbouring widths and one bias per unit: 784-256-512-512-256-256-128-128-64-10.
    let hidden = 200_960 + 131_584 + 262_656 + 131_328 + 65_792 + 32_896 + 16_512 + 8_256;
    let dnn8 = Model::Dnn8(Dnn8::default());
    assert_eq!(count(&dnn8, 10), hidden + 650);
    assert_eq!(count(&dnn8, 10), 850_634);
    // Two classes have one output: 64 weights and a bias.
    assert_eq!(count(&dnn8, 2), hidden + 65);
}

#[test]
fn a_linear_model_has_an_output_per_class_or_one_and_a_bias_or_none() {
    let linear = |targets, bias| Model::Linear(Linear { targets, bias });
    assert_eq!(count(&linear(Targets::OneHot, true), 10), 7_850);
    assert_eq!(count(&linear(Targets::OneHot, false), 10), 7_840);
    assert_eq!(count(&linear(Targets::Value, true), 10), 785);
    assert_eq!(count(&linear(Targets::Value, false), 10), 784);
}

#[test]
fn operations_are_counted_as_the_yardsticks_count_them() {
    let network = Network::of_features(&mlp(&[200], 0.0), 784, 10).unwrap();
    assert_eq!(
        network.flop_per_step(20),
        20.0 * (4.0 * 784.0 * 200.0 + 6.0 * 200.0 * 10.0)
    );
    let forward = 20.0 * 2.0 * (784.0 * 200.0 + 200.0 * 10.0);
    assert_eq!(network.flop_of_judging(20), forward);
}

#[test]
fn shares_of_units_to_leave_out_are_below_one() {
    for dropout in [0.0, 0.3, 0.999] {
        let network = Network::of_features(&mlp(&[5], dropout), 3, 2).unwrap();
        let left_out = network.nodes().iter().filter_map(|node| node.dropout);
        let expected = (dropout > 0.0).then(|| LeftOut::new(0, dropout));
        assert_eq!(left_out.collect::<Vec<_>>(), Vec::from_iter(expected));
        assert_eq!(network.drops_out, dropout > 0.0);
    }
    for dropout in [-0.1, 1.0, f32::NAN, f32::INFINITY] {
        let refused = Network::of_features(&mlp(&[5], dropout), 3, 2).unwrap_err();
        let found = refused.to_string();
        assert!(found.starts_with("dropout: "), "{found}");
        let dnn8 = Network::of_features(&Model::Dnn8(Dnn8 { dropout }), 3, 2);
        assert_eq!(dnn8.unwrap_err(), refused);
    }
}

fn on(shape: [usize; 3], model: &Model, classes: usize) -> Network {
    let [channels, height, width] = shape;
    let shape = Shape {
        channels,
        height,
        width,
    };
    Network::new(model, Input::Numbers(shape), classes).unwrap()
}

#[test]
fn convolutional_networks_have_the_papers_parameters() {
    let count = |shape, model: &Model, classes| on(shape, model, classes).layout().parameters();
    let cifar = [3, 32, 32];
    assert_eq!(count([1, 28, 28], &Model::CnnFemnist, 62), 6_603_710);
    assert_eq!(count(cifar, &Model::CnnCifar, 10), 2_156_490);
    // Reddi et al., table 4: 1,206,590 for 62 classes.
    assert_eq!(count([1, 28, 28], &Model::CnnEmnist, 62), 1_206_590);
    assert_eq!(count(cifar, &Model::Lenet, 10), 62_006);
    assert_eq!(
        count(cifar, &Model::GnLenet(GnLenet::default()), 10),
        85_354
    );
    let yardstick = Model::GnLenet(GnLenet {
        pool_padding: 1,
        norm: NormPlace::BeforeRelu,
    });
    assert_eq!(count(cifar, &yardstick, 10), 89_834);
    // 1,377 MFLOP per step of 20 examples, the yardstick W4.
    let flop = on(cifar, &yardstick, 10).flop_per_step(20);
    assert!((flop / 1.377e9 - 1.0).abs() < 1e-3, "{flop}");
}

#[test]
fn residual_networks_have_as_many_parameters_as_torchvisions_without_their_stem() {
    // ResNet-18 for CIFAR: 11,173,962 with batch normalisation, which has the same factors and offsets.
    let resnet = |depth| {
        Model::Resnet(Resnet {
            depth,
            ..Resnet::default()
        })
    };
    let count = |depth| on([3, 32, 32], &resnet(depth), 10).layout().parameters();
    assert_eq!(count(18), 11_173_962);
    assert_eq!(count(10), 4_903_242);
    // Signals have windows of 3 in place of 9.
    assert!(on([2, 1, 150], &resnet(18), 10).layout().parameters() < 11_173_962 / 2);
}

#[test]
fn recurrent_networks_have_one_bias_per_gate() {
    let tokens = Input::Tokens { window: 80 };
    let chars = Network::new(&Model::CharLstm(CharLstm::default()), tokens, 90).unwrap();
    assert_eq!(chars.layout().parameters(), 820_522);
    assert_eq!((chars.positions(), chars.outputs()), (80, 90));
    // 3,925 MFLOP per step of 10 windows, the yardstick W5.
    assert!((chars.flop_per_step(10) / 3.925e9 - 1.0).abs() < 1e-3);
    let words = Model::WordLstm(WordLstm::default());
    let words = Network::new(&words, Input::Tokens { window: 10 }, 50_000).unwrap();
    assert_eq!(
        words.layout().parameters(),
        50_000 * 385 + 394_240 + 525_312
    );
    assert_eq!(words.positions(), 1);
}

#[test]
fn what_does_not_fit_the_examples_is_refused() {
    let refused = |model: &Model, input| {
        let error = Network::new(model, input, 10).unwrap_err();
        error.to_string()
    };
    let small = Input::Numbers(Shape::flat(4));
    let flat = refused(&Model::CnnCifar, small);
    assert!(
        flat.contains("examples of 4 features") && flat.contains("reads: this model needs images"),
        "{flat}"
    );
    let strips = Shape {
        channels: 32,
        height: 32,
        width: 1,
    };
    let strips = refused(&Model::CnnCifar, Input::Numbers(strips));
    let told = "window of a layer: maximum 1, with a window of 2 x 2, reads 32 x 1 places in examples of 32 channels of 32 x 1, but it \
                must be no larger than what it reads: images are saved as [examples, channels, height, width]";
    assert!(strips.starts_with(told), "{strips}");
    let small_images = Shape {
        channels: 1,
        height: 12,
        width: 12,
    };
    let lenet = refused(&Model::Lenet, Input::Numbers(small_images));
    let told = "convolution 2, with a window of 5 x 5, reads 4 x 4 places";
    assert!(lenet.contains(told), "{lenet}");
    assert!(refused(&Model::CharLstm(CharLstm::default()), small).contains("text"));
    assert!(refused(&Model::Logistic, Input::Tokens { window: 5 }).contains("char_lstm"));
    let resnet = |depth, groups| {
        Model::Resnet(Resnet {
            depth,
            groups,
            width: 8,
        })
    };
    assert!(refused(&resnet(12, 2), small).contains("10 or 18"));
    assert!(refused(&resnet(10, 3), small).contains("divisor"));
}

#[test]
fn sizes_beyond_any_machine_are_refused_at_their_setting() {
    let at = |model: &Model, input, expected: &str| {
        let error = Network::new(model, input, 10).unwrap_err();
        let EngineError::ModelSetting { path, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(path, expected, "{error}");
    };
    let image = Input::Numbers(Shape::flat(784));
    let width = 1 << 62;
    at(&mlp(&[5, width], 0.0), image, "hidden.1");
    let resnet = Resnet {
        width,
        ..Resnet::default()
    };
    at(&Model::Resnet(resnet), image, "width");
    let (pool_padding, norm) = (2, NormPlace::default());
    let lenet = GnLenet { pool_padding, norm };
    at(&Model::GnLenet(lenet), image, "pool_padding");
    let tokens = Input::Tokens { window: 5 };
    for (embedding, hidden, layers, path) in [
        (width, 4, 1, "embedding"),
        (4, width, 1, "hidden"),
        (4, 4, 1_000_000_000_000, "layers"),
    ] {
        let chars = CharLstm {
            embedding,
            hidden,
            layers,
            ..CharLstm::default()
        };
        at(&Model::CharLstm(chars), tokens, path);
        let words = WordLstm {
            embedding,
            hidden,
            layers,
            ..WordLstm::default()
        };
        at(&Model::WordLstm(words), tokens, path);
    }
    // The most that is let through is counted without overflow.
    let (embedding, hidden, layers) = (MOST_UNITS, MOST_UNITS, MOST_LAYERS);
    let largest = CharLstm {
        embedding,
        hidden,
        layers,
        ..CharLstm::default()
    };
    let largest = Network::new(&Model::CharLstm(largest), tokens, 10).unwrap();
    assert!(largest.layout().parameters() > MOST_LAYERS << 50);
    assert!(largest.flop_per_step(20) > 1e20);
}
