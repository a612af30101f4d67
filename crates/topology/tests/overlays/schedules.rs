//! Overlays that change over time, against the papers.

use meshfold_own::OwnPart;
use meshfold_topology::{
    Edges, ErdosRenyi, GrowingUnion, MaxDegree, Members, MixingMatrix, OnePeer, Outside, Overlay,
    OverlaySummary, OwnWeights, Periodic, Phase, Phases, Probability, RandomMatching, Redraw,
    Regular, Ring, Snapshot, Topology, TopologyError, Uniform, Weights, column_stochastic,
    joint_lambda, rounds_to_connect,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

fn erdos_renyi(p: f64) -> Topology {
    Topology::ErdosRenyi(ErdosRenyi {
        p: Probability::Fixed(p),
    })
}

fn edges(pairs: &[(u32, u32)]) -> Topology {
    Topology::Edges(Edges {
        pairs: pairs.to_vec(),
        ..Edges::default()
    })
}

/// Whether all overlays together connect their nodes.
fn connect<'a>(overlays: impl Iterator<Item = &'a Overlay>, nodes: usize) -> bool {
    let mut union = GrowingUnion::new(nodes);
    overlays.for_each(|overlay| union.add(overlay));
    union.is_connected()
}

/// The overlay of a round, from a stream keyed by its draw.
fn at(topology: &Topology, round: usize, nodes: usize) -> Snapshot {
    let epoch = topology.epoch(round, nodes);
    let mut rng = ChaCha8Rng::seed_from_u64(100 + epoch.draw);
    epoch.build(nodes, &mut rng).unwrap()
}

fn members(snapshot: &Snapshot) -> Vec<usize> {
    let nodes = 0..snapshot.members.len();
    nodes.filter(|&node| snapshot.members[node]).collect()
}

/// `W_B ⋯ W_1`, column by column.
fn product(matrices: &[MixingMatrix]) -> Vec<Vec<f64>> {
    let nodes = matrices[0].rows();
    let mut entries = vec![vec![0.0; nodes]; nodes];
    for j in 0..nodes {
        let mut x = vec![0.0; nodes];
        x[j] = 1.0;
        let column = matrices.iter().fold(x, |x, matrix| matrix.apply(&x));
        (0..nodes).for_each(|i| entries[i][j] = column[i]);
    }
    entries
}

/// DeceFL's five steps; its nodes are numbered from 1.
fn five_steps() -> Topology {
    let first = edges(&[(2, 3), (3, 5), (5, 6)]);
    let second = edges(&[(0, 7), (7, 5), (5, 6)]);
    let third = edges(&[(0, 7), (7, 4), (4, 1)]);
    Topology::Periodic(Periodic {
        list: vec![first.clone(), second.clone(), third, second, first],
        outside: Outside::Alone,
    })
}

#[test]
fn five_steps_of_decefl_multiply_to_the_printed_matrix() {
    let printed = [
        [0.4815, 0.0, 0.0, 0.0370, 0.1111, 0.0370, 0.0370, 0.2963],
        [0.0, 0.6667, 0.0, 0.0, 0.3333, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.5556, 0.3333, 0.0, 0.1111, 0.0, 0.0],
        [0.0370, 0.0, 0.3333, 0.2510, 0.0370, 0.1770, 0.1029, 0.0617],
        [0.1111, 0.3333, 0.0, 0.0370, 0.3333, 0.0370, 0.0370, 0.1111],
        [0.0370, 0.0, 0.1111, 0.1770, 0.0370, 0.2757, 0.2634, 0.0988],
        [0.0370, 0.0, 0.0, 0.1029, 0.0370, 0.2634, 0.4239, 0.1358],
        [0.2963, 0.0, 0.0, 0.0617, 0.1111, 0.0988, 0.1358, 0.2963],
    ];
    let topology = five_steps();
    for weights in [Weights::MaxDegree(MaxDegree {}), Weights::default()] {
        let steps: Vec<Snapshot> = (1..=5).map(|round| at(&topology, round, 8)).collect();
        let matrices: Vec<MixingMatrix> = steps
            .iter()
            .map(|step| weights.matrix(&step.overlay).unwrap())
            .collect();
        let found = product(&matrices);
        for (i, row) in printed.iter().enumerate() {
            for (j, expected) in row.iter().enumerate() {
                // Printed to four decimals.
                assert!((found[i][j] - expected).abs() <= 0.5001e-4, "{i} {j}");
            }
        }
        let matrices: Vec<&MixingMatrix> = matrices.iter().collect();
        let lambda = joint_lambda(&matrices).unwrap();
        assert!(lambda > 0.5 && lambda < 1.0, "{lambda}");
        assert_eq!(joint_lambda(&matrices[..2]).unwrap().round(), 1.0);
    }
}

