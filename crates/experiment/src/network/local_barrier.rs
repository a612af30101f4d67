//! The time of a round in which nodes wait for those alone who send to them.

use meshfold_algorithms::{Exchange, Phase, Traffic};

use super::directed_edges::directed_edges;
use super::error::NetworkError;
use super::link_model::LinkModel;
use super::moment::Moment;

/// Moves the time of each node, `[N + servers]`, to the end of a round: see [`Barrier`](super::Barrier).
///
/// `step_seconds` are those of a local step of each client, `[N]`.
///
/// # Errors
/// Those of messages over other edges than the links or the overlay know.
///
/// # Complexity
/// O(edges + messages log messages) for each exchange.
pub(super) fn advance(
    nodes: &mut [f64],
    traffic: &Traffic,
    links: &LinkModel,
    moment: &Moment<'_>,
    step_seconds: &[f64],
) -> Result<(), NetworkError> {
    let mut is_active = vec![false; nodes.len()];
    for phase in traffic.phases() {
        let mut work = |client: usize, steps: u32| {
            nodes[client] += f64::from(steps) * step_seconds[client];
            is_active[client] |= steps > 0;
        };
        match phase {
            Phase::Compute { steps } => {
                let clients = steps.iter().enumerate();
                clients.for_each(|(client, steps)| work(client, *steps));
            }
            Phase::Visits { clients, steps } => {
                let visits = clients.iter().zip(steps);
                visits.for_each(|(client, steps)| work(*client as usize, *steps));
            }
            Phase::Exchange(exchange) => {
                receive(nodes, &mut is_active, exchange, links, moment)?;
            }
        }
    }
    let active = nodes.iter().zip(&is_active);
    let ends = active.filter(|(_, is_active)| **is_active);
    let first = ends.map(|(end, _)| *end).reduce(f64::min);
    if let Some(first) = first {
        nodes.iter_mut().for_each(|node| *node = node.max(first));
    }
    Ok(())
}

