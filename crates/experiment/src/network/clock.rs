//! The simulated time of a round.

use std::borrow::Cow;

use meshfold_algorithms::{NetworkSpeeds, Phase, Traffic};
use meshfold_topology::Overlay;

use super::barrier::Barrier;
use super::compute::in_round;
use super::distribution::Distribution;
use super::error::NetworkError;
use super::link_model::LinkModel;
use super::moment::Moment;
use super::simulated_time::SimulatedTime;
use super::{SimulatedNetwork, local_barrier};

/// Reads from the traffic of a round how long it would take.
///
/// With a global barrier each phase lasts as long as its slowest client, node or edge, and a round is their sum. The local steps of walks
/// have no barrier: they last as long as the slowest walk. Where a deadline has cut somebody off, all wait for it after their last local
/// steps, in `hierfavg` after those of each edge round. With a local barrier see [`Barrier`].
///
/// A clock has no state: a run that goes on from a checkpoint needs no more than the [`SimulatedTime`] so far.
#[derive(Clone, Debug)]
pub struct Clock {
    links: LinkModel,
    /// Seconds of a local step of each client, `[N]`, without the factor of a round.
    seconds_per_step: Vec<f64>,
    /// The factor that is drawn for each client and round.
    each_round: Option<Distribution>,
    clients: usize,
    servers: usize,
    barrier: Barrier,
    seed: u64,
    /// When local work is cut off, if it is.
    deadline_seconds: Option<f64>,
}

/// Who is on the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkNodes {
    /// Local steps that make an epoch of each client, `[N]`; 0 for a client without examples.
    pub steps_per_epoch: Vec<u32>,
    /// Servers, the nodes from `N` on.
    pub servers: usize,
}

impl Clock {
    /// A clock for a run with `seed`.
    ///
    /// # Errors
    /// Those of [`SimulatedNetwork::check`].
    pub fn new(
        network: &SimulatedNetwork,
        population: &NetworkNodes,
        seed: u64,
    ) -> Result<Self, NetworkError> {
        let clients = population.steps_per_epoch.len();
        network.check(clients, population.servers)?;
        let seconds_per_step = match (&network.links, &network.compute) {
            (LinkModel::Latency(latency), _) => {
                latency.seconds_per_step(&population.steps_per_epoch)
            }
            (_, Some(compute)) => compute.seconds_per_step(clients, seed),
            (_, None) => vec![0.0; clients],
        };
        Ok(Self {
            links: network.links.clone(),
            seconds_per_step,
            each_round: network
                .compute
                .as_ref()
                .and_then(|compute| compute.each_round.clone()),
            clients,
            servers: population.servers,
            barrier: network.barrier.unwrap_or_default(),
            seed,
            deadline_seconds: None,
        })
    }

    /// Whether local steps take time.
    pub fn times_steps(&self) -> bool {
        self.seconds_per_step.iter().any(|seconds| *seconds > 0.0)
    }

    /// The speeds of clients and links in round `round`, 1-based.
    pub fn speeds(&self, round: usize) -> NetworkSpeeds {
        let usual = self.times_steps().then(|| self.seconds_per_step.clone());
        let step_seconds = usual
            .is_some()
            .then(|| self.step_seconds(round).into_owned());
        NetworkSpeeds {
            step_seconds,
            usual_step_seconds: usual,
            links: self.links.even(),
        }
    }

    /// The same clock where local work is cut off after `deadline_seconds`, if it is.
    pub fn until(self, deadline_seconds: Option<f64>) -> Self {
        Self {
            deadline_seconds,
            ..self
        }
    }

    /// Whether only the edges that a file names have a bandwidth.
    pub fn is_by_edge(&self) -> bool {
        matches!(&self.links, LinkModel::Trace(trace) if trace.is_by_edge())
    }

    /// Checks that each of `edges`, pairs of nodes in either order, has a bandwidth, where a file gives bandwidths of edges.
    ///
    /// # Errors
    /// [`NetworkError::TraceEdge`] for the first edge that has none.
    pub fn check_edges(
        &self,
        edges: impl IntoIterator<Item = (u32, u32)>,
    ) -> Result<(), NetworkError> {
        match &self.links {
            LinkModel::Trace(trace) => trace.check_edges(edges),
            _ => Ok(()),
        }
    }