#[test]
fn five_steps_of_decefl_are_connected_only_together() {
    let topology = five_steps();
    assert_eq!(topology.period(8), Some(5));
    let steps: Vec<Snapshot> = (1..=5).map(|round| at(&topology, round, 8)).collect();
    assert_eq!(members(&steps[0]), [2, 3, 5, 6]);
    assert_eq!(members(&steps[1]), [0, 5, 6, 7]);
    assert_eq!(members(&steps[2]), [0, 1, 4, 7]);
    let overlays: Vec<&Overlay> = steps.iter().map(|step| &step.overlay).collect();
    assert!(overlays.iter().all(|overlay| !overlay.is_connected()));
    assert_eq!(rounds_to_connect(&overlays), Some(5));
    let draws: Vec<u64> = (1..=7).map(|t| topology.epoch(t, 8).draw).collect();
    assert_eq!(draws, [0, 1, 2, 3, 4, 0, 1]);
    let apart = Topology::Periodic(Periodic {
        list: vec![edges(&[(0, 1)]), edges(&[(2, 3)])],
        outside: Outside::Alone,
    });
    assert_eq!(apart.check(4), Ok(()), "that is for a plan to warn of");
    let steps: Vec<Snapshot> = (1..=2).map(|round| at(&apart, round, 4)).collect();
    assert_eq!(
        rounds_to_connect(&[&steps[0].overlay, &steps[1].overlay]),
        None
    );
}

/// DeceFL, SI 5.2.4.
fn six_eight_six() -> Topology {
    let phase = |rounds, nodes| Phase {
        rounds,
        nodes,
        of: erdos_renyi(0.5),
    };
    Topology::Phases(Phases {
        list: vec![
            phase(Some(300), Members::First(6)),
            phase(Some(300), Members::All),
            phase(None, Members::First(6)),
        ],
        outside: Outside::Alone,
    })
}

#[test]
fn two_nodes_join_and_leave() {
    let topology = six_eight_six();
    assert!(topology.varies());
    assert_eq!(topology.period(8), None);
    let draw = |round| topology.epoch(round, 8).draw;
    assert_eq!(
        [1, 300, 301, 600, 601, 100_000].map(draw),
        [0, 0, 1, 1, 2, 2]
    );
    for (round, count) in [(1, 6), (301, 8), (601, 6)] {
        let snapshot = at(&topology, round, 8);
        assert_eq!(members(&snapshot), (0..count).collect::<Vec<_>>());
        let components = snapshot.overlay.components();
        assert_eq!(components.len(), 1 + 8 - count);
        assert_eq!(components[0].len(), count);
        assert_eq!(snapshot.outside, Outside::Alone);
        let matrix = Weights::default().matrix(&snapshot.overlay).unwrap();
        assert!(matrix.is_doubly_stochastic(1e-12));
        for outside in count..8 {
            assert!(matrix.row(outside).eq([(outside as u32, 1.0)]));
        }
    }
    let edges = |round| at(&topology, round, 8).overlay.edges().collect::<Vec<_>>();
    assert_eq!(edges(1), edges(300));
    assert_ne!(edges(1), edges(601));
    let mut rng = ChaCha8Rng::seed_from_u64(100);
    let first: Vec<_> = topology.build(8, &mut rng).unwrap().edges().collect();
    assert_eq!(first, edges(1));
}

