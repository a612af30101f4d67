//! What quantising costs, and what it leaves as it is.

use crate::support::{MethodRun, Scene, difference, expect_close, full, run};
use meshfold_algorithms::{
    Aggregate, Aggregators, Method, PartialAggregation, Quantise, Restart, Source, WalkRows,
};
use meshfold_engine::{NormScope, Start};

#[track_caller]
fn expect_same(one: &MethodRun, other: &MethodRun) {
    expect_close(&one.models(), &other.models());
    let moved = difference(&one.models()[..1], &one.start[..1]);
    assert!(moved > 1e-3, "a run that stands still says nothing");
}

fn walkers(quantise: Option<Quantise>) -> Method {
    method!(
        Dfedrw {
            walkers: 5,
            hops: 3,
            restart: Restart::Uniform,
            aggregators: Aggregators::All,
            from: Source::Neighbours,
            neighbours: None,
            include_self: true,
            rows: WalkRows::Clients,
            projection: None,
            quantise: quantise
        },
        full(2)
    )
}

#[test]
fn a_quantised_message_has_64_bits_and_b_for_each_parameter() {
    for (norm, norms) in [(NormScope::Model, 1), (NormScope::Layer, 4)] {
        let quantise = Some(Quantise {
            bits: 3,
            norm,
            aggregate: Aggregate::Replica,
        });
        let method = method!(
            Dfedavg {
                aggregation: None,
                quantise: quantise
            },
            full(1)
        );
        let course = run(&method, &Scene::default(), 1);
        // 6 · 5 + 5 + 5 · 3 + 3 parameters in four blocks.
        assert_eq!(course.setting.layout.parameters(), 53);
        let bytes = (64 * norms + 3 * 53u64).div_ceil(8);
        assert_eq!(course.traffic[0].bytes_total(), 10 * bytes);
        let overlay = course.scene.overlay.as_ref();
        assert_eq!(method.forecast(&course.setting, overlay).bytes, 10 * bytes);
    }
}

fn fine(aggregate: Aggregate) -> Option<Quantise> {
    Some(Quantise {
        bits: 24,
        norm: NormScope::Model,
        aggregate,
    })
}

/// 24 bits are off by at most 1.2e-7 of the norm of a round's movement, which is below 1: less than f32's own rounding
/// of some rounds.
#[test]
fn methods_that_quantise_finely_are_those_that_do_not() {
    let scene = Scene::with_a_death();
    let average = |quantise| {
        method!(
            Dfedavg {
                aggregation: None,
                quantise: quantise
            },
            full(2)
        )
    };
    let replica = run(&average(fine(Aggregate::Replica)), &scene, 3);
    expect_same(&replica, &run(&average(None), &scene, 3));

    let walks = run(&walkers(fine(Aggregate::Replica)), &scene, 3);
    expect_same(&walks, &run(&walkers(None), &scene, 3));
}

/// Two bits leave nothing of a model as it was; client 4 has nobody to send to.
#[test]
fn a_model_that_is_sent_to_nobody_is_not_quantised() {
    let edges = [(0, 1), (1, 2), (2, 3), (1, 3)];
    let scene = Scene::over(meshfold_topology::Overlay::from_edges(5, edges).unwrap());
    let alone = run(&method!(Alone {}, full(2)), &scene, 3);
    for aggregate in [Aggregate::Replica, Aggregate::Printed] {
        let quantise = Some(Quantise {
            bits: 2,
            norm: NormScope::Model,
            aggregate,
        });
        let some = Some(PartialAggregation {
            neighbours: 2,
            include_self: true,
        });
        for aggregation in [None, some] {
            let method = method!(
                Dfedavg {
                    aggregation: aggregation,
                    quantise: quantise
                },
                full(2)
            );
            let course = run(&method, &scene, 3);
            assert_eq!(course.models()[4], alone.models()[4]);
            assert!(difference(&course.models()[..1], &alone.models()[..1]) > 0.01);
        }
    }
}

#[test]
fn from_one_model_both_readings_of_quantised_averages_agree() {
    let scene = Scene {
        start: Start::Same,
        ..Scene::default()
    };
    let after = |rounds, aggregate| {
        let quantise = fine(aggregate);
        let method = method!(
            Dfedavg {
                aggregation: None,
                quantise: quantise
            },
            full(2)
        );
        run(&method, &scene, rounds)
    };
    expect_same(&after(1, Aggregate::Printed), &after(1, Aggregate::Replica));
    // From the second round on the models differ, and (14) as printed keeps that difference.
    let apart = difference(
        &after(2, Aggregate::Printed).models(),
        &after(2, Aggregate::Replica).models(),
    );
    assert!(apart > 1e-3, "{apart}");
}
