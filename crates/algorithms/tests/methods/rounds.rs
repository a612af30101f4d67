//! Rounds of the plain methods against a client-by-client transcription in double precision, their batches included.

use crate::support::plain::{self, mix, sum};
use crate::support::{MethodRun, Scene, Train, difference, expect_close, full, run};
use meshfold_algorithms::{Aggregate, Quantise, StepsFrom, Weighting};
use meshfold_algorithms::{AlgorithmError, BatchSetting, Local, Method, Order, Participation};
use meshfold_engine::{
    BatchSize, Key, LearningRate, NormScope, Per, Power, Purpose, Restart, Schedule, stream,
};
use rand::seq::SliceRandom;

#[test]
fn alone_is_each_client_by_itself_and_keeps_its_momentum() {
    let scene = Scene::with_a_death();
    let train = full(2).momentum(0.9).weight_decay(0.02);
    let course = run(&method!(Alone {}, train), &scene, 3);
    let mut expected = course.start.clone();
    for (client, w) in expected.iter_mut().enumerate() {
        let rounds = if client == 2 { 1 } else { 3 };
        let descent = plain::steps(2 * rounds).momentum(0.9).decay(0.02);
        *w = descent.from(&course.learner, client, w);
    }
    expect_close(&course.models(), &expected);
    assert_eq!(course.models_sent(), 0.0);
}

#[test]
fn centralised_is_one_client_with_all_the_data() {
    let scene = Scene::default().without_overlay().of_sizes(&[27]);
    let course = run(&method!(Centralised {}, full(2).momentum(0.9)), &scene, 3);
    let descent = plain::steps(6).momentum(0.9);
    let expected = [descent.from(&course.learner, 0, &course.start[0])];
    expect_close(&course.models(), &expected);
    assert_eq!(course.models_sent(), 0.0);
}

#[test]
fn dsgd_steps_then_mixes_and_keeps_its_momentum() {
    let scene = Scene::with_a_death();
    let train = full(1).momentum(0.9).weight_decay(0.02);
    let method = method!(
        Dsgd {
            order: Order::StepThenMix,
            aggregation: None
        },
        train
    );
    let course = run(&method, &scene, 3);
    let mut models = course.start.clone();
    let mut velocity = vec![vec![0.0; models[0].len()]; 5];
    for round in 1..=3 {
        let alive = scene.alive(round);
        for client in (0..5).filter(|client| alive[*client]) {
            let descent = plain::steps(1).momentum(0.9).decay(0.02);
            let (w, v) = (&mut models[client], &mut velocity[client]);
            descent.go(&course.learner, client, w, v);
        }
        models = mix(&scene.matrix(round), &models);
    }
    expect_close(&course.models(), &models);
    // Edges 0-1, 3-4 and 1-3 are left, one model each way.
    assert_eq!(course.models_sent(), 6.0);
}

#[test]
fn dsgd_that_mixes_first_takes_gradient_and_decay_before_mixing() {
    let scene = Scene::with_a_death();
    let train = full(1).momentum(0.5).weight_decay(0.02);
    let method = method!(
        Dsgd {
            order: Order::MixThenStep,
            aggregation: None
        },
        train
    );
    let course = run(&method, &scene, 3);
    let mut models = course.start.clone();
    let mut velocity = vec![vec![0.0; models[0].len()]; 5];
    for round in 1..=3 {
        let alive = scene.alive(round);
        let mixed = mix(&scene.matrix(round), &models);
        for client in (0..5).filter(|client| alive[*client]) {
            let descent = plain::steps(1).decay(0.02);
            let g = descent.decayed(&course.learner, client, &models[client]);
            velocity[client] = sum(&[(0.5, &velocity[client]), (1.0, &g)]);
            models[client] = sum(&[(1.0, &mixed[client]), (-plain::rate(), &velocity[client])]);
        }
    }
    expect_close(&course.models(), &models);
}

