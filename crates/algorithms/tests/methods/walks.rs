//! Rounds of random walks, whole and quantised, against Algorithms 1 and 2 of DFedRW walker by walker in double
//! precision.

use crate::support::random_walks::{Walks, train};
use crate::support::{Scene, expect_close, run};
use meshfold_algorithms::{
    Aggregate, Aggregators, Dfedrw, Method, Projection, Quantise, Restart, Source, WalkRows,
};
use meshfold_engine::NormScope;

/// Four walkers of three visits; everything else by default.
fn walkers() -> Dfedrw {
    let method = method!(
        Dfedrw {
            walkers: 4,
            hops: 3,
            restart: Restart::Uniform,
            aggregators: Aggregators::All,
            from: Source::Neighbours,
            neighbours: None,
            include_self: true,
            rows: WalkRows::Clients,
            projection: None,
            quantise: None
        },
        train()
    );
    match method {
        Method::Dfedrw(config) => config,
        _ => unreachable!("that is what was made"),
    }
}

/// Four rounds of `config` as the transcription has them; returns the waits at dead clients.
#[track_caller]
fn expect_transcribed(config: &Dfedrw) -> usize {
    transcribed(config).0
}

/// As [`expect_transcribed`]; also returns how many visits ended within the ball of the projection, and how many outside.
#[track_caller]
fn transcribed(config: &Dfedrw) -> (usize, [usize; 2]) {
    let scene = Scene::with_a_death();
    let course = run(&Method::Dfedrw(config.clone()), &scene, 4);
    let mut walks = Walks::new(config, &course);
    for _ in 0..4 {
        walks.round();
    }
    expect_close(&course.models(), &walks.models);
    let bits = match config.quantise {
        None => 32 * course.setting.layout.parameters(),
        Some(quantise) => {
            let norms = if quantise.norm == NormScope::Model {
                1
            } else {
                4
            };
            64 * norms + quantise.bits as usize * course.setting.layout.parameters()
        }
    };
    let bytes = walks.messages * bits.div_ceil(8);
    assert_eq!(course.traffic[3].bytes_total(), bytes as u64);
    (walks.waits, walks.projected)
}

#[test]
fn walks_train_where_they_are_and_clients_average_neighbours() {
    expect_transcribed(&walkers());
    expect_transcribed(&Dfedrw {
        neighbours: Some(2),
        ..walkers()
    });
}

#[test]
fn walks_go_on_and_wait_where_a_client_died() {
    let waits = expect_transcribed(&Dfedrw {
        restart: Restart::Continue,
        aggregators: Aggregators::WalkEnds,
        from: Source::WalkEnds,
        ..walkers()
    });
    assert!(waits > 0, "no walk ended where the client died");
}

#[test]
fn a_share_of_the_clients_averages_what_was_visited() {
    expect_transcribed(&Dfedrw {
        aggregators: Aggregators::Share(0.4),
        from: Source::Visited,
        include_self: false,
        neighbours: Some(2),
        ..walkers()
    });
}

#[test]
fn models_are_projected_onto_the_ball_after_each_visit() {
    let alone = Dfedrw {
        rows: WalkRows::Walkers,
        aggregators: Aggregators::WalkEnds,
        from: Source::WalkEnds,
        restart: Restart::Continue,
        ..walkers()
    };
    let replica = Dfedrw {
        quantise: quantise(NormScope::Model, Aggregate::Replica),
        ..walkers()
    };
    for (config, radius) in [(walkers(), 1.9), (alone, 1.9), (replica, 1.9)] {
        let config = Dfedrw {
            projection: Some(Projection { radius }),
            ..config
        };
        let (_, [within, outside]) = transcribed(&config);
        assert!(within > 0 && outside > 0, "{within} {outside}");
    }
}

#[test]
fn a_ball_that_holds_all_models_changes_nothing() {
    let scene = Scene::with_a_death();
    let without = run(&Method::Dfedrw(walkers()), &scene, 4);
    let config = Dfedrw {
        projection: Some(Projection { radius: 100.0 }),
        ..walkers()
    };
    let within = run(&Method::Dfedrw(config), &scene, 4);
    assert_eq!(without.models(), within.models());
}

#[test]
fn a_radius_is_positive() {
    for radius in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let config = Dfedrw {
            projection: Some(Projection { radius }),
            ..walkers()
        };
        let error = Method::Dfedrw(config).check().unwrap_err();
        assert!(error.to_string().contains("projection.radius"), "{error}");
    }
}

fn quantise(norm: NormScope, aggregate: Aggregate) -> Option<Quantise> {
    Some(Quantise {
        bits: 6,
        norm,
        aggregate,
    })
}

#[test]
fn replicas_receive_quantised_differences_of_known_models() {
    expect_transcribed(&Dfedrw {
        quantise: quantise(NormScope::Model, Aggregate::Replica),
        ..walkers()
    });
}

#[test]
fn as_printed_a_receiver_adds_differences_to_its_own_model() {
    expect_transcribed(&Dfedrw {
        quantise: quantise(NormScope::Layer, Aggregate::Printed),
        neighbours: Some(2),
        ..walkers()
    });
}

#[test]
fn walkers_alone_hold_models_and_average_among_themselves() {
    let alone = Dfedrw {
        rows: WalkRows::Walkers,
        aggregators: Aggregators::WalkEnds,
        from: Source::WalkEnds,
        restart: Restart::Continue,
        ..walkers()
    };
    assert!(expect_transcribed(&alone) > 0);
    let some = Dfedrw {
        neighbours: Some(2),
        include_self: false,
        restart: Restart::Uniform,
        quantise: quantise(NormScope::Model, Aggregate::Replica),
        ..alone
    };
    expect_transcribed(&some);
    for walkers in [1, 5] {
        let config = Dfedrw {
            walkers,
            ..some.clone()
        };
        // Of five, one is left without a living client in the three rounds after the death.
        assert_eq!(
            expect_transcribed(&config),
            if walkers == 5 { 3 } else { 0 }
        );
    }
}
