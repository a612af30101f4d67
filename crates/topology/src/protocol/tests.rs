//! What the protocol as a whole must do.

use std::collections::BTreeSet;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::simulation::Simulation;
use super::*;
use crate::VirtualRings;

fn churn(nodes: usize, spaces: usize, seed: u64, changes: &[Change]) -> Churn {
    let events = changes.iter().enumerate().map(|(index, &change)| {
        let mut event = ChurnEvent {
            at_seconds: 5.0 + 40.0 * index as f64,
            ..ChurnEvent::default()
        };
        match change {
            Change::Join(join) => event.join = Some(join),
            Change::Leave(leave) => event.leave = Some(leave),
            Change::Fail(fail) => event.fail = Some(fail),
        }
        event
    });
    Churn {
        nodes,
        spaces,
        seed,
        latency: Latency::Uniform([20.0, 120.0]),
        heartbeat_seconds: 1.0,
        timeout_seconds: 3.0,
        start: Start::Built,
        events: events.collect(),
        until_seconds: 5.0 + 40.0 * changes.len() as f64,
        sample_seconds: 1.0,
    }
}

fn fail(share: f64) -> Change {
    Change::Fail(Fail { share })
}

/// The one record of the only event.
fn record(churn: &Churn) -> EventRecord {
    let trace = simulate(churn).unwrap();
    assert_eq!(trace.events.len(), 1);
    trace.events[0].clone()
}

#[test]
fn joining_one_after_another_gives_the_rings_of_the_static_overlay() {
    for (nodes, spaces) in [(2, 1), (3, 1), (3, 3), (10, 2), (100, 1), (300, 3)] {
        for seed in 1..=3 {
            let churn = churn(nodes, spaces, seed, &[]);
            let mut simulation = Simulation::new(&churn);
            simulation.grow();
            let links: BTreeSet<(u32, u32)> = simulation
                .nodes
                .iter()
                .flatten()
                .flat_map(|node| node.contacts().map(|other| (node.address, other)))
                .map(|(a, b)| (a.min(b), a.max(b)))
                .collect();
            let mut coordinates = ChaCha8Rng::seed_from_u64(seed);
            let expected = VirtualRings { spaces }.ring_links(nodes, &mut coordinates);
            assert_eq!(links, expected, "{nodes} nodes, {spaces} rings");
        }
    }
}

#[test]
fn mass_failures_are_repaired_on_three_rings() {
    for share in [0.1, 0.3, 0.5] {
        for seed in 1..=10 {
            let record = record(&churn(300, 3, seed, &[fail(share)]));
            assert_eq!(record.nodes, (share * 300.0) as usize);
            assert!(record.correct_after < 0.6);
            assert_eq!((record.correct, record.components), (1.0, 1), "seed {seed}");
            // The timeout is three seconds, and the last heartbeat may be one second old.
            let recovered = record.recovered_seconds.unwrap();
            assert!((3.0..15.0).contains(&recovered), "{recovered}");
        }
    }
}

#[test]
fn an_overlay_that_was_grown_is_repaired_like_one_that_was_built() {
    for share in [0.1, 0.5] {
        let mut churn = churn(300, 3, 1, &[fail(share)]);
        churn.start = Start::Grown;
        let trace = simulate(&churn).unwrap();
        let [growth, failure] = trace.events.as_slice() else {
            panic!("the growth and one failure were planned")
        };
        assert_eq!(
            (growth.kind, growth.nodes, growth.correct),
            (EventKind::Grow, 299, 1.0)
        );
        assert_eq!((failure.correct, failure.components), (1.0, 1));
        let recovered = failure.recovered_seconds.unwrap();
        assert!((3.0..15.0).contains(&recovered), "{recovered}");
        assert_eq!(trace.samples.last().unwrap().messages, failure.messages);
    }
}

#[test]
fn parts_that_know_nobody_of_each_other_stay_apart() {
    let record = record(&churn(300, 1, 1, &[fail(0.3)]));
    assert!(record.components > 1);
    assert!(record.correct > 0.3 && record.correct < 1.0, "{record:?}");
    assert_eq!(record.recovered_seconds, None);
}

#[test]
fn every_failure_that_leaves_the_overlay_in_one_piece_is_repaired() {
    let mut torn = 0;
    for seed in 1..=60 {
        let record = record(&churn(60, 2, seed, &[fail(0.5)]));
        assert_eq!(record.correct == 1.0, record.components == 1, "seed {seed}");
        torn += usize::from(record.components > 1);
    }
    assert!(torn < 10, "{torn} of 60 overlays were torn");
}

#[test]
fn one_failure_is_repaired_by_two_hop_neighbours_alone() {
    for seed in 1..=10 {
        let record = record(&churn(300, 3, seed, &[fail(1.0 / 300.0)]));
        assert_eq!(record.nodes, 1);
        assert_eq!(record.correct, 1.0);
        assert_eq!(record.kinds.discovery, 0);
        // On every ring both sides may ask, and both are answered.
        assert!(record.messages <= 4 * 3, "{record:?}");
        let recovered = record.recovered_seconds.unwrap();
        assert!((2.0..4.5).contains(&recovered), "{recovered}");
    }
}

