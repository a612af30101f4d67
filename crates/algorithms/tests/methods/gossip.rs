//! Rounds of the methods that exchange over an overlay against a client-by-client transcription in double precision.
#![allow(clippy::unnecessary_literal_unwrap)]

use crate::support::plain::{self, mean, mix, sum};
use crate::support::quantiser::{Message, quantised};
use crate::support::{MethodRun, Models, SEED, SIZES, Scene, expect_close, full, run};
use meshfold_algorithms::{Aggregate, GradientWeight, PartialAggregation, Quantise};
use meshfold_engine::{Key, NormScope, Purpose, stream};
use meshfold_topology::{MixingMatrix, Overlay, Uniform, Weights};
use rand::seq::index;

/// Clients alive in `round`.
fn living(scene: &Scene, round: usize) -> Vec<usize> {
    let alive = scene.alive(round);
    (0..5).filter(|client| alive[*client]).collect()
}

/// The models that `client` averages: at most `most` of its neighbours and itself.
fn subset(
    scene: &Scene,
    round: usize,
    client: usize,
    most: usize,
    include_self: bool,
) -> Vec<usize> {
    let overlay = scene.overlay(round);
    let neighbours = overlay.neighbours(client).iter();
    let mut candidates: Vec<usize> = neighbours.map(|other| *other as usize).collect();
    if include_self || candidates.is_empty() {
        candidates.push(client);
    }
    candidates.sort_unstable();
    if most >= candidates.len() {
        return candidates;
    }
    let key = Key {
        round: round as u64,
        row: client as u32,
        ..Key::default()
    };
    let mut rng = stream(SEED, Purpose::Aggregation, key);
    let drawn = index::sample(&mut rng, candidates.len(), most);
    let mut drawn: Vec<usize> = drawn.iter().map(|at| candidates[at]).collect();
    drawn.sort_unstable();
    drawn
}

fn weighted(models: &Models, subset: &[usize]) -> Vec<f64> {
    let pairs: Vec<(f64, &[f64])> = subset
        .iter()
        .map(|other| (SIZES[*other] as f64, models[*other].as_slice()))
        .collect();
    mean(&pairs)
}

#[test]
fn partial_aggregation_averages_some_neighbours_by_examples() {
    let scene = Scene::with_a_death();
    for (most, include_self) in [(2, true), (1, false), (9, true)] {
        let aggregation = Some(PartialAggregation {
            neighbours: most,
            include_self,
        });
        let train = full(2).momentum(0.9);
        let method = method!(
            Dfedavgm {
                aggregation: aggregation,
                quantise: None
            },
            train
        );
        let course = run(&method, &scene, 3);
        let mut models = course.start.clone();
        let mut messages = 0;
        for round in 1..=3 {
            for client in living(&scene, round) {
                let descent = plain::steps(2).momentum(0.9);
                models[client] = descent.from(&course.learner, client, &models[client]);
            }
            messages = 0;
            let average = |client| {
                let subset = subset(&scene, round, client, most, include_self);
                messages += subset.iter().filter(|other| **other != client).count();
                weighted(&models, &subset)
            };
            models = (0..5).map(average).collect();
        }
        expect_close(&course.models(), &models);
        assert_eq!(course.models_sent(), messages as f64);
    }
}

#[test]
fn quantised_averages_mix_what_receivers_know_or_add_what_they_hear() {
    let scene = Scene::with_a_death();
    for (aggregate, norm) in [
        (Aggregate::Replica, NormScope::Model),
        (Aggregate::Printed, NormScope::Layer),
    ] {
        let quantise = Some(Quantise {
            bits: 5,
            norm,
            aggregate,
        });
        let train = full(2).momentum(0.5);
        let method = method!(
            Dfedavgm {
                aggregation: None,
                quantise: quantise
            },
            train
        );
        let course = run(&method, &scene, 3);
        let mut models = course.start.clone();
        for round in 1..=3 {
            let mut sent = Vec::new();
            for (client, w) in models.iter().enumerate() {
                let message = Message {
                    round,
                    row: client,
                    visit: 0,
                };
                let difference = if scene.alive(round)[client] {
                    let local = plain::steps(2)
                        .momentum(0.5)
                        .from(&course.learner, client, w);
                    sum(&[(1.0, &local), (-1.0, w)])
                } else {
                    vec![0.0; w.len()]
                };
                let layout = course.learner.network().layout();
                sent.push(quantised(&difference, layout, quantise.unwrap(), message));
            }
            let added = |to: &Models| -> Models {
                let rows = models.iter().zip(to);
                rows.map(|(w, q)| sum(&[(1.0, w), (1.0, q)])).collect()
            };
            models = match aggregate {
                Aggregate::Replica => mix(&scene.matrix(round), &added(&sent)),
                Aggregate::Printed => added(&mix(&scene.matrix(round), &sent)),
            };
        }
        expect_close(&course.models(), &models);
        // Six messages of 5 bits a parameter and 64 for each norm.
        let norms = if norm == NormScope::Model { 1 } else { 4 };
        let bits = 64 * norms + 5 * course.setting.layout.parameters() as u64;
        assert_eq!(course.traffic[2].bytes_total(), 6 * bits.div_ceil(8));
    }
}

