//! Messages that are lost on their way, against a transcription in double precision that knows which arrive.

use crate::support::plain::{self, mean, mix, sum};
use crate::support::{
    MethodRun, Models, SIZES, Scene, chorded_path, difference, expect_close, full, run,
};
use meshfold_algorithms::{
    Assign, LostMessages, Order, Participation, PerServer, Servers, StepsFrom, Weighting,
};
use meshfold_engine::{Key, Purpose, stream};
use meshfold_topology::{MixingMatrix, Overlay};
use rand::RngExt;

/// Messages that are lost in every round: 0-1 in one direction, 1-3 in both, of two others one each.
const LOST: [(u32, u32); 5] = [(0, 1), (1, 3), (3, 1), (3, 2), (4, 3)];

fn losing(scene: Scene) -> Scene {
    Scene {
        lost: LOST.to_vec(),
        ..scene
    }
}

/// The weights by hand: `matrix`, in which the weight of a lost message is its receiver's own.
fn after_losses(matrix: &MixingMatrix) -> MixingMatrix {
    let row = |to: u32| {
        let (mut left, mut own) = (Vec::new(), 0.0);
        for (from, weight) in matrix.row(to as usize) {
            if from == to || LOST.contains(&(from, to)) {
                own += weight;
            } else {
                left.push((from, weight));
            }
        }
        left.push((to, own));
        left
    };
    let nodes = matrix.rows();
    MixingMatrix::from_rows(nodes, (0..nodes as u32).map(row).collect()).unwrap()
}

/// The matrix of a round's mixing.
fn mixing(course: &MethodRun, round: usize) -> MixingMatrix {
    after_losses(&course.scene.matrix(round))
}

#[test]
fn dsgd_gives_the_weight_of_a_lost_message_to_the_receiver() {
    let scene = losing(Scene::with_a_death());
    for order in [Order::StepThenMix, Order::MixThenStep] {
        let method = method!(
            Dsgd {
                order: order,
                aggregation: None
            },
            full(1).momentum(0.9)
        );
        let course = run(&method, &scene, 3);
        let mut models = course.start.clone();
        let mut velocity = vec![vec![0.0; models[0].len()]; 5];
        for round in 1..=3 {
            let before = models.clone();
            if order == Order::MixThenStep {
                models = mix(&mixing(&course, round), &models);
            }
            for client in (0..5).filter(|client| scene.alive(round)[*client]) {
                let g = plain::gradient(&course.learner, client, &before[client]);
                velocity[client] = sum(&[(f64::from(0.9f32), &velocity[client]), (1.0, &g)]);
                models[client] =
                    sum(&[(1.0, &models[client]), (-plain::rate(), &velocity[client])]);
            }
            if order == Order::StepThenMix {
                models = mix(&mixing(&course, round), &models);
            }
        }
        expect_close(&course.models(), &models);
        // All were sent: over five edges, and over three without client 2.
        let sent = course.traffic.iter().map(|traffic| traffic.bytes_total());
        let model = course.setting.model_bytes();
        assert_eq!(
            sent.collect::<Vec<_>>(),
            [10, 6, 6].map(|sent| sent * model)
        );
    }
}

#[test]
fn d_cliques_average_the_gradients_that_arrive() {
    let cliques = vec![vec![0, 1, 2], vec![3, 4]];
    let scene = losing(Scene::over(chorded_path().with_groups(cliques).unwrap()));
    let method = method!(
        DCliques {
            clique_averaging: true
        },
        full(1)
    );
    let course = run(&method, &scene, 2);
    let mut models = course.start.clone();
    // Within cliques 0-1, 1-2 and 3-4 are linked. 1 does not hear 0, and 3 does not hear 4.
    let heard: [&[usize]; 5] = [&[0, 1], &[1, 2], &[1, 2], &[3], &[3, 4]];
    for round in 1..=2 {
        let gradient = |client| plain::gradient(&course.learner, client, &models[client]);
        let gradients: Models = (0..5).map(gradient).collect();
        for client in 0..5 {
            let share = -plain::rate() / heard[client].len() as f64;
            for member in heard[client] {
                models[client] = sum(&[(1.0, &models[client]), (share, &gradients[*member])]);
            }
        }
        models = mix(&mixing(&course, round), &models);
    }
    expect_close(&course.models(), &models);
    // Models over five edges and gradients over three, both ways, whatever arrives.
    let sent = course.traffic[0].bytes_total() / course.setting.model_bytes();
    assert_eq!(sent, 16);
}