#[test]
fn half_of_the_nodes_mix_on_a_fresh_graph_each_round() {
    let topology = Topology::Redraw(Redraw {
        every: 1,
        nodes: Members::Share(0.5),
        of: Box::new(erdos_renyi(0.3)),
        outside: Outside::Frozen,
    });
    let rounds: Vec<Snapshot> = (1..=30).map(|round| at(&topology, round, 16)).collect();
    for snapshot in &rounds {
        let members = members(snapshot);
        assert_eq!(members.len(), 8);
        let components = snapshot.overlay.components();
        let linked = components.iter().find(|nodes| nodes.len() > 1).unwrap();
        assert!(linked.iter().map(|&node| node as usize).eq(members));
        assert_eq!(components.len(), 9);
        assert_eq!(snapshot.outside, Outside::Frozen);
    }
    for pair in rounds.windows(2) {
        assert_ne!(pair[0].members, pair[1].members);
    }
    let overlays = rounds.iter().map(|snapshot| &snapshot.overlay);
    assert!(connect(overlays, 16));
    assert_eq!(at(&topology, 4, 16).members, rounds[3].members);
}

#[test]
fn a_draw_lasts_as_many_rounds_as_it_says() {
    let topology = Topology::Redraw(Redraw {
        every: 3,
        nodes: Members::All,
        of: Box::new(Topology::Regular(Regular { degree: 3 })),
        outside: Outside::Alone,
    });
    let draws: Vec<u64> = (1..=7).map(|t| topology.epoch(t, 10).draw).collect();
    assert_eq!(draws, [0, 0, 0, 1, 1, 1, 2]);
    assert!(at(&topology, 7, 10).overlay.is_connected());
}

#[test]
fn what_does_not_change_is_one_epoch() {
    let topology = erdos_renyi(0.4);
    assert!(!topology.varies());
    assert_eq!(topology.period(12), Some(1));
    assert_eq!(topology.epoch(77, 12).draw, 0);
    let built = topology
        .build(12, &mut ChaCha8Rng::seed_from_u64(100))
        .unwrap();
    let snapshot = at(&topology, 5, 12);
    assert!(snapshot.overlay.edges().eq(built.edges()));
    assert_eq!(snapshot.members, [true; 12]);
}

#[test]
fn one_peer_takes_the_exact_average_of_a_power_of_two() {
    let topology = Topology::OnePeer(OnePeer {});
    for (nodes, rounds) in [(2, 1), (4, 2), (16, 4), (64, 6)] {
        assert_eq!(topology.period(nodes), Some(rounds));
        let overlays: Vec<Overlay> = (1..=rounds)
            .map(|round| at(&topology, round, nodes).overlay)
            .collect();
        let uniform = Weights::Uniform(Uniform {});
        let matrices = overlays.iter().map(|overlay| uniform.matrix(overlay));
        let matrices: Vec<MixingMatrix> = matrices.collect::<Result<_, _>>().unwrap();
        let average = 1.0 / nodes as f64;
        // Halves are exact.
        assert_eq!(product(&matrices), vec![vec![average; nodes]; nodes]);
        let borrowed: Vec<&MixingMatrix> = matrices.iter().collect();
        assert!(joint_lambda(&borrowed).unwrap() < 1e-12);
        if rounds > 1 {
            let fewer = joint_lambda(&borrowed[1..]).unwrap();
            assert!(fewer > 0.9, "{nodes} nodes: {fewer}");
        }
        let period: Vec<&Overlay> = overlays.iter().collect();
        assert!(rounds_to_connect(&period).is_some());
        for (matrix, overlay) in matrices.iter().zip(&overlays) {
            assert_eq!(&column_stochastic(overlay), matrix);
        }
    }
    let seven: Vec<MixingMatrix> = (1..=3)
        .map(|round| column_stochastic(&at(&topology, round, 7).overlay))
        .collect();
    let lambda = joint_lambda(&seven.iter().collect::<Vec<_>>()).unwrap();
    assert!(lambda > 0.01 && lambda < 0.5, "{lambda}");
}