#[test]
fn decefl_mixes_and_steps_against_its_own_local_work() {
    let scene = Scene::with_a_death();
    for gradient_weight in [GradientWeight::None, GradientWeight::Examples] {
        let train = full(3).momentum(0.5).weight_decay(0.02);
        let method = method!(
            Decefl {
                mu: 0.25,
                gradient_weight: gradient_weight
            },
            train
        );
        let course = run(&method, &scene, 3);
        let mut models = course.start.clone();
        for round in 1..=3 {
            let mut next = mix(&scene.matrix(round), &models);
            for client in living(&scene, round) {
                let descent = plain::steps(3).momentum(0.5).decay(0.02);
                let local = descent.from(&course.learner, client, &models[client]);
                let mu = match gradient_weight {
                    GradientWeight::None => 0.25,
                    GradientWeight::Examples => 0.25 * SIZES[client] as f64 / 27.0,
                };
                let w = &models[client];
                next[client] = sum(&[(1.0, &next[client]), (-mu, w), (mu, &local)]);
            }
            models = next;
        }
        expect_close(&course.models(), &models);
        assert_eq!(course.models_sent(), 6.0);
    }
}

#[test]
fn d_cliques_average_gradients_within_cliques_and_models_everywhere() {
    // Cliques {0, 1, 2} and {3, 4}; the edge 0-1 is missing, and 1-3 and 0-4 are between.
    let overlay = Overlay::from_edges(5, [(0, 2), (1, 2), (3, 4), (1, 3), (0, 4)]).unwrap();
    let cliques = vec![vec![0, 1, 2], vec![3, 4]];
    let scene = Scene {
        overlay: Some(overlay.with_groups(cliques).unwrap()),
        ..Scene::with_a_death()
    };
    let train = full(1).momentum(0.9).weight_decay(0.02);
    let course = run(
        &method!(
            DCliques {
                clique_averaging: true
            },
            train
        ),
        &scene,
        3,
    );
    let mut models = course.start.clone();
    let mut velocity = vec![vec![0.0; models[0].len()]; 5];
    let whole: [&[usize]; 5] = [&[0, 2], &[1, 2], &[0, 1, 2], &[3, 4], &[3, 4]];
    let left: [&[usize]; 5] = [&[0], &[1], &[], &[3, 4], &[3, 4]];
    for round in 1..=3 {
        let linked = if round == 1 { whole } else { left };
        let descent = plain::steps(1).decay(0.02);
        let gradients: Models = (0..5)
            .map(|client| descent.decayed(&course.learner, client, &models[client]))
            .collect();
        for client in living(&scene, round) {
            let members: Vec<(f64, &[f64])> = linked[client]
                .iter()
                .map(|member| (1.0, gradients[*member].as_slice()))
                .collect();
            velocity[client] = sum(&[
                (f64::from(0.9f32), &velocity[client]),
                (1.0, &mean(&members)),
            ]);
            models[client] = sum(&[(1.0, &models[client]), (-plain::rate(), &velocity[client])]);
        }
        models = mix(&scene.matrix(round), &models);
    }
    expect_close(&course.models(), &models);
    let sent = |round: usize| course.traffic[round].bytes_total() / course.setting.model_bytes();
    // Models over five edges and gradients over the three within cliques; then over 3-4, 1-3, 0-4 and 3-4.
    assert_eq!([sent(0), sent(1)], [10 + 6, 6 + 2]);
}

