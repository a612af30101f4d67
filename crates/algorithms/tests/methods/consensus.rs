//! The consensus example of DeceFL, SI 4.5: eight clients of one example (1, 1) each.

use crate::support::plain::{mix, sum};
use crate::support::{MethodRun, Scene, full};
use meshfold_algorithms::GradientWeight;
use meshfold_data::{Examples, Scale, Shape};
use meshfold_engine::{Learner, LearningRate, Linear, Model, Targets};
use meshfold_topology::{MaxDegree, Overlay, Weights};

const CLIENTS: usize = 8;
const RATE: f64 = 0.25;

/// One weight without bias, whose minimum is 1, on a connected overlay of 8 nodes with about p = 0.3.
fn scene() -> Scene {
    let edges = [
        (0, 1),
        (0, 3),
        (1, 2),
        (2, 5),
        (3, 4),
        (4, 5),
        (4, 7),
        (5, 6),
        (1, 6),
    ];
    Scene {
        model: Model::Linear(Linear {
            targets: Targets::Value,
            bias: false,
        }),
        weights: Weights::MaxDegree(MaxDegree {}),
        ..Scene::over(Overlay::from_edges(CLIENTS, edges).unwrap()).of_sizes(&[1; CLIENTS])
    }
}

fn learner(scene: &Scene) -> Learner {
    let shape = Shape {
        channels: 1,
        height: 1,
        width: 1,
    };
    let scale = Scale {
        multiply: 1.0,
        add: 0.0,
    };
    let examples = Examples::new(vec![1; CLIENTS], vec![1; CLIENTS], shape, 2, scale).unwrap();
    crate::support::learner_on(examples, &scene.model, &scene.sizes)
}

/// The weights of all clients.
fn weights(course: &MethodRun) -> Vec<f64> {
    course.models().iter().map(|w| w[0]).collect()
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn centred(x: &[f64]) -> Vec<f64> {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    x.iter().map(|x| x - mean).collect()
}

/// Largest of `|λ_i(W) − η|` over i ≥ 2, by the power method on what is orthogonal to consensus.
fn contraction(scene: &Scene) -> f64 {
    let matrix = scene.matrix(1);
    let mut x: Vec<f64> = (0..CLIENTS).map(|i| (i as f64 * 1.7).sin()).collect();
    let mut factor = 0.0;
    for _ in 0..500 {
        let rows: Vec<Vec<f64>> = centred(&x).iter().map(|x| vec![*x]).collect();
        let mixed = mix(&matrix, &rows);
        let next: Vec<f64> = mixed
            .iter()
            .zip(&rows)
            .map(|(mixed, own)| mixed[0] - RATE * own[0])
            .collect();
        factor = norm(&next) / norm(&x);
        x = next.iter().map(|x| x / norm(&next)).collect();
    }
    factor
}

#[test]
fn decefl_reaches_consensus_and_the_minimum_geometrically() {
    let scene = scene();
    let gradient_weight = GradientWeight::None;
    let method = method!(
        Decefl {
            mu: 1.0,
            gradient_weight: gradient_weight
        },
        full(1).rate(LearningRate::Constant(RATE))
    );
    let mut course = MethodRun::with_learner(&method, &scene, learner(&scene));
    let start = weights(&course);
    let error = |w: &[f64]| norm(&w.iter().map(|w| w - 1.0).collect::<Vec<_>>());
    let (spread, away) = (norm(&centred(&start)), error(&start));
    assert!(spread > 0.5, "the clients start apart: {spread}");
    let consensus = contraction(&scene);
    let minimum = f64::max(1.0 - RATE, consensus);
    assert!(consensus < 1.0 && minimum < 1.0);
    for round in 1..=60 {
        course = course.advance(1);
        let found = weights(&course);
        // Rounding of f32 near 1 remains.
        let slack = 1e-6;
        let bound = spread * consensus.powi(round) + slack;
        assert!(norm(&centred(&found)) <= bound, "round {round}: consensus");
        let bound = away * minimum.powi(round) + slack;
        assert!(error(&found) <= bound, "round {round}: minimum");
    }
    assert!(error(&weights(&course)) < 1e-5);
}

#[test]
fn every_round_of_decefl_is_its_linear_iteration() {
    let scene = scene();
    let gradient_weight = GradientWeight::None;
    let method = method!(
        Decefl {
            mu: 1.0,
            gradient_weight: gradient_weight
        },
        full(1).rate(LearningRate::Constant(RATE))
    );
    let course = MethodRun::with_learner(&method, &scene, learner(&scene));
    let mut models = course.start.clone();
    for _ in 0..5 {
        let mixed = mix(&scene.matrix(1), &models);
        // The gradient of ½(w − 1)² is w − 1; the rest of a row is padding.
        let step = |(mixed, w): (&Vec<f64>, &Vec<f64>)| {
            let mut gradient = vec![0.0; w.len()];
            gradient[0] = w[0] - 1.0;
            sum(&[(1.0, mixed), (-RATE, &gradient)])
        };
        models = mixed.iter().zip(&models).map(step).collect();
    }
    crate::support::expect_close(&course.advance(5).models(), &models);
}