    /// Moves `time` to the end of round `round`, 1-based.
    ///
    /// `overlay` is the graph of the exchanges among all neighbours; only links that differ from edge to edge and a local barrier need it.
    ///
    /// # Errors
    /// [`NetworkError::OverlayNeeded`], [`NetworkError::Degree`] or [`NetworkError::TraceEdge`] if the messages go over other
    /// edges than the links know.
    ///
    /// # Complexity
    /// O(nodes + messages) with links by node, O(edges + messages log messages) with links by edge or a local barrier.
    pub fn advance(
        &self,
        time: &mut SimulatedTime,
        traffic: &Traffic,
        overlay: Option<&Overlay>,
        round: usize,
    ) -> Result<(), NetworkError> {
        if self.barrier == Barrier::Global {
            time.seconds += self.seconds(traffic, overlay, round, time.seconds)?;
            return Ok(());
        }
        time.nodes.resize(self.clients + self.servers, 0.0);
        local_barrier::advance(
            &mut time.nodes,
            traffic,
            &self.links,
            &self.moment(overlay, round, time.seconds),
            &self.step_seconds(round),
        )?;
        time.seconds = time.nodes.iter().copied().fold(time.seconds, f64::max);
        Ok(())
    }

    /// How many nodes have a time of their own: all with a local barrier, else none.
    pub(crate) fn timed_nodes(&self) -> usize {
        match self.barrier {
            Barrier::Global => 0,
            Barrier::Local => self.clients + self.servers,
        }
    }

    fn moment<'a>(&self, overlay: Option<&'a Overlay>, round: usize, seconds: f64) -> Moment<'a> {
        Moment {
            clients: self.clients,
            seed: self.seed,
            round: round as u64,
            seconds,
            overlay,
        }
    }

    /// Seconds of a round that begins `start_seconds` after the start of the run and ends for all at the same time.
    fn seconds(
        &self,
        traffic: &Traffic,
        overlay: Option<&Overlay>,
        round: usize,
        start_seconds: f64,
    ) -> Result<f64, NetworkError> {
        let works = |phase: &Phase| !matches!(phase, Phase::Exchange(_));
        let last_work = traffic.phases().iter().rposition(works);
        let until = match traffic.lasts_until_deadline() {
            true => self.deadline_seconds.unwrap_or(0.0),
            false => 0.0,
        };
        let step_seconds = self.step_seconds(round);
        let (mut seconds, mut worked, mut walks) = (0.0, 0.0, Vec::new());
        for (at, phase) in traffic.phases().iter().enumerate() {
            let spent = match phase {
                Phase::Compute { steps } => longest(work_seconds(steps, &step_seconds)),
                Phase::Visits { clients, steps } => {
                    visit_seconds(clients, steps, &step_seconds, &mut walks)
                }
                Phase::Exchange(exchange) => {
                    let moment = self.moment(overlay, round, start_seconds + seconds);
                    seconds += self.links.seconds(exchange, &moment)?;
                    continue;
                }
            };
            let spent = match traffic.ends_at_deadline(at) {
                true => spent.max(self.deadline_seconds.unwrap_or(0.0)),
                false => spent,
            };
            worked += spent;
            seconds += spent;
            if last_work == Some(at) {
                seconds += f64::max(until - worked, 0.0);
            }
        }
        Ok(seconds)
    }

    /// The share of `deadline_seconds` that a local step of each client takes in round `round`, `[N]`.
    pub(crate) fn step_shares(&self, deadline_seconds: f64, round: usize) -> Vec<f64> {
        let share = |seconds| seconds / deadline_seconds;
        self.step_seconds(round).iter().map(share).collect()
    }

    /// Whether a client is not as fast in each round.
    pub(crate) fn varies(&self) -> bool {
        self.each_round.is_some()
    }

    /// Seconds that the client needs for its entry of `steps`, `[N]`, which has done so first.
    pub(crate) fn fastest_seconds(&self, steps: &[u32]) -> f64 {
        work_seconds(steps, &self.seconds_per_step).fold(f64::INFINITY, f64::min)
    }

    /// Seconds of a local step of each client in round `round`, `[N]`.
    fn step_seconds(&self, round: usize) -> Cow<'_, [f64]> {
        let each_round = self.each_round.as_ref();
        in_round(&self.seconds_per_step, each_round, self.seed, round as u64)
    }
}

/// Seconds that each client needs for its entry of `steps`.
fn work_seconds(steps: &[u32], step_seconds: &[f64]) -> impl Iterator<Item = f64> {
    let each = steps.iter().zip(step_seconds);
    each.map(|(steps, seconds)| f64::from(*steps) * seconds)
}

/// The longest of some seconds, 0 if there are none.
fn longest(seconds: impl IntoIterator<Item = f64>) -> f64 {
    seconds.into_iter().fold(0.0, f64::max)
}

