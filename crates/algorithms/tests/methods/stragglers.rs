//! What methods make of clients and walks that fall behind.

use crate::support::plain::{self, mean, mix, sum};
use crate::support::{MethodRun, Models, SIZES, Scene, expect_close, full, run};
use meshfold_algorithms::{
    Aggregators, Assign, Completion, Exchange, Method, PartialWork, Participation, PerServer,
    Phase, Policy, Restart, Servers, Source, StepsFrom, Stragglers, WalkRows, Weighting, Work,
};
use meshfold_topology::{Overlay, Uniform, Weights};

fn half(policy: Policy) -> Scene {
    let stragglers = Stragglers {
        share: Some(0.5),
        deadline_seconds: None,
        work: PartialWork::Uniform,
        policy: None,
    };
    Scene {
        stragglers: Some((stragglers, policy)),
        ..Scene::default().without_overlay()
    }
}

/// What becomes of five participants with `whole` steps or visits in `round`.
fn completions(scene: &Scene, round: usize, whole: u32) -> Vec<Completion> {
    let work = |client| Work {
        client,
        whole,
        steps: whole,
    };
    let work: Vec<Work> = (0..5).map(work).collect();
    scene.straggler_context(round).unwrap().completions(&work)
}

#[test]
fn partial_work_of_stragglers_counts_or_they_are_left_out() {
    for policy in [Policy::Partial, Policy::Isolate] {
        let scene = half(policy);
        let participation = Participation::default();
        let weighting = Weighting::Examples;
        let method = method!(
            Fedavg {
                participation: participation,
                weighting: weighting,
                steps_from: StepsFrom::Mean
            },
            full(6)
        );
        let course = run(&method, &scene, 3);
        let mut server = course.start[0].clone();
        let mut kinds = [0; 3];
        for round in 1..=3 {
            let mut reached: Vec<(f64, Vec<f64>)> = Vec::new();
            for (client, completion) in completions(&scene, round, 6).into_iter().enumerate() {
                let steps = match completion {
                    Completion::InTime => 6,
                    Completion::Cut(steps) => steps as usize,
                    Completion::Dropped => continue,
                };
                kinds[usize::from(steps < 6)] += 1;
                let w = plain::steps(steps).from(&course.learner, client, &server);
                reached.push((SIZES[client] as f64, w));
            }
            kinds[2] += 5 - reached.len();
            let models: Vec<(f64, &[f64])> = reached
                .iter()
                .map(|(weight, w)| (*weight, w.as_slice()))
                .collect();
            server = mean(&models);
        }
        expect_close(&course.models(), &[server]);
        // Half of five, rounded up, in each of three rounds.
        let expected = if policy == Policy::Partial {
            [6, 9, 0]
        } else {
            [6, 0, 9]
        };
        assert_eq!(kinds, expected);
    }
}

#[test]
fn a_dropped_straggler_does_not_lead_a_swarm() {
    let course = run(
        &method!(
            Swarm {
                steps_from: StepsFrom::Mean
            },
            full(2)
        ),
        &half(Policy::Isolate),
        12,
    );
    let bytes = course.setting.model_bytes();
    for traffic in &course.traffic {
        // Half of five, rounded up, are dropped: one of the other two leads, and hears and is heard by the last.
        assert_eq!(traffic.bytes_total(), 2 * bytes);
    }
}