/// Lets each node wait until its own messages have left and those to it have arrived. All set out when their senders have done what comes
/// before.
fn receive(
    nodes: &mut [f64],
    is_active: &mut [bool],
    exchange: &Exchange,
    links: &LinkModel,
    moment: &Moment<'_>,
) -> Result<(), NetworkError> {
    let begun = nodes.to_vec();
    let (delay, latency) = (links.delays(exchange, moment), links.latency_seconds());
    for (edge @ (from, to), bytes) in directed_edges(exchange, moment.overlay)? {
        let (from, to) = (from as usize, to as usize);
        let seconds = delay(edge, bytes, begun[from])?;
        nodes[from] = nodes[from].max(begun[from] + (seconds - latency));
        nodes[to] = nodes[to].max(begun[from] + seconds);
        is_active[from] = true;
        is_active[to] = true;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use meshfold_algorithms::Message;
    use meshfold_topology::Overlay;

    use super::*;
    use crate::network::{Clock, LinkTrace, NetworkNodes, SimulatedNetwork, SimulatedTime};

    fn network(yaml: &str) -> SimulatedNetwork {
        serde_yaml::from_str(yaml).unwrap()
    }

    fn clock(yaml: &str, clients: usize, servers: usize) -> Clock {
        let nodes = NetworkNodes {
            steps_per_epoch: vec![1; clients],
            servers,
        };
        Clock::new(&network(yaml), &nodes, 3).unwrap()
    }

    fn path(nodes: u32) -> Overlay {
        Overlay::from_edges(nodes as usize, (1..nodes).map(|node| (node - 1, node))).unwrap()
    }

    /// Local steps of each client, then an exchange over a path.
    fn on_a_path(steps: &[u32], bytes: u64) -> Traffic {
        let mut traffic = Traffic::default();
        traffic.compute(steps.to_vec());
        let last = steps.len() - 1;
        let degree = |node| 2 - u32::from(node == 0) - u32::from(node == last);
        traffic.neighbours(bytes, (0..=last).map(degree).collect());
        traffic
    }

    fn times(clock: &Clock, traffic: &Traffic, rounds: usize) -> Vec<SimulatedTime> {
        let overlay = path(3);
        let mut time = SimulatedTime::default();
        let round = |round| {
            clock
                .advance(&mut time, traffic, Some(&overlay), round)
                .unwrap();
            time.clone()
        };
        (1..=rounds).map(round).collect()
    }

    /// Steps of 3, 1 and 1 seconds, and half a second for each message.
    #[test]
    fn a_node_waits_for_its_neighbours_alone() {
        let yaml = "{links: {latency: {epoch: 1, message: 0.5}}, barrier: local}";
        let times = times(&clock(yaml, 3, 0), &on_a_path(&[3, 1, 1], 8), 4);
        let nodes = times.iter().map(|time| time.nodes.clone());
        let by_hand = [
            vec![3.0, 3.5, 1.5],
            vec![6.0, 6.5, 5.0],
            vec![9.0, 9.5, 8.0],
            vec![12.0, 12.5, 11.0],
        ];
        assert_eq!(nodes.collect::<Vec<_>>(), by_hand);
        assert_eq!(times[3].seconds, 12.5);
    }

    /// The rate of the recurrence is its largest cycle mean (Marfoq et al., 2020): that of the slow node alone, where a global
    /// barrier adds each exchange.
    #[test]
    fn rounds_last_as_long_as_the_slowest_cycle() {
        let local = "{links: {latency: {epoch: 1, message: 0.5}}, barrier: local}";
        let of_all = "{links: {latency: {epoch: 1, message: 0.5}}}";
        let traffic = on_a_path(&[3, 1, 1], 8);
        let rate = |yaml| {
            let times = times(&clock(yaml, 3, 0), &traffic, 20);
            (times[19].seconds - times[9].seconds) / 10.0
        };
        assert_eq!(rate(local), 3.0);
        assert_eq!(rate(of_all), 3.5);
        // The cycle of the slow node and its neighbour is longer than the slow node's own.
        let far = "{links: {latency: {epoch: 1, message: 3}}, barrier: local}";
        assert_eq!(rate(far), (3.0 + 3.0 + 1.0 + 3.0) / 2.0);
    }

    const LINKS: [&str; 6] = [
        "{fixed: {bytes_per_second: 20, latency_seconds: 0.25}}",
        "{edge_capacitated: {bytes_per_second: {uniform: [1, 9]}, latency_seconds: 2, redraw: each_round}}",
        "{node_capacitated: {upload: {uniform: [1, 9]}, download: {uniform: [1, 9]}, edges: {uniform: [1, 3]}, latency_seconds: 1}}",
        "{node_capacitated: {upload: 8, servers: {clients: {list: [3, 7]}, servers: 5}, redraw: each_round}}",
        "{latency: {epoch: 1, message: 2}}",
        "{trace: {file: 4g.csv, servers: 3, latency_seconds: 0.5}}",
    ];

    /// The links written as `yaml`; those of a file have the bandwidths of `csv`.
    fn links(yaml: &str, csv: &str) -> LinkModel {
        let links: LinkModel = serde_yaml::from_str(yaml).unwrap();
        let LinkModel::Trace(trace) = &links else {
            return links;
        };
        let folder = tempfile::tempdir().expect("the test may write");
        let file = folder.path().join("4g.csv");
        std::fs::write(&file, csv).expect("the test may write");
        let trace: LinkTrace = trace.read(&file).unwrap();
        LinkModel::Trace(trace)
    }

    const BY_NODE: &str = "node,seconds,bytes_per_second\n0,0,10\n0,4,2\n1,0,5\n2,0,7\n";

    /// Clients 0 to 2, servers 3 and 4.
    fn exchanges() -> [Exchange; 3] {
        let message = |from, to, bytes| Message { from, to, bytes };
        let degrees = vec![1, 2, 1];
        [
            Exchange::Neighbours { bytes: 40, degrees },
            Exchange::Messages(vec![
                message(0, 1, 30),
                message(0, 1, 6),
                message(2, 2, 900),
                message(2, 1, 50),
                message(1, 0, 70),
            ]),
            Exchange::Messages(vec![
                message(3, 0, 40),
                message(3, 1, 40),
                message(2, 4, 10),
                message(3, 4, 60),
                message(4, 3, 90),
            ]),
        ]
    }

    #[test]
    fn messages_that_set_out_together_last_as_long_as_their_exchange() {
        let overlay = path(3);
        for written in LINKS {
            let links = links(written, BY_NODE);
            for exchange in exchanges() {
                let moment = Moment {
                    clients: 3,
                    seed: 5,
                    round: 2,
                    seconds: 7.0,
                    overlay: Some(&overlay),
                };
                let mut nodes = [7.0; 5];
                receive(&mut nodes, &mut [false; 5], &exchange, &links, &moment).unwrap();
                let last = nodes.iter().copied().fold(0.0, f64::max) - 7.0;
                let all = links.seconds(&exchange, &moment).unwrap();
                assert!((last - all).abs() < 1e-12, "{written}: {last} {all}");
            }
        }
        let by_edge = "from,to,seconds,bytes_per_second\n0,1,0,10\n0,1,9,3\n2,1,0,7\n";
        let links = links("{trace: {file: 4g.csv}}", by_edge);
        let moment = Moment {
            clients: 3,
            seed: 5,
            round: 2,
            seconds: 0.0,
            overlay: Some(&overlay),
        };
        let mut nodes = [8.0, 1.0, 0.0];
        receive(
            &mut nodes,
            &mut [false; 3],
            &exchanges()[0],
            &links,
            &moment,
        )
        .unwrap();
        // Over 0-1 go 10 B/s until second 9, 3 B/s until 18, then 10 B/s again: from 8 on 10, 27 and 3 bytes.
        // Node 0 sends for as long, node 1 until 6.71.
        let by_hand = [18.3, 18.3, 1.0 + 40.0 / 7.0];
        for (node, expected) in nodes.iter().zip(by_hand) {
            assert!((node - expected).abs() < 1e-12, "{nodes:?}");
        }
    }

    #[test]
    fn nobody_is_later_than_with_a_global_barrier() {
        let mut traffic = on_a_path(&[2, 5, 1], 30);
        traffic.compute(vec![1, 1, 4]);
        let message = |from, to| Message {
            from,
            to,
            bytes: 25,
        };
        traffic.messages(vec![message(0, 2), message(2, 0), message(1, 0)]);
        let compute = "compute: {seconds_per_step: 0.5, slowdown: {uniform: [1, 3]}, each_round: {exponential: {mean: 1}}}";
        for links in &LINKS[..3] {
            let of_all = format!("{{links: {links}, {compute}}}");
            let local = format!("{{links: {links}, {compute}, barrier: local}}");
            let all = times(&clock(&of_all, 3, 0), &traffic, 9);
            let local = times(&clock(&local, 3, 0), &traffic, 9);
            for (of_all, local) in all.iter().zip(&local) {
                assert!(local.seconds <= of_all.seconds * (1.0 + 1e-12), "{links}");
                assert_eq!(local.nodes.len(), 3);
                assert!(of_all.nodes.is_empty());
            }
            assert!(local[8].seconds < all[8].seconds, "{links}");
        }
    }

    /// P-FedAvg, Definition 5.1: a server mixes once it has the models of its clients and of its neighbours, whatever the others do.
    #[test]
    fn servers_wait_for_their_clients_and_their_neighbours() {
        let yaml = "{links: {latency: {epoch: 1, message: 1}}, barrier: local}";
        let clock = clock(yaml, 3, 3);
        let message = |from, to| Message { from, to, bytes: 4 };
        let mut traffic = Traffic::default();
        traffic.messages((0..3).map(|client| message(3 + client, client)).collect());
        traffic.compute(vec![10, 1, 2]);
        traffic.messages((0..3).map(|client| message(client, 3 + client)).collect());
        traffic.neighbours(4, vec![0, 0, 0, 1, 2, 1]);
        let mut time = SimulatedTime::default();
        clock
            .advance(&mut time, &traffic, Some(&path(3)), 1)
            .unwrap();
        assert_eq!(time.nodes[3..], [12.0, 13.0, 4.0]);
        assert_eq!(time.seconds, 13.0);
    }

    #[test]
    fn who_is_idle_begins_no_round_before_another_has_ended() {
        let yaml = "{links: {latency: {epoch: 1, message: 0.5}}, barrier: local}";
        let clock = clock(yaml, 3, 0);
        let mut traffic = Traffic::default();
        traffic.compute(vec![2, 3, 0]);
        traffic.neighbours(4, vec![1, 1, 0]);
        let mut time = SimulatedTime::default();
        clock
            .advance(&mut time, &traffic, Some(&path(3)), 1)
            .unwrap();
        assert_eq!(time.nodes, [3.5, 3.0, 3.0]);
    }

    /// A sender of five messages of a second each over a directed overlay cannot send them faster, though nobody answers it.
    #[test]
    fn messages_of_two_rounds_do_not_share_a_link() {
        let yaml = "{links: {node_capacitated: {upload: {list: [10, 100, 100]}, latency_seconds: 4}}, barrier: local}";
        let clock = clock(yaml, 3, 0);
        let mut traffic = Traffic::default();
        let message = |from, to| Message {
            from,
            to,
            bytes: 10,
        };
        traffic.messages(vec![message(0, 1), message(1, 2)]);
        let mut time = SimulatedTime::default();
        for round in 1..=5 {
            clock.advance(&mut time, &traffic, None, round).unwrap();
        }
        // Node 0 has sent after five seconds; the last message arrives at node 1 after four more, and node 2 hears from that in the end.
        assert_eq!(time.nodes[..2], [5.0, 9.0]);
        assert!(
            (time.nodes[2] - (8.0 + 0.1 + 4.0)).abs() < 1e-12,
            "{:?}",
            time.nodes
        );
    }
}
