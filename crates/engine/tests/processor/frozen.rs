//! Local steps that move some layers alone.

use crate::support::*;
use meshfold_engine::{
    Amount, Anchor, Device, Layout, LocalWork, Mlp, Model, MomentumRule, RowWork, Sgd, Stack,
    Start, TrainedLayers, Velocity,
};

const SIZES: [usize; 3] = [23, 8, 16];

fn models() -> [Model; 3] {
    [
        Model::Mlp(Mlp {
            hidden: vec![130, 7],
            ..Mlp::default()
        }),
        mlp(),
        Model::Logistic,
    ]
}

/// Every variant of a step: momentum of both kinds, decay, clipping.
fn rules() -> [Sgd; 4] {
    let decaying = Sgd {
        weight_decay: 0.05,
        ..sgd(5, 0.9)
    };
    let clipped = Sgd {
        clip_norm: Some(0.3),
        ..decaying.clone()
    };
    [sgd(5, 0.0), decaying, clipped.clone(), nesterov(clipped)]
}

struct Trained {
    start: Vec<f32>,
    models: Stack,
    velocity: Stack,
}

/// Two rounds in which the layers move that `is_trained` says.
fn train(
    device: &Device,
    model: &Model,
    rule: &Sgd,
    terms: bool,
    is_trained: Option<&dyn Fn(&str) -> bool>,
) -> Trained {
    let case = Case::of_pixels(model.clone(), CLASSES);
    let mut learner = case.learner(device, &SIZES);
    let mut models = learner.initial(3, Start::Independent).unwrap();
    let layout = models.layout().clone();
    let layers = is_trained.and_then(|is_trained| TrainedLayers::of(&layout, is_trained));
    let mut extra = learner.initial(3, Start::Same).unwrap();
    extra.scale_rows(&[0.1, 0.2, 0.3]).unwrap();
    let start = models.to_host();
    // What is kept of layers that do not move is neither used nor lost.
    let mut velocity = models.duplicate();
    velocity.scale_rows(&[0.01; 3]).unwrap();
    let amounts = rows(&[Amount::Epochs(1), Amount::Steps(3), Amount::Steps(2)]);
    for round in 1..=2 {
        let work = LocalWork {
            correction: terms.then_some(&extra),
            anchor: terms.then_some(Anchor {
                models: &extra,
                mu: 0.3,
            }),
            layers: layers.as_ref(),
            ..work(round, &amounts, rule)
        };
        let kept = Velocity::Kept(&mut velocity);
        learner.train(&mut models, kept, &work).unwrap();
    }
    Trained {
        start,
        models,
        velocity,
    }
}

/// The numbers of the blocks of all rows that `chosen` says.
fn numbers(values: &[f32], layout: &Layout, chosen: impl Fn(&str) -> bool) -> Vec<u32> {
    let blocks = || layout.blocks().iter().filter(|block| chosen(&block.name));
    let rows = values.chunks_exact(layout.width());
    rows.flat_map(|row| blocks().flat_map(|block| &row[block.range()]))
        .map(|value| value.to_bits())
        .collect()
}

#[test]
fn layers_that_are_left_out_keep_their_bits_and_their_velocity() {
    for model in models() {
        let layout = Case::of_pixels(model.clone(), CLASSES)
            .learner(&cpu(1, None), &SIZES)
            .network()
            .layout()
            .clone();
        for block in layout.blocks() {
            let is_trained = |name: &str| name == block.name;
            let is_frozen = |name: &str| name != block.name;
            for (rule, terms) in rules()
                .iter()
                .flat_map(|rule| [(rule, false), (rule, true)])
            {
                let one = train(&cpu(1, None), &model, rule, terms, Some(&is_trained));
                let found = one.models.to_host();
                assert_eq!(
                    numbers(&found, &layout, is_frozen),
                    numbers(&one.start, &layout, is_frozen)
                );
                let moved = numbers(&found, &layout, is_trained);
                assert_ne!(moved, numbers(&one.start, &layout, is_trained));
                let kept: Vec<f32> = one.start.iter().map(|value| 0.01 * value).collect();
                let velocity = one.velocity.to_host();
                assert_eq!(
                    numbers(&velocity, &layout, is_frozen),
                    numbers(&kept, &layout, is_frozen)
                );
                let two = train(&cpu(2, None), &model, rule, terms, Some(&is_trained));
                assert_eq!(two.models.to_host(), found);
            }
        }
    }
}

