//! One output for two classes, compared with the softmax of two outputs.

use crate::support::*;
use meshfold_data::{Input, Shape};
use meshfold_engine::{
    Amount, EngineError, Head, LearningRate, Mlp, Model, Network, Sgd, Stack, Start, Velocity,
};

/// Examples of the one client, in batches of ten with a rest.
const EXAMPLES: usize = 37;

/// The weights and the bias of the one output, `[FEATURES + 1]`: those of the second output less those of the first.
fn one_output(two: &[f64]) -> Vec<f64> {
    two.chunks(2).map(|pair| pair[1] - pair[0]).collect()
}

fn packed(stack: &Stack) -> Vec<f64> {
    let row = stack.layout().pack(&stack.to_host());
    row.into_iter().map(f64::from).collect()
}

/// One model of `packed` parameters.
fn model_of(stack: &Stack, packed: &[f64]) -> Stack {
    let layout = stack.layout();
    let (mut values, mut next) = (vec![0.0; layout.width()], packed.iter());
    for block in layout.blocks() {
        for (value, given) in values[block.range()].iter_mut().zip(next.by_ref()) {
            *value = *given as f32;
        }
    }
    Stack::from_host(stack.device(), layout, values).unwrap()
}

/// What four epochs make of the start, with two outputs by `two` and with one by `one`, as one output has it.
fn both(two: &Sgd, one: &Sgd) -> (Vec<f64>, Vec<f64>) {
    let device = cpu(1, None);
    let rows = rows(&[Amount::Epochs(4)]);
    let mut by_two = learner_of_classes(&device, &Model::Logistic, &[EXAMPLES], 2);
    let mut stack = by_two.initial(1, Start::Same).unwrap();
    let start = one_output(&packed(&stack));
    by_two
        .train(&mut stack, Velocity::Fresh, &work(1, &rows, two))
        .unwrap();
    let mut by_one = learner_of_classes(&device, &Model::BinaryLogistic, &[EXAMPLES], 2);
    let zeros = by_one.initial(1, Start::Same).unwrap();
    let mut single = model_of(&zeros, &start);
    by_one
        .train(&mut single, Velocity::Fresh, &work(1, &rows, one))
        .unwrap();
    let moved = start.iter().zip(packed(&single));
    assert!(moved.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) > 0.05);
    (one_output(&packed(&stack)), packed(&single))
}

fn apart(found: &(Vec<f64>, Vec<f64>)) -> f64 {
    assert_eq!(found.0.len(), found.1.len());
    let pairs = found.0.iter().zip(&found.1);
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn two_outputs_at_half_the_rate_are_one_output() {
    let one = Sgd {
        weight_decay: 0.02,
        clip_norm: Some(0.5),
        ..sgd(10, 0.9)
    };
    // The gradient by the two outputs is (−g, g): half the rate, twice the decay, and a norm that is √2 of g's.
    let two = Sgd {
        learning_rate: LearningRate::Constant(0.025),
        weight_decay: 0.04,
        clip_norm: Some(0.5 * std::f32::consts::SQRT_2),
        ..one.clone()
    };
    // Sixteen steps in f32 on weights below one.
    let most = apart(&both(&two, &one));
    assert!(most < 2e-6, "{most:e}");
    let same_rate = apart(&both(&one, &one));
    assert!(same_rate > 0.01, "{same_rate:e}");
}

#[test]
fn one_output_has_half_the_parameters() {
    let of = |model| {
        Network::of_features(&model, 9, 2)
            .unwrap()
            .layout()
            .parameters()
    };
    assert_eq!((of(Model::Logistic), of(Model::BinaryLogistic)), (20, 10));
}

#[test]
fn one_output_is_refused_to_more_than_two_classes() {
    let input = Input::Numbers(Shape::flat(4));
    for (model, path) in [(Model::BinaryLogistic, ""), (sigmoid_mlp(), "head")] {
        for classes in [1, 3] {
            let refusal = Network::new(&model, input, classes).unwrap_err();
            assert!(
                matches!(&refusal, EngineError::ModelSetting { path: at, .. } if at == path),
                "{refusal}"
            );
            let found = format!("data of {classes} classes, but it must be data of two");
            assert!(refusal.to_string().contains(&found), "{refusal}");
        }
    }
    let softmax = Model::Mlp(Mlp {
        head: Head::Softmax,
        ..Mlp::default()
    });
    assert_eq!(Network::new(&softmax, input, 3).unwrap().outputs(), 3);
}
