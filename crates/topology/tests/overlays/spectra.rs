//! Spectra against closed forms and against the values that the papers and the design give.

use meshfold_topology::{
    BalancedTree, Barbell, Complete, Edges, ErdosRenyi, Laplacian, MaxDegree, MixingMatrix,
    Overlay, OverlaySummary, Path, Probability, Regular, Ring, Spectrum, Star, Topology,
    TopologyError, Torus, Uniform, Weights,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::f64::consts::PI;

fn overlay(topology: Topology, nodes: usize) -> Overlay {
    topology
        .build(nodes, &mut ChaCha8Rng::seed_from_u64(1))
        .unwrap()
}

fn spectrum(overlay: &Overlay, weights: &Weights) -> Spectrum {
    Spectrum::of(overlay, weights, &weights.matrix(overlay).unwrap()).unwrap()
}

fn ring(nodes: usize) -> Overlay {
    overlay(Topology::Ring(Ring::default()), nodes)
}

fn edges(pairs: &[(u32, u32)]) -> Topology {
    Topology::Edges(Edges {
        pairs: pairs.to_vec(),
        ..Edges::default()
    })
}

#[track_caller]
fn assert_close(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "found {found}, expected {expected}"
    );
}

#[test]
fn ring_of_ten_has_the_check_values() {
    let best = spectrum(&ring(10), &Weights::Laplacian(Laplacian::default()));
    assert_close(best.kappa, 10.472, 5e-4);
    assert_close(best.theta, 1.0 / 10.472, 1e-5);
    assert_close(best.lambda, 0.8257, 5e-5);
    assert_close(best.lambda2, -best.lambda_n, 1e-12);
    assert_close(best.c_lambda, 13.977, 5e-4);
    assert_close(best.lambda_walk, (best.lambda + 1.0) / 2.0, 1e-15);
    assert_close(best.gap, 1.0 - best.lambda, 1e-15);
}

