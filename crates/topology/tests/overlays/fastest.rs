//! Fastest weights against values from other solvers and closed forms.

use meshfold_topology::{
    Barbell, Complete, ErdosRenyi, Fastest, Form, Laplacian, MixingMatrix, Overlay, Path,
    Probability, Regular, Ring, Spectrum, Star, Topology, TopologyError, Torus, Weights,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The accuracy that is proved, and what rounding adds.
const ACCURACY: f64 = 1.1e-5;

fn overlay(topology: Topology, nodes: usize) -> Overlay {
    topology
        .build(nodes, &mut ChaCha8Rng::seed_from_u64(1))
        .unwrap()
}

fn fastest(overlay: &Overlay, nonnegative: bool) -> (MixingMatrix, f64) {
    let weights = Weights::Fastest(Fastest { nonnegative });
    let matrix = weights.matrix(overlay).unwrap();
    assert!(matrix.is_symmetric(0.0) && matrix.is_doubly_stochastic(1e-14));
    let lambda = Spectrum::of(overlay, &weights, &matrix).unwrap().lambda;
    (matrix, lambda)
}

fn petersen() -> Overlay {
    let spokes = (0..5).flat_map(|i| [(i, (i + 1) % 5), (i, i + 5), (i + 5, (i + 2) % 5 + 5)]);
    Overlay::from_edges(10, spokes).unwrap()
}

#[test]
fn fastest_weights_reach_the_known_optima() {
    for (name, overlay, expected) in [
        (
            "ring of 9",
            overlay(Topology::Ring(Ring::default()), 9),
            0.784_735,
        ),
        (
            "ring of 10",
            overlay(Topology::Ring(Ring::default()), 10),
            0.825_665,
        ),
        (
            "3x3 torus",
            overlay(Topology::Torus(Torus::default()), 9),
            1.0 / 3.0,
        ),
        (
            "path of 4",
            overlay(Topology::Path(Path {}), 4),
            0.5_f64.sqrt(),
        ),
        ("petersen", petersen(), 3.0 / 7.0),
        ("star of 9", overlay(Topology::Star(Star {}), 9), 0.875),
        (
            "barbell",
            overlay(Topology::Barbell(Barbell { m1: 3, m2: 3 }), 9),
            0.936_642,
        ),
    ] {
        let (matrix, lambda) = fastest(&overlay, true);
        assert!(
            (lambda - expected).abs() < ACCURACY,
            "{name}: {lambda} {expected}"
        );
        assert!(matrix.min_self_weight() >= 0.0, "{name}");
        let least = (0..overlay.nodes())
            .flat_map(|i| matrix.row(i))
            .map(|(_, weight)| weight);
        assert!(least.fold(1.0, f64::min) >= 0.0, "{name}");
    }
}

#[test]
fn without_signs_edge_transitive_overlays_have_their_laplacian_optimum() {
    // Xiao and Boyd, Section 3: where all edges are alike the best weights are equal, and the free optimum
    // (κ - 1) / (κ + 1) of `laplacian`; on a star the centre's own weight is then negative.
    let star = overlay(Topology::Star(Star {}), 9);
    let (matrix, lambda) = fastest(&star, false);
    assert!((lambda - 0.8).abs() < ACCURACY, "{lambda}");
    assert!(matrix.min_self_weight() < 0.0);
    let (_, lambda) = fastest(&petersen(), false);
    assert!((lambda - 3.0 / 7.0).abs() < ACCURACY, "{lambda}");
}

#[test]
fn one_hundred_nodes_are_no_matter() {
    for (topology, nonnegative) in [
        (Topology::Regular(Regular { degree: 3 }), true),
        (Topology::Path(Path {}), false),
        (
            Topology::ErdosRenyi(ErdosRenyi {
                p: Probability::Log,
            }),
            true,
        ),
    ] {
        let overlay = overlay(topology.clone(), 100);
        let (_, lambda) = fastest(&overlay, nonnegative);
        let laplacian = Weights::Laplacian(Laplacian::default());
        let matrix = laplacian.matrix(&overlay).unwrap();
        let equal = Spectrum::of(&overlay, &laplacian, &matrix).unwrap().lambda;
        let label = topology.label();
        if nonnegative {
            assert!(lambda < equal, "{label}: {lambda} {equal}");
        } else {
            // On a path equal weights are the best: Boyd, Diaconis, Sun and Xiao (2006).
            assert!(
                (lambda - equal).abs() < ACCURACY,
                "{label}: {lambda} {equal}"
            );
        }
    }
}

#[test]
fn long_paths_are_near_in_their_small_gap() {
    let (_, lambda) = fastest(&overlay(Topology::Path(Path {}), 60), true);
    let gap = 1.0 - (std::f64::consts::PI / 60.0).cos();
    assert!(((1.0 - lambda) / gap - 1.0).abs() < 0.011, "{lambda}");
}

#[test]
fn few_nodes_and_complete_overlays_average_at_once() {
    for nodes in [1, 2, 3, 7] {
        let complete = overlay(Topology::Complete(Complete {}), nodes);
        for nonnegative in [true, false] {
            let (matrix, lambda) = fastest(&complete, nonnegative);
            let shares = vec![1.0 / nodes as f64; nodes];
            assert_eq!(matrix.form(), Form::Average(&shares));
            assert_eq!(lambda, 0.0);
        }
    }
}

#[test]
fn each_component_mixes_as_if_alone() {
    // A path of four, a pair and a node alone.
    let apart = Overlay::from_edges(7, [(0, 2), (2, 4), (4, 6), (1, 5)]).unwrap();
    let (matrix, lambda) = fastest(&apart, true);
    assert_eq!(lambda, 1.0);
    assert_eq!(matrix.row(3).collect::<Vec<_>>(), [(3, 1.0)]);
    assert_eq!(matrix.row(1).collect::<Vec<_>>(), [(1, 0.5), (5, 0.5)]);
    let path = overlay(Topology::Path(Path {}), 4);
    let (alone, _) = fastest(&path, true);
    for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (i, j))) {
        assert_eq!(matrix.weight(2 * i, 2 * j), alone.weight(i, j));
    }
}