#[test]
fn all_layers_are_the_whole_model() {
    let models = models();
    for (model, rule) in models.iter().cycle().zip(rules()) {
        let plain = train(&cpu(2, None), model, &rule, false, None);
        let named = train(&cpu(2, None), model, &rule, false, Some(&|_| true));
        assert_eq!(plain.models.to_host(), named.models.to_host());
        assert_eq!(plain.velocity.to_host(), named.velocity.to_host());
    }
}

#[test]
fn a_step_is_that_of_gradients_without_the_other_layers() {
    for model in models() {
        for rule in rules() {
            let device = cpu(2, None);
            let case = Case::of_pixels(model.clone(), CLASSES);
            let [mut one, mut other] = [0, 1].map(|_| case.learner(&device, &SIZES));
            let mut models = one.initial(3, Start::Independent).unwrap();
            let mut stepped = models.duplicate();
            let layout = models.layout().clone();
            let is_trained = |name: &str| name == layout.blocks()[0].name;
            let layers = TrainedLayers::of(&layout, is_trained);
            let tasks: Vec<RowWork> = rows(&[Amount::Steps(3); 3]);
            let work_of = |round| LocalWork {
                layers: layers.as_ref(),
                ..work(round, &tasks, &rule)
            };
            one.train(&mut models, Velocity::Fresh, &work_of(1))
                .unwrap();

            // Clipping, decay and momentum by hand.
            let raw = Sgd {
                clip_norm: None,
                ..rule.clone()
            };
            let mut velocity = Stack::zeros(&device, &layout, 3);
            let width = layout.width();
            for _ in 0..3 {
                let of_step = work(1, &tasks, &raw);
                let mut gradients = other.gradients(&stepped, &of_step).unwrap().to_host();
                let rates = vec![0.05; 3];
                for (row, weights) in gradients
                    .chunks_exact_mut(width)
                    .zip(stepped.to_host().chunks_exact(width))
                {
                    for block in layout.blocks() {
                        if !is_trained(&block.name) {
                            row[block.range()].fill(0.0);
                        }
                    }
                    let norm = row.iter().map(|g| g * g).sum::<f32>().sqrt();
                    let scale = rule.clip_norm.map_or(1.0, |most| (most / norm).min(1.0));
                    for block in layout
                        .blocks()
                        .iter()
                        .filter(|block| is_trained(&block.name))
                    {
                        for at in block.range() {
                            row[at] = scale * row[at] + rule.weight_decay * weights[at];
                        }
                    }
                }
                let gradients = Stack::from_host(&device, &layout, gradients).unwrap();
                let step = MomentumRule {
                    rates: &rates,
                    momentum: rule.momentum,
                    nesterov: rule.nesterov,
                };
                let made = stepped.momentum_step(&mut velocity, &gradients, step);
                made.unwrap();
            }
            let (found, wanted) = (models.to_host(), stepped.to_host());
            for (found, wanted) in found.iter().zip(&wanted) {
                // A few f32 steps.
                assert!((found - wanted).abs() < 2e-6, "{found} {wanted}");
            }
        }
    }
}

#[test]
fn layers_of_every_kind_can_stay() {
    let cases = dense()
        .into_iter()
        .chain(convolutional())
        .chain(recurrent());
    for case in cases {
        let mut learner = case.learner(&cpu(2, None), &SIZES);
        let models = learner.initial(3, Start::Same).unwrap();
        let (layout, before) = (models.layout().clone(), models.to_host());
        let (tasks, rule) = (rows(&[Amount::Steps(2); 3]), sgd(5, 0.9));
        for block in layout.blocks() {
            let layers = TrainedLayers::of(&layout, |name| name != block.name);
            let work = LocalWork {
                layers: layers.as_ref(),
                ..work(1, &tasks, &rule)
            };
            let mut trained = models.duplicate();
            learner.train(&mut trained, Velocity::Fresh, &work).unwrap();
            let (after, stays) = (trained.to_host(), |name: &str| name == block.name);
            let [found, wanted] = [&after, &before].map(|rows| numbers(rows, &layout, stays));
            assert_eq!(found, wanted, "{} of {case:?}", block.name);
            assert!(layout.blocks().len() == 1 || after != before, "{case:?}");
        }
    }
}
