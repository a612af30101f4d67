//! Random overlays from a fixed seed. A change here changes every experiment: mark it "value-breaking" in the CHANGELOG.

use meshfold_topology::{
    BarabasiAlbert, DCliques, ErdosRenyi, Failures, HistogramNoise, InterClique, Leaders, Members,
    Nodes, NoiseScale, Outside, Overlay, Probability, Random, RandomGeometric, RandomWaypoint,
    Redraw, Regular, Ring, RingPlusMatching, SmallWorld, StochasticBlock, Topology, VirtualRings,
    WattsStrogatz, Weights,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The edges as text, such as `0-1 0-5`.
fn edges<'a>(topology: Topology, nodes: impl Into<Nodes<'a>>) -> String {
    let overlay = topology
        .build(nodes, &mut ChaCha8Rng::seed_from_u64(2024))
        .unwrap();
    overlay
        .edges()
        .map(|(a, b)| format!("{a}-{b}"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn erdos_renyi_keeps_its_values() {
    let sparse = edges(
        Topology::ErdosRenyi(ErdosRenyi {
            p: Probability::Log,
        }),
        10,
    );
    assert_eq!(
        sparse,
        "0-5 0-8 0-9 1-3 2-3 2-6 2-8 4-5 4-6 4-7 5-6 5-8 5-9"
    );
    let dense = edges(
        Topology::ErdosRenyi(ErdosRenyi {
            p: Probability::Fixed(0.7),
        }),
        7,
    );
    assert_eq!(
        dense,
        "0-1 0-4 0-6 1-2 1-3 1-4 1-5 2-3 2-4 2-6 3-5 3-6 4-5 5-6"
    );
}

#[test]
fn regular_keeps_its_values() {
    assert_eq!(
        edges(Topology::Regular(Regular { degree: 2 }), 8),
        "0-5 0-7 1-2 1-4 2-7 3-5 3-6 4-6"
    );
    assert_eq!(
        edges(Topology::Regular(Regular { degree: 3 }), 10),
        "0-4 0-6 0-8 1-2 1-5 1-7 2-3 2-9 3-8 3-9 4-5 4-6 5-8 6-7 7-9"
    );
    assert_eq!(
        edges(Topology::Regular(Regular { degree: 5 }), 12),
        "0-1 0-2 0-5 0-7 0-8 1-3 1-4 1-7 1-8 2-7 2-8 2-9 2-11 3-8 3-9 3-10 3-11 4-5 4-6 4-7 4-8 5-6 5-9 5-11 6-9 6-10 6-11 7-10 9-10 10-11"
    );
    assert_eq!(
        edges(Topology::Regular(Regular { degree: 5 }), 8),
        "0-1 0-4 0-5 0-6 0-7 1-2 1-3 1-6 1-7 2-4 2-5 2-6 2-7 3-4 3-5 3-6 3-7 4-5 4-7 5-6"
    );
}

#[test]
fn ring_plus_matching_keeps_its_values() {
    assert_eq!(
        edges(Topology::RingPlusMatching(RingPlusMatching {}), 10),
        "0-1 0-3 0-9 1-2 1-9 2-3 2-7 3-4 4-5 4-6 5-6 5-8 6-7 7-8 8-9"
    );
}

#[test]
fn virtual_rings_keep_their_values() {
    assert_eq!(
        edges(Topology::VirtualRings(VirtualRings { spaces: 2 }), 9),
        "0-1 0-3 0-6 0-7 1-3 1-4 1-6 2-4 2-5 2-6 3-4 3-7 4-8 5-7 5-8 6-8 7-8"
    );
}

#[test]
fn watts_strogatz_keeps_its_values() {
    let topology = Topology::WattsStrogatz(WattsStrogatz {
        neighbours: 4,
        rewire: 0.3,
    });
    assert_eq!(
        edges(topology, 9),
        "0-2 0-6 0-7 1-2 1-3 1-8 2-3 2-4 2-6 3-5 3-6 3-7 3-8 4-5 4-6 5-6 5-7 7-8"
    );
}

#[test]
fn overlays_of_random_links_and_places_keep_their_values() {
    let topology = Topology::BarabasiAlbert(BarabasiAlbert { links: 2 });
    assert_eq!(
        edges(topology, 9),
        "0-1 0-2 0-3 0-4 2-3 2-4 2-6 2-7 2-8 3-5 4-5 4-7 5-6 7-8"
    );
    let topology = Topology::StochasticBlock(StochasticBlock {
        blocks: 3,
        within: 0.8,
        between: 0.1,
    });
    assert_eq!(
        edges(topology, 9),
        "0-1 0-6 1-2 1-3 1-6 2-4 3-4 3-5 4-5 4-7 6-7 6-8"
    );
    let topology = Topology::RandomGeometric(RandomGeometric { radius: 0.4 });
    assert_eq!(
        edges(topology, 9),
        "0-5 0-7 1-5 1-8 2-7 3-4 3-6 3-7 3-8 4-6 5-8 7-8"
    );
    let topology = Topology::RandomWaypoint(RandomWaypoint::new(0.4, 0.1, 0.0));
    assert_eq!(
        edges(topology, 9),
        "0-2 0-4 0-5 0-7 1-6 1-8 2-3 2-4 2-5 2-8 4-5 4-7 4-8 5-7 5-8 6-8"
    );
}

#[test]
fn drawn_members_keep_their_values() {
    let topology = Topology::Redraw(Redraw {
        every: 1,
        nodes: Members::Share(0.5),
        of: Box::new(Topology::ErdosRenyi(ErdosRenyi {
            p: Probability::Fixed(0.5),
        })),
        outside: Outside::Alone,
    });
    assert_eq!(
        edges(topology, 12),
        "1-5 1-8 1-9 1-11 5-8 5-9 5-11 7-9 8-9 9-11"
    );
}

#[test]
fn failures_keep_their_values() {
    let text = r#"[{"clients": {"share": 0.2}}, {"edges": {"share": 0.2}}]"#;
    let failures: Failures = serde_json::from_str(text).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let ring = Topology::Ring(Ring::default());
    let ring = ring.build(20, &mut rng).unwrap();
    let stream = |index, _| ChaCha8Rng::seed_from_u64(index as u64);
    let broken = failures.at(1, &ring, stream);
    let dead: Vec<usize> = (0..20).filter(|&node| !broken.alive[node]).collect();
    assert_eq!(dead, [9, 11, 12, 13]);
    assert_eq!(broken.lost_edges, [(0, 19), (6, 7), (8, 9), (17, 18)]);
}

#[test]
fn d_cliques_keep_their_values() {
    let label_counts: Vec<Vec<u64>> = (0..10).map(|i| vec![i, 10 - i, 5, i * i]).collect();
    let nodes = Nodes {
        count: 10,
        label_counts: &label_counts,
    };
    let edges = |d_cliques| edges(Topology::DCliques(d_cliques), nodes);
    assert_eq!(
        edges(DCliques::new(3)),
        "0-1 0-6 0-7 1-5 1-8 2-3 2-5 2-9 3-4 3-9 4-7 4-8 5-8 6-7 6-9"
    );
    assert_eq!(
        edges(DCliques {
            inter: InterClique::Fractal,
            ..DCliques::new(2)
        }),
        "0-8 1-8 1-9 2-7 2-9 3-4 3-6 4-5 6-7"
    );
    let small_world = DCliques {
        swaps: 20,
        inter: InterClique::SmallWorld(SmallWorld::default()),
        noise: Some(HistogramNoise {
            epsilon: 0.5,
            scale: NoiseScale::Mechanism,
        }),
        removed_edges: 1,
        ..DCliques::new(5)
    };
    assert_eq!(
        edges(small_world),
        "0-1 0-3 0-4 0-8 0-9 1-2 1-5 1-6 1-7 2-5 2-6 2-7 3-4 3-5 3-8 3-9 4-6 4-8 4-9 5-6 6-7 7-9"
    );
}

/// Of seven cliques, whose leaders know four others.
#[test]
fn cliques_of_leaders_keep_their_values() {
    let label_counts: Vec<Vec<u64>> = (0..14).map(|i| vec![i, 14 - i, i * i]).collect();
    let nodes = Nodes {
        count: 14,
        label_counts: &label_counts,
    };
    let d_cliques = DCliques {
        leaders: Some(Leaders {
            view: 4,
            ..Leaders::default()
        }),
        inter: InterClique::Ring,
        ..DCliques::new(2)
    };
    assert_eq!(
        edges(Topology::DCliques(d_cliques), nodes),
        "0-11 0-12 1-2 1-13 2-12 3-7 3-9 4-5 4-10 5-6 6-9 7-8 8-11 10-13"
    );
}

#[test]
fn random_weights_keep_their_values() {
    let path = Overlay::from_edges(4, [(0, 1), (1, 2), (2, 3)]).unwrap();
    let matrix = Weights::Random(Random {})
        .draw(&path, &mut ChaCha8Rng::seed_from_u64(2024))
        .unwrap();
    let weights: Vec<f64> = path
        .edges()
        .map(|(a, b)| matrix.weight(a as usize, b as usize))
        .collect();
    assert_eq!(
        weights,
        [0.10011994087017898, 0.5889458998551848, 0.41105410014481525]
    );
}