#[test]
fn one_edge_less_than_complete_has_its_closed_form() {
    // W_ab = 0 puts the block [[x, -1/9], [-1/9, x]] into W - 11ᵀ/9; symmetry leaves weights u on the 14 edges of a and
    // b and v on the others. a against b has the eigenvalue 1 - 7u, a and b together against the rest 1 - 9u: u = 1/8
    // makes them opposite, and v puts the rest between.
    let edges = (0..9).flat_map(|b| (0..b).map(move |a| (a, b)));
    let overlay = Overlay::from_edges(9, edges.filter(|&edge| edge != (7, 8))).unwrap();
    for nonnegative in [true, false] {
        let (_, lambda) = fastest(&overlay, nonnegative);
        assert!((lambda - 0.125).abs() < ACCURACY, "{lambda}");
    }
}

#[test]
fn overlays_that_are_too_large_are_refused() {
    let weights = Weights::Fastest(Fastest::default());
    let error = weights
        .matrix(&overlay(Topology::Ring(Ring::default()), 501))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "fastest: a component of 501 nodes and 501 edges exceeds 500 nodes or 5000 edges; \
         use laplacian (the best of equal weights) or metropolis_hastings"
    );
    let many = overlay(Topology::Regular(Regular { degree: 41 }), 250);
    assert!(matches!(
        weights.matrix(&many),
        Err(TopologyError::FastestSize { edges: 5125, .. })
    ));
    // Equal weights need no search, however many nodes there are.
    let complete = overlay(Topology::Complete(Complete {}), 501);
    weights.matrix(&complete).unwrap();
}
