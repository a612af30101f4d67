//! Overlays that are too large to be listed edge by edge.

use meshfold_topology::{
    Complete, Failures, Form, GrowingUnion, MixingMatrix, Nodes, Overlay, OverlaySummary, Spectrum,
    Topology, TopologyError, Weights, rounds_to_connect,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn rng() -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(1)
}

fn topology(text: &str) -> Topology {
    serde_json::from_str(text).unwrap()
}

fn weights(text: &str) -> Weights {
    serde_json::from_str(text).unwrap()
}

/// What is known of a complete overlay of `nodes` nodes under weights that take the mean.
fn figures(nodes: usize) -> OverlaySummary {
    let overlay = Topology::Complete(Complete {})
        .build(nodes, &mut rng())
        .unwrap();
    let weights = Weights::default();
    let matrix = weights.matrix(&overlay).unwrap();
    assert_eq!(matrix.stored_weights(), nodes);
    OverlaySummary::new(&overlay, &weights, &matrix).unwrap().0
}

#[test]
fn a_complete_overlay_of_a_million_nodes_has_figures_in_closed_form() {
    let nodes = 1_000_000;
    let summary = figures(nodes);
    assert_eq!(summary.edges, nodes * (nodes - 1) / 2);
    assert!(summary.connected && summary.doubly_stochastic);
    let degree = (summary.degree.min, summary.degree.mean, summary.degree.max);
    assert_eq!(degree, (nodes - 1, (nodes - 1) as f64, nodes - 1));
    assert_eq!(summary.edge_connectivity, nodes - 1);
    assert_eq!(summary.kappa, Some(1.0));
    assert_eq!((summary.lambda2, summary.lambda_n), (Some(0.0), Some(0.0)));
    assert_eq!((summary.lambda, summary.gap), (Some(0.0), Some(1.0)));
    assert_eq!(summary.min_self_weight, 1e-6);
}

#[test]
fn few_nodes_have_the_same_figures_as_many() {
    let (few, many) = (figures(100), figures(60_000));
    assert_eq!(
        (few.kappa, few.lambda, few.theta),
        (many.kappa, many.lambda, many.theta)
    );
    assert_eq!((few.connected, few.doubly_stochastic), (true, true));
}