#[test]
fn nesterov_momentum_is_kept_or_begins_anew_as_that_of_a_heavy_ball() {
    let scene = Scene::with_a_death();
    let descent = |steps| {
        let descent = plain::steps(steps).momentum(0.9).decay(0.02);
        descent.nesterov()
    };
    let train = |steps| full(steps).momentum(0.9).weight_decay(0.02).nesterov();
    let dsgd = |order| {
        method!(
            Dsgd {
                order: order,
                aggregation: None
            },
            train(1)
        )
    };
    let dfedavgm = method!(
        Dfedavgm {
            aggregation: None,
            quantise: None
        },
        train(3)
    );
    for (method, mixes_first) in [
        (dsgd(Order::StepThenMix), false),
        (dsgd(Order::MixThenStep), true),
        (dfedavgm.clone(), false),
    ] {
        let course = run(&method, &scene, 3);
        let mut models = course.start.clone();
        let mut velocity = vec![vec![0.0; models[0].len()]; 5];
        for round in 1..=3 {
            let alive = scene.alive(round);
            let mixed = mix(&scene.matrix(round), &models);
            for client in (0..5).filter(|client| alive[*client]) {
                let (w, v) = (&mut models[client], &mut velocity[client]);
                if mixes_first {
                    let g = descent(1).decayed(&course.learner, client, w);
                    *v = sum(&[(f64::from(0.9f32), v), (1.0, &g)]);
                    let along = descent(1).along(&g, v);
                    *w = sum(&[(1.0, &mixed[client]), (-plain::rate(), &along)]);
                } else if method == dfedavgm {
                    *w = descent(3).from(&course.learner, client, w);
                } else {
                    descent(1).go(&course.learner, client, w, v);
                }
            }
            if !mixes_first {
                models = mix(&scene.matrix(round), &models);
            }
        }
        expect_close(&course.models(), &models);
    }
}

#[test]
fn dfedavgm_zeroes_its_velocity_each_round() {
    let scene = Scene::with_a_death();
    let train = full(3).momentum(0.9).weight_decay(0.02);
    let method = method!(
        Dfedavgm {
            aggregation: None,
            quantise: None
        },
        train
    );
    let course = run(&method, &scene, 3);
    let mut models = course.start.clone();
    for round in 1..=3 {
        let alive = scene.alive(round);
        for client in (0..5).filter(|client| alive[*client]) {
            let descent = plain::steps(3).momentum(0.9).decay(0.02);
            models[client] = descent.from(&course.learner, client, &models[client]);
        }
        models = mix(&scene.matrix(round), &models);
    }
    expect_close(&course.models(), &models);
}

/// The shard of `row` in the order of its pass `pass`.
fn order(shard: &[u32], row: usize, pass: u32) -> Vec<u32> {
    let key = Key {
        row: row as u32,
        step: pass,
        ..Key::default()
    };
    let mut order = shard.to_vec();
    order.shuffle(&mut stream(crate::support::SEED, Purpose::Batches, key));
    order
}

#[test]
fn epochs_pass_through_shuffled_shards_at_a_rate_that_falls() {
    let scene = Scene::default();
    let power = Power {
        r: 8.0,
        q: 0.7,
        per: Per::Step,
        restart: Restart::Never,
        warmup: 0.0,
    };
    let train = Train {
        local: Local::Epochs(2),
        batch_size: BatchSize::Size(3),
        ..full(1).rate(LearningRate::Schedule(Schedule::Power(power)))
    };
    let method = method!(
        Dfedavg {
            aggregation: None,
            quantise: None
        },
        train
    );
    let course = run(&method, &scene, 2);
    let mut models = course.start.clone();
    let mut steps = [0u32; 5];
    let mut passes = [0u32; 5];
    for round in 1..=2 {
        for (client, w) in models.iter_mut().enumerate() {
            let shard = course.learner.partition().shard(client);
            for _ in 0..2 {
                let order = if shard.len() <= 3 {
                    shard.to_vec()
                } else {
                    passes[client] += 1;
                    order(shard, client, passes[client] - 1)
                };
                for batch in order.chunks(3) {
                    steps[client] += 1;
                    let rate = 1.0 / (8.0 * f64::from(steps[client]).powf(0.7));
                    let g = plain::gradient_on(&course.learner, batch, w);
                    *w = sum(&[(1.0, w), (-rate, &g)]);
                }
            }
        }
        models = mix(&scene.matrix(round), &models);
    }
    expect_close(&course.models(), &models);
}

/// Client 2 is dead in the second round; in the third its rate is that of the others.
#[test]
fn a_rate_per_epoch_counts_the_epochs_that_were_due() {
    let without = vec![true, true, false, true, true];
    let scene = Scene {
        alive: vec![vec![true; 5], without, vec![true; 5]],
        ..Scene::default()
    };
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
    let method = method!(
        Dfedavg {
            aggregation: None,
            quantise: None
        },
        train
    );
    let course = run(&method, &scene, 3);
    let mut models = course.start.clone();
    for round in 1..=3usize {
        let alive = scene.alive(round);
        for client in (0..5).filter(|client| alive[*client]) {
            for epoch in 1..=2 {
                let k = (round - 1) * 2 + epoch;
                let descent = plain::steps(1).rate(1.0 / (4.0 * k as f64));
                models[client] = descent.from(&course.learner, client, &models[client]);
            }
        }
        models = mix(&scene.matrix(round), &models);
    }
    expect_close(&course.models(), &models);
}

