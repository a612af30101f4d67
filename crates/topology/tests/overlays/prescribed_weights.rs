//! Weights that overlays bring, in schedules, among some nodes, and after failures.

use meshfold_topology::{
    Laplacian, MixingMatrix, Prescribed, Snapshot, Topology, TopologyError, Weights,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn topology(text: &str) -> Topology {
    serde_json::from_str(text).unwrap()
}

/// The topology, prepared from a stream of its own.
fn prepared(text: &str, nodes: usize) -> Topology {
    let mut topology = topology(text);
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    topology.prepare(nodes, &mut rng).unwrap();
    topology
}

/// The overlay of a round, from a stream keyed by its draw.
fn at(topology: &Topology, round: usize, nodes: usize) -> Snapshot {
    let epoch = topology.epoch(round, nodes);
    let mut rng = ChaCha8Rng::seed_from_u64(100 + epoch.draw);
    epoch.build(nodes, &mut rng).unwrap()
}

fn matrix(snapshot: &Snapshot) -> MixingMatrix {
    let weights = Weights::Prescribed(Prescribed {});
    weights.matrix(&snapshot.overlay).unwrap()
}

#[test]
fn overlays_that_bring_weights_have_them_where_none_are_named() {
    for (text, brings) in [
        (r#"{"base_graph": {}}"#, true),
        (r#"{"equi_static": {"links": 2}}"#, true),
        (r#"{"equi_dyn": {}}"#, true),
        (r#"{"matcha": {"of": {"ring": {}}}}"#, true),
        (r#"{"redraw": {"of": {"equi_static": {"links": 2}}}}"#, true),
        (
            r#"{"periodic": [{"ring": {}}, {"equi_static": {"links": 2}}]}"#,
            true,
        ),
        (r#"{"periodic": [{"ring": {}}, {"star": {}}]}"#, false),
        (r#"{"one_peer": {}}"#, false),
        (r#"{"ring": {}}"#, false),
    ] {
        let suited = Weights::suited_to(&topology(text));
        assert_eq!(suited.are_prescribed(), brings, "{text}");
    }
}

#[test]
fn the_rounds_of_a_schedule_do_not_depend_on_their_order() {
    for text in [
        r#"{"base_graph": {"degree": 2}}"#,
        r#"{"equi_dyn": {}}"#,
        r#"{"equi_dyn": {"directed": true}}"#,
        r#"{"matcha": {"of": {"erdos_renyi": {"p": 0.4}}}}"#,
        r#"{"redraw": {"nodes": {"share": 0.5}, "of": {"equi_static": {"links": 2}}}}"#,
    ] {
        let nodes = 14;
        let topology = prepared(text, nodes);
        let forwards: Vec<_> = (1..=12)
            .map(|round| matrix(&at(&topology, round, nodes)))
            .collect();
        let again = prepared(text, nodes);
        for round in (1..=12).rev() {
            assert_eq!(
                matrix(&at(&again, round, nodes)),
                forwards[round - 1],
                "{text}"
            );
        }
        let differ = forwards.windows(2).any(|pair| pair[0] != pair[1]);
        assert!(differ, "{text}");
    }
}

#[test]
fn matchings_of_all_rounds_are_those_of_one_overlay() {
    let text = r#"{"matcha": {"of": {"regular": {"degree": 3}}}}"#;
    let topology = prepared(text, 20);
    let mut edges: Vec<(u32, u32)> = Vec::new();
    let (mut drawn, mut alphas) = (0.0, Vec::new());
    for round in 1..=400 {
        let snapshot = at(&topology, round, 20);
        let overlay = &snapshot.overlay;
        assert!((0..20).all(|node| overlay.degree(node) <= 3));
        let matrix = matrix(&snapshot);
        assert!(matrix.is_symmetric(0.0) && matrix.is_doubly_stochastic(1e-12));
        alphas.extend(
            overlay
                .edges()
                .map(|(a, b)| matrix.weight(a as usize, b as usize)),
        );
        drawn += overlay.edge_count() as f64;
        edges.extend(overlay.edges());
    }
    edges.sort_unstable();
    edges.dedup();
    // A 3-regular graph of 20 nodes has 30 edges. Half of the matchings take part in the mean; they may differ in size.
    assert_eq!(edges.len(), 30);
    assert!((0.35..0.65).contains(&(drawn / 400.0 / 30.0)), "{drawn}");
    assert!(alphas.iter().all(|alpha| *alpha == alphas[0]));
}

#[test]
fn the_whole_budget_of_matchings_is_the_overlay_itself() {
    let whole = prepared(r#"{"matcha": {"of": {"ring": {}}, "budget": 1.0}}"#, 9);
    let ring = topology(r#"{"ring": {}}"#);
    let ring = ring.build(9, &mut ChaCha8Rng::seed_from_u64(0)).unwrap();
    // With the best θ the Laplacian weights are 2 / (λ2 + λN).
    let best = Weights::Laplacian(Laplacian { theta: None });
    let best = best.matrix(&ring).unwrap();
    for round in [1, 5] {
        let found = matrix(&at(&whole, round, 9));
        for (i, j) in (0..9).flat_map(|i| (0..9).map(move |j| (i, j))) {
            assert!((found.weight(i, j) - best.weight(i, j)).abs() < 1e-8);
        }
    }
}

#[test]
fn rounds_of_matchings_need_their_overlay() {
    let unprepared = topology(r#"{"matcha": {"of": {"ring": {}}}}"#);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let found = unprepared.epoch(1, 5).build(5, &mut rng).unwrap_err();
    assert_eq!(found, TopologyError::Unprepared);
    let mut large = topology(r#"{"matcha": {"of": {"ring": {}}}}"#);
    let found = large.prepare(501, &mut rng).unwrap_err();
    assert_eq!(
        found.to_string(),
        "matcha.of: found 501 nodes and 501 edges, needed at most 500 nodes and 5000 edges"
    );
}

#[test]
fn other_overlays_of_a_schedule_have_the_weights_that_suit_them() {
    let text = r#"{"periodic": [{"ring": {}}, {"equi_static": {"links": 1, "directed": true}}]}"#;
    let turns = topology(text);
    let ring = at(&turns, 1, 7);
    let usual = Weights::default().matrix(&ring.overlay).unwrap();
    assert_eq!(matrix(&ring), usual);
    let shift = at(&turns, 2, 7);
    assert!((matrix(&shift).weight(0, 0) - 1.0 / 7.0).abs() < 1e-15);
    let ring = topology(r#"{"ring": {}}"#);
    let ring = ring.build(7, &mut ChaCha8Rng::seed_from_u64(0)).unwrap();
    let prescribed = Weights::Prescribed(Prescribed {});
    assert_eq!(prescribed.matrix(&ring), Err(TopologyError::NotPrescribed));
}

#[test]
fn what_failures_leave_keeps_the_sums_of_rows() {
    for (text, directed) in [
        (r#"{"base_graph": {"degree": 3}}"#, false),
        (r#"{"equi_static": {"links": 3}}"#, false),
        (r#"{"equi_static": {"links": 3, "directed": true}}"#, true),
    ] {
        let snapshot = at(&topology(text), 1, 13);
        let whole = matrix(&snapshot);
        let overlay = &snapshot.overlay;
        let alive: Vec<bool> = (0..13).map(|node| node != 4).collect();
        let lost: Vec<_> = overlay.edges().take(3).collect();
        let weights = Weights::Prescribed(Prescribed {});
        for left in [
            overlay.surviving(&alive, &lost),
            overlay.hearing_only(&alive),
        ] {
            let after = weights.surviving(overlay, &whole, &left).unwrap();
            assert!(after.is_row_stochastic(1e-12), "{text}");
            let symmetric = !left.is_directed();
            assert_eq!(after.is_symmetric(1e-15), symmetric, "{text}");
            assert!(!directed || left.is_directed());
            for node in 0..13 {
                for other in left.neighbours(node) {
                    let other = *other as usize;
                    assert_eq!(after.weight(node, other), whole.weight(node, other));
                }
            }
        }
    }
}