#[test]
fn failures_of_clients_leave_a_complete_overlay_without_a_list() {
    let overlay = Overlay::complete(60_000).unwrap();
    let failures: Failures = serde_json::from_str(r#"[{"clients": {"share": 0.25}}]"#).unwrap();
    let broken = failures.at(1, &overlay, |_, _| rng());
    let left = broken.surviving(&overlay);
    assert_eq!(left.listed_arcs(), 0);
    assert_eq!(left.edge_count(), 45_000 * 44_999 / 2);
    let weights = Weights::default();
    let whole = weights.matrix(&overlay).unwrap();
    let matrix = weights.surviving(&overlay, &whole, &left).unwrap();
    assert!(matches!(matrix.form(), Form::Among { .. }));
    assert_eq!(matrix.stored_weights(), 60_000);
    let spectrum = Spectrum::of(&left, &weights, &matrix).unwrap();
    assert_eq!((spectrum.lambda2, spectrum.lambda_n), (1.0, 0.0));
    assert_eq!(left.components().len(), 15_001);
}

/// The eigenvalues of what failures left of a complete overlay, against those of the same weights as sparse rows.
#[test]
fn means_among_some_have_the_eigenvalues_of_their_rows() {
    let overlay = Overlay::complete(9).unwrap();
    let overlay = overlay
        .with_examples(vec![4, 1, 3, 5, 9, 2, 6, 8, 7])
        .unwrap();
    let alive = [true, true, false, true, true, false, true, true, false];
    let left = overlay.surviving(&alive, &[]);
    for text in [r#"{"uniform": {}}"#, r#"{"by_examples": {}}"#] {
        let weights = weights(text);
        let whole = weights.matrix(&overlay).unwrap();
        let among = weights.surviving(&overlay, &whole, &left).unwrap();
        assert!(matches!(among.form(), Form::Among { .. }), "{text}");
        let rows = (0..9).map(|i| among.row(i).filter(|(_, weight)| *weight != 0.0).collect());
        let sparse = MixingMatrix::from_rows(9, rows.collect()).unwrap();
        let of = |matrix| Spectrum::of(&left, &weights, matrix).unwrap();
        let (found, expected) = (of(&among), of(&sparse));
        let pairs = found
            .eigenvalues
            .unwrap()
            .into_iter()
            .zip(expected.eigenvalues.unwrap());
        for (found, expected) in pairs {
            assert!(
                (found - expected).abs() < 1e-12,
                "{text}: {found} {expected}"
            );
        }
        assert!((found.p - expected.p).abs() < 1e-9, "{text}");
        assert!((found.lambda - expected.lambda).abs() < 1e-12, "{text}");
    }
}

#[test]
fn unions_with_a_complete_overlay_need_no_list() {
    let complete = Overlay::complete(200_000).unwrap();
    let path = topology(r#"{"path": {}}"#)
        .build(200_000, &mut rng())
        .unwrap();
    assert_eq!(rounds_to_connect(&[&path, &complete]), Some(1));
    let mut union = GrowingUnion::new(200_000);
    union.add(&complete);
    assert!(union.is_connected());
}

#[test]
fn too_many_nodes_are_refused_before_anything_is_built() {
    for text in [
        r#"{"path": {}}"#,
        r#"{"ring": {}}"#,
        r#"{"grid": {}}"#,
        r#"{"complete": {}}"#,
        r#"{"star": {}}"#,
        r#"{"erdos_renyi": {"p": 0.5}}"#,
        r#"{"regular": {"degree": 4}}"#,
        r#"{"virtual_rings": {"spaces": 3}}"#,
        r#"{"exponential": {}}"#,
        r#"{"watts_strogatz": {"neighbours": 4, "rewire": 0.1}}"#,
        r#"{"hypercube": {}}"#,
        r#"{"barabasi_albert": {"links": 2}}"#,
        r#"{"stochastic_block": {"blocks": 4, "within": 0.5, "between": 0.1}}"#,
        r#"{"random_geometric": {"radius": 0.5}}"#,
        r#"{"random_waypoint": {"radius": 0.5, "speed": 0.1}}"#,
        r#"{"d_cliques": {"max_clique_size": 10}}"#,
        r#"{"redraw": {"of": {"complete": {}}}}"#,
        r#"{"one_peer": {}}"#,
    ] {
        let found = u32::MAX as usize;
        let nodes = Nodes::from(found);
        let error = topology(text).build(nodes, &mut rng()).unwrap_err();
        let limit = i32::MAX as usize;
        assert_eq!(
            error,
            TopologyError::TooManyNodes { found, limit },
            "{text}"
        );
    }
}

/// Drawn values on a complete overlay, as they were when its edges were listed.
#[test]
fn draws_on_a_complete_overlay_keep_their_values() {
    let overlay = Overlay::complete(6).unwrap();
    let failures: Failures = serde_json::from_str(r#"[{"edges": {"share": 0.4}}]"#).unwrap();
    let broken = failures.at(1, &overlay, |_, _| ChaCha8Rng::seed_from_u64(2024));
    let all: Vec<(u32, u32)> = (0..6)
        .flat_map(|a| (a + 1..6).map(move |b| (a, b)))
        .collect();
    let drawn = rand::seq::index::sample(&mut ChaCha8Rng::seed_from_u64(2024), 15, 6);
    let mut expected: Vec<_> = drawn.into_iter().map(|place| all[place]).collect();
    expected.sort_unstable();
    assert_eq!(broken.lost_edges, expected);
}
