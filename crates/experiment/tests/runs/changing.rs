//! Overlays that change, clients that fail or fall behind, and the time that rounds would take.

use meshfold_experiment::{Ending, Record};

use crate::tiny::{Case, records, refusal};

const DSGD: &str = "algorithm={dsgd: {batch_size: 7, learning_rate: 0.1}}";

fn finished(overrides: &[&str]) -> (Vec<Record>, Case) {
    let case = Case::new(overrides);
    let report = case.run();
    assert!(matches!(report.ending, Ending::Finished), "{overrides:?}");
    (records(&report), case)
}

/// Bytes sent in each round.
fn bytes(records: &[Record]) -> Vec<u64> {
    records
        .windows(2)
        .map(|pair| pair[1].bytes_total - pair[0].bytes_total)
        .collect()
}

fn model_bytes(case: &Case) -> u64 {
    4 * case.plan.parameters as u64
}

#[test]
fn a_run_in_which_nobody_is_left_ends_with_what_was_recorded() {
    let failures =
        "failures=[{clients: {list: [0, 1, 2]}}, {clients: {list: [3, 4, 5]}, from_round: 3}]";
    // Such failures are refused when they are planned; others, drawn in each of many rounds, may still leave nobody.
    let mut case = Case::new(&[DSGD]);
    let yaml = failures.trim_start_matches("failures=");
    case.plan.config.failures = serde_yaml::from_str(yaml).unwrap();
    let report = case.run();
    let Ending::Failed { error } = &report.ending else {
        panic!("{:?}", report.ending)
    };
    assert!(error.to_string().contains("alive after round 3"), "{error}");
    assert_eq!(records(&report).len(), 3);
    // A server's model is there to be judged.
    let server = "algorithm={fedavg: {batch_size: 7, learning_rate: 0.1}}";
    finished(&[server, "topology=null", failures]);
}

#[test]
fn clients_fail_from_their_round_and_come_back() {
    let failures = "failures=[{clients: {list: [1, 4]}, from_round: 3, until_round: 6}]";
    let (records, case) = finished(&[DSGD, failures]);
    let alive: Vec<usize> = records.iter().map(|record| record.alive).collect();
    assert_eq!(alive, [6, 6, 6, 4, 4, 4, 6, 6]);
    let components: Vec<_> = records.iter().map(|record| record.components).collect();
    assert_eq!(components, [1, 1, 1, 2, 2, 2, 1, 1].map(Some));
    // A ring of six has 12 messages a round; without nodes 1 and 4 the edges 2-3 and 5-0 are left.
    let messages: Vec<u64> = bytes(&records)
        .iter()
        .map(|sent| sent / model_bytes(&case))
        .collect();
    assert_eq!(messages, [12, 12, 4, 4, 4, 12, 12]);
    let steps: Vec<u64> = records
        .windows(2)
        .map(|pair| pair[1].local_steps - pair[0].local_steps)
        .collect();
    assert_eq!(steps, [6, 6, 4, 4, 4, 6, 6]);
}

#[test]
fn clients_that_lose_their_inputs_exchange_as_before() {
    let failures =
        "failures=[{clients: {list: [1, 4]}, from_round: 3, until_round: 6, loses: inputs}]";
    let (records, case) = finished(&[DSGD, failures]);
    let alive: Vec<usize> = records.iter().map(|record| record.alive).collect();
    assert_eq!(alive, [6, 6, 6, 4, 4, 4, 6, 6]);
    assert!(records.iter().all(|record| record.components == Some(1)));
    let sent = bytes(&records).into_iter();
    let messages: Vec<u64> = sent.map(|sent| sent / model_bytes(&case)).collect();
    assert_eq!(messages, [12; 7]);
    let steps: Vec<u64> = records
        .windows(2)
        .map(|pair| pair[1].local_steps - pair[0].local_steps)
        .collect();
    assert_eq!(steps, [6, 6, 4, 4, 4, 6, 6]);
}