#[test]
fn a_random_matching_is_another_one_in_each_round_and_connects_over_time() {
    let topology = Topology::RandomMatching(RandomMatching {});
    assert_eq!((topology.varies(), topology.period(8)), (true, None));
    let pairs = |round| -> Vec<(u32, u32)> { at(&topology, round, 8).overlay.edges().collect() };
    assert_eq!(pairs(3), pairs(3));
    assert_ne!(pairs(3), pairs(4));
    for round in 1..=20 {
        assert_eq!(pairs(round).len(), 4);
    }
    let overlays: Vec<Overlay> = (1..=20)
        .map(|round| at(&topology, round, 8).overlay)
        .collect();
    assert!(!overlays[0].is_connected());
    assert!(connect(overlays.iter(), 8));
    // Pairs take the mean of their models: all come near the mean of the eight, which no pair changes.
    let matrices = overlays.iter().map(|one| Weights::default().matrix(one));
    let matrices: Vec<MixingMatrix> = matrices.collect::<Result<_, _>>().unwrap();
    let start: Vec<f64> = (0..8).map(f64::from).collect();
    let end = matrices.iter().fold(start, |x, matrix| matrix.apply(&x));
    let farthest = end.iter().map(|x| (x - 3.5).abs()).fold(0.0, f64::max);
    // λ2 of the expected matrix is 3/7: in the mean over draws the squared distance of 42 falls to 42 (3/7)^20.
    assert!(farthest < 1e-2, "{end:?}");
    assert!((end.iter().sum::<f64>() - 28.0).abs() < 1e-9);
}

#[test]
fn a_directed_overlay_has_the_figures_that_make_sense() {
    let topology = Topology::OnePeer(OnePeer {});
    let overlay = at(&topology, 1, 8).overlay;
    let weights = Weights::Uniform(Uniform {});
    let matrix = weights.matrix(&overlay).unwrap();
    let (summary, _) = OverlaySummary::new(&overlay, &weights, &matrix).unwrap();
    // (I + P) / 2 with P the cyclic shift: singular values |cos(πk/8)|.
    let lambda = (std::f64::consts::PI / 8.0).cos();
    assert!((summary.lambda.unwrap() - lambda).abs() < 1e-9);
    assert!((summary.p.unwrap() - (1.0 - lambda * lambda)).abs() < 1e-9);
    assert_eq!(
        (summary.kappa, summary.theta, summary.lambda2),
        (None, None, None)
    );
    assert_eq!((summary.edges, summary.degree.mean), (8, 1.0));
    assert_eq!(summary.edge_connectivity, 2);
    assert!(summary.doubly_stochastic && summary.connected);
    // The third round falls into pairs, and a star of arcs is not doubly stochastic.
    let apart = at(&topology, 3, 8).overlay;
    let star = Overlay::directed(5, (1..5).map(|leaf| (0, leaf))).unwrap();
    for overlay in [apart, star, at(&topology, 1, 1).overlay] {
        for matrix in [
            weights.matrix(&overlay).unwrap(),
            column_stochastic(&overlay),
        ] {
            let (summary, _) = OverlaySummary::new(&overlay, &weights, &matrix).unwrap();
            // Weights that change equal values have no λ.
            assert_eq!(summary.lambda.is_some(), matrix.is_row_stochastic(1e-9));
            assert!(summary.p.is_some() && summary.kappa.is_none());
        }
    }
}

#[test]
fn weights_of_ones_own_on_a_directed_overlay_need_no_balance() {
    /// Half of what a node hears from the first that sends to it, or of what it sends to in place of that.
    struct Half {
        backwards: bool,
    }
    impl OwnWeights for Half {
        fn matrix(
            &self,
            overlay: &Overlay,
            _rng: &mut ChaCha8Rng,
        ) -> Result<MixingMatrix, TopologyError> {
            let row = |node: usize| {
                let heard = match self.backwards {
                    false => overlay.neighbours(node),
                    true => overlay.listeners(node),
                };
                let first = *heard.iter().next().expect("a cycle");
                vec![(node as u32, 0.5), (first, 0.5)]
            };
            MixingMatrix::from_rows(overlay.nodes(), (0..overlay.nodes()).map(row).collect())
        }

        fn suit_directed(&self) -> bool {
            true
        }
    }
    let overlay = Overlay::directed(3, [(0, 1), (1, 2), (2, 0)]).unwrap();
    let of = |backwards| {
        let part: Arc<dyn OwnWeights> = Arc::new(Half { backwards });
        Weights::Own(OwnPart::new("half", "", Arc::new(()), part)).matrix(&overlay)
    };
    let uniform = Weights::Uniform(Uniform {}).matrix(&overlay).unwrap();
    let row = |matrix: &MixingMatrix| matrix.row(1).collect::<Vec<_>>();
    assert_eq!(row(&of(false).unwrap()), row(&uniform));
    assert_eq!(
        of(true).unwrap_err().to_string(),
        "half: row 0 has a weight for node 1, which does not send to it"
    );
}

