//! What each method sends, counted by hand, and what its forecast says of it.

use crate::support::{MethodRun, Scene, chorded_path, full, run};
use meshfold_algorithms::{
    Aggregators, Algorithm, AlgorithmError, Assign, GradientWeight, Method, Order,
    PartialAggregation, Participation, PerServer, Restart, Round, Servers, Source, StepsFrom,
    WalkRows, Weighting,
};
use meshfold_engine::Stack;
use meshfold_topology::Overlay;

fn two_servers() -> Servers {
    Servers {
        count: 2,
        assign: Assign::List(vec![0, 1, 0, 1, 0]),
    }
}

fn over_servers() -> Scene {
    Scene::over(Overlay::from_edges(2, [(0, 1)]).unwrap())
}

fn cliques() -> Scene {
    let groups = vec![vec![0, 1], vec![2, 3, 4]];
    Scene::over(chorded_path().with_groups(groups).unwrap())
}

/// Methods with a server.
fn with_servers() -> Vec<(Method, Scene, [u64; 2])> {
    let all = Participation::default();
    let some = Participation::Clients(3);
    let (uniform, examples) = (Weighting::Uniform, Weighting::Examples);
    let each = PerServer::default();
    let none = Scene::default().without_overlay();
    vec![
        // Five down and five up, all at the server.
        (
            method!(
                Fedavg {
                    participation: all,
                    weighting: examples,
                    steps_from: StepsFrom::Mean
                },
                full(2)
            ),
            none.clone(),
            [10, 10],
        ),
        (
            method!(
                Fedprox {
                    mu: 0.1,
                    participation: some,
                    weighting: uniform
                },
                full(2)
            ),
            none.clone(),
            [6, 6],
        ),
        // Control variates go along.
        (
            method!(
                Scaffold {
                    participation: some,
                    weighting: uniform,
                    global_learning_rate: 1.0
                },
                full(2)
            ),
            none.clone(),
            [12, 12],
        ),
        // Four to the leader and four back.
        (
            method!(
                Swarm {
                    steps_from: StepsFrom::Mean
                },
                full(2)
            ),
            none.clone(),
            [8, 8],
        ),
        // Twice five down and up at the edge, two down and up at the root; the server of three handles 14 of them.
        (
            method!(
                Hierfavg {
                    servers: two_servers(),
                    participation: each,
                    edge_rounds: 2,
                    weighting: examples
                },
                full(2)
            ),
            none,
            [24, 14],
        ),
        // Five down and up, one edge both ways.
        (
            method!(
                PFedavg {
                    servers: two_servers(),
                    participation: each,
                    weighting: uniform
                },
                full(2)
            ),
            over_servers(),
            [12, 8],
        ),
    ]
}

/// Methods over an overlay of degrees 1, 3, 2, 3, 1.
fn over_overlays() -> Vec<(Method, Scene, [u64; 2])> {
    let (step, mix) = (Order::StepThenMix, Order::MixThenStep);
    let weight = GradientWeight::None;
    let all = Scene::default();
    let alone = Scene::default().without_overlay();
    let one_client = Scene::default().without_overlay().of_sizes(&[27]);
    vec![
        (method!(Alone {}, full(2)), alone.clone(), [0, 0]),
        (method!(Centralised {}, full(2)), one_client, [0, 0]),
        (
            method!(
                Dsgd {
                    order: step,
                    aggregation: None
                },
                full(2)
            ),
            all.clone(),
            [10, 6],
        ),
        (
            method!(
                Dsgd {
                    order: mix,
                    aggregation: None
                },
                full(1)
            ),
            all.clone(),
            [10, 6],
        ),
        (
            method!(
                Dfedavg {
                    aggregation: None,
                    quantise: None
                },
                full(2)
            ),
            all.clone(),
            [10, 6],
        ),
        (
            method!(
                Dfedavgm {
                    aggregation: None,
                    quantise: None
                },
                full(2)
            ),
            all.clone(),
            [10, 6],
        ),
        (
            method!(
                Decefl {
                    mu: 1.0,
                    gradient_weight: weight
                },
                full(2)
            ),
            all.clone(),
            [10, 6],
        ),
        (method!(D2 {}, full(1)), all.clone(), [10, 6]),
        (method!(ExactDiffusion {}, full(1)), all.clone(), [10, 6]),
        (
            method!(QgDsgdm { memory: None }, full(1)),
            all.clone(),
            [10, 6],
        ),
        (method!(PushSum {}, full(2)), all.clone(), [10, 6]),
        // Models and trackers.
        (method!(GradientTracking {}, full(1)), all.clone(), [20, 12]),
        // Gradients over 0-1, 2-3 and 3-4 as well: node 3 has two of these.
        (
            method!(
                DCliques {
                    clique_averaging: true
                },
                full(1)
            ),
            cliques(),
            [16, 10],
        ),
        (
            method!(
                DCliques {
                    clique_averaging: false
                },
                full(1)
            ),
            cliques(),
            [10, 6],
        ),
        // Everybody hears from one and is heard by one.
        (method!(OnePeer {}, full(2)), alone, [5, 2]),
        // With nobody to walk to there is nothing to send.
        (
            walks(4, Aggregators::All, Source::Neighbours, None),
            Scene::over(Overlay::from_edges(5, []).unwrap()),
            [0, 0],
        ),
    ]
}

