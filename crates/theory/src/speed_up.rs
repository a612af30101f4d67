//! How much several servers speed up federated averaging.

use meshfold_topology::Overlay;
use rand::Rng;

use crate::bound_error::{BoundError, at_least_one, positive, require};

/// A delay or a capacity that is above 0 and may be random.
pub trait Delay {
    /// The mean of all draws.
    fn mean(&self) -> f64;

    /// The number of node or edge `index`, drawn from `rng` if it is random.
    fn draw(&self, index: usize, rng: &mut impl Rng) -> f64;
}

/// Servers that share the participants of a round, and the random delays among them.
///
/// # Source
/// P-FedAvg (Liu et al.), Section V, (17)-(20).
#[derive(Clone, Debug)]
pub struct ParallelServers<'a, D> {
    /// Participants of each server, K_i, `[M]`.
    pub participants: &'a [u32],
    /// Local iterations E of each participant.
    pub local_steps: u32,
    /// The overlay of the M servers, L − I.
    pub overlay: &'a Overlay,
    /// The delays.
    pub delays: &'a Delays<D>,
}

/// Random delays of a round, all independent, in seconds.
///
/// # Source
/// P-FedAvg (Liu et al.), Section V, (17)-(19).
#[derive(Clone, Debug, PartialEq)]
pub struct Delays<D> {
    /// One model between a server and its clients, Y¹.
    pub server: D,
    /// One model at a client, Y².
    pub client: D,
    /// One local iteration, Z.
    pub step: D,
    /// One model from a server to a neighbour, T_ii'.
    pub exchange: ExchangeDelay<D>,
}

/// How long a model takes between two servers.
#[derive(Clone, Debug, PartialEq)]
pub enum ExchangeDelay<D> {
    /// Drawn for each directed edge of the overlay, T ~ F_T.
    Independent(D),
    /// From capacities, by (18).
    Capacitated(Capacities<D>),
}

/// `T_ii' = s / min(B_i / d_i, B_i' / d_i', A_ii')`, d being the numbers of neighbours.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacities<D> {
    /// Size of a model, s.
    pub model_bytes: u64,
    /// Bytes per second of each server to all its neighbours, B; without it nodes have no limit (edge-capacitated).
    pub nodes: Option<D>,
    /// Bytes per second of each edge, A; without it edges have no limit (node-capacitated).
    pub edges: Option<D>,
}

/// Expected seconds of a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundSeconds {
    /// FedAvg with one server and all participants, the numerator of (20).
    pub fedavg: f64,
    /// P-FedAvg by the right-hand side of (19), the denominator of (20).
    pub p_fedavg: f64,
    /// P-FedAvg without a barrier among the servers: `E[α]` of Definition 5.1, at most `p_fedavg`.
    pub p_fedavg_unbarred: f64,
}

impl RoundSeconds {
    /// The speed-up S_M of (20).
    #[must_use]
    pub fn speed_up(&self) -> f64 {
        self.fedavg / self.p_fedavg
    }
}

/// Expected seconds of a round of FedAvg and of P-FedAvg, and with them the speed-up
/// `S_M = (K E[Y¹] + E[Y²_(K)] + E E[Z_(K)]) / (max_i K_i E[Y¹_(M)] + E[Y²_(K)] + E E[Z_(K)] + E[T_(‖L−I‖₀)])`.
///
/// X_(n) is the largest of n independent draws; their means are taken over `samples` rounds, `E[Y¹]` is exact.
///
/// # Source
/// P-FedAvg (Liu et al.), (17)-(20), Theorem 3 and Fig. 2.
///
/// # Interpretation
/// ‖L−I‖₀ counts both directions of an edge. A capacity A_ii' is that of both directions.
///
/// # Errors
/// [`BoundError`] if the mean of a delay or a capacity is not above 0, if `participants` and the overlay have different
/// numbers of servers, and without samples.
///
/// # Complexity
/// O(samples (K + M + edges)).
pub fn speed_up(
    servers: &ParallelServers<'_, impl Delay>,
    samples: usize,
    rng: &mut impl Rng,
) -> Result<RoundSeconds, BoundError> {
    servers.check(samples)?;
    let participants = servers.participants.iter().copied().map(f64::from);
    let (all, most): (f64, f64) = (participants.clone().sum(), participants.fold(0.0, f64::max));
    let mut sum = Largest::default();
    for _ in 0..samples {
        sum.add(&servers.draw(rng));
    }
    let mean = |total: f64| total / samples as f64;
    let clients = mean(sum.client) + f64::from(servers.local_steps) * mean(sum.step);
    Ok(RoundSeconds {
        fedavg: all * servers.delays.server.mean() + clients,
        p_fedavg: most * mean(sum.server) + clients + mean(sum.exchange),
        p_fedavg_unbarred: mean(sum.slowest_pair),
    })
}

