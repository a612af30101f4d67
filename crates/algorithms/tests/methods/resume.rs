//! A run that is broken off and taken up from its checkpoint goes on as if nothing had happened, bit for bit.

use crate::support::{Scene, Train, chorded_path, full, run};
use meshfold_algorithms::{
    Aggregate, Aggregators, Assign, GradientWeight, Local, Method, Order, PartialAggregation,
    Participation, PerServer, Quantise, Restart, Servers, Source, StepsFrom, WalkRows, Weighting,
};
use meshfold_engine::{BatchSize, NormScope};
use meshfold_topology::Overlay;

/// Steps that leave a pass over the shard in progress.
fn steps(count: u32) -> Train {
    Train {
        batch_size: BatchSize::Size(3),
        ..full(count).weight_decay(0.01)
    }
}

fn heavy(count: u32) -> Train {
    steps(count).momentum(0.9)
}

fn epochs() -> Train {
    Train {
        local: Local::Epochs(2),
        ..heavy(1)
    }
}

#[track_caller]
fn expect_resumable(method: &Method, scene: &Scene) {
    let whole = run(method, scene, 5);
    let parts = run(method, scene, 2)
        .resumed()
        .advance(1)
        .resumed()
        .advance(2);
    assert_eq!(whole.models(), parts.models(), "{}", method.name());
    assert_eq!(whole.traffic, parts.traffic, "{}", method.name());
    assert_eq!(whole.learner.state(), parts.learner.state());
    let moved =
        crate::support::difference(&whole.models()[..1], &run(method, scene, 4).models()[..1]);
    assert!(moved > 0.0, "{} stands still", method.name());
}

#[test]
fn clients_that_train_alone_or_mix_go_on() {
    let scene = Scene::with_a_death();
    let (step, mix) = (Order::StepThenMix, Order::MixThenStep);
    let aggregation = Some(PartialAggregation {
        neighbours: 2,
        include_self: true,
    });
    let quantise = Some(Quantise {
        bits: 4,
        norm: NormScope::Layer,
        aggregate: Aggregate::Replica,
    });
    let weight = GradientWeight::Examples;
    for method in [
        method!(Alone {}, heavy(2)),
        method!(
            Dsgd {
                order: step,
                aggregation: None
            },
            heavy(1)
        ),
        method!(
            Dsgd {
                order: mix,
                aggregation: aggregation
            },
            heavy(1)
        ),
        method!(
            Dfedavgm {
                aggregation: aggregation,
                quantise: quantise
            },
            epochs()
        ),
        method!(
            Decefl {
                mu: 0.5,
                gradient_weight: weight
            },
            heavy(2)
        ),
        method!(GradientTracking {}, steps(1)),
        method!(D2 {}, steps(1)),
        method!(ExactDiffusion {}, steps(1)),
        method!(QgDsgdm { memory: Some(0.8) }, heavy(1)),
        method!(PushSum {}, heavy(2)),
        method!(OnePeer {}, heavy(2)),
    ] {
        expect_resumable(&method, &scene);
    }
    let cliques = chorded_path()
        .with_groups(vec![vec![0, 1], vec![2, 3, 4]])
        .unwrap();
    let scene = Scene {
        overlay: Some(cliques),
        ..scene
    };
    expect_resumable(
        &method!(
            DCliques {
                clique_averaging: true
            },
            heavy(1)
        ),
        &scene,
    );
}

/// One client is gone for good from the third round on, before which the run is taken up.
#[test]
fn methods_that_begin_anew_when_a_client_is_gone_do_so_after_a_resume_too() {
    let scene = Scene {
        alive: [vec![vec![true; 5]], Scene::with_a_death().alive].concat(),
        for_good: true,
        ..Scene::default()
    };
    for method in [
        method!(GradientTracking {}, steps(1)),
        method!(D2 {}, steps(1)),
        method!(ExactDiffusion {}, steps(1)),
    ] {
        expect_resumable(&method, &scene);
    }
    let (participation, weighting) = (Participation::Clients(3), Weighting::Uniform);
    let global_learning_rate = 0.7;
    let scaffold = method!(
        Scaffold {
            participation: participation,
            weighting: weighting,
            global_learning_rate: global_learning_rate
        },
        steps(2)
    );
    expect_resumable(&scaffold, &scene.without_overlay());
}

#[test]
fn push_sum_goes_on_with_its_weights() {
    let star = Overlay::from_edges(5, [(0, 1), (0, 2), (0, 3), (0, 4)]).unwrap();
    let scene = Scene::over(star);
    let course = run(&method!(PushSum {}, steps(1)), &scene, 2);
    let weights = course.algorithm.numbers().remove(0).1;
    assert!(weights.iter().any(|weight| (weight - 1.0).abs() > 0.1));
    expect_resumable(&method!(PushSum {}, steps(1)), &scene);
}

#[test]
fn servers_and_their_clients_go_on() {
    let servers = Scene::with_a_death().without_overlay();
    let some = Participation::Clients(3);
    let (uniform, examples) = (Weighting::Uniform, Weighting::Examples);
    let each = PerServer {
        per_server: Some(2),
        replacement: true,
    };
    let two = || Servers {
        count: 2,
        assign: Assign::Random,
    };
    for method in [
        method!(
            Fedavg {
                participation: some,
                weighting: examples,
                steps_from: StepsFrom::Mean
            },
            heavy(2)
        ),
        method!(
            Fedprox {
                mu: 0.3,
                participation: some,
                weighting: examples
            },
            heavy(2)
        ),
        method!(
            Scaffold {
                participation: some,
                weighting: uniform,
                global_learning_rate: 0.7
            },
            steps(2)
        ),
        method!(
            Swarm {
                steps_from: StepsFrom::Mean
            },
            epochs()
        ),
        method!(
            Hierfavg {
                servers: two(),
                participation: each,
                edge_rounds: 2,
                weighting: uniform
            },
            heavy(2)
        ),
    ] {
        expect_resumable(&method, &servers);
    }
    let one = servers.of_sizes(&[27]);
    expect_resumable(&method!(Centralised {}, heavy(3)), &one);
    let parallel = Scene {
        overlay: Some(Overlay::from_edges(2, [(0, 1)]).unwrap()),
        ..Scene::with_a_death()
    };
    let method = method!(
        PFedavg {
            servers: two(),
            participation: each,
            weighting: examples
        },
        heavy(2)
    );
    expect_resumable(&method, &parallel);
}

#[test]
fn walkers_go_on_from_where_they_are() {
    let quantise = |aggregate| {
        Some(Quantise {
            bits: 6,
            norm: NormScope::Model,
            aggregate,
        })
    };
    for (restart, rows, quantise) in [
        (Restart::Uniform, WalkRows::Clients, None),
        (
            Restart::Continue,
            WalkRows::Clients,
            quantise(Aggregate::Printed),
        ),
        (
            Restart::Continue,
            WalkRows::Walkers,
            quantise(Aggregate::Replica),
        ),
    ] {
        let method = method!(
            Dfedrw {
                walkers: 3,
                hops: 4,
                restart: restart,
                aggregators: Aggregators::WalkEnds,
                from: Source::WalkEnds,
                neighbours: None,
                include_self: true,
                rows: rows,
                projection: None,
                quantise: quantise
            },
            heavy(2)
        );
        expect_resumable(&method, &Scene::with_a_death());
    }
}