fn walks(hops: u32, aggregators: Aggregators, from: Source, neighbours: Option<usize>) -> Method {
    method!(
        Dfedrw {
            walkers: 3,
            hops: hops,
            restart: Restart::Uniform,
            aggregators: aggregators,
            from: from,
            neighbours: neighbours,
            include_self: true,
            rows: WalkRows::Clients,
            projection: None,
            quantise: None
        },
        full(1)
    )
}

#[test]
fn a_round_sends_what_was_counted_by_hand_and_forecast() {
    for (method, scene, [messages, busiest]) in with_servers().into_iter().chain(over_overlays()) {
        let name = method.name();
        let course = run(&method, &scene, 2);
        let bytes = course.setting.model_bytes();
        assert_eq!(course.traffic[1].bytes_total(), messages * bytes, "{name}");
        let found = course.traffic[1].bytes_busiest_node();
        assert_eq!(found, busiest * bytes, "{name}: busiest");
        let forecast = method.forecast(&course.setting, scene.overlay.as_ref());
        assert_eq!(forecast.bytes, messages * bytes, "{name}: forecast");
        // Those of the second round: the first of gradient tracking has more.
        let [first, both] = [1, 2].map(|rounds| steps_of(&method, &scene, rounds));
        assert_eq!(forecast.local_steps, (both - first) as f64, "{name}: steps");
    }
}

/// The local steps of all clients in the first `rounds` rounds.
fn steps_of(method: &Method, scene: &Scene, rounds: usize) -> u64 {
    run(method, scene, rounds).learner.tally().local_steps
}

/// Messages a round over `rounds` rounds, and their forecast.
fn messages(method: &Method, rounds: usize) -> [f64; 2] {
    let course: MethodRun = run(method, &Scene::default(), rounds);
    let bytes = course.setting.model_bytes() as f64;
    let sent: u64 = course
        .traffic
        .iter()
        .map(|traffic| traffic.bytes_total())
        .sum();
    let forecast = method.forecast(&course.setting, course.scene.overlay.as_ref());
    [
        sent as f64 / bytes / rounds as f64,
        forecast.bytes as f64 / bytes,
    ]
}

#[test]
fn forecasts_of_drawn_messages_are_their_means() {
    let partial = |neighbours, include_self| {
        let aggregation = Some(PartialAggregation {
            neighbours,
            include_self,
        });
        let order = Order::StepThenMix;
        method!(
            Dsgd {
                order: order,
                aggregation: aggregation
            },
            full(1)
        )
    };
    let all = Aggregators::All;
    for method in [
        partial(2, true),
        partial(2, false),
        walks(1, all, Source::Neighbours, None),
        walks(4, all, Source::Neighbours, Some(2)),
        walks(4, Aggregators::Share(0.4), Source::Neighbours, None),
        walks(2, Aggregators::Share(0.4), Source::Neighbours, Some(1)),
    ] {
        let [sent, forecast] = messages(&method, 400);
        // A round's messages deviate by at most 2 or so; the mean of 400 by 0.1. Forecasts are in whole bytes.
        assert!(
            (sent - forecast).abs() < 0.3,
            "{sent} for {forecast}: {method:?}"
        );
    }
    for method in [
        walks(3, all, Source::Visited, Some(2)),
        walks(3, all, Source::WalkEnds, None),
        walks(3, Aggregators::WalkEnds, Source::WalkEnds, None),
    ] {
        let [sent, forecast] = messages(&method, 400);
        // Walks that began apart count as independent: an approximation.
        assert!(
            (sent / forecast - 1.0).abs() < 0.15,
            "{sent} for {forecast}: {method:?}"
        );
    }
}

/// Sends messages of these sizes, one for each client.
struct Sizes([u64; 5]);

impl Algorithm for Sizes {
    fn round(&mut self, _: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        round.exchange_sizes(&self.0);
        Ok(())
    }
}

/// Messages, bytes and bytes of the busiest node of the second round over `scene`.
fn sent(scene: &Scene, sizes: [u64; 5]) -> [u64; 3] {
    let mut course = MethodRun::new(&method!(Alone {}, full(1)), scene);
    course.algorithm = Box::new(Sizes(sizes));
    let traffic = course.advance(2).traffic.remove(1);
    [
        traffic.messages_total(),
        traffic.bytes_total(),
        traffic.bytes_busiest_node(),
    ]
}

#[test]
fn clients_may_send_messages_of_different_sizes_or_none() {
    // Degrees 1, 3, 2, 3, 1; client 3 sends 3 * 5 and hears of 1, 2 and 4.
    let path = Scene::default();
    assert_eq!(sent(&path, [7; 5]), [10, 70, 42]);
    assert_eq!(sent(&path, [1, 2, 0, 5, 9]), [8, 31, 26]);
    assert_eq!(sent(&path, [0; 5]), [0; 3]);
    // Without client 2 there are three edges: 0-1, 1-3 and 3-4.
    let without = Scene::with_a_death();
    assert_eq!(sent(&without, [1, 2, 100, 5, 9]), [6, 24, 21]);
}
