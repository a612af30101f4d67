//! Methods that equal other methods in special cases, as their papers say.

use crate::support::plain::{self, mean, sum};
use crate::support::{MethodRun, Scene, Train, chorded_path, difference, expect_close, full, run};
use meshfold_algorithms::{
    Aggregators, Assign, GradientWeight, Local, Method, Order, PartialAggregation, Participation,
    PerServer, Restart, Servers, Source, StepsFrom, WalkRows, Weighting,
};
use meshfold_engine::BatchSize;
use meshfold_topology::{MixingMatrix, Overlay, Uniform, Weights};

/// Two epochs of mini-batches with momentum, so that draws must agree as well.
fn batches() -> Train {
    Train {
        local: Local::Epochs(2),
        batch_size: BatchSize::Size(3),
        ..full(1).momentum(0.9).weight_decay(0.02)
    }
}

fn servers_alone() -> Scene {
    Scene::with_a_death().without_overlay()
}

fn fedavg(weighting: Weighting) -> Method {
    let participation = Participation::default();
    method!(
        Fedavg {
            participation: participation,
            weighting: weighting,
            steps_from: StepsFrom::Mean
        },
        batches()
    )
}

fn dsgd(order: Order, train: Train) -> Method {
    method!(
        Dsgd {
            order: order,
            aggregation: None
        },
        train
    )
}

fn dfedavg(train: Train) -> Method {
    method!(
        Dfedavg {
            aggregation: None,
            quantise: None
        },
        train
    )
}

fn one_server() -> Servers {
    Servers {
        count: 1,
        assign: Assign::Random,
    }
}

#[track_caller]
fn expect_same(one: &MethodRun, other: &MethodRun) {
    expect_close(&one.models(), &other.models());
    let moved = difference(&one.models()[..1], &one.start[..1]);
    assert!(moved > 1e-3, "a run that stands still says nothing");
}

#[test]
fn p_fedavg_with_one_server_is_fedavg_with_uniform_weighting() {
    let method = method!(
        PFedavg {
            servers: one_server(),
            participation: PerServer::default(),
            weighting: Weighting::Uniform
        },
        batches()
    );
    let scene = Scene {
        overlay: Some(Overlay::from_edges(1, []).unwrap()),
        ..Scene::with_a_death()
    };
    let one = run(&method, &scene, 3);
    expect_same(&one, &run(&fedavg(Weighting::Uniform), &servers_alone(), 3));
}

#[test]
fn hierfavg_with_one_server_and_one_edge_round_is_fedavg() {
    for weighting in [Weighting::Examples, Weighting::Uniform] {
        let method = method!(
            Hierfavg {
                servers: one_server(),
                participation: PerServer::default(),
                edge_rounds: 1,
                weighting: weighting
            },
            batches()
        );
        let one = run(&method, &servers_alone(), 3);
        expect_same(&one, &run(&fedavg(weighting), &servers_alone(), 3));
    }
}

#[test]
fn swarm_learning_is_fedavg_with_all_clients() {
    let one = run(
        &method!(
            Swarm {
                steps_from: StepsFrom::Mean
            },
            batches()
        ),
        &servers_alone(),
        3,
    );
    expect_same(
        &one,
        &run(&fedavg(Weighting::Examples), &servers_alone(), 3),
    );
}

#[test]
fn fedprox_without_its_pull_is_fedavg() {
    let participation = Participation::Clients(3);
    let weighting = Weighting::Examples;
    let prox = method!(
        Fedprox {
            mu: 0.0,
            participation: participation,
            weighting: weighting
        },
        batches()
    );
    let average = method!(
        Fedavg {
            participation: participation,
            weighting: weighting,
            steps_from: StepsFrom::Mean
        },
        batches()
    );
    let one = run(&prox, &servers_alone(), 3);
    assert_eq!(one.models(), run(&average, &servers_alone(), 3).models());
    assert!(difference(&one.models(), &one.start) > 1e-3);
}

#[test]
fn dfedavgm_with_one_step_and_no_momentum_is_dsgd() {
    let scene = Scene::with_a_death();
    let train = Train {
        batch_size: BatchSize::Size(3),
        ..full(1)
    };
    let one = run(&dsgd(Order::StepThenMix, train.clone()), &scene, 4);
    let heavy = method!(
        Dfedavgm {
            aggregation: None,
            quantise: None
        },
        train.clone()
    );
    for method in [heavy, dfedavg(train)] {
        assert_eq!(run(&method, &scene, 4).models(), one.models());
    }
}

/// As many walkers as clients, each of which averages all its neighbours and itself.
fn walkers(hops: u32, train: Train) -> Method {
    method!(
        Dfedrw {
            walkers: 5,
            hops: hops,
            restart: Restart::Uniform,
            aggregators: Aggregators::All,
            from: Source::Neighbours,
            neighbours: None,
            include_self: true,
            rows: WalkRows::Clients,
            projection: None,
            quantise: None
        },
        train
    )
}

/// Equal shards, and a plain mean over neighbours.
fn alike(overlay: Overlay) -> Scene {
    Scene {
        weights: Weights::Uniform(Uniform {}),
        ..Scene::over(overlay).of_sizes(&[4; 5])
    }
}

#[test]
fn walks_of_one_visit_are_dfedavg_with_uniform_weights_and_of_one_step_dsgd() {
    let scene = alike(chorded_path());
    let walks = run(&walkers(1, full(3)), &scene, 3);
    expect_same(&walks, &run(&dfedavg(full(3)), &scene, 3));
    let walks = run(&walkers(1, full(1)), &scene, 3);
    expect_same(&walks, &run(&dsgd(Order::StepThenMix, full(1)), &scene, 3));
}

