//! Clients that lose their inputs: they do not train, but exchange over the whole overlay (Hua et al., section 5.2).

use crate::support::plain::{self, mix, sum};
use crate::support::{MethodRun, Models, Scene, chorded_path, expect_close, full};
use meshfold_algorithms::{GradientWeight, Method, Order};
use meshfold_topology::{MixingMatrix, Weights};

/// The models after four rounds over the whole overlay, in which client 2 does not train from the second on.
fn found(method: &Method) -> (MethodRun, MixingMatrix) {
    let scene = Scene::with_a_death();
    let overlay = chorded_path();
    let matrix = Weights::default().matrix(&overlay).unwrap();
    let mut course = MethodRun::new(method, &scene);
    for _ in 0..4 {
        course.step(Some((overlay.clone(), matrix.clone())));
    }
    (course, matrix)
}

/// What `step` makes of the model of each client that trains in `round`; the others keep theirs.
fn trained(
    course: &MethodRun,
    models: &Models,
    round: usize,
    step: impl Fn(usize, &[f64]) -> Vec<f64>,
) -> Models {
    let alive = course.scene.alive(round);
    let mut trained = models.clone();
    for client in 0..5 {
        if alive[client] {
            trained[client] = step(client, &models[client]);
        }
    }
    trained
}

#[test]
fn dfedavgm_mixes_models_that_were_not_trained() {
    let train = full(2).momentum(0.9);
    let method = method!(
        Dfedavgm {
            aggregation: None,
            quantise: None
        },
        train
    );
    let (course, matrix) = found(&method);
    let descent = plain::steps(2).momentum(0.9);
    let mut models = course.start.clone();
    for round in 1..=4 {
        let step = |client: usize, w: &[f64]| descent.from(&course.learner, client, w);
        models = mix(&matrix, &trained(&course, &models, round, step));
    }
    expect_close(&course.models(), &models);
}

#[test]
fn dsgd_and_decefl_mix_models_that_were_not_trained() {
    let dsgd = method!(
        Dsgd {
            order: Order::StepThenMix,
            aggregation: None
        },
        full(1)
    );
    let decefl = method!(
        Decefl {
            mu: 0.5,
            gradient_weight: GradientWeight::None
        },
        full(1)
    );
    for method in [dsgd, decefl] {
        let (course, matrix) = found(&method);
        let step = |client: usize, w: &[f64]| plain::steps(1).from(&course.learner, client, w);
        let mut models = course.start.clone();
        for round in 1..=4 {
            let local = trained(&course, &models, round, step);
            models = match &method {
                Method::Dsgd(_) => mix(&matrix, &local),
                _ => {
                    // w_k <- Σ W_kj w_j − μ (w_k − w_k^local)
                    let mixed = mix(&matrix, &models);
                    let terms = mixed.iter().zip(&local).zip(&models);
                    terms
                        .map(|((mixed, local), w)| sum(&[(1.0, mixed), (0.5, local), (-0.5, w)]))
                        .collect()
                }
            };
        }
        expect_close(&course.models(), &models);
    }
}