/// A path of six whose node 2 has no inputs: the models of nodes 0, 1 and 3, 4, 5 go on to meet in its own.
#[test]
fn a_client_without_inputs_passes_on_what_it_averages() {
    let failures = |loses: &str| format!("failures=[{{clients: {{list: [2]}}, loses: {loses}}}]");
    let apart = |loses: &str| {
        let rounds = ["rounds=150", "topology=path", "evaluate={every: 150}"];
        let failures = failures(loses);
        // No steps after the first: what is left is mixing.
        let still = "algorithm={dsgd: {batch_size: 7, learning_rate: {step: {initial: 0.1, factor: 1.0e-30, every: 1, per: round}}}}";
        let (records, _) = finished(&[&rounds[..], &[&failures, still]].concat());
        records.last().unwrap().consensus_distance
    };
    let (masked, gone) = (apart("inputs"), apart("everything"));
    assert!(masked < 1e-3 && gone > 10.0 * masked, "{masked} {gone}");
}

#[test]
fn a_share_of_edges_that_is_drawn_anew_leaves_as_many_every_round() {
    let failures = "failures=[{edges: {share: 0.5}, redraw: each_round}]";
    let (records, case) = finished(&[DSGD, failures]);
    assert!(
        bytes(&records)
            .iter()
            .all(|sent| *sent == 6 * model_bytes(&case))
    );
    assert!(records.iter().all(|record| record.alive == 6));
}

/// A lost message was sent: it counts and takes its time, and the sender's neighbours are who they were.
#[test]
fn lost_messages_are_sent_but_do_not_arrive() {
    let network =
        "network={links: {fixed: {bytes_per_second: 1000}}, compute: {seconds_per_step: 1}}";
    let lost = "failures=[{messages: {probability: 0.5}, from_round: 3}]";
    for topology in ["topology=ring", "topology=complete"] {
        let (whole, case) = finished(&[DSGD, topology, network]);
        let (losing, _) = finished(&[DSGD, topology, network, lost]);
        let sent = if topology.ends_with("ring") { 12 } else { 30 };
        assert_eq!(bytes(&losing), [sent * model_bytes(&case); 7], "{topology}");
        for (whole, losing) in whole.iter().zip(&losing) {
            assert_eq!(whole.simulated_seconds, losing.simulated_seconds);
            assert_eq!((losing.alive, losing.components), (6, Some(1)));
            let same = whole.consensus_distance == losing.consensus_distance;
            assert_eq!(same, losing.round < 3, "{topology}, round {}", losing.round);
        }
        let (again, _) = finished(&[DSGD, topology, network, lost]);
        let distances = |records: &[Record]| -> Vec<f64> {
            records
                .iter()
                .map(|record| record.consensus_distance)
                .collect()
        };
        assert_eq!(distances(&losing), distances(&again), "{topology}");
    }
}

/// Messages of P-FedAvg are lost between a server and its clients, and among servers.
#[test]
fn messages_of_servers_are_lost_in_both_exchanges() {
    let lost = "failures=[{messages: {probability: 0.5}}]";
    let served = |servers: usize, rate: &str| {
        format!(
            "algorithm={{p_fedavg: {{batch_size: 7, learning_rate: {rate}, servers: {{count: {servers}}}}}}}"
        )
    };
    let alone = served(1, "0.1");
    let alone = [&alone[..], "topology=complete"];
    let (whole, _) = finished(&alone);
    let (losing, _) = finished(&[&alone[..], &[lost]].concat());
    let (whole, losing) = (whole.last().unwrap(), losing.last().unwrap());
    // Clients that the server's model does not reach do nothing.
    assert!(losing.examples_seen < whole.examples_seen && losing.bytes_total < whole.bytes_total);

    let still = served(
        3,
        "{step: {initial: 0.1, factor: 1.0e-30, every: 1, per: round}}",
    );
    let still = [&still[..], "topology=path", "start=independent"];
    let distances = |arguments: &[&str]| -> Vec<f64> {
        let (records, _) = finished(arguments);
        let distances = records.iter().map(|record| record.consensus_distance);
        distances.collect()
    };
    let (whole, losing) = (
        distances(&still),
        distances(&[&still[..], &[lost]].concat()),
    );
    assert_eq!(whole[0], losing[0]);
    assert!(
        losing.last().unwrap() > whole.last().unwrap(),
        "{whole:?} {losing:?}"
    );
}

