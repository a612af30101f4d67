//! Rounds of the methods with servers against a client-by-client transcription in double precision.

use crate::support::plain::{self, Descent, mean, mix, sum};
use crate::support::{MethodRun, SEED, SIZES, Scene, Train, expect_close, full, run};
use meshfold_algorithms::{Assign, Local, Participation, PerServer, Servers, StepsFrom, Weighting};
use meshfold_engine::{Key, LearningRate, Per, Power, Purpose, Restart, Schedule, Step, stream};
use meshfold_topology::Overlay;
use rand::RngExt;
use rand::seq::index;

/// What the clients `chosen` make of the model `w`.
fn trained(course: &MethodRun, chosen: &[usize], w: &[f64], descent: Descent) -> Vec<Vec<f64>> {
    let one = |client: &usize| descent.from(&course.learner, *client, w);
    chosen.iter().map(one).collect()
}

/// The mean of what `chosen` reached, weighted by `weight`.
fn weighted(chosen: &[usize], models: &[Vec<f64>], weight: impl Fn(usize) -> f64) -> Vec<f64> {
    let pairs: Vec<(f64, &[f64])> = chosen
        .iter()
        .zip(models)
        .map(|(client, model)| (weight(*client), model.as_slice()))
        .collect();
    mean(&pairs)
}

fn by_examples(client: usize) -> f64 {
    SIZES[client] as f64
}

/// Clients alive, and `count` of them as `Participation` draws them.
fn participants(scene: &Scene, round: usize, count: usize) -> Vec<usize> {
    let alive = scene.alive(round);
    let living: Vec<usize> = (0..5).filter(|client| alive[*client]).collect();
    let key = Key {
        round: round as u64,
        ..Key::default()
    };
    let mut rng = stream(SEED, Purpose::Participation, key);
    let drawn = index::sample(&mut rng, living.len(), count.min(living.len()));
    let mut chosen: Vec<usize> = drawn.iter().map(|at| living[at]).collect();
    chosen.sort_unstable();
    chosen
}

#[test]
fn fedavg_weighs_its_participants() {
    let scene = Scene::with_a_death().without_overlay();
    for (weighting, count) in [
        (Weighting::Examples, 5),
        (Weighting::Uniform, 5),
        (Weighting::Examples, 2),
    ] {
        let participation = Participation::Clients(count);
        let train = full(2).momentum(0.9).weight_decay(0.02);
        let method = method!(
            Fedavg {
                participation: participation,
                weighting: weighting,
                steps_from: StepsFrom::Mean
            },
            train
        );
        let course = run(&method, &scene, 3);
        let descent = plain::steps(2).momentum(0.9).decay(0.02);
        let mut server = course.start[0].clone();
        for round in 1..=3 {
            let chosen = participants(&scene, round, count);
            let models = trained(&course, &chosen, &server, descent);
            server = weighted(&chosen, &models, |client| match weighting {
                Weighting::Examples => by_examples(client),
                Weighting::Uniform => 1.0,
            });
        }
        expect_close(&course.models(), &[server]);
        assert_eq!(course.models_sent(), 2.0 * count.min(4) as f64);
    }
}

#[test]
fn fedprox_is_pulled_to_the_servers_model() {
    let scene = Scene::with_a_death().without_overlay();
    let (participation, weighting) = (Participation::Clients(3), Weighting::Uniform);
    let train = full(3).weight_decay(0.02);
    let method = method!(
        Fedprox {
            mu: 0.5,
            participation: participation,
            weighting: weighting
        },
        train
    );
    let course = run(&method, &scene, 3);
    let mut server = course.start[0].clone();
    for round in 1..=3 {
        let chosen = participants(&scene, round, 3);
        let mut models = vec![server.clone(); 3];
        for (client, w) in chosen.iter().zip(&mut models) {
            for _ in 0..3 {
                let g = plain::steps(1)
                    .decay(0.02)
                    .decayed(&course.learner, *client, w);
                let pulled = sum(&[(1.0, &g), (0.5, w), (-0.5, &server)]);
                *w = sum(&[(1.0, w), (-plain::rate(), &pulled)]);
            }
        }
        server = weighted(&chosen, &models, |_| 1.0);
    }
    expect_close(&course.models(), &[server]);
}