#[test]
fn push_sum_loses_what_was_on_its_way() {
    let scene = losing(Scene::over(chorded_path()));
    let course = run(&method!(PushSum {}, full(2)), &scene, 3);
    let degrees = [1, 3, 2, 3, 1];
    let mut x = course.start.clone();
    let mut weight = [1.0; 5];
    let mut z = x.clone();
    for _ in 1..=3 {
        for client in 0..5 {
            let after = plain::steps(2).from(&course.learner, client, &z[client]);
            x[client] = sum(&[(1.0, &x[client]), (1.0, &after), (-1.0, &z[client])]);
        }
        let mut arrived: Models = vec![vec![0.0; x[0].len()]; 5];
        let mut arrived_weight = [0.0; 5];
        let own = (0..5).map(|client| (client, client));
        let arcs = chorded_path()
            .arcs()
            .filter(|arc| !LOST.contains(arc))
            .collect::<Vec<_>>();
        for (from, to) in own.chain(arcs).map(|(a, b)| (a as usize, b as usize)) {
            let share = 1.0 / f64::from(degrees[from] + 1);
            arrived[to] = sum(&[(1.0, &arrived[to]), (share, &x[from])]);
            arrived_weight[to] += share * weight[from];
        }
        (x, weight) = (arrived, arrived_weight);
        z = x
            .iter()
            .zip(weight)
            .map(|(x, w)| sum(&[(1.0 / w, x)]))
            .collect();
    }
    expect_close(&course.models(), &z);
    assert!(weight.iter().sum::<f64>() < 4.5, "{weight:?}");
    assert_eq!(course.models_sent(), 10.0);
}

/// A server to and from which messages are lost with probability 0.4.
fn behind_a_server() -> Scene {
    Scene {
        lost_messages: LostMessages {
            probability: 0.4,
            seed: 3,
        },
        ..Scene::with_a_death().without_overlay()
    }
}

/// The clients that the server sends its model to in a round, those whom it reaches, and those whose own reaches the server.
fn over_the_server(scene: &Scene, round: usize) -> [Vec<usize>; 3] {
    let arrive = |clients: &[usize], step| {
        let arrives = |client: &&usize| {
            let key = Key {
                round: round as u64,
                row: **client as u32,
                step,
                ..Key::default()
            };
            stream(3, Purpose::Failure, key).random::<f64>() >= 0.4
        };
        clients.iter().filter(arrives).copied().collect()
    };
    let alive = scene.alive(round);
    let chosen: Vec<usize> = (0..5).filter(|client| alive[*client]).collect();
    let reached: Vec<usize> = arrive(&chosen, 1);
    let back = arrive(&reached, 2);
    [chosen, reached, back]
}

/// The server's model reaches some of the participants, and those of some of these reach the server.
#[test]
fn fedavg_averages_what_comes_back() {
    let scene = behind_a_server();
    for mu in [None, Some(0.5)] {
        let (participation, weighting) = (Participation::default(), Weighting::Examples);
        let method = match mu {
            None => method!(
                Fedavg {
                    participation: participation,
                    weighting: weighting,
                    steps_from: StepsFrom::Mean
                },
                full(2)
            ),
            Some(mu) => method!(
                Fedprox {
                    mu: mu,
                    participation: participation,
                    weighting: weighting
                },
                full(2)
            ),
        };
        let course = run(&method, &scene, 6);
        let mut server = course.start[0].clone();
        let (mut sent, mut steps) = (Vec::new(), Vec::new());
        for round in 1..=6 {
            let [chosen, reached, back] = over_the_server(&scene, round);
            let local = |client: &usize| {
                let mut w = server.clone();
                for _ in 0..2 {
                    let g = plain::gradient(&course.learner, *client, &w);
                    let mu = f64::from(mu.unwrap_or(0.0));
                    let pulled = sum(&[(1.0, &g), (mu, &w), (-mu, &server)]);
                    w = sum(&[(1.0, &w), (-plain::rate(), &pulled)]);
                }
                w
            };
            let models: Models = back.iter().map(local).collect();
            let weighed: Vec<(f64, &[f64])> = back
                .iter()
                .zip(&models)
                .map(|(client, model)| (SIZES[*client] as f64, model.as_slice()))
                .collect();
            if !weighed.is_empty() {
                server = mean(&weighed);
            }
            sent.push((chosen.len() + reached.len()) as u64 * course.setting.model_bytes());
            steps.push(2 * reached.len() as u32);
        }
        expect_close(&course.models(), &[server]);
        let found = course.traffic.iter().map(|traffic| traffic.bytes_total());
        assert_eq!(found.collect::<Vec<_>>(), sent);
        assert!(steps.iter().any(|steps| *steps < 10), "{steps:?}");
    }
}