#[test]
fn quasi_global_momentum_follows_the_mixed_models() {
    let scene = Scene::with_a_death();
    for memory in [None, Some(0.6)] {
        let train = full(1).momentum(0.9).weight_decay(0.02);
        let course = run(&method!(QgDsgdm { memory: memory }, train), &scene, 4);
        let (beta, mu) = (f64::from(0.9f32), f64::from(memory.unwrap_or(0.9f32)));
        let mut models = course.start.clone();
        let mut movement = vec![vec![0.0; models[0].len()]; 5];
        for round in 1..=4 {
            let mut half = models.clone();
            for client in living(&scene, round) {
                let w = &models[client];
                let g = plain::steps(1)
                    .decay(0.02)
                    .decayed(&course.learner, client, w);
                let m = sum(&[(beta, &movement[client]), (1.0, &g)]);
                half[client] = sum(&[(1.0, w), (-plain::rate(), &m)]);
            }
            let next = mix(&scene.matrix(round), &half);
            for client in living(&scene, round) {
                let share = (1.0 - mu) / plain::rate();
                let (w, after) = (&models[client], &next[client]);
                movement[client] = sum(&[(mu, &movement[client]), (share, w), (-share, after)]);
            }
            models = next;
        }
        expect_close(&course.models(), &models);
        assert_eq!(course.models_sent(), 6.0);
    }
}

/// `P` of (Assran et al.): a node sends equal shares to itself and whom it sends to.
fn push_matrix(overlay: &Overlay) -> MixingMatrix {
    let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); overlay.nodes()];
    let mut to = vec![Vec::new(); overlay.nodes()];
    for (a, b) in overlay.edges() {
        to[a as usize].push(b);
        if !overlay.is_directed() {
            to[b as usize].push(a);
        }
    }
    for (from, mut to) in (0u32..).zip(to) {
        to.push(from);
        for node in &to {
            rows[*node as usize].push((from, 1.0 / to.len() as f64));
        }
    }
    MixingMatrix::from_rows(overlay.nodes(), rows).unwrap()
}

/// Algorithm 1 of Assran et al. with `steps` local steps.
fn pushed(course: &MethodRun, rounds: usize, steps: usize) -> Models {
    let scene = &course.scene;
    let mut x = course.start.clone();
    let mut weight = vec![vec![1.0]; 5];
    let mut z = x.clone();
    for round in 1..=rounds {
        for client in living(scene, round) {
            let after = plain::steps(steps).from(&course.learner, client, &z[client]);
            x[client] = sum(&[(1.0, &x[client]), (1.0, &after), (-1.0, &z[client])]);
        }
        let matrix = push_matrix(&scene.overlay(round));
        x = mix(&matrix, &x);
        weight = mix(&matrix, &weight);
        z = x
            .iter()
            .zip(&weight)
            .map(|(x, w)| sum(&[(1.0 / w[0], x)]))
            .collect();
    }
    z
}

#[test]
fn push_sum_divides_by_what_was_pushed() {
    let arcs = [
        (0, 1),
        (1, 2),
        (2, 3),
        (3, 4),
        (4, 0),
        (0, 3),
        (3, 0),
        (1, 4),
    ];
    let directed = Overlay::directed(5, arcs).unwrap();
    for overlay in [directed, crate::support::chorded_path()] {
        let messages = if overlay.is_directed() { 8.0 } else { 10.0 };
        let scene = Scene {
            overlay: Some(overlay),
            // Not used, but weights of directed overlays go by rows.
            weights: Weights::Uniform(Uniform {}),
            ..Scene::with_a_death()
        };
        let course = run(&method!(PushSum {}, full(2)), &scene, 1);
        assert_eq!(course.models_sent(), messages);
        let course = course.advance(3);
        expect_close(&course.models(), &pushed(&course, 4, 2));
    }
}

#[test]
fn one_peer_hears_from_one_at_doubling_distance() {
    let scene = Scene::with_a_death();
    let course = run(&method!(OnePeer {}, full(2).momentum(0.9)), &scene, 5);
    let mut models = course.start.clone();
    let mut velocity = vec![vec![0.0; models[0].len()]; 5];
    for round in 1..=5 {
        let living = living(&scene, round);
        for client in &living {
            let (w, v) = (&mut models[*client], &mut velocity[*client]);
            plain::steps(2)
                .momentum(0.9)
                .go(&course.learner, *client, w, v);
        }
        // Five count modulo 3 hops 1, 2, 4; four modulo 2 hops 1, 2.
        let hop = 1 << ((round - 1) % if living.len() == 5 { 3 } else { 2 });
        let before = models.clone();
        for (at, client) in living.iter().enumerate() {
            let from = living[(at + living.len() - hop) % living.len()];
            models[*client] = mean(&[(1.0, &before[*client]), (1.0, &before[from])]);
        }
    }
    expect_close(&course.models(), &models);
    assert_eq!(course.models_sent(), 4.0);
}
