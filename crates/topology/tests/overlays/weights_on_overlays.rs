//! What must hold for all weights on all overlays.

use meshfold_topology::{
    BalancedTree, Barbell, ByExamples, Complete, Edges, ErdosRenyi, Exponential, Fastest, Grid,
    Laplacian, MaxDegree, MetropolisHastings, Overlay, OverlaySummary, Path, Probability, Random,
    Regular, Ring, RingPlusMatching, Spectrum, Star, Topology, TopologyError, Torus, Uniform,
    VirtualRings, WattsStrogatz, Weights,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn topologies() -> [Topology; 17] {
    let pairs = (1..24).map(|node| (node / 3, node)).collect();
    [
        Topology::Path(Path {}),
        Topology::Ring(Ring::default()),
        Topology::Ring(Ring { hops: 3 }),
        Topology::Grid(Grid::default()),
        Topology::Torus(Torus::default()),
        Topology::Complete(Complete {}),
        Topology::Star(Star {}),
        Topology::BalancedTree(BalancedTree::default()),
        Topology::Barbell(Barbell { m1: 9, m2: 6 }),
        Topology::ErdosRenyi(ErdosRenyi {
            p: Probability::Fixed(0.3),
        }),
        Topology::ErdosRenyi(ErdosRenyi {
            p: Probability::Log,
        }),
        Topology::Regular(Regular { degree: 5 }),
        Topology::RingPlusMatching(RingPlusMatching {}),
        Topology::VirtualRings(VirtualRings { spaces: 2 }),
        Topology::Exponential(Exponential::default()),
        Topology::WattsStrogatz(WattsStrogatz {
            neighbours: 4,
            rewire: 0.2,
        }),
        Topology::Edges(Edges {
            file: "tree.edges".into(),
            sha256: None,
            pairs,
        }),
    ]
}

fn all_weights() -> [Weights; 9] {
    [
        Weights::MetropolisHastings(MetropolisHastings {}),
        Weights::MaxDegree(MaxDegree {}),
        Weights::Laplacian(Laplacian::default()),
        Weights::Laplacian(Laplacian { theta: Some(0.3) }),
        Weights::Uniform(Uniform {}),
        Weights::ByExamples(ByExamples {}),
        Weights::Random(Random {}),
        Weights::Fastest(Fastest::default()),
        Weights::Fastest(Fastest { nonnegative: false }),
    ]
}

/// 24 nodes that hold from 7 to 168 examples.
fn build(topology: &Topology) -> Overlay {
    let overlay = topology
        .build(24, &mut ChaCha8Rng::seed_from_u64(5))
        .unwrap();
    overlay
        .with_examples((1..=24).map(|node| node * 7).collect())
        .unwrap()
}

/// Whether only the mean of shares of their own is kept.
fn keeps_its_own_mean(weights: &Weights) -> bool {
    matches!(weights, Weights::Uniform(_) | Weights::ByExamples(_))
}

/// Whether a node may keep nothing of its model, or less.
fn may_give_all_away(weights: &Weights) -> bool {
    matches!(
        weights,
        Weights::Laplacian(_) | Weights::Random(_) | Weights::Fastest(_)
    )
}

#[test]
fn overlays_are_simple_connected_and_symmetric() {
    for topology in topologies() {
        let overlay = topology
            .build(24, &mut ChaCha8Rng::seed_from_u64(5))
            .unwrap();
        let label = topology.label();
        assert_eq!(overlay.nodes(), 24, "{label}");
        assert!(overlay.is_connected(), "{label}");
        for node in 0..24 {
            let neighbours = overlay.neighbours(node);
            assert!(neighbours.iter().is_sorted_by(|a, b| a < b), "{label}");
            assert!(
                neighbours
                    .iter()
                    .all(|&other| overlay.neighbours(other as usize).contains(&(node as u32)))
            );
            assert!(!neighbours.contains(&(node as u32)), "{label}");
        }
        let degrees: usize = (0..24).map(|node| overlay.degree(node)).sum();
        assert_eq!(
            (degrees, overlay.edges().count()),
            (2 * overlay.edge_count(), overlay.edge_count()),
            "{label}"
        );
        assert_eq!(
            overlay.degree_histogram().iter().sum::<usize>(),
            24,
            "{label}"
        );
        let least = (0..24).map(|node| overlay.degree(node)).min().unwrap();
        assert!(
            (1..=least).contains(&overlay.edge_connectivity()),
            "{label}"
        );
    }
}

#[test]
fn symmetric_weights_are_doubly_stochastic_and_the_others_keep_their_own_mean() {
    let values: Vec<f64> = (0..24).map(|i| (i as f64).cos() * 10.0).collect();
    for topology in topologies() {
        let overlay = build(&topology);
        for weights in all_weights() {
            let label = format!("{} {}", topology.label(), weights.label());
            let matrix = weights.matrix(&overlay).unwrap();
            assert!(matrix.is_row_stochastic(1e-12), "{label}");
            if !keeps_its_own_mean(&weights) {
                assert!(
                    matrix.is_symmetric(1e-15) && matrix.is_doubly_stochastic(1e-12),
                    "{label}"
                );
            }
            if !may_give_all_away(&weights) {
                assert!(matrix.min_self_weight() > 0.0, "{label}");
            }
            let linked = |i: usize, j: u32| i == j as usize || overlay.neighbours(i).contains(&j);
            assert!(
                (0..24).all(|i| matrix.row(i).all(|(j, _)| linked(i, j))),
                "{label}"
            );
            let stationary = weights.stationary(&overlay);
            let mean = |values: &[f64]| -> f64 {
                values
                    .iter()
                    .zip(&stationary)
                    .map(|(x, share)| x * share)
                    .sum()
            };
            assert!(
                (mean(&values) - mean(&matrix.apply(&values))).abs() < 1e-12,
                "{label}"
            );
        }
    }
}

#[test]
fn every_connected_overlay_mixes() {
    for topology in topologies() {
        let overlay = build(&topology);
        for weights in all_weights() {
            let matrix = weights.matrix(&overlay).unwrap();
            let spectrum = Spectrum::of(&overlay, &weights, &matrix).unwrap();
            let label = format!("{} {}", topology.label(), weights.label());
            assert!(spectrum.lambda < 1.0 - 1e-4, "{label}: {}", spectrum.lambda);
            assert!(spectrum.kappa >= 1.0 && spectrum.theta <= 1.0, "{label}");
            let values = spectrum.eigenvalues.as_ref().unwrap();
            assert_eq!((values.len(), values[0]), (24, 1.0), "{label}");
            assert!(values.is_sorted_by(|a, b| a >= b), "{label}");
            let trace: f64 = (0..24).map(|i| matrix.weight(i, i)).sum();
            assert!(
                (values.iter().sum::<f64>() - trace).abs() < 1e-11,
                "{label}"
            );
            assert_eq!(
                (values[1], values[23]),
                (spectrum.lambda2, spectrum.lambda_n),
                "{label}"
            );
        }
    }
}

#[test]
fn labels_name_the_parameters() {
    let labels: Vec<String> = topologies().iter().map(Topology::label).collect();
    assert_eq!(
        labels,
        [
            "path",
            "ring",
            "ring hops=3",
            "grid",
            "torus",
            "complete",
            "star",
            "balanced_tree branching=2",
            "barbell m1=9 m2=6",
            "erdos_renyi p=0.3",
            "erdos_renyi p=log",
            "5-regular",
            "ring_plus_matching",
            "virtual_rings spaces=2",
            "exponential",
            "watts_strogatz neighbours=4 rewire=0.2",
            "edges tree.edges",
        ]
    );
}

#[test]
fn disconnected_edges_are_refused() {
    let pairs = vec![(0, 1), (2, 3)];
    let topology = Topology::Edges(Edges {
        file: "two.edges".into(),
        sha256: None,
        pairs,
    });
    let error = topology
        .build(5, &mut ChaCha8Rng::seed_from_u64(1))
        .unwrap_err();
    let expected = TopologyError::Disconnected {
        topology: "edges two.edges".to_owned(),
        nodes: 5,
        components: 3,
    };
    assert_eq!(error, expected);
    let message = "edges two.edges: 5 nodes fall into 3 components, an overlay must be connected";
    assert_eq!(error.to_string(), message);
    for topology in topologies() {
        assert_eq!(
            topology
                .build(0, &mut ChaCha8Rng::seed_from_u64(1))
                .unwrap_err(),
            TopologyError::NoNodes
        );
    }
}

#[test]
fn the_fastest_weights_are_faster_than_all_symmetric_ones() {
    for topology in topologies() {
        let overlay = build(&topology);
        let norm = |weights: &Weights| {
            let matrix = weights.matrix(&overlay).unwrap();
            let (summary, spectrum) = OverlaySummary::new(&overlay, weights, &matrix).unwrap();
            (summary.min_self_weight, (1.0 - spectrum.p).sqrt())
        };
        let (least, fastest) = norm(&Weights::Fastest(Fastest::default()));
        let (_, free) = norm(&Weights::Fastest(Fastest { nonnegative: false }));
        assert!(
            least >= 0.0 && free < fastest + 1e-5,
            "{}",
            topology.label()
        );
        for weights in all_weights() {
            if keeps_its_own_mean(&weights) {
                continue;
            }
            let (least, other) = norm(&weights);
            let best = if least >= 0.0 { fastest } else { free };
            let label = format!("{} {}", topology.label(), weights.label());
            assert!(best < other + 1.1e-5, "{label}: {best} {other}");
        }
    }
}