#[test]
fn symmetric_weights_refuse_a_directed_overlay() {
    let overlay = Overlay::directed(3, [(0, 1), (1, 2), (2, 0)]).unwrap();
    let error = Weights::default().matrix(&overlay).unwrap_err();
    assert_eq!(
        error.to_string(),
        "metropolis_hastings: these weights need undirected edges, the overlay is directed; uniform weights work on it"
    );
    let uniform = Weights::Uniform(Uniform {}).matrix(&overlay).unwrap();
    assert_eq!(uniform.row(0).collect::<Vec<_>>(), [(0, 0.5), (2, 0.5)]);
}

#[test]
fn a_wrong_schedule_points_at_its_key() {
    let phase = |rounds, nodes, of| Phase { rounds, nodes, of };
    let phases = |list| {
        Topology::Phases(Phases {
            list,
            outside: Outside::Alone,
        })
    };
    let ring = || Topology::Ring(Ring::default());
    let periodic = |list| {
        Topology::Periodic(Periodic {
            list,
            outside: Outside::Alone,
        })
    };
    let redraw = |every, of| {
        Topology::Redraw(Redraw {
            every,
            nodes: Members::All,
            of: Box::new(of),
            outside: Outside::Alone,
        })
    };
    let nested = "needed an overlay that does not itself change over time";
    for (topology, expected) in [
        (phases(vec![]), "phases: found none, needed at least one phase".to_owned()),
        (
            phases(vec![phase(Some(0), Members::All, ring())]),
            "phases.0.rounds: found 0, needed at least one round".to_owned(),
        ),
        (
            phases(vec![phase(None, Members::All, ring()), phase(None, Members::All, ring())]),
            "phases.0: found no end, needed `rounds`, which only the last phase may leave out".to_owned(),
        ),
        (
            phases(vec![
                phase(Some(1), Members::All, ring()),
                phase(None, Members::First(9), ring()),
            ]),
            "phases.1.nodes.first: found 9, needed a number in 1..=8".to_owned(),
        ),
        (
            phases(vec![phase(None, Members::First(5), Topology::Regular(Regular { degree: 3 }))]),
            "phases.0.of: regular.degree: found 3, needed an even degree for 5 nodes, such as 2: an odd one on an odd number of nodes gives half an \
             edge"
                .to_owned(),
        ),
        (
            phases(vec![phase(None, Members::First(3), edges(&[(0, 1)]))]),
            "phases.0.of: edges: 3 nodes fall into 2 components, an overlay must be connected".to_owned(),
        ),
        (periodic(vec![]), "periodic: found none, needed at least one overlay".to_owned()),
        (
            periodic(vec![ring(), Topology::OnePeer(OnePeer {})]),
            format!("periodic.1: found one_peer, {nested}"),
        ),
        (redraw(0, ring()), "redraw.every: found 0, needed at least one round".to_owned()),
        (
            redraw(1, redraw(2, ring())),
            format!("redraw.of: found redraw ring every=2, {nested}"),
        ),
    ] {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let error = topology.epoch(1, 8).build(8, &mut rng).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(topology.build(8, &mut rng).unwrap_err(), error);
    }
}

#[test]
fn edge_lists_are_found_inside_schedules() {
    let mut topology = five_steps();
    let paths: Vec<String> = topology
        .edge_lists_mut()
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    assert_eq!(paths.len(), 5);
    assert_eq!(paths[2], "periodic.2.edges");
    for (path, topology) in [
        ("edges", &mut edges(&[])),
        (
            "redraw.of.edges",
            &mut Topology::Redraw(Redraw {
                every: 1,
                nodes: Members::All,
                of: Box::new(edges(&[])),
                outside: Outside::Alone,
            }),
        ),
    ] {
        let lists = topology.edge_lists_mut();
        let found: Vec<_> = lists.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(found, [path]);
    }
    assert!(six_eight_six().edge_lists_mut().is_empty());
}