/// A path of two of whose messages half are lost: without steps each round a model meets the other one half way, or stays as it is.
#[test]
fn a_client_that_hears_nothing_keeps_its_model() {
    let still = "algorithm={dsgd: {batch_size: 7, learning_rate: {step: {initial: 0.1, factor: 1.0e-30, every: 1, per: round}}}}";
    let two = "partition={iid: {clients: 2}}";
    let lost = "failures=[{messages: {probability: 0.5}}]";
    let (records, _) = finished(&[
        still,
        two,
        "topology=path",
        "start=independent",
        "rounds=12",
        lost,
    ]);
    let apart: Vec<f64> = records
        .iter()
        .map(|record| record.consensus_distance)
        .collect();
    let mut halved = 0;
    for pair in apart[1..].windows(2).filter(|pair| pair[0] > 0.0) {
        let left = pair[1] / pair[0];
        // Both hear: they agree. One hears: half of the difference is left. Nobody hears: all of it.
        let outcome = [0.0, 0.5, 1.0]
            .into_iter()
            .find(|whole| (left - whole).abs() < 1e-4);
        halved += usize::from(outcome.expect("one of three outcomes") == 0.5);
    }
    assert!(apart[11] < apart[1] && halved > 0, "{apart:?}");
}

#[test]
fn nodes_come_and_go_in_phases_and_train_alone_while_they_are_outside() {
    let phases = "topology={phases: [{rounds: 3, nodes: {first: 4}, of: ring}, {rounds: 2, of: ring}, {nodes: {first: 4}, of: ring}]}";
    let (records, case) = finished(&[DSGD, phases]);
    let messages: Vec<u64> = bytes(&records)
        .iter()
        .map(|sent| sent / model_bytes(&case))
        .collect();
    assert_eq!(messages, [8, 8, 8, 12, 12, 8, 8]);
    assert!(records.iter().all(|record| record.alive == 6));
    assert_eq!(records.last().unwrap().local_steps, 7 * 6);
}

#[test]
fn frozen_nodes_outside_do_nothing() {
    let redraw = "topology={redraw: {nodes: {share: 0.5}, of: complete, outside: frozen}}";
    let (records, case) = finished(&[DSGD, redraw]);
    assert_eq!(records.last().unwrap().local_steps, 7 * 3);
    assert!(
        bytes(&records)
            .iter()
            .all(|sent| *sent == 6 * model_bytes(&case))
    );
}

#[test]
fn dropped_stragglers_neither_train_nor_send() {
    let complete = "topology=complete";
    for (policy, messages) in [("isolate", 3 * 2), ("receive", 3 * 2 + 3 * 3)] {
        let stragglers = format!("stragglers={{share: 0.5, policy: {policy}}}");
        let (records, case) = finished(&[DSGD, complete, &stragglers]);
        assert_eq!(records.last().unwrap().local_steps, 7 * 3, "{policy}");
        for sent in bytes(&records) {
            assert_eq!(sent, messages * model_bytes(&case), "{policy}");
        }
    }
}

/// The models of those in time are one after the exchange, `m`; stragglers still have the first model `w`. In isolation the
/// distance from the mean is |m - w| / 2; with the average over three others and themselves they are at (3 m + w) / 4, and the
/// distance is |m - w| / 8.
#[test]
fn stragglers_that_receive_average_those_who_sent() {
    let distance = |policy: &str| {
        let stragglers = format!("stragglers={{share: 0.5, policy: {policy}}}");
        let (records, _) = finished(&[DSGD, "topology=complete", "rounds=1", &stragglers]);
        records[1].consensus_distance
    };
    let ratio = distance("isolate") / distance("receive");
    assert!((ratio - 4.0).abs() < 1e-4, "{ratio}"); // a few roundings to f32
}

/// DFedRW, Section VI-F: K T_p + (K + 1) T_c, with T_p = 0 as in Table IV: a client that two walks visit at once would need
/// both their epochs. That no walk of five moves is one in 6^5 exchanges.
#[test]
fn a_walk_sends_its_model_on_after_every_visit() {
    let walks = "algorithm={dfedrw: {walkers: 5, hops: 3, batch_size: 7, learning_rate: 0.1}}";
    let network = "network={links: {latency: {epoch: 0, message: 2}}}";
    let (records, _) = finished(&[walks, "topology=complete", network]);
    for (round, record) in records.iter().enumerate() {
        let seconds = round as f64 * meshfold_theory::dfedrw_seconds(3, 0.0, 2.0);
        assert_eq!(record.simulated_seconds, Some(seconds));
    }
}