#[test]
fn walks_that_stay_at_home_are_dfedavg() {
    let scene = alike(Overlay::from_edges(5, []).unwrap());
    let walks = run(&walkers(3, full(1)), &scene, 3);
    expect_same(&walks, &run(&dfedavg(full(3)), &scene, 3));
}

#[test]
fn averages_over_all_neighbours_of_equal_shards_are_uniform_weights() {
    let scene = alike(chorded_path());
    let aggregation = Some(PartialAggregation {
        neighbours: 9,
        include_self: true,
    });
    let partial = method!(
        Dfedavg {
            aggregation: aggregation,
            quantise: None
        },
        full(2)
    );
    expect_same(
        &run(&partial, &scene, 3),
        &run(&dfedavg(full(2)), &scene, 3),
    );
}

fn complete() -> Overlay {
    let pairs = (0..5).flat_map(|a| (0..a).map(move |b| (a, b)));
    Overlay::from_edges(5, pairs).unwrap()
}

#[test]
fn one_clique_is_the_fully_connected_dsgd() {
    let clique = complete().with_groups(vec![vec![0, 1, 2, 3, 4]]).unwrap();
    let train = || full(1).momentum(0.9).weight_decay(0.02);
    let method = method!(
        DCliques {
            clique_averaging: true
        },
        train()
    );
    let one = run(&method, &Scene::over(clique), 4);
    let other = run(
        &dsgd(Order::StepThenMix, train()),
        &Scene::over(complete()),
        4,
    );
    expect_same(&one, &other);
}

#[test]
fn d_cliques_without_clique_averaging_are_dsgd() {
    let cliques = chorded_path()
        .with_groups(vec![vec![0, 1], vec![2, 3, 4]])
        .unwrap();
    let method = method!(
        DCliques {
            clique_averaging: false
        },
        full(1).momentum(0.9)
    );
    let one = run(&method, &Scene::over(cliques), 4);
    let other = run(
        &dsgd(Order::StepThenMix, full(1).momentum(0.9)),
        &Scene::default(),
        4,
    );
    expect_same(&one, &other);
}

fn decefl() -> Method {
    let gradient_weight = GradientWeight::None;
    method!(
        Decefl {
            mu: 1.0,
            gradient_weight: gradient_weight
        },
        full(1)
    )
}

#[test]
fn decefl_of_one_full_batch_step_is_its_equation_1() {
    let course = run(&decefl(), &Scene::over(complete()), 1);
    let all: Vec<(f64, &[f64])> = course.start.iter().map(|w| (1.0, w.as_slice())).collect();
    let expected: Vec<Vec<f64>> = (0..5)
        .map(|client| {
            let g = plain::gradient(&course.learner, client, &course.start[client]);
            sum(&[(1.0, &mean(&all)), (-plain::rate(), &g)])
        })
        .collect();
    expect_close(&course.models(), &expected);
    let scene = Scene::with_a_death();
    let lian = dsgd(Order::MixThenStep, full(1));
    expect_same(&run(&decefl(), &scene, 4), &run(&lian, &scene, 4));
}

#[test]
fn push_sum_over_a_regular_overlay_is_dsgd() {
    let ring = Overlay::from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]).unwrap();
    let pushed = run(&method!(PushSum {}, full(1)), &Scene::over(ring.clone()), 4);
    let weights = pushed.algorithm.numbers().remove(0).1;
    // Sums of thirds.
    assert!(
        weights.iter().all(|weight| (weight - 1.0).abs() < 1e-14),
        "{weights:?}"
    );
    let mixed = run(&dsgd(Order::StepThenMix, full(1)), &Scene::over(ring), 4);
    expect_same(&pushed, &mixed);
}

/// The models after a round over each of `matrices`.
fn run_over(method: &Method, matrices: &[MixingMatrix]) -> MethodRun {
    let mut course = MethodRun::new(method, &Scene::default());
    for matrix in matrices {
        course.step(Some((chorded_path(), matrix.clone())));
    }
    course
}

#[test]
fn one_peer_gossip_is_dsgd_with_a_matrix_that_changes() {
    let train = || full(1).momentum(0.9);
    let hears = |hop: u32| {
        let row = |to: u32| vec![(to, 0.5), ((to + 5 - hop) % 5, 0.5)];
        MixingMatrix::from_rows(5, (0..5).map(row).collect()).unwrap()
    };
    let matrices: Vec<MixingMatrix> = [1, 2, 4, 1].map(hears).into();
    let peers = run(&method!(OnePeer {}, train()), &Scene::default(), 4);
    expect_same(
        &peers,
        &run_over(&dsgd(Order::StepThenMix, train()), &matrices),
    );
}

#[test]
fn exact_diffusion_is_d2_over_the_mean_of_the_matrix_and_the_identity() {
    let matrix = Scene::default().matrix(1);
    let halves = (0..5).map(|row| {
        let half = |(column, weight)| {
            let own = if column as usize == row { 0.5 } else { 0.0 };
            (column, 0.5 * weight + own)
        };
        matrix.row(row).map(half).collect()
    });
    let halved = MixingMatrix::from_rows(5, halves.collect()).unwrap();
    let exact = run(&method!(ExactDiffusion {}, full(1)), &Scene::default(), 4);
    expect_same(
        &exact,
        &run_over(&method!(D2 {}, full(1)), &vec![halved; 4]),
    );
}
