//! The consensus problem of DeceFL, (7) and SI (16): client `k` has the private value `w_k(0)`, begins there, and minimises
//! `½ (w − w_k(0))²`. DeceFL, FedAvg and swarm learning against sums in double precision.

use crate::support::{MethodRun, Scene, difference, full, models_of};
use meshfold_algorithms::{GradientWeight, Method, Participation, StepsFrom, Weighting};
use meshfold_data::{Examples, Scale, Shape};
use meshfold_engine::{Harmonic, LearningRate, Linear, Model, Per, Restart, Schedule, Targets};
use meshfold_topology::{Laplacian, Overlay, Weights};

const VALUES: [u16; 8] = [3, 1, 4, 1, 5, 9, 2, 6];
const EQUAL: [usize; 8] = [1; 8];
/// So many examples of its own value has each client.
const UNEQUAL: [usize; 8] = [1, 1, 2, 1, 3, 5, 1, 4];
/// `η_t = δ / (t + Γ)` with `t` from 0.
const DELTA: f64 = 1.0;
const GAMMA: f64 = 9.0;
/// Values up to 9 in f32 are rounded by 5e-7 in each of three operations; what is left of a round's error in the next
/// rounds is below ten times as much.
const TOLERANCE: f64 = 1.5e-5;

/// A connected overlay of eight nodes with about p = 0.5.
fn overlay() -> Overlay {
    let edges = [
        (0, 1),
        (0, 3),
        (0, 6),
        (1, 2),
        (1, 4),
        (2, 5),
        (2, 7),
        (3, 4),
        (3, 7),
        (4, 5),
        (4, 7),
        (5, 6),
        (6, 7),
    ];
    Overlay::from_edges(8, edges).unwrap()
}

fn scene(sizes: &[usize]) -> Scene {
    Scene {
        model: Model::Linear(Linear {
            targets: Targets::Value,
            bias: false,
        }),
        weights: Weights::Laplacian(Laplacian::default()),
        ..Scene::over(overlay()).of_sizes(sizes)
    }
}

/// The method at `w_k(0)` on clients of `sizes` examples.
fn course(method: &Method, scene: &Scene) -> MethodRun {
    let sizes = scene.sizes.iter().zip(VALUES);
    let labels: Vec<u16> = sizes.flat_map(|(size, value)| vec![value; *size]).collect();
    let scale = Scale {
        multiply: 1.0,
        add: 0.0,
    };
    let features = vec![1; labels.len()];
    let examples = Examples::new(features, labels, Shape::flat(1), 10, scale).unwrap();
    let learner = crate::support::learner_on(examples, &scene.model, &scene.sizes);
    let mut course = MethodRun::with_learner(method, scene, learner);
    course.stack = course.learner.initial_at(&VALUES.map(f32::from)).unwrap();
    course.start = models_of(&course.stack);
    course
}

fn harmonic() -> LearningRate {
    LearningRate::Schedule(Schedule::Harmonic(Harmonic {
        delta: DELTA,
        gamma: GAMMA,
        per: Per::Round,
        restart: Restart::Never,
        warmup: 0.0,
    }))
}

fn decefl(rate: LearningRate) -> Method {
    method!(
        Decefl {
            mu: 1.0,
            gradient_weight: GradientWeight::None
        },
        full(1).rate(rate)
    )
}

fn fedavg(rate: LearningRate) -> Method {
    method!(
        Fedavg {
            participation: Participation::default(),
            weighting: Weighting::Uniform,
            steps_from: StepsFrom::Own
        },
        full(1).rate(rate)
    )
}

fn swarm(rate: LearningRate) -> Method {
    method!(
        Swarm {
            steps_from: StepsFrom::Own
        },
        full(1).rate(rate)
    )
}

fn start() -> Vec<f64> {
    VALUES.map(f64::from).to_vec()
}

fn weights(course: &MethodRun) -> Vec<f64> {
    course.models().iter().map(|row| row[0]).collect()
}

#[track_caller]
fn expect(found: &[f64], expected: &[f64]) {
    let most = difference(&[found.to_vec()], &[expected.to_vec()]);
    assert!(most < TOLERANCE, "off by {most:e}: {found:?}, {expected:?}");
}

fn mean(w: &[f64]) -> f64 {
    w.iter().sum::<f64>() / w.len() as f64
}

fn distance(w: &[f64], target: f64) -> f64 {
    let squares = w.iter().map(|w| (w - target).powi(2));
    squares.sum::<f64>().sqrt()
}

/// One round of `w_k ← mixed_k − η (w_k − w_k(0))`, the clients one after another.
fn stepped(w: &[f64], mixed: &[f64], rate: f64) -> Vec<f64> {
    let mut next = Vec::new();
    for k in 0..w.len() {
        next.push(mixed[k] - rate * (w[k] - f64::from(VALUES[k])));
    }
    next
}

/// `Σ_j p_j w_j`.
fn weighted(w: &[f64], sizes: &[usize]) -> f64 {
    let all: usize = sizes.iter().sum();
    let terms = w.iter().zip(sizes);
    terms.map(|(w, n)| *n as f64 / all as f64 * w).sum()
}