#[test]
fn stragglers_whose_work_counts_do_part_of_it() {
    let method = "algorithm={dfedavg: {local: {steps: 5}, batch_size: 7, learning_rate: 0.1}}";
    let (records, _) = finished(&[method, "stragglers={share: 0.5, policy: partial}"]);
    let steps = records.last().unwrap().local_steps;
    // Each round three clients do 5 steps and three do 1 to 4.
    assert!(
        (7 * 18..=7 * 27).contains(&steps) && steps < 7 * 30,
        "{steps}"
    );
}

#[test]
fn a_deadline_drops_the_slow() {
    let network = "network={links: {fixed: {bytes_per_second: 1.0e+18}}, compute: {seconds_per_step: 1, slowdown: {list: [1, 1, 1, 1, 4, 4]}}}";
    for policy in ["isolate", "receive"] {
        let stragglers = format!("stragglers={{deadline_seconds: 2, policy: {policy}}}");
        let (records, _) = finished(&[DSGD, network, &stragglers]);
        let last = records.last().unwrap();
        assert_eq!(last.local_steps, 7 * 4);
        // Those in time are ready after a second, and wait for the others until the deadline.
        let seconds = last.simulated_seconds.unwrap();
        assert!((seconds - 7.0 * 2.0).abs() < 1e-9, "{policy}: {seconds}");
    }
}

/// A walk of one step a visit spends its time at whoever it meets: a step of some takes 1 second, of others 2.5.
#[test]
fn a_deadline_ends_walks_by_the_speed_of_all_clients_on_them() {
    let walk = "algorithm={dfedrw: {walkers: 1, hops: 6, batch_size: 7, learning_rate: 0.1, local: {steps: 1}}}";
    let network = "network={links: {fixed: {bytes_per_second: 1.0e+18}}, compute: {seconds_per_step: 1, slowdown: {list: [1, 2.5, 1, 2.5, 1, 2.5]}}}";
    let (records, _) = finished(&[walk, network, "stragglers={deadline_seconds: 5}"]);
    let rounds: Vec<(u64, f64)> = records
        .windows(2)
        .map(|pair| {
            let seconds = |record: &Record| record.simulated_seconds.unwrap();
            let steps = pair[1].local_steps - pair[0].local_steps;
            (steps, seconds(&pair[1]) - seconds(&pair[0]))
        })
        .collect();
    for (steps, seconds) in &rounds {
        assert!(
            (seconds - 5.0).abs() < 1e-6,
            "{steps} visits in {seconds} s"
        );
        assert!((2..=5).contains(steps), "{steps} visits in {seconds} s");
    }
    let mut visits: Vec<u64> = rounds.iter().map(|(steps, _)| *steps).collect();
    visits.sort_unstable();
    visits.dedup();
    assert!(visits.len() > 1, "all walks have {visits:?} visits");
}

#[test]
fn a_round_takes_as_long_as_its_slowest_client_and_its_messages() {
    let network = "network={links: {fixed: {bytes_per_second: 1000}}, compute: {seconds_per_step: 2, slowdown: {list: [1, 1, 3, 1, 1, 1]}}}";
    let (records, case) = finished(&[DSGD, network]);
    // Every client sends one model to each of its two neighbours over a link that they share.
    let round = 2.0 * 3.0 + 2.0 * model_bytes(&case) as f64 / 1000.0;
    for (number, record) in records.iter().enumerate() {
        let seconds = record.simulated_seconds.unwrap();
        assert!(
            (seconds - number as f64 * round).abs() < 1e-9 * (1.0 + seconds),
            "{seconds}"
        );
    }
}