#[test]
fn a_dead_client_neither_trains_nor_hears_nor_counts() {
    let dead = Scene {
        alive: vec![vec![true, true, false, true, true]],
        ..Scene::default()
    };
    let order = Order::StepThenMix;
    let methods = [
        method!(Alone {}, full(1)),
        method!(
            Dsgd {
                order: order,
                aggregation: None
            },
            full(1).momentum(0.9)
        ),
        method!(
            Dsgd {
                order: Order::MixThenStep,
                aggregation: None
            },
            full(1).momentum(0.9)
        ),
        method!(
            Dfedavgm {
                aggregation: None,
                quantise: None
            },
            full(2).momentum(0.9)
        ),
        method!(
            Decefl {
                mu: 1.0,
                gradient_weight: Default::default()
            },
            full(2)
        ),
        method!(GradientTracking {}, full(1)),
        method!(D2 {}, full(1)),
        method!(ExactDiffusion {}, full(1)),
        method!(QgDsgdm { memory: None }, full(1).momentum(0.9)),
        method!(PushSum {}, full(1)),
        method!(OnePeer {}, full(1).momentum(0.9)),
    ];
    for method in methods {
        let course = run(&method, &dead, 3);
        assert_eq!(course.models()[2], course.start[2], "{}", method.name());
        let moved = difference(&course.models()[..1], &course.start[..1]);
        assert!(moved > 1e-3, "{}: others go on", method.name());
        let busiest = |course: &MethodRun| course.traffic[0].bytes_busiest_node();
        assert!(busiest(&course) <= busiest(&run(&method, &Scene::default(), 1)));
    }
}

fn fault(method: &Method) -> &'static str {
    match method.check() {
        Err(AlgorithmError::Setting { key, .. } | AlgorithmError::Unsuited { key, .. }) => key,
        other => panic!("{other:?}"),
    }
}

#[test]
fn settings_that_cannot_work_are_named() {
    assert_eq!(fault(&method!(Alone {}, full(0))), "local");
    assert_eq!(fault(&method!(Alone {}, full(1).momentum(1.0))), "momentum");
    let with = |rate| full(1).rate(LearningRate::Constant(rate));
    assert_eq!(fault(&method!(Alone {}, with(-1.0))), "learning_rate");
    let mut method = method!(Alone {}, full(1));
    let Method::Alone(config) = &mut method else {
        unreachable!()
    };
    config.batch_size = BatchSetting(BatchSize::Size(0));
    assert_eq!(fault(&method), "batch_size");

    let dfedavg = |quantise, train| {
        method!(
            Dfedavg {
                aggregation: None,
                quantise: quantise
            },
            train
        )
    };
    assert_eq!(fault(&dfedavg(None, full(1).momentum(0.5))), "momentum");
    let quantise = Quantise {
        bits: 1,
        norm: NormScope::Model,
        aggregate: Aggregate::Replica,
    };
    assert_eq!(fault(&dfedavg(Some(quantise), full(1))), "quantise.bits");
    let late = method!(
        Dsgd {
            order: Order::MixThenStep,
            aggregation: None
        },
        full(2)
    );
    assert_eq!(fault(&late), "local");
    let participation = Participation::Share(0.0);
    let weighting = Weighting::Uniform;
    assert_eq!(
        fault(&method!(
            Fedavg {
                participation: participation,
                weighting: weighting,
                steps_from: StepsFrom::Mean
            },
            full(1)
        )),
        "participation"
    );
    assert_eq!(fault(&method!(GradientTracking {}, full(2))), "local");
    assert_eq!(fault(&method!(D2 {}, full(1).momentum(0.5))), "momentum");
    assert_eq!(fault(&method!(D2 {}, full(1).nesterov())), "nesterov");
    assert_eq!(fault(&method!(Alone {}, full(1).nesterov())), "nesterov");
    let nesterov = full(1).momentum(0.5).nesterov();
    assert_eq!(
        fault(&method!(QgDsgdm { memory: None }, nesterov)),
        "nesterov"
    );
    let decefl = method!(
        Decefl {
            mu: 0.0,
            gradient_weight: Default::default()
        },
        full(1)
    );
    assert_eq!(fault(&decefl), "mu");
}