/// `I − (2 / λ_max) L` has the eigenvalue −1 on every overlay: what averages with it swings for ever.
#[test]
fn an_eigenvalue_of_minus_one_is_exact_and_does_not_contract() {
    let theta_zero = Weights::Laplacian(serde_json::from_str(r#"{"theta": 0.0}"#).unwrap());
    let overlays = [
        ring(4),
        ring(5),
        ring(11),
        overlay(Topology::Star(Star {}), 8),
        overlay(Topology::Barbell(Barbell { m1: 3, m2: 3 }), 9),
    ];
    for overlay in overlays {
        let found = spectrum(&overlay, &theta_zero);
        let exact = [found.lambda_n, found.lambda, found.gap, found.p];
        assert_eq!(exact, [-1.0, 1.0, 0.0, 0.0]);
        assert_eq!(found.disagreement, f64::INFINITY);
        assert_eq!(found.c_lambda, f64::INFINITY);
    }
}

#[test]
fn nine_servers_have_the_rates_of_p_fedavg() {
    let p = |topology| spectrum(&overlay(topology, 9), &Weights::default()).p;
    assert_close(p(Topology::Complete(Complete {})), 1.0, 0.0);
    assert_close(p(Topology::Torus(Torus::default())), 0.84, 1e-12);
    assert_close(p(Topology::Ring(Ring::default())), 0.2876, 5e-5);
    assert_close(p(Topology::Barbell(Barbell { m1: 3, m2: 3 })), 0.0783, 5e-5);
    assert_close(
        p(Topology::BalancedTree(BalancedTree { branching: 2 })),
        0.0894,
        5e-5,
    );
    assert_close(
        p(Topology::BalancedTree(BalancedTree { branching: 3 })),
        0.1018,
        5e-5,
    );
    let tree = [
        (0, 1),
        (0, 2),
        (0, 3),
        (1, 4),
        (1, 5),
        (2, 6),
        (2, 7),
        (3, 8),
    ];
    assert_close(p(edges(&tree)), 0.1295, 5e-5);
}

#[test]
fn disagreement_orders_barbell_and_tree() {
    let disagreement = |topology| spectrum(&overlay(topology, 9), &Weights::default()).disagreement;
    assert_close(
        disagreement(Topology::Barbell(Barbell { m1: 3, m2: 3 })),
        14.24,
        5e-3,
    );
    // Three children of the root, the leaves spread over them as 2, 2 and 1.
    let tree = [
        (0, 1),
        (0, 2),
        (0, 3),
        (1, 4),
        (1, 5),
        (2, 6),
        (2, 7),
        (3, 8),
    ];
    assert_close(disagreement(edges(&tree)), 14.53, 5e-3);
}

#[test]
fn eigenvalues_of_the_ring_are_cosines() {
    for nodes in [3, 4, 9, 10, 201, 400] {
        let found = spectrum(&ring(nodes), &Weights::default())
            .eigenvalues
            .unwrap();
        let mut expected: Vec<f64> = (0..nodes)
            .map(|k| (1.0 + 2.0 * (2.0 * PI * k as f64 / nodes as f64).cos()) / 3.0)
            .collect();
        expected.sort_by(|a, b| b.total_cmp(a));
        for (found, expected) in found.iter().zip(&expected) {
            assert_close(*found, *expected, 1e-12);
        }
    }
}

#[test]
fn eigenvalues_of_the_path_are_cosines() {
    let nodes = 12;
    let found = spectrum(
        &overlay(Topology::Path(Path {}), nodes),
        &Weights::MaxDegree(MaxDegree {}),
    );
    for (k, value) in found.eigenvalues.unwrap().iter().enumerate() {
        assert_close(
            *value,
            1.0 - (2.0 - 2.0 * (PI * k as f64 / nodes as f64).cos()) / 3.0,
            1e-13,
        );
    }
    assert_close(found.kappa, (PI / 24.0).tan().powi(-2), 1e-9);
}

#[test]
fn eigenvalues_of_the_torus_are_sums_of_cosines() {
    let found = spectrum(
        &overlay(Topology::Torus(Torus::default()), 30),
        &Weights::default(),
    );
    let cosine = |k: usize, side: usize| (2.0 * PI * k as f64 / side as f64).cos();
    let mut expected: Vec<f64> = (0..5)
        .flat_map(|i| (0..6).map(move |j| (1.0 + 2.0 * cosine(i, 5) + 2.0 * cosine(j, 6)) / 5.0))
        .collect();
    expected.sort_by(|a, b| b.total_cmp(a));
    for (found, expected) in found.eigenvalues.unwrap().iter().zip(&expected) {
        assert_close(*found, *expected, 1e-13);
    }
}

#[test]
fn the_complete_overlay_mixes_at_once() {
    for weights in [
        Weights::default(),
        Weights::Uniform(Uniform {}),
        Weights::Laplacian(Laplacian::default()),
    ] {
        let complete = overlay(Topology::Complete(Complete {}), 7);
        let found = spectrum(&complete, &weights);
        assert_eq!(
            (
                found.lambda,
                found.gap,
                found.p,
                found.disagreement,
                found.c_lambda
            ),
            (0.0, 1.0, 1.0, 0.0, 0.0)
        );
        assert_eq!(
            (found.kappa, found.theta, found.lambda_walk),
            (1.0, 1.0, 0.5)
        );
        assert_eq!(
            found.eigenvalues,
            Some(vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        );
    }
}

#[test]
fn a_given_theta_on_the_complete_overlay_has_its_closed_form() {
    let complete = overlay(Topology::Complete(Complete {}), 6);
    let found = spectrum(
        &complete,
        &Weights::Laplacian(Laplacian { theta: Some(0.5) }),
    );
    assert_close(found.lambda2, 1.0 - 2.0 / 1.5, 1e-14);
    assert_close(found.lambda, 1.0 / 3.0, 1e-14);
}

#[test]
fn laplacian_weights_balance_both_ends() {
    let cases = [
        (Topology::Star(Star {}), 9, 8.0 / 10.0),
        (Topology::Path(Path {}), 4, 0.5_f64.sqrt()),
        (Topology::Torus(Torus::default()), 9, 1.0 / 3.0),
    ];
    for (topology, nodes, expected) in cases {
        let found = spectrum(
            &overlay(topology, nodes),
            &Weights::Laplacian(Laplacian::default()),
        );
        assert_close(found.lambda, expected, 1e-12);
        assert_close(
            found.lambda,
            (found.kappa - 1.0) / (found.kappa + 1.0),
            1e-12,
        );
    }
}

#[test]
fn uniform_weights_on_irregular_overlays_have_real_eigenvalues_and_their_own_norm() {
    let star = overlay(Topology::Star(Star {}), 4);
    let found = spectrum(&star, &Weights::Uniform(Uniform {}));
    // Leaves alone: 1/2 three times less one; the rest of the trace 1/4 + 3/2 is -1/4.
    let expected = [1.0, 0.5, 0.5, -0.25];
    for (value, expected) in found.eigenvalues.unwrap().iter().zip(expected) {
        assert_close(*value, expected, 1e-14);
    }
    assert!(
        found.disagreement.is_nan(),
        "eigenvalues of W that is not symmetric do not give it"
    );
    // W - 11ᵀ/4 maps onto the two directions (centre, leaves), with the block [[0, 0], [√3/4, -1/4]] and 1/2 beside it;
    // that block's norm is √(3/16 + 1/16) = 1/2.
    assert_close(found.p, 1.0 - 0.25, 1e-12);
}

#[test]
fn a_symmetric_p_is_one_minus_lambda_squared_and_uniform_may_fall_below() {
    let irregular = overlay(Topology::Star(Star {}), 30);
    let metropolis = spectrum(&irregular, &Weights::default());
    assert_close(metropolis.p, 1.0 - metropolis.lambda.powi(2), 1e-15);
    let uniform = spectrum(&irregular, &Weights::Uniform(Uniform {}));
    assert!(uniform.p < 0.0 && uniform.lambda < 1.0, "{uniform:?}");
}

#[test]
fn doubly_stochastic_alone_gives_the_norm() {
    // Turning half of the way round a directed cycle: normal, with eigenvalues (1 + e^{2πik/n}) / 2.
    let nodes = 5_u32;
    let rows = (0..nodes)
        .map(|i| vec![(i, 0.5), ((i + 1) % nodes, 0.5)])
        .collect();
    let matrix = MixingMatrix::from_rows(5, rows).unwrap();
    let found = Spectrum::of(&ring(5), &Weights::default(), &matrix).unwrap();
    assert_close(found.lambda, (PI / 5.0).cos(), 1e-12);
    assert!(found.lambda2.is_nan() && found.eigenvalues.is_none());
}

#[test]
fn other_matrices_have_no_lambda() {
    let push = MixingMatrix::from_rows(
        3,
        vec![
            vec![(0, 1.0)],
            vec![(0, 0.5), (1, 0.5)],
            vec![(1, 0.5), (2, 0.5)],
        ],
    );
    let error = Spectrum::of(&ring(3), &Weights::default(), &push.unwrap()).unwrap_err();
    assert_eq!(error, TopologyError::NoLambda { nodes: 3 });
    let error =
        Spectrum::of(&ring(3), &Weights::default(), &MixingMatrix::identity(4)).unwrap_err();
    assert_eq!(
        error,
        TopologyError::SpectrumShape {
            rows: 4,
            columns: 4,
            nodes: 3
        }
    );
}

#[test]
fn one_node_and_two_components_are_the_extremes() {
    let single = overlay(Topology::Ring(Ring::default()), 1);
    for weights in [Weights::default(), Weights::Laplacian(Laplacian::default())] {
        let found = spectrum(&single, &weights);
        assert_eq!(
            (found.lambda, found.p, found.kappa, found.disagreement),
            (0.0, 1.0, 1.0, 0.0)
        );
    }
    let apart = Overlay::from_edges(4, [(0, 1), (2, 3)]).unwrap();
    for weights in [
        Weights::default(),
        Weights::Uniform(Uniform {}),
        Weights::Laplacian(Laplacian::default()),
    ] {
        let matrix = weights.matrix(&apart).unwrap();
        let (summary, found) = OverlaySummary::new(&apart, &weights, &matrix).unwrap();
        assert_eq!(
            (found.lambda, found.gap, found.kappa, found.theta),
            (1.0, 0.0, f64::INFINITY, 0.0)
        );
        assert_eq!(
            (summary.connected, summary.kappa, summary.c_lambda),
            (false, None, None)
        );
        assert_eq!((summary.disagreement, summary.edge_connectivity), (None, 0));
    }
}

#[test]
fn large_overlays_agree_with_closed_forms() {
    let cosine = |k: usize, n: usize| (2.0 * PI * k as f64 / n as f64).cos();
    for nodes in [2001, 30_000] {
        let found = spectrum(&ring(nodes), &Weights::default());
        assert_close(
            found.gap / ((2.0 - 2.0 * cosine(1, nodes)) / 3.0),
            1.0,
            1e-6,
        );
        assert_close(
            found.lambda_n,
            (1.0 + 2.0 * cosine(nodes / 2, nodes)) / 3.0,
            1e-8,
        );
        assert!(found.eigenvalues.is_none() && found.disagreement.is_nan());
    }
    let torus = spectrum(
        &overlay(Topology::Torus(Torus::default()), 10_000),
        &Weights::default(),
    );
    assert_close(torus.gap / ((2.0 - 2.0 * cosine(1, 100)) / 5.0), 1.0, 1e-6);
    assert_close(torus.lambda_n, -0.6, 1e-8);
    let star = spectrum(&overlay(Topology::Star(Star {}), 5000), &Weights::default());
    assert_close(star.lambda, 1.0 - 1.0 / 5000.0, 1e-12);
    assert_close(star.kappa, 5000.0, 1e-5);
}

#[test]
fn dense_and_iterative_routes_meet_at_their_border() {
    for topology in [
        Topology::Regular(Regular { degree: 6 }),
        Topology::ErdosRenyi(ErdosRenyi {
            p: Probability::Fixed(0.03),
        }),
    ] {
        let overlay = overlay(topology, 600);
        let weights = Weights::Uniform(Uniform {});
        let found = spectrum(&overlay, &weights);
        let matrix = weights.matrix(&overlay).unwrap();
        // Power iteration on the squared matrix, with the stationary mean taken out each time.
        let stationary = weights.stationary(&overlay);
        let mut vector: Vec<f64> = (0..600).map(|i| ((i * i) as f64).sin()).collect();
        let mut growth = 0.0;
        for _ in 0..3000 {
            let mean: f64 = vector
                .iter()
                .zip(&stationary)
                .map(|(value, share)| value * share)
                .sum();
            vector.iter_mut().for_each(|value| *value -= mean);
            let norm = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
            vector.iter_mut().for_each(|value| *value /= norm);
            vector = matrix.apply(&matrix.apply(&vector));
            growth = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
        }
        assert_close(growth.sqrt(), found.lambda, 1e-4);
    }
}

/// Zachary's karate club (1977), whose figures networkx 3 computes.
#[test]
fn the_karate_club_has_the_figures_that_networkx_finds() {
    #[rustfmt::skip]
    let club = [
        (0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (0, 6), (0, 7), (0, 8), (0, 10), (0, 11), (0, 12), (0, 13), (0, 17), (0, 19), (0, 21),
        (0, 31), (1, 2), (1, 3), (1, 7), (1, 13), (1, 17), (1, 19), (1, 21), (1, 30), (2, 3), (2, 7), (2, 8), (2, 9), (2, 13), (2, 27),
        (2, 28), (2, 32), (3, 7), (3, 12), (3, 13), (4, 6), (4, 10), (5, 6), (5, 10), (5, 16), (6, 16), (8, 30), (8, 32), (8, 33),
        (9, 33), (13, 33), (14, 32), (14, 33), (15, 32), (15, 33), (18, 32), (18, 33), (19, 33), (20, 32), (20, 33), (22, 32), (22, 33),
        (23, 25), (23, 27), (23, 29), (23, 32), (23, 33), (24, 25), (24, 27), (24, 31), (25, 31), (26, 29), (26, 33), (27, 33),
        (28, 31), (28, 33), (29, 32), (29, 33), (30, 32), (30, 33), (31, 32), (31, 33), (32, 33),
    ];
    let club = overlay(edges(&club), 34);
    let weights = Weights::Laplacian(Laplacian::default());
    let matrix = weights.matrix(&club).unwrap();
    let (summary, _) = OverlaySummary::new(&club, &weights, &matrix).unwrap();
    assert_eq!(summary.diameter, Some(5));
    assert_close(summary.mean_distance.unwrap(), 2.408199643493761, 1e-12);
    assert_close(summary.clustering.unwrap(), 0.5706384782076823, 1e-12);
    assert_close(summary.assortativity.unwrap(), -0.47561309768461413, 1e-12);
    let apart = Overlay::from_edges(5, [(0, 1), (2, 3)]).unwrap();
    let matrix = weights.matrix(&apart).unwrap();
    let (summary, _) = OverlaySummary::new(&apart, &weights, &matrix).unwrap();
    assert_eq!((summary.diameter, summary.mean_distance), (None, None));
    assert_eq!(
        (summary.clustering, summary.assortativity),
        (Some(0.0), None)
    );
}