/// A step takes the slow client 6 seconds and the others 2. Clients that wait for their neighbours alone go at the pace of the slowest
/// cycle of the ring: here of the slow client and a neighbour, who wait for each other in turn.
#[test]
fn with_a_local_barrier_rounds_last_as_long_as_the_slowest_cycle() {
    let network = "network={barrier: local, links: {fixed: {bytes_per_second: 1.0e+18, latency_seconds: 5}}, compute: {seconds_per_step: 2, slowdown: {list: [1, 1, 3, 1, 1, 1]}}}";
    let (records, _) = finished(&[DSGD, network]);
    let seconds = |round: usize| records[round].simulated_seconds.unwrap();
    assert!((seconds(1) - (6.0 + 5.0)).abs() < 1e-9);
    let cycle = (6.0 + 5.0 + 2.0 + 5.0) / 2.0;
    let found = (seconds(7) - seconds(3)) / 4.0;
    assert!((found - cycle).abs() < 1e-9, "{found} {cycle}");
}

#[test]
fn a_local_barrier_is_refused_where_nothing_tells_who_waits() {
    let network = "network={barrier: local, links: {fixed: {bytes_per_second: 1000}}, compute: {seconds_per_step: 1}}";
    let late = refusal(&[DSGD, network, "stragglers={deadline_seconds: 2}"]);
    let needed = "network.barrier: found local, needed `global` with `stragglers.deadline_seconds`";
    assert!(late.contains(needed), "{late}");
    let walks = "algorithm={dfedrw: {walkers: 2, hops: 3, batch_size: 7, learning_rate: 0.1}}";
    let walks = refusal(&[walks, network, "topology=complete"]);
    assert!(
        walks.contains("needed `global` for a method of walks"),
        "{walks}"
    );
}

#[test]
fn quantities_of_the_bounds_are_recorded_where_asked_for() {
    let asked = "evaluate.theory=[dissimilarity, gradient_norm, mean_model_loss, inexactness, averaged_iterates]";
    let (recorded, _) = finished(&[DSGD, asked]);
    let last = &recorded.last().unwrap().theory;
    let keys: Vec<&str> = last.keys().map(String::as_str).collect();
    let expected = [
        "averaged_iterates_accuracy",
        "averaged_iterates_loss",
        "dissimilarity",
        "gradient_norm",
        "inexactness",
        "inexactness_max",
        "local_gradient_norm",
        "mean_model_loss",
    ];
    assert_eq!(keys, expected);
    // One client with all data is as similar to all as can be.
    let centralised = "algorithm={centralised: {batch_size: 7, learning_rate: 0.1}}";
    let (alone, case) = finished(&[centralised, "topology=null", asked]);
    assert_eq!(case.plan.clients, 1);
    let same = alone.last().unwrap().theory["dissimilarity"];
    assert!((same - 1.0).abs() < 1e-5, "{same}");
    assert!(last["dissimilarity"] > 1.0);
    let (plain, _) = finished(&[DSGD]);
    assert!(plain.iter().all(|record| record.theory.is_empty()));
    // To measure changes nothing.
    let accuracy = |records: &[Record]| records.last().unwrap().test_loss;
    assert_eq!(accuracy(&plain), accuracy(&recorded));
}

#[test]
fn the_loss_of_the_mean_model_is_that_of_all_where_all_agree() {
    let judged = "evaluate={train: true, theory: [mean_model_loss]}";
    let (recorded, _case) = finished(&[DSGD, "topology=complete", judged]);
    for record in &recorded {
        let own = record.train_shard_loss.unwrap().mean;
        let loss = record.theory["mean_model_loss"];
        assert!((loss - own).abs() < 1e-5, "{loss} {own}");
    }
    let (apart, _case) = finished(&[DSGD, judged]);
    let last = apart.last().unwrap();
    assert!(last.theory["mean_model_loss"] > last.train_shard_loss.unwrap().mean);
}

/// D-Cliques, Section IV: gradients and models over both directions of every edge. Ours go where they are used.
#[test]
fn messages_of_cliques_are_counted_both_ways() {
    let method = "algorithm={d_cliques: {batch_size: 7, learning_rate: 0.1}}";
    let topology = "topology={d_cliques: {max_clique_size: 3}}";
    let asked = "evaluate.theory=[clique_skew]";
    let (records, case) = finished(&[method, topology, asked]);
    let planned = case.plan.overlay.as_ref().unwrap();
    // Two triangles and what joins them.
    let edges = planned.overlay.edge_count() as u64;
    let last = records.last().unwrap();
    assert_eq!(last.messages_total, 7 * (2 * edges + 2 * 6));
    assert_eq!(last.messages_as_printed, Some(7 * 4 * edges));
    let [mean, most] = planned.cliques.as_ref().unwrap().skew.unwrap();
    assert_eq!(
        (last.theory["clique_skew"], last.theory["clique_skew_max"]),
        (mean, most)
    );
}

