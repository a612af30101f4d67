//! P-FedAvg's Table III: overlays of servers compared.
//!
//! The table has p, which is [`Spectrum::p`] under `metropolis_hastings` weights, the disconnection tolerance, which is
//! [`Overlay::edge_connectivity`], less one if it is to be the links that may be lost at will, and two columns of traffic.
//!
//! Of the values of p that Section VII-B.1 gives for nine servers, 1.0, 0.84, 0.29 and 0.08 are those of the complete
//! overlay, the 3x3 torus, the ring (.2876) and the barbell (.0783). Its 0.12 for the balanced tree is not reached: the
//! binary tree of nine nodes has .0894 and the ternary .1018; the tree with edges 0-1 0-2 0-3 1-4 1-5 2-6 2-7 3-8, whose
//! root has three children, comes closest to it with .1295.

#![allow(clippy::unwrap_used)]

use meshfold_topology::{
    BalancedTree, Barbell, Complete, Overlay, Ring, Spectrum, Topology, Torus, Weights,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Four clients of each of nine servers take part, as in the paper's experiments.
const CLIENTS: usize = 4;

fn overlay(topology: Topology, servers: usize) -> Overlay {
    topology
        .build(servers, &mut ChaCha8Rng::seed_from_u64(1))
        .unwrap()
}

/// The tree whose p comes closest to the 0.12 of Section VII-B.1.
fn tree_of_three() -> Overlay {
    let edges = [
        (0, 1),
        (0, 2),
        (0, 3),
        (1, 4),
        (1, 5),
        (2, 6),
        (2, 7),
        (3, 8),
    ];
    Overlay::from_edges(9, edges).unwrap()
}

/// The columns "Peak" and "Total" of Tables II and III, in models: what the busiest server sends and receives in a round,
/// `max_i 2 (K_i + d_i)` for `K_i` clients that take part and `d_i` neighbours, and what all servers and clients send,
/// `2 K + ‖L - I‖₀`. `participants` is `[M]`, the `K_i`.
fn traffic_of(overlay: &Overlay, participants: &[usize]) -> (usize, usize) {
    let of_server = |(server, clients): (usize, &usize)| 2 * (clients + overlay.degree(server));
    let peak = participants.iter().enumerate().map(of_server).max();
    let total = 2 * (participants.iter().sum::<usize>() + overlay.edge_count());
    (peak.unwrap(), total)
}

/// Peak and total traffic of four clients per server.
fn traffic(overlay: &Overlay) -> (usize, usize) {
    traffic_of(overlay, &vec![CLIENTS; overlay.nodes()])
}

#[test]
fn traffic_follows_the_formulas_of_the_table() {
    for side in [3, 4, 6] {
        let (servers, clients) = (side * side, CLIENTS * side * side);
        let found = |topology| traffic(&overlay(topology, servers));
        assert_eq!(
            found(Topology::Complete(Complete {})),
            (
                2 * (CLIENTS + servers - 1),
                2 * (clients + servers * (servers - 1) / 2)
            )
        );
        assert_eq!(
            found(Topology::Torus(Torus::default())),
            (2 * (CLIENTS + 4), 2 * (clients + 2 * servers))
        );
        assert_eq!(
            found(Topology::BalancedTree(BalancedTree { branching: 2 })),
            (2 * (CLIENTS + 3), 2 * (clients + servers - 1))
        );
        assert_eq!(
            found(Topology::Ring(Ring::default())),
            (2 * (CLIENTS + 2), 2 * (clients + servers))
        );
        let (m1, m2) = (side, servers - 2 * side);
        assert_eq!(
            found(Topology::Barbell(Barbell { m1, m2 })),
            (2 * (CLIENTS + m1), 2 * (clients + m1 * (m1 - 1) + m2 + 1))
        );
    }
}

#[test]
fn nine_servers_with_four_clients_each_send_these_models() {
    let complete = overlay(Topology::Complete(Complete {}), 9);
    assert_eq!(traffic(&complete), (24, 144));
    assert_eq!(traffic(&tree_of_three()), (14, 88));
    // A server alone is FedAvg, 2 K in all and at its peak.
    let single = overlay(Topology::Ring(Ring::default()), 1);
    assert_eq!(traffic_of(&single, &[36]), (72, 72));
}

#[test]
fn the_peak_is_at_the_busiest_server() {
    let tree = tree_of_three();
    let mut participants = [4; 9];
    participants[8] = 10;
    assert_eq!(traffic_of(&tree, &participants), (22, 100));
}

#[test]
fn disconnection_tolerance_is_that_of_the_table() {
    for (overlay, expected) in [
        (overlay(Topology::Complete(Complete {}), 9), 8),
        (overlay(Topology::Torus(Torus::default()), 9), 4),
        (
            overlay(Topology::BalancedTree(BalancedTree::default()), 9),
            1,
        ),
        (tree_of_three(), 1),
        (overlay(Topology::Ring(Ring::default()), 9), 2),
        (overlay(Topology::Barbell(Barbell { m1: 3, m2: 3 }), 9), 1),
    ] {
        assert_eq!(overlay.edge_connectivity(), expected);
    }
}

#[test]
fn p_rounds_to_the_printed_values_but_for_the_tree() {
    let p = |overlay: &Overlay| {
        let weights = Weights::default();
        let matrix = weights.matrix(overlay).unwrap();
        Spectrum::of(overlay, &weights, &matrix).unwrap().p
    };
    let printed = |p: f64| (p * 100.0).round() / 100.0;
    for (topology, expected) in [
        (Topology::Complete(Complete {}), 1.0),
        (Topology::Torus(Torus::default()), 0.84),
        (Topology::Ring(Ring::default()), 0.29),
        (Topology::Barbell(Barbell { m1: 3, m2: 3 }), 0.08),
    ] {
        assert_eq!(printed(p(&overlay(topology, 9))), expected);
    }
    // The paper says 0.12.
    for (tree, expected) in [
        (
            overlay(Topology::BalancedTree(BalancedTree { branching: 2 }), 9),
            0.09,
        ),
        (
            overlay(Topology::BalancedTree(BalancedTree { branching: 3 }), 9),
            0.10,
        ),
        (tree_of_three(), 0.13),
    ] {
        assert_eq!(printed(p(&tree)), expected);
    }
}