/// By how much the longest of the walks grows with these visits; `walks` has the seconds of each so far.
fn visit_seconds(
    clients: &[u32],
    steps: &[u32],
    step_seconds: &[f64],
    walks: &mut Vec<f64>,
) -> f64 {
    walks.resize(clients.len().max(walks.len()), 0.0);
    let before = longest(walks.iter().copied());
    for ((walk, client), steps) in walks.iter_mut().zip(clients).zip(steps) {
        *walk += f64::from(*steps) * step_seconds[*client as usize];
    }
    longest(walks.iter().copied()) - before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Compute, Distribution, Fixed, Latency};
    use meshfold_algorithms::Message;
    use meshfold_theory::{dfedrw_seconds, fedavg_seconds};

    fn population(clients: usize, servers: usize) -> NetworkNodes {
        NetworkNodes {
            steps_per_epoch: vec![10; clients],
            servers,
        }
    }

    fn fixed(compute: Option<Compute>) -> SimulatedNetwork {
        SimulatedNetwork {
            links: LinkModel::Fixed(Fixed {
                bytes_per_second: 100.0,
                latency_seconds: 0.5,
            }),
            compute,
            barrier: None,
        }
    }

    fn round() -> Traffic {
        let mut traffic = Traffic::default();
        traffic.compute(vec![10, 5, 0]);
        traffic.neighbours(100, vec![1, 2, 1]);
        traffic.compute(vec![1, 1, 1]);
        traffic
    }

    fn in_time(clock: &Clock, deadline_seconds: f64) -> Vec<u32> {
        let shares = clock.step_shares(deadline_seconds, 1).into_iter();
        shares.map(meshfold_algorithms::steps_in_time).collect()
    }

    #[test]
    fn a_round_is_the_sum_of_the_slowest_of_each_phase() {
        let compute = Compute {
            seconds_per_step: 0.1,
            slowdown: Distribution::List(vec![1.0, 4.0, 7.0]),
            each_round: None,
        };
        let clock = Clock::new(&fixed(Some(compute)), &population(3, 0), 1).unwrap();
        // 5 steps of 0.4 s, 200 bytes at 100 B/s after 0.5 s, one step of 0.7 s.
        let seconds = clock.seconds(&round(), None, 1, 0.0).unwrap();
        assert!((seconds - (2.0 + 2.5 + 0.7)).abs() < 1e-12, "{seconds}");
        assert_eq!(in_time(&clock, 1.2), [12, 3, 1]);
    }

    fn at_speeds(slowdown: &[f64]) -> Clock {
        let compute = Compute {
            seconds_per_step: 1.0,
            slowdown: Distribution::List(slowdown.to_vec()),
            each_round: None,
        };
        Clock::new(&fixed(Some(compute)), &population(slowdown.len(), 0), 1).unwrap()
    }

    #[test]
    fn walks_do_not_wait_for_each_other() {
        let clock = at_speeds(&[1.0, 4.0, 4.0]);
        let mut walks = Traffic::default();
        // One second and four, then four and one: two barriers would make eight of them.
        walks.visits(vec![0, 1], vec![1, 1]);
        walks.neighbours(50, vec![1, 1, 0]);
        walks.visits(vec![2, 0], vec![1, 1]);
        assert_eq!(clock.seconds(&walks, None, 1, 0.0), Ok(5.0 + 1.0));
    }

    #[test]
    fn a_round_that_cuts_somebody_off_lasts_until_the_deadline() {
        let clock = at_speeds(&[1.0, 2.0]).until(Some(7.0));
        let round = |steps: &[[u32; 2]], late: bool| {
            let mut traffic = Traffic::default();
            for steps in steps {
                traffic.compute(steps.to_vec());
                traffic.neighbours(50, vec![1, 1]);
            }
            if late {
                traffic.wait_for_deadline();
            }
            clock.seconds(&traffic, None, 1, 0.0).unwrap()
        };
        assert_eq!(round(&[[5, 1]], false), 5.0 + 1.0);
        assert_eq!(round(&[[5, 0]], true), 7.0 + 1.0);
        assert_eq!(round(&[[2, 2], [1, 0]], true), 7.0 + 2.0);
        // Nobody was in time, and the one that counts all the same took longer.
        assert_eq!(round(&[[0, 5]], true), 10.0 + 1.0);
    }

    #[test]
    fn a_round_may_have_several_deadlines() {
        let clock = at_speeds(&[1.0, 2.0]).until(Some(7.0));
        let round = |late: [bool; 2]| {
            let mut traffic = Traffic::default();
            for is_late in late {
                traffic.compute(vec![5, 0]);
                if is_late {
                    traffic.end_at_deadline();
                }
                traffic.neighbours(50, vec![1, 1]);
            }
            clock.seconds(&traffic, None, 1, 0.0).unwrap()
        };
        assert_eq!(round([false, false]), 5.0 + 5.0 + 2.0);
        assert_eq!(round([true, false]), 7.0 + 5.0 + 2.0);
        assert_eq!(round([true, true]), 7.0 + 7.0 + 2.0);
    }

    #[test]
    fn computing_takes_no_time_unless_it_is_described() {
        let clock = Clock::new(&fixed(None), &population(3, 0), 1).unwrap();
        assert_eq!(clock.seconds(&round(), None, 1, 9.0), Ok(2.5));
        assert_eq!(in_time(&clock, 1.0), [u32::MAX; 3]);
    }

    /// DFedRW, Table IV: the messages of FedAvg, and those of a walk of K epochs, one after each, with one aggregation.
    #[test]
    fn latencies_are_those_of_table_four() {
        let network = SimulatedNetwork {
            links: LinkModel::Latency(Latency {
                epoch: 0.25,
                message: 2.0,
            }),
            compute: None,
            barrier: None,
        };
        let clock = Clock::new(&network, &population(4, 1), 1).unwrap();
        let message = |from, to| Message { from, to, bytes: 8 };
        let mut fedavg = Traffic::default();
        fedavg.messages(vec![message(4, 0), message(4, 2)]);
        fedavg.compute(vec![30, 0, 30, 0]);
        fedavg.messages(vec![message(0, 4), message(2, 4)]);
        assert_eq!(
            clock.seconds(&fedavg, None, 1, 0.0),
            Ok(fedavg_seconds(3, 0.25, 2.0))
        );
        let mut walk = Traffic::default();
        for visit in 0..3 {
            walk.compute(
                (0..4)
                    .map(|client| if client == visit { 10 } else { 0 })
                    .collect(),
            );
            walk.messages(vec![message(visit, visit + 1)]);
        }
        walk.messages(vec![message(2, 0), message(2, 1)]);
        assert_eq!(
            clock.seconds(&walk, None, 1, 0.0),
            Ok(dfedrw_seconds(3, 0.25, 2.0))
        );
        assert_eq!(in_time(&clock, 0.5), [20; 4]);
    }

    #[test]
    fn a_phase_begins_when_the_one_before_has_ended() {
        let folder = tempfile::tempdir().expect("the test may write");
        let path = folder.path().join("4g.csv");
        std::fs::write(&path, "seconds,bytes_per_second\n0,10\n5,40\n")
            .expect("the test may write");
        let trace: crate::network::LinkTrace = serde_yaml::from_str("{file: 4g.csv}").unwrap();
        let network = SimulatedNetwork {
            links: LinkModel::Trace(trace.read(&path).unwrap()),
            compute: Some(Compute {
                seconds_per_step: 1.0,
                slowdown: Distribution::Fixed(1.0),
                each_round: None,
            }),
            barrier: None,
        };
        let clock = Clock::new(&network, &population(2, 0), 1).unwrap();
        let mut traffic = Traffic::default();
        traffic.compute(vec![4, 2]);
        traffic.neighbours(50, vec![1, 1]);
        // 4 s of computing, 10 bytes until second 5, 40 bytes in the next second.
        assert_eq!(clock.seconds(&traffic, None, 1, 0.0), Ok(6.0));
        assert_eq!(
            clock.seconds(&traffic, None, 2, 10.0),
            Ok(6.0),
            "the trace repeats after 10 s"
        );
        assert_eq!(clock.seconds(&traffic, None, 2, 6.0), Ok(4.0 + 5.0));
    }

    #[test]
    fn the_same_seed_gives_the_same_seconds() {
        let yaml = "{links: {node_capacitated: {upload: {uniform: [10, 90]}, redraw: each_round}}, \
                    compute: {seconds_per_step: 0.1, slowdown: {lognormal: {sigma: 1}}}}";
        let network: SimulatedNetwork = serde_yaml::from_str(yaml).unwrap();
        let seconds = |seed, number| {
            let clock = Clock::new(&network, &population(3, 0), seed).unwrap();
            clock.seconds(&round(), None, number, 0.0).unwrap()
        };
        assert_eq!(seconds(1, 5), seconds(1, 5));
        assert_ne!(seconds(1, 5), seconds(1, 6));
        assert_ne!(seconds(1, 5), seconds(2, 5));
    }

    /// Steps take another time in each round, and only those that a round has for a client are in time.
    #[test]
    fn factors_of_a_round_lengthen_its_steps() {
        let yaml = "{links: {fixed: {bytes_per_second: 1}}, compute: {seconds_per_step: 2, each_round: {lognormal: {sigma: 1}}}}";
        let network: SimulatedNetwork = serde_yaml::from_str(yaml).unwrap();
        let clock = Clock::new(&network, &population(3, 0), 1).unwrap();
        let shares = clock.step_shares(10.0, 7);
        let mut traffic = Traffic::default();
        traffic.compute(vec![5, 0, 0]);
        let seconds = clock.seconds(&traffic, None, 7, 0.0).unwrap();
        assert!((seconds - 5.0 * 10.0 * shares[0]).abs() < 1e-12);
        assert_ne!(shares, clock.step_shares(10.0, 8));
        assert!(clock.varies());
    }
}