#[test]
fn the_skew_of_cliques_is_that_of_the_round() {
    let method = "algorithm={d_cliques: {batch_size: 7, learning_rate: 0.1}}";
    let topology = "topology={redraw: {of: {d_cliques: {max_clique_size: 2, swaps: 0}}}}";
    let asked = "evaluate.theory=[clique_skew]";
    let (records, _) = finished(&[method, topology, asked]);
    let skews: Vec<f64> = records.iter().map(|it| it.theory["clique_skew"]).collect();
    assert!(skews.iter().any(|skew| *skew != skews[0]), "{skews:?}");
    // Before the first round it is that of the first.
    assert_eq!(skews[0], skews[1]);
}

/// 240 images of 784 pixels are met exactly by one model as they are by each client's own.
#[test]
fn the_non_iid_degree_of_a_linear_model_is_recorded() {
    let asked = "evaluate.theory=[non_iid_degree]";
    let (records, _) = finished(&[DSGD, "model=linear", asked, "rounds=1"]);
    let degrees: Vec<f64> = records
        .iter()
        .map(|record| record.theory["non_iid_degree"])
        .collect();
    assert_eq!(degrees[0], degrees[1]);
    assert!(degrees[0].abs() < 1e-9, "{}", degrees[0]);
}

/// Each client's own images are told apart more easily than all of them: there is something to lose by sharing.
#[test]
fn the_non_iid_degree_of_a_logistic_model_is_recorded_with_its_error() {
    let method = "algorithm={dsgd: {batch_size: 7, learning_rate: 0.1, weight_decay: 0.01}}";
    let asked = "evaluate.theory=[non_iid_degree]";
    let (records, _) = finished(&[method, "model=logistic", asked, "rounds=1"]);
    for record in &records {
        assert_eq!(record.theory, records[0].theory);
    }
    let [degree, error] =
        ["non_iid_degree", "non_iid_degree_error"].map(|name| records[0].theory[name]);
    assert!((0.0..=1e-6).contains(&error), "{error}");
    // The loss of a model of zeros, ln 10, is above f*, and no least loss is below zero.
    assert!(degree > error && degree < 10.0_f64.ln(), "{degree}");
}

#[test]
fn servers_hold_the_rows_of_p_fedavg_and_walkers_those_of_a_walk_among_many() {
    let p_fedavg = "algorithm={p_fedavg: {servers: {count: 3}, participation: {per_server: 1}, local: {steps: 2}, batch_size: 7, learning_rate: 0.1}}";
    let (records, case) = finished(&[p_fedavg]);
    assert_eq!(
        (case.plan.rows.count, case.plan.rows.kind.name()),
        (3, "server")
    );
    // Three models down, three up, and two along each edge of the triangle of servers.
    assert!(
        bytes(&records)
            .iter()
            .all(|sent| *sent == 12 * model_bytes(&case))
    );
    let walkers = "algorithm={dfedrw: {walkers: 2, hops: 3, rows: walkers, from: walk_ends, aggregators: walk_ends, restart: continue, batch_size: 7, learning_rate: 0.1}}";
    let (_, case) = finished(&[walkers]);
    assert_eq!(
        (case.plan.rows.count, case.plan.rows.kind.name()),
        (2, "walker")
    );
}

#[test]
fn clients_that_die_take_no_server_along_though_there_are_as_many() {
    let p_fedavg = "algorithm={p_fedavg: {servers: {count: 6}, participation: {per_server: 1}, local: {steps: 1}, batch_size: 7, learning_rate: 0.1}}";
    let dead = "failures=[{clients: {list: [0, 1]}}]";
    let (records, case) = finished(&[p_fedavg, dead, "topology=complete"]);
    assert_eq!(case.plan.clients, 6);
    for record in &records[1..] {
        assert_eq!(record.alive, 4);
        // The complete overlay of servers has them all agree.
        assert!(record.consensus_distance < 1e-6, "{record:?}");
    }
}