/// Algorithm 1 of Karimireddy et al. with option II, in which `c` stays the mean of the `c_i` of who is alive; returns `x`,
/// the `c_i` and `c`.
fn scaffold(
    course: &MethodRun,
    rounds: usize,
    global_rate: f64,
    weight: impl Fn(usize) -> f64,
) -> (Vec<f64>, Vec<Vec<f64>>, Vec<f64>) {
    let mut x = course.start[0].clone();
    let mut c = vec![0.0; x.len()];
    let mut each = vec![c.clone(); 5];
    let rate = plain::rate();
    let of_alive = |each: &[Vec<f64>], round: usize| {
        let alive = course.scene.alive(round);
        let alive = (0..).zip(each).zip(alive).filter(|(_, alive)| *alive);
        let all: Vec<(f64, &[f64])> = alive
            .map(|((client, own), _)| (weight(client), own.as_slice()))
            .collect();
        mean(&all)
    };
    for round in 1..=rounds {
        c = of_alive(&each, round);
        let chosen = participants(&course.scene, round, 3);
        let mut moves = vec![0.0; x.len()];
        let all: f64 = chosen.iter().map(|client| weight(*client)).sum();
        for client in chosen {
            let share = weight(client) / all;
            let mut y = x.clone();
            for _ in 0..3 {
                let g = plain::gradient(&course.learner, client, &y);
                let g = sum(&[(1.0, &g), (-1.0, &each[client]), (1.0, &c)]);
                y = sum(&[(1.0, &y), (-rate, &g)]);
            }
            let after = sum(&[
                (1.0, &each[client]),
                (-1.0, &c),
                (1.0 / (3.0 * rate), &x),
                (-1.0 / (3.0 * rate), &y),
            ]);
            moves = sum(&[(1.0, &moves), (share, &y), (-share, &x)]);
            each[client] = after;
        }
        x = sum(&[(1.0, &x), (global_rate, &moves)]);
    }
    c = of_alive(&each, rounds);
    (x, each, c)
}

#[test]
fn scaffold_follows_its_control_variates() {
    let scene = Scene::with_a_death().without_overlay();
    for weighting in [Weighting::Uniform, Weighting::Examples] {
        follows_its_control_variates(&scene, weighting);
    }
}

fn follows_its_control_variates(scene: &Scene, weighting: Weighting) {
    let participation = Participation::Clients(3);
    let method = method!(
        Scaffold {
            participation: participation,
            weighting: weighting,
            global_learning_rate: 0.5
        },
        full(3)
    );
    let course = run(&method, scene, 4);
    let (x, each, c) = scaffold(&course, 4, 0.5, |client| match weighting {
        Weighting::Uniform => 1.0,
        Weighting::Examples => by_examples(client),
    });
    expect_close(&course.models(), &[x]);
    // A variate is a difference of models over K η = 0.3, which the rounding is divided by as well.
    let most = crate::support::difference(&course.kept("variates"), &each);
    assert!(most < 1e-5, "off by {most:e}");
    let most = crate::support::difference(&course.kept("variate"), &[c]);
    assert!(most < 1e-5, "off by {most:e}");
    // Models and variates go down and come up.
    assert_eq!(course.models_sent(), 4.0 * 3.0);
}

#[test]
fn scaffolds_variates_stay_as_they_are_where_the_rate_is_zero() {
    let scene = Scene::default().without_overlay();
    let (initial, factor, every) = (0.1, 1e-60, 1.0);
    let (per, restart) = (Per::Round, Restart::Never);
    let rate = LearningRate::Schedule(Schedule::Step(Step {
        initial,
        factor,
        every,
        per,
        restart,
        warmup: 0.0,
    }));
    let (participation, weighting) = (Participation::Share(1.0), Weighting::Uniform);
    let method = method!(
        Scaffold {
            participation: participation,
            weighting: weighting,
            global_learning_rate: 1.0
        },
        full(2).rate(rate)
    );
    let (before, after) = (run(&method, &scene, 1), run(&method, &scene, 3));
    assert_eq!(after.models(), before.models());
    for kept in ["variates", "variate"] {
        assert_eq!(after.kept(kept), before.kept(kept));
        assert!(after.kept(kept).iter().flatten().any(|c| *c != 0.0));
    }
}