/// The largest delay of each kind, and α, in one round or summed over rounds.
#[derive(Clone, Copy, Debug, Default)]
struct Largest {
    server: f64,
    client: f64,
    step: f64,
    exchange: f64,
    slowest_pair: f64,
}

impl Largest {
    fn add(&mut self, other: &Self) {
        self.server += other.server;
        self.client += other.client;
        self.step += other.step;
        self.exchange += other.exchange;
        self.slowest_pair += other.slowest_pair;
    }
}

impl<D: Delay> ParallelServers<'_, D> {
    fn check(&self, samples: usize) -> Result<(), BoundError> {
        let delays = &self.delays;
        positive("the mean of delays Y1 of servers", delays.server.mean())?;
        positive("the mean of delays Y2 of clients", delays.client.mean())?;
        positive("the mean of delays Z of local steps", delays.step.mean())?;
        match &delays.exchange {
            ExchangeDelay::Independent(delay) => {
                positive("the mean of delays T between servers", delay.mean())?;
            }
            ExchangeDelay::Capacitated(Capacities { nodes, edges, .. }) => {
                let check = |name, capacity: &Option<D>| {
                    let mean = capacity.as_ref().map(Delay::mean);
                    mean.map_or(Ok(()), |mean| positive(name, mean))
                };
                check("the mean of capacities B of servers", nodes)?;
                check("the mean of capacities A of edges", edges)?;
            }
        }
        let (found, nodes) = (self.participants.len(), self.overlay.nodes());
        require(
            "the number of servers with participants",
            found as f64,
            found == nodes,
            format!("must be {nodes}, that of the overlay"),
        )?;
        at_least_one("the number of samples", samples as u64)
    }

    /// The delays of one round.
    fn draw(&self, rng: &mut impl Rng) -> Largest {
        let (delays, steps) = (self.delays, f64::from(self.local_steps));
        let mut largest = Largest::default();
        let exchange = self.exchange_delays(rng);
        let mut client = 0;
        for (server, participants) in self.participants.iter().enumerate() {
            let transfer = delays.server.draw(server, rng);
            largest.server = largest.server.max(transfer);
            let mut slowest: f64 = 0.0;
            for _ in 0..*participants {
                let (own, step) = (
                    delays.client.draw(client, rng),
                    delays.step.draw(client, rng),
                );
                client += 1;
                largest.client = largest.client.max(own);
                largest.step = largest.step.max(step);
                let seconds = f64::from(*participants) * transfer + own + steps * step; // T_ij + E Z_j
                slowest = slowest.max(seconds);
            }
            let to_neighbours = exchange[server];
            largest.exchange = largest.exchange.max(to_neighbours);
            largest.slowest_pair = largest.slowest_pair.max(slowest + to_neighbours); // (17)
        }
        largest
    }

    /// The largest T_ii' of each server to its neighbours, `[M]`: one is drawn for each directed edge, ascending.
    fn exchange_delays(&self, rng: &mut impl Rng) -> Vec<f64> {
        let overlay = self.overlay;
        let capacities = match &self.delays.exchange {
            ExchangeDelay::Independent(delay) => {
                let mut arc = 0;
                let mut largest = |server| {
                    let first = arc;
                    arc += overlay.degree(server);
                    let delays = (first..arc).map(|arc| delay.draw(arc, rng));
                    delays.fold(0.0, f64::max)
                };
                return (0..overlay.nodes()).map(&mut largest).collect();
            }
            ExchangeDelay::Capacitated(capacities) => capacities,
        };
        let mut draw = |capacity: &Option<D>, index| {
            capacity
                .as_ref()
                .map_or(f64::INFINITY, |capacity| capacity.draw(index, rng))
        };
        let per_neighbour: Vec<f64> = (0..overlay.nodes())
            .map(|node| draw(&capacities.nodes, node) / overlay.degree(node) as f64)
            .collect();
        let edges: std::collections::BTreeMap<(u32, u32), f64> = overlay
            .edges()
            .enumerate()
            .map(|(index, edge)| (edge, draw(&capacities.edges, index)))
            .collect();
        let delay = |from: usize, to: usize| {
            let edge = edges[&(from.min(to) as u32, from.max(to) as u32)];
            capacities.model_bytes as f64 / per_neighbour[from].min(per_neighbour[to]).min(edge)
        };
        let largest = |from: usize| {
            let delays = overlay.neighbours(from).into_iter();
            delays
                .map(|to| delay(from, *to as usize))
                .fold(0.0, f64::max)
        };
        (0..overlay.nodes()).map(largest).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution as _, Exp1};

    /// Delays whose means are known.
    #[derive(Clone, Debug, PartialEq)]
    enum Seconds {
        Fixed(f64),
        Exponential(f64),
        /// These in turn.
        List(Vec<f64>),
    }

    impl Delay for Seconds {
        fn mean(&self) -> f64 {
            match self {
                Self::Fixed(mean) | Self::Exponential(mean) => *mean,
                Self::List(values) => values.iter().sum::<f64>() / values.len() as f64,
            }
        }

        fn draw(&self, index: usize, rng: &mut impl Rng) -> f64 {
            match self {
                Self::Fixed(value) => *value,
                Self::Exponential(mean) => {
                    let one: f64 = Exp1.sample(rng);
                    mean * one
                }
                Self::List(values) => values[index % values.len()],
            }
        }
    }

    fn complete(nodes: u32) -> Overlay {
        let edges = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b)));
        Overlay::from_edges(nodes as usize, edges).unwrap()
    }

    fn ring(nodes: u32) -> Overlay {
        Overlay::from_edges(nodes as usize, (0..nodes).map(|a| (a, (a + 1) % nodes))).unwrap()
    }

    fn exponential(mean: f64) -> Seconds {
        Seconds::Exponential(mean)
    }

    fn delays(exchange: ExchangeDelay<Seconds>) -> Delays<Seconds> {
        Delays {
            server: Seconds::Fixed(3.0),
            client: Seconds::Fixed(1.0),
            step: Seconds::Fixed(0.5),
            exchange,
        }
    }

    /// Mean of the largest of n draws of Exp(1).
    fn harmonic(n: u32) -> f64 {
        (1..=n).map(|k| 1.0 / f64::from(k)).sum()
    }

    /// Fig. 2: M = 5, K = 100, E = 1, complete overlay, all delays Exp(1). In closed form the speed-up is
    /// (100 + 2 H_100) / (20 H_5 + 2 H_100 + H_20) = 1.8507. Over 20,000 samples the denominator, 59.64, has a standard
    /// error of 20 · 1.21 / 141 = 0.17, so five of them are 0.027 of the speed-up.
    #[test]
    fn exponential_delays_give_the_speed_up_of_figure_two() {
        let overlay = complete(5);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let delays = Delays {
            server: exponential(1.0),
            client: exponential(1.0),
            step: exponential(1.0),
            exchange: ExchangeDelay::Independent(exponential(1.0)),
        };
        let servers = ParallelServers {
            participants: &[20; 5],
            local_steps: 1,
            overlay: &overlay,
            delays: &delays,
        };
        let stated = (100.0 + 2.0 * harmonic(100))
            / (20.0 * harmonic(5) + 2.0 * harmonic(100) + harmonic(20));
        assert!((stated - 1.8507).abs() < 5e-5);
        let found = speed_up(&servers, 20_000, &mut rng).unwrap();
        assert!((found.speed_up() - stated).abs() < 0.027, "{found:?}");
        assert!(found.p_fedavg_unbarred < found.p_fedavg, "Theorem 3");
        assert!(found.p_fedavg_unbarred > 20.0 * harmonic(5), "{found:?}");
    }

    /// Section V-C: more computing makes the speed-up smaller.
    #[test]
    fn the_speed_up_falls_with_the_share_of_computing() {
        let overlay = complete(5);
        let ratio = |step| {
            let delays = Delays {
                step: Seconds::Fixed(step),
                ..delays(ExchangeDelay::Independent(Seconds::Fixed(1.0)))
            };
            let servers = ParallelServers {
                participants: &[20; 5],
                local_steps: 5,
                overlay: &overlay,
                delays: &delays,
            };
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            speed_up(&servers, 1, &mut rng).unwrap().speed_up()
        };
        assert_eq!(ratio(1.0), 306.0 / 67.0);
        assert_eq!(ratio(50.0), 551.0 / 312.0);
    }

    #[test]
    fn fixed_delays_add_up_by_hand() {
        let capacitated = |nodes, edges| {
            ExchangeDelay::Capacitated(Capacities {
                model_bytes: 120,
                nodes,
                edges,
            })
        };
        let nodes = || Some(Seconds::Fixed(40.0));
        let edges = || Some(Seconds::List(vec![24.0, 60.0]));
        // Of the ring's edges that carry 24 B/s none is one of the last server, which has the most participants.
        for (overlay, exchange, slowest, of_the_last) in [
            (complete(6), capacitated(nodes(), None), 15.0, 15.0),
            (ring(6), capacitated(nodes(), None), 6.0, 6.0),
            (complete(6), capacitated(None, edges()), 5.0, 5.0),
            (ring(6), capacitated(None, edges()), 5.0, 2.0),
            (ring(6), capacitated(nodes(), edges()), 6.0, 6.0),
            (complete(6), capacitated(None, None), 0.0, 0.0),
        ] {
            let delays = delays(exchange);
            let servers = ParallelServers {
                participants: &[2, 2, 2, 2, 2, 5],
                local_steps: 4,
                overlay: &overlay,
                delays: &delays,
            };
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            let found = speed_up(&servers, 3, &mut rng).unwrap();
            let expected = RoundSeconds {
                fedavg: 15.0 * 3.0 + 1.0 + 4.0 * 0.5,
                p_fedavg: 5.0 * 3.0 + 1.0 + 4.0 * 0.5 + slowest,
                p_fedavg_unbarred: 5.0 * 3.0 + 1.0 + 4.0 * 0.5 + of_the_last,
            };
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let overlay = ring(3);
        let refused = |participants: &[u32], server: f64, samples| {
            let delays = Delays {
                server: Seconds::Fixed(server),
                ..delays(ExchangeDelay::Independent(Seconds::Fixed(1.0)))
            };
            let servers = ParallelServers {
                participants,
                local_steps: 1,
                overlay: &overlay,
                delays: &delays,
            };
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            match speed_up(&servers, samples, &mut rng) {
                Err(BoundError::Outside { quantity, .. }) => quantity,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            refused(&[1, 1], 1.0, 1),
            "the number of servers with participants"
        );
        assert_eq!(
            refused(&[1, 1, 1], 0.0, 1),
            "the mean of delays Y1 of servers"
        );
        assert_eq!(refused(&[1, 1, 1], 1.0, 0), "the number of samples");
    }
}