#[test]
fn a_leave_takes_one_message_to_each_neighbour() {
    for seed in 1..=10 {
        let record = record(&churn(300, 3, seed, &[Change::Leave(Leave { count: 1 })]));
        assert!(record.messages <= 6, "{record:?}");
        assert_eq!(record.messages, record.kinds.leave);
        assert!(record.recovered_seconds.unwrap() <= 0.12);
    }
}

#[test]
fn neighbours_that_leave_together_are_repaired_too() {
    for seed in 1..=5 {
        let record = record(&churn(100, 2, seed, &[Change::Leave(Leave { count: 50 })]));
        assert_eq!((record.correct, record.components), (1.0, 1), "seed {seed}");
    }
}

#[test]
fn many_may_join_together_and_events_may_follow_each_other() {
    let changes = [
        Change::Join(Join { count: 100 }),
        fail(0.3),
        Change::Leave(Leave { count: 40 }),
        Change::Join(Join { count: 1 }),
    ];
    let trace = simulate(&churn(100, 3, 1, &changes)).unwrap();
    let alive: Vec<usize> = trace.events.iter().map(|record| record.alive).collect();
    assert_eq!(alive, [200, 140, 100, 101]);
    assert!(trace.events.iter().all(|record| record.correct == 1.0));
    let sent: u64 = trace.events.iter().map(|record| record.messages).sum();
    let last = trace.samples.last().unwrap();
    assert_eq!((last.messages, last.missing, last.wrong), (sent, 0, 0));
}

/// Hops from 100 to 10,000 nodes grow as N to the power .3; without the neighbours on other rings it would be N to the power 1.
#[test]
fn greedy_routing_takes_far_fewer_hops_than_there_are_nodes() {
    let hops = |nodes: usize| {
        let mut churn = churn(nodes, 3, 1, &[Change::Join(Join { count: 40 })]);
        // Heartbeats are not what this is about.
        (churn.heartbeat_seconds, churn.timeout_seconds) = (100.0, 200.0);
        (churn.start, churn.until_seconds) = (Start::Built, 20.0);
        let record = record(&churn);
        assert_eq!(record.correct, 1.0);
        record.hops_per_search.unwrap()
    };
    let (hundred, ten_thousand) = (hops(100), hops(10_000));
    let exponent = (ten_thousand / hundred).ln() / 100_f64.ln();
    assert!(exponent < 0.4, "{hundred} to {ten_thousand}: {exponent}");
    assert!(ten_thousand < 20.0, "{ten_thousand}");
}

#[test]
fn heartbeats_are_no_messages_of_the_protocol() {
    let mut quiet = churn(10, 1, 1, &[]);
    quiet.until_seconds = 20.0;
    let trace = simulate(&quiet).unwrap();
    let last = trace.samples.last().unwrap();
    assert_eq!((last.seconds, last.messages), (20.0, 0));
    // Two neighbours, one heartbeat a second.
    assert_eq!(last.heartbeats, 10 * 2 * 20);
    assert_eq!(trace.samples.len(), 21);
    assert!(trace.samples.iter().all(|sample| sample.correct == 1.0));
}

#[test]
fn the_last_node_is_right_to_have_no_neighbours() {
    let record = record(&churn(2, 2, 1, &[Change::Leave(Leave { count: 1 })]));
    assert_eq!(
        (record.alive, record.correct, record.components),
        (1, 1.0, 1)
    );
    let trace = simulate(&churn(
        2,
        2,
        1,
        &[fail(0.5), Change::Join(Join { count: 1 })],
    ))
    .unwrap();
    let shares: Vec<f64> = trace.events.iter().map(|record| record.correct).collect();
    assert_eq!(shares, [1.0, 1.0]);
}

#[test]
fn one_seed_is_one_trace() {
    let trace = |seed| simulate(&churn(100, 2, seed, &[fail(0.2)])).unwrap();
    assert_eq!(trace(3), trace(3));
    assert_ne!(trace(3), trace(4));
}

#[test]
fn a_built_overlay_and_a_grown_one_have_the_same_neighbours() {
    let churn = churn(200, 3, 5, &[]);
    let neighbours = |prepare: fn(&mut Simulation<'_>)| {
        let mut simulation = Simulation::new(&churn);
        prepare(&mut simulation);
        let of = |node: &node::Node| node.slots().map(|slot| node.at(slot)).collect();
        let all: Vec<Vec<_>> = simulation.nodes.iter().flatten().map(of).collect();
        all
    };
    assert_eq!(
        neighbours(|simulation| simulation.build()),
        neighbours(|simulation| simulation.grow())
    );
}