#[test]
fn scaffolds_variate_is_the_weighted_mean_of_the_clients() {
    let scene = Scene::default().without_overlay();
    let participation = Participation::Clients(2);
    let method = method!(
        Scaffold {
            participation: participation,
            weighting: Weighting::Examples,
            global_learning_rate: 1.0
        },
        full(2)
    );
    let course = run(&method, &scene, 6);
    let variates = course.kept("variates");
    let weigh = |(client, c): (usize, &Vec<f64>)| (by_examples(client), c.clone());
    let weighed: Vec<(f64, Vec<f64>)> = variates.iter().enumerate().map(weigh).collect();
    let all: Vec<(f64, &[f64])> = weighed
        .iter()
        .map(|(weight, c)| (*weight, &c[..]))
        .collect();
    let most = crate::support::difference(&course.kept("variate"), &[mean(&all)]);
    // Six rounds of sums of values up to about 1.
    assert!(most < 2e-6, "off by {most:e}");
    assert!(variates.iter().flatten().any(|c| c.abs() > 0.01));
}

#[test]
fn swarm_is_a_mean_over_all_that_is_gathered_at_one_of_them() {
    let scene = Scene::with_a_death().without_overlay();
    let course = run(
        &method!(
            Swarm {
                steps_from: StepsFrom::Mean
            },
            full(2).momentum(0.9)
        ),
        &scene,
        3,
    );
    let mut server = course.start[0].clone();
    for round in 1..=3 {
        let alive = scene.alive(round);
        let all: Vec<usize> = (0..5).filter(|client| alive[*client]).collect();
        let models = trained(&course, &all, &server, plain::steps(2).momentum(0.9));
        server = weighted(&all, &models, by_examples);
    }
    expect_close(&course.models(), &[server]);
    // Three of the four alive send to the fourth and hear from it.
    assert_eq!(course.models_sent(), 6.0);
    let busiest = course.traffic[2].bytes_busiest_node();
    assert_eq!(busiest, 6 * course.setting.model_bytes());
}

#[test]
fn a_rate_per_epoch_goes_on_over_the_rounds_at_the_edge() {
    let power = Power {
        r: 4.0,
        q: 1.0,
        per: Per::Epoch,
        restart: Restart::Never,
        warmup: 0.0,
    };
    let train = Train {
        local: Local::Epochs(2),
        ..full(1).rate(LearningRate::Schedule(Schedule::Power(power)))
    };
    let servers = Servers {
        count: 1,
        assign: Assign::List(vec![0; 5]),
    };
    let method = method!(
        Hierfavg {
            servers: servers,
            participation: PerServer::default(),
            edge_rounds: 3,
            weighting: Weighting::Uniform
        },
        train
    );
    let course = run(&method, &Scene::default().without_overlay(), 2);
    let mut server = course.start[0].clone();
    for aggregation in 0..6 {
        let mut models = vec![server.clone(); 5];
        for (client, w) in models.iter_mut().enumerate() {
            for epoch in 1..=2 {
                let rate = 0.25 / f64::from(aggregation * 2 + epoch);
                *w = plain::steps(1).rate(rate).from(&course.learner, client, w);
            }
        }
        server = weighted(&[0, 1, 2, 3, 4], &models, |_| 1.0);
    }
    expect_close(&course.models(), &[server]);
}

/// Two servers: clients 0, 2, 4 and 1, 3.
fn two_servers() -> Servers {
    Servers {
        count: 2,
        assign: Assign::List(vec![0, 1, 0, 1, 0]),
    }
}

/// The clients that `server` chooses.
fn chosen(scene: &Scene, (round, server): (usize, usize), participation: PerServer) -> Vec<usize> {
    let alive = scene.alive(round);
    let own: Vec<usize> = (0..5)
        .filter(|client| client % 2 == server && alive[*client])
        .collect();
    let key = Key {
        round: round as u64,
        row: server as u32,
        ..Key::default()
    };
    let mut rng = stream(SEED, Purpose::Participation, key);
    let count = participation.per_server.unwrap_or(own.len());
    let mut drawn: Vec<usize> = if participation.replacement {
        (0..count)
            .map(|_| own[rng.random_range(0..own.len())])
            .collect()
    } else {
        let drawn = index::sample(&mut rng, own.len(), count.min(own.len()));
        drawn.iter().map(|at| own[at]).collect()
    };
    drawn.sort_unstable();
    drawn
}

const SOME: [PerServer; 3] = [
    PerServer {
        per_server: None,
        replacement: false,
    },
    PerServer {
        per_server: Some(2),
        replacement: false,
    },
    PerServer {
        per_server: Some(4),
        replacement: true,
    },
];