#[test]
fn walks_that_fall_behind_are_cut_short() {
    let scene = Scene {
        overlay: Some(crate::support::chorded_path()),
        ..half(Policy::Partial)
    };
    let method = method!(
        Dfedrw {
            walkers: 5,
            hops: 4,
            restart: Restart::Uniform,
            aggregators: Aggregators::All,
            from: Source::Neighbours,
            neighbours: None,
            include_self: true,
            rows: WalkRows::Clients,
            projection: None,
            quantise: None
        },
        full(1)
    );
    let course = run(&method, &scene, 3);
    for (round, traffic) in (1..).zip(&course.traffic) {
        let visits = |completion: &Completion| match completion {
            Completion::InTime => 4,
            Completion::Cut(visits) => *visits,
            Completion::Dropped => 0,
        };
        let completions = completions(&scene, round, 4);
        let longest = completions.iter().map(visits).max().unwrap();
        let (mut steps, mut hops) = (Vec::new(), Vec::new());
        for phase in traffic.phases() {
            match phase {
                Phase::Visits { steps: each, .. } => steps.push(each.iter().sum::<u32>()),
                Phase::Compute { .. } => unreachable!("walks visit"),
                Phase::Exchange(Exchange::Messages(messages)) => hops.push(messages.len() as u32),
                Phase::Exchange(Exchange::Neighbours { .. }) => {
                    unreachable!("walks send one by one")
                }
            }
        }
        // The last exchange is the aggregation; whoever has visited sends its model on, unless the walk stays.
        let at = |visit: u32| {
            completions
                .iter()
                .filter(|completion| visits(completion) >= visit)
                .count() as u32
        };
        assert_eq!(steps, (1..=longest).map(at).collect::<Vec<_>>());
        assert_eq!(hops.pop(), Some(10));
        for (visit, moved) in (1..=longest).zip(hops) {
            assert!(
                moved <= at(visit),
                "round {round}, visit {visit}: {moved} moved"
            );
        }
    }
}

/// Clients 1 and 4 are too slow for two steps before the deadline.
fn two_are_late() -> Scene {
    let stragglers = Stragglers {
        share: None,
        deadline_seconds: Some(1.0),
        work: PartialWork::Uniform,
        policy: None,
    };
    Scene {
        stragglers: Some((stragglers, Policy::Isolate)),
        step_shares: Some(vec![0.1, 0.6, 0.2, 0.5, 0.9]),
        ..Scene::default().without_overlay()
    }
}

/// The messages of each exchange of the first round in `scene`, as sender and receiver.
fn exchanges(method: &Method, scene: &Scene) -> Vec<Vec<(u32, u32)>> {
    let course = run(method, scene, 1);
    let of_phase = |phase: &Phase| match phase {
        Phase::Exchange(Exchange::Messages(messages)) => {
            Some(messages.iter().map(|one| (one.from, one.to)).collect())
        }
        _ => None,
    };
    course.traffic[0]
        .phases()
        .iter()
        .filter_map(of_phase)
        .collect()
}

#[test]
fn a_server_sends_its_model_to_those_who_will_miss_the_deadline() {
    let (participation, weighting) = (Participation::default(), Weighting::Uniform);
    let fedavg = method!(
        Fedavg {
            participation: participation,
            weighting: weighting,
            steps_from: StepsFrom::Mean
        },
        full(2)
    );
    let fedprox = method!(
        Fedprox {
            mu: 0.5,
            participation: participation,
            weighting: weighting
        },
        full(2)
    );
    let scaffold = method!(
        Scaffold {
            participation: participation,
            weighting: weighting,
            global_learning_rate: 1.0
        },
        full(2)
    );
    let down = vec![(5, 0), (5, 1), (5, 2), (5, 3), (5, 4)];
    let up = vec![(0, 5), (2, 5), (3, 5)];
    for method in [fedavg.clone(), fedprox, scaffold] {
        let found = exchanges(&method, &two_are_late());
        assert_eq!(found, [down.clone(), up.clone()], "{}", method.name());
    }
    // Stragglers of a share are left out from the start: half of five, rounded up.
    let found = exchanges(&fedavg, &half(Policy::Isolate));
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn the_leader_of_a_swarm_sends_the_mean_to_those_who_missed_the_deadline() {
    let swarm = method!(
        Swarm {
            steps_from: StepsFrom::Mean
        },
        full(2)
    );
    let found = exchanges(&swarm, &two_are_late());
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [2, 4]);
}

