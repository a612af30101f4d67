//! Fastest weights against values from other solvers and closed forms.

#![allow(clippy::unwrap_used)]

use meshfold_topology::{
    Barbell, ErdosRenyi, Fastest, Form, MixingMatrix, Overlay, Path, Probability, Regular, Ring,
    Spectrum, Star, Topology, TopologyError, Torus, Weights,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::time::Instant;

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
        ("ring of 9", overlay(Topology::Ring(Ring::default()), 9), 0.784_735),
        ("ring of 10", overlay(Topology::Ring(Ring::default()), 10), 0.825_665),
        ("3x3 torus", overlay(Topology::Torus(Torus::default()), 9), 1.0 / 3.0),
        ("path of 4", overlay(Topology::Path(Path {}), 4), 0.5_f64.sqrt()),
        ("petersen", petersen(), 3.0 / 7.0),
        ("star of 9", overlay(Topology::Star(Star {}), 9), 0.875),
        ("barbell", overlay(Topology::Barbell(Barbell { m1: 3, m2: 3 }), 9), 0.936_642),
    ] {
        let (matrix, lambda) = fastest(&overlay, true);
        assert!((lambda - expected).abs() < ACCURACY, "{name}: {lambda} {expected}");
        assert!(matrix.min_self_weight() >= 0.0, "{name}");
        let least = (0..overlay.nodes()).flat_map(|i| matrix.row(i)).map(|(_, weight)| weight);
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
fn time_one_hundred_nodes() {
    for topology in [
        Topology::Regular(Regular { degree: 3 }),
        Topology::Ring(Ring::default()),
        Topology::Path(Path {}),
        Topology::Star(Star {}),
        Topology::Barbell(Barbell { m1: 40, m2: 20 }),
        Topology::ErdosRenyi(ErdosRenyi { p: Probability::Fixed(0.1) }),
        Topology::ErdosRenyi(ErdosRenyi { p: Probability::Fixed(0.5) }),
    ] {
        for nonnegative in [true, false] {
        let overlay = overlay(topology.clone(), 100);
        let clock = Instant::now();
        let weights = Weights::Fastest(Fastest { nonnegative });
        match weights.matrix(&overlay) {
            Ok(m) => println!("{} {} edges {:?}, lambda {}", topology.label(), overlay.edge_count(), clock.elapsed(), Spectrum::of(&overlay, &weights, &m).unwrap().lambda),
            Err(e) => println!("{} {:?} {e}", topology.label(), clock.elapsed()),
        }
        }
    }
}