#[test]
fn rounds_of_fedavg_and_swarm_learning_are_17_and_25() {
    for (method, sizes) in [
        (fedavg(harmonic()), EQUAL),
        (fedavg(harmonic()), UNEQUAL),
        (swarm(harmonic()), EQUAL),
        (swarm(harmonic()), UNEQUAL),
    ] {
        let shares = match &method {
            Method::Swarm(_) => sizes, // p_k of (24)
            _ => EQUAL,
        };
        let mut course = course(&method, &scene(&sizes).without_overlay());
        let mut w = start();
        for t in 0..40 {
            course = course.advance(1);
            let rate = DELTA / (f64::from(t) + GAMMA);
            let center = weighted(&w, &shares);
            w = stepped(&w, &[center; 8], rate);
            expect(&weights(&course), &w);
        }
    }
}

#[test]
fn rounds_of_decefl_are_32() {
    let scene = scene(&EQUAL);
    let matrix = scene.matrix(1);
    let mut course = course(&decefl(harmonic()), &scene);
    let mut w = start();
    for t in 0..40 {
        course = course.advance(1);
        let mixed: Vec<f64> = (0..8)
            .map(|k| (0..8).map(|j| matrix.weight(k, j) * w[j]).sum())
            .collect();
        w = stepped(&w, &mixed, DELTA / (f64::from(t) + GAMMA));
        expect(&weights(&course), &w);
    }
}

#[test]
fn all_reach_the_mean_of_the_private_values_at_the_papers_rate() {
    // SI 4.1 to 4.3: the mean of all is the minimum in every round, and the models come to it as 1 / t.
    for (method, links) in [
        (decefl(harmonic()), true),
        (fedavg(harmonic()), false),
        (swarm(harmonic()), false),
    ] {
        let scene = match links {
            true => scene(&EQUAL),
            false => scene(&EQUAL).without_overlay(),
        };
        let minimum = mean(&start());
        let mut course = course(&method, &scene).advance(90);
        let near = distance(&weights(&course), minimum);
        course = course.advance(900);
        let found = weights(&course);
        assert!((mean(&found) - minimum).abs() < 1e-5, "{}", method.name());
        let fall = near / distance(&found, minimum);
        // From t + Γ = 99 to 999.
        assert!((9.5..10.7).contains(&fall), "{}: {fall}", method.name());
    }
}

#[test]
fn swarm_learning_reaches_the_weighted_mean() {
    // SI (28): of p_k that are not equal, the mean is that of the start weighted by them, and not w*.
    let scene = scene(&UNEQUAL).without_overlay();
    let found = weights(&course(&swarm(harmonic()), &scene).advance(1000));
    let limit = weighted(&start(), &UNEQUAL);
    assert!((weighted(&found, &UNEQUAL) - limit).abs() < 1e-4);
    assert!((mean(&found) - limit).abs() < 1e-2);
    assert!((limit - mean(&start())).abs() > 0.5);
}

#[test]
fn a_constant_rate_leaves_the_models_around_the_mean() {
    // (21) at rest: w_k − w* = η / (1 + η) (w_k(0) − w*).
    let rate = 0.25;
    let scene = scene(&EQUAL).without_overlay();
    let constant = fedavg(LearningRate::Constant(rate));
    let found = weights(&course(&constant, &scene).advance(60));
    let minimum = mean(&start());
    let left = start()
        .into_iter()
        .map(|own| minimum + rate / (1.0 + rate) * (own - minimum));
    expect(&found, &left.collect::<Vec<_>>());
}

#[test]
fn fedavg_from_own_models_is_decefl_on_a_complete_overlay() {
    // Section C.4: W = 1/K 1 1ᵀ.
    let complete = Scene {
        weights: Weights::Uniform(meshfold_topology::Uniform {}),
        ..Scene::over(Overlay::complete(8).unwrap()).of_sizes(&EQUAL)
    };
    let complete = Scene {
        model: scene(&EQUAL).model,
        ..complete
    };
    let one = course(&decefl(harmonic()), &complete).advance(20);
    let other = course(&fedavg(harmonic()), &scene(&EQUAL).without_overlay()).advance(20);
    expect(&weights(&one), &weights(&other));
    // FedAvg's server makes 16 messages of DeceFL's 56.
    assert_eq!((one.models_sent(), other.models_sent()), (56.0, 16.0));
}

#[test]
fn the_leader_sends_nothing_to_itself() {
    let scene = scene(&EQUAL).without_overlay();
    let course = course(&swarm(harmonic()), &scene).advance(3);
    assert_eq!(course.models_sent(), 14.0);
}

#[test]
fn who_fails_keeps_its_model_and_counts_in_no_mean() {
    let mut alive = vec![true; 8];
    (alive[2], alive[5]) = (false, false);
    let scene = Scene {
        alive: vec![vec![true; 8], alive.clone()],
        ..scene(&UNEQUAL).without_overlay()
    };
    let mut course = course(&swarm(harmonic()), &scene);
    let mut w = start();
    for t in 0..10 {
        course = course.advance(1);
        let here = |k: usize| t == 0 || alive[k];
        let sizes: Vec<usize> = (0..8)
            .map(|k| if here(k) { UNEQUAL[k] } else { 0 })
            .collect();
        let center = weighted(&w, &sizes);
        let next = stepped(&w, &[center; 8], DELTA / (f64::from(t) + GAMMA));
        w = (0..8)
            .map(|k| if here(k) { next[k] } else { w[k] })
            .collect();
        expect(&weights(&course), &w);
    }
}

#[test]
fn who_steps_from_its_own_model_takes_part_with_all_others() {
    let some = method!(
        Fedavg {
            participation: Participation::Clients(3),
            weighting: Weighting::Uniform,
            steps_from: StepsFrom::Own
        },
        full(1)
    );
    let error = some.check().unwrap_err().to_string();
    assert!(error.contains("all clients take part"), "{error}");
}