#[test]
fn servers_send_their_models_to_those_who_will_miss_the_deadline() {
    let servers = Servers {
        count: 2,
        assign: Assign::List(vec![0, 1, 0, 0, 1]), // both clients of server 1 are late
    };
    let participation = PerServer::default();
    let p_fedavg = method!(
        PFedavg {
            servers: servers.clone(),
            participation: participation,
            weighting: Weighting::Uniform
        },
        full(2)
    );
    let scene = Scene {
        overlay: Some(Overlay::from_edges(2, [(0, 1)]).unwrap()),
        ..two_are_late()
    };
    let down = vec![(5, 0), (5, 2), (5, 3), (6, 1), (6, 4)];
    let up = vec![(0, 5), (2, 5), (3, 5)];
    assert_eq!(
        exchanges(&p_fedavg, &scene),
        [down.clone(), up.clone(), vec![(5, 6), (6, 5)]]
    );
    let hierfavg = method!(
        Hierfavg {
            servers: servers,
            participation: participation,
            edge_rounds: 2,
            weighting: Weighting::Uniform
        },
        full(2)
    );
    // After the first deadline the edge servers know who is late.
    let again = vec![(5, 0), (5, 2), (5, 3)];
    assert_eq!(
        exchanges(&hierfavg, &two_are_late()),
        [
            vec![(7, 5), (7, 6)],
            down,
            up.clone(),
            again,
            up,
            vec![(5, 7)]
        ]
    );
}

/// Client 2 is late in the second round: it hears the others' models and gradients but sends nothing.
#[test]
fn a_client_that_only_receives_keeps_its_velocity() {
    let cliques = vec![vec![0, 1], vec![2, 3, 4]];
    let whole = crate::support::chorded_path()
        .with_groups(cliques.clone())
        .unwrap();
    let arcs = whole.edges().flat_map(|(a, b)| [(a, b), (b, a)]);
    let arcs: Vec<(u32, u32)> = arcs.filter(|(from, _)| *from != 2).collect();
    let heard = Overlay::directed(5, arcs)
        .unwrap()
        .with_groups(cliques)
        .unwrap();
    let weights = Weights::Uniform(Uniform {});
    let late = vec![true, true, false, true, true];
    let scene = Scene {
        alive: vec![vec![true; 5], late, vec![true; 5]],
        ..Scene::default()
    };
    let method = method!(
        DCliques {
            clique_averaging: true
        },
        full(1).momentum(0.9)
    );
    let mut course = MethodRun::new(&method, &scene);
    let mut models = course.start.clone();
    let mut velocity = vec![vec![0.0; models[0].len()]; 5];
    let (all, without): ([&[usize]; 5], [&[usize]; 5]) = (
        [&[0, 1], &[0, 1], &[2, 3], &[2, 3, 4], &[3, 4]],
        [&[0, 1], &[0, 1], &[], &[3, 4], &[3, 4]],
    );
    for (round, overlay) in (1..).zip([&whole, &heard, &whole]) {
        let matrix = weights.matrix(overlay).unwrap();
        let linked = if round == 2 { without } else { all };
        let gradients: Models = (0..5)
            .map(|client| plain::gradient(&course.learner, client, &models[client]))
            .collect();
        for client in (0..5).filter(|client| scene.alive(round)[*client]) {
            let members = linked[client].iter();
            let members: Vec<(f64, &[f64])> = members
                .map(|member| (1.0, gradients[*member].as_slice()))
                .collect();
            let (v, w) = (&velocity[client], &models[client]);
            velocity[client] = sum(&[(f64::from(0.9f32), v), (1.0, &mean(&members))]);
            models[client] = sum(&[(1.0, w), (-plain::rate(), &velocity[client])]);
        }
        models = mix(&matrix, &models);
        course.step(Some((overlay.clone(), matrix)));
    }
    expect_close(&course.models(), &models);
}