/// A client keeps its new variate whether or not the server hears of it.
#[test]
fn scaffold_moves_by_what_comes_back() {
    let scene = behind_a_server();
    let method = method!(
        Scaffold {
            participation: Participation::default(),
            weighting: Weighting::Examples,
            global_learning_rate: 0.5
        },
        full(2)
    );
    let course = run(&method, &scene, 6);
    let mut x = course.start[0].clone();
    let mut c = vec![0.0; x.len()];
    let mut each = vec![c.clone(); 5];
    let weight = |client: usize| SIZES[client] as f64;
    let rate = plain::rate();
    let mut unheard = 0;
    for round in 1..=6 {
        let [living, reached, back] = over_the_server(&scene, round);
        let all: f64 = living.iter().map(|client| weight(*client)).sum();
        if round == 2 {
            // Client 2 has died.
            let variates: Vec<(f64, &[f64])> =
                living.iter().map(|i| (weight(*i), &each[*i][..])).collect();
            c = mean(&variates);
        }
        let heard: f64 = back.iter().map(|client| weight(*client)).sum();
        let (before, mut after) = (c.clone(), x.clone());
        for client in reached {
            let mut y = x.clone();
            for _ in 0..2 {
                let g = plain::gradient(&course.learner, client, &y);
                y = sum(&[
                    (1.0, &y),
                    (-rate, &g),
                    (rate, &each[client]),
                    (-rate, &before),
                ]);
            }
            let share = 1.0 / (2.0 * rate);
            let change = sum(&[(-1.0, &before), (share, &x), (-share, &y)]);
            each[client] = sum(&[(1.0, &each[client]), (1.0, &change)]);
            if back.contains(&client) {
                let step = 0.5 * weight(client) / heard;
                after = sum(&[(1.0, &after), (step, &y), (-step, &x)]);
                c = sum(&[(1.0, &c), (weight(client) / all, &change)]);
            } else {
                unheard += 1;
            }
        }
        x = after;
    }
    expect_close(&course.models(), &[x]);
    for (kept, wanted) in [("variates", each), ("variate", vec![c])] {
        let most = difference(&course.kept(kept), &wanted);
        assert!(most < 1e-5, "{kept} off by {most:e}");
    }
    assert!(unheard > 0, "all messages came back");
}

/// Messages are lost between servers and clients as with one server, and among servers as among clients.
#[test]
fn p_fedavgs_servers_average_what_comes_back_and_mix_what_arrives() {
    let assign = vec![0, 1, 0, 1, 2];
    let scene = losing(Scene {
        overlay: Some(Overlay::from_edges(3, [(0, 1), (1, 2)]).unwrap()),
        ..behind_a_server()
    });
    let method = method!(
        PFedavg {
            servers: Servers {
                count: 3,
                assign: Assign::List(assign.clone())
            },
            participation: PerServer::default(),
            weighting: Weighting::Uniform
        },
        full(2)
    );
    let course = run(&method, &scene, 6);
    let mut models = course.start.clone();
    let (mut sent, mut without) = (Vec::new(), 0);
    for round in 1..=6 {
        let [chosen, reached, back] = over_the_server(&scene, round);
        for (server, w) in models.iter_mut().enumerate() {
            let local = |client: &usize| plain::steps(2).from(&course.learner, *client, w);
            let own = back.iter().filter(|client| assign[**client] == server);
            let found: Models = own.map(local).collect();
            let weighed: Vec<(f64, &[f64])> = found.iter().map(|model| (1.0, &model[..])).collect();
            match weighed.is_empty() {
                true => without += 1,
                false => *w = mean(&weighed),
            }
        }
        models = mix(&mixing(&course, round), &models);
        // Over two links both ways, whatever arrives.
        let messages = chosen.len() + reached.len() + 4;
        sent.push(messages as u64 * course.setting.model_bytes());
    }
    expect_close(&course.models(), &models);
    let found = course.traffic.iter().map(|traffic| traffic.bytes_total());
    assert_eq!(found.collect::<Vec<_>>(), sent);
    assert!(without > 0, "each server heard of a client in every round");
}

#[test]
fn a_server_that_reaches_nobody_keeps_its_model() {
    let mut scene = behind_a_server();
    scene.lost_messages.probability = 1.0;
    let (participation, weighting) = (Participation::default(), Weighting::Examples);
    let fedavg = method!(
        Fedavg {
            participation: participation,
            weighting: weighting,
            steps_from: StepsFrom::Mean
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
    for (method, models) in [(fedavg, 1), (scaffold, 2)] {
        let course = run(&method, &scene, 2);
        expect_close(&course.models(), &course.start[..1]);
        let sent = course.traffic.iter().map(|traffic| traffic.bytes_total());
        let model = models * course.setting.model_bytes();
        assert_eq!(sent.collect::<Vec<_>>(), [5 * model, 4 * model]);
    }
}

#[test]
fn losses_that_hit_no_link_change_nothing() {
    let chain = Overlay::from_edges(5, [(0, 2), (2, 4), (4, 1)]).unwrap();
    let dsgd = || {
        method!(
            Dsgd {
                order: Order::StepThenMix,
                aggregation: None
            },
            full(2)
        )
    };
    let [plain, losing] = [Scene::over(chain.clone()), losing(Scene::over(chain))]
        .map(|scene| run(&dsgd(), &scene, 2).models());
    assert_eq!(plain, losing);
}