#[test]
fn hierfavg_averages_at_the_edge_and_then_at_the_root() {
    let scene = Scene::with_a_death().without_overlay();
    for (participation, weighting) in
        SOME.into_iter()
            .zip([Weighting::Examples, Weighting::Uniform, Weighting::Examples])
    {
        let method = method!(
            Hierfavg {
                servers: two_servers(),
                participation: participation,
                edge_rounds: 2,
                weighting: weighting
            },
            full(2).momentum(0.9)
        );
        let course = run(&method, &scene, 3);
        let weight = |client| match weighting {
            Weighting::Examples => by_examples(client),
            Weighting::Uniform => 1.0,
        };
        let mut root = course.start[0].clone();
        let mut sent = 0;
        for round in 1..=3 {
            let mut edges = Vec::new();
            sent = 0;
            for server in 0..2 {
                let chosen = chosen(&scene, (round, server), participation);
                let mut edge = root.clone();
                for _ in 0..2 {
                    let models = trained(&course, &chosen, &edge, plain::steps(2).momentum(0.9));
                    edge = weighted(&chosen, &models, weight);
                }
                edges.push((
                    chosen.iter().map(|client| weight(*client)).sum::<f64>(),
                    edge,
                ));
                sent += 2 * (2 * chosen.len() + 1);
            }
            root = mean(&[(edges[0].0, &edges[0].1), (edges[1].0, &edges[1].1)]);
        }
        expect_close(&course.models(), &[root]);
        assert_eq!(course.models_sent(), sent as f64);
    }
}

#[test]
fn p_fedavg_averages_per_server_and_mixes_the_servers() {
    let assign = vec![0, 1, 0, 1, 2];
    let scene = Scene {
        overlay: Some(Overlay::from_edges(3, [(0, 1), (1, 2)]).unwrap()),
        // Server 2 loses its only client.
        alive: vec![vec![true; 5], vec![true, true, true, true, false]],
        ..Scene::default()
    };
    for weighting in [Weighting::Uniform, Weighting::Examples] {
        let servers = Servers {
            count: 3,
            assign: Assign::List(assign.clone()),
        };
        let method = method!(
            PFedavg {
                servers: servers,
                participation: SOME[0],
                weighting: weighting
            },
            full(2).momentum(0.9).weight_decay(0.02)
        );
        let course = run(&method, &scene, 3);
        let mut models = course.start.clone();
        for round in 1..=3 {
            let alive = scene.alive(round);
            for (server, w) in models.iter_mut().enumerate() {
                let group: Vec<usize> = (0..5).filter(|client| assign[*client] == server).collect();
                let chosen: Vec<usize> = group.iter().copied().filter(|c| alive[*c]).collect();
                let one = |client: &usize| {
                    // (2): f_j = M N_i p_j f~_j.
                    let scale = match weighting {
                        Weighting::Uniform => 1.0,
                        Weighting::Examples => {
                            3.0 * group.len() as f64 * by_examples(*client) / 27.0
                        }
                    };
                    let descent = plain::steps(2).momentum(0.9).decay(0.02);
                    let descent = descent.rate(scale * plain::rate());
                    descent.from(&course.learner, *client, w)
                };
                let reached: Vec<Vec<f64>> = chosen.iter().map(one).collect();
                if !chosen.is_empty() {
                    *w = weighted(&chosen, &reached, |_| 1.0);
                }
            }
            models = mix(&scene.matrix(round), &models);
        }
        expect_close(&course.models(), &models);
        // Four clients down and up, two edges both ways.
        assert_eq!(course.models_sent(), 8.0 + 4.0);
    }
}

#[test]
fn p_fedavgs_servers_draw_their_own_clients() {
    for participation in &SOME[1..] {
        let scene = Scene {
            overlay: Some(Overlay::from_edges(2, [(0, 1)]).unwrap()),
            ..Scene::with_a_death()
        };
        let method = method!(
            PFedavg {
                servers: two_servers(),
                participation: *participation,
                weighting: Weighting::Uniform
            },
            full(2)
        );
        let course = run(&method, &scene, 3);
        let mut models = course.start.clone();
        for round in 1..=3 {
            for (server, w) in models.iter_mut().enumerate() {
                let chosen = chosen(&scene, (round, server), *participation);
                let reached = trained(&course, &chosen, w, plain::steps(2));
                *w = weighted(&chosen, &reached, |_| 1.0);
            }
            models = mix(&scene.matrix(round), &models);
        }
        expect_close(&course.models(), &models);
    }
}
