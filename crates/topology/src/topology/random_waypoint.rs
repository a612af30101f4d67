//! Nodes that move, linked to those within reach.

use super::Snapshot;
use super::overlay_spec::{OverlaySpec, usual};
use super::random_geometric::expect_radius;
use super::schedule::{Schedule, Turns, usual_schedule};
use super::size::{OverlaySize, Paths};
use super::unit_square::{Place, distance, mean_pairs, near, place};
use crate::{Nodes, Overlay, TopologyError};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};

/// Mobile nodes: each walks straight to a uniformly random place in the unit square, pauses, and walks on to another one. In each round two
/// nodes are linked if they are at most `radius` apart at that time.
///
/// With a small radius many rounds are not connected, though several together may be.
///
/// # Source
/// The random waypoint model of Johnson and Maltz, *Dynamic source routing in ad hoc wireless networks* (1996).
///
/// # Interpretation
/// All nodes walk at the same speed, so that none slows down for ever. In round t they are where they are after `warm_up + t − 1` units of time.
/// They begin at uniformly random places. While they walk they are more often in the middle of the square, and so have up to 1.7 times the
/// links; without pauses that takes about as long as a way across the square, `1 / speed` rounds. A `warm_up` of as many rounds leaves that out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomWaypoint {
    /// How far a node reaches, where the square has a side of 1.
    pub radius: f64,
    /// How far a node walks in a round: above 0, and at most 1.
    pub speed: f64,
    /// Rounds that a node stays where it has walked to; not necessarily a whole number.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(extend("unit" = "rounds"))]
    pub pause: f64,
    /// Rounds that nodes have walked before the first round.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(extend("unit" = "rounds"))]
    pub warm_up: f64,
    /// The walks of all nodes, filled in by [`Topology::prepare`](crate::Topology::prepare).
    #[serde(skip)]
    walks: Option<Arc<Walks>>,
}

/// The default of keys that are left out where they are 0.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(rounds: &f64) -> bool {
    *rounds == 0.0
}

/// The walks of all nodes, and where they were in the rounds that were asked for last.
#[derive(Debug)]
struct Walks {
    seed: u64,
    latest: Mutex<Vec<Walkers>>,
}

impl PartialEq for Walks {
    fn eq(&self, other: &Self) -> bool {
        self.seed == other.seed
    }
}

/// Rounds that are remembered: runs side by side share their overlays, and each goes on from its own.
const REMEMBERED: usize = 8;

/// All nodes at a time, in rounds.
#[derive(Clone, Debug)]
struct Walkers {
    time: f64,
    nodes: Vec<Walker>,
}

/// A node on its way.
#[derive(Clone, Debug)]
struct Walker {
    /// What its further places are drawn by.
    rng: ChaCha8Rng,
    from: Place,
    to: Place,
    /// When it left `from`. A sum over its ways, so that it does not depend on when anybody asked where the node was.
    left: f64,
}

impl Walker {
    fn new(seed: u64, node: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(node);
        Self {
            from: place(&mut rng),
            to: place(&mut rng),
            left: 0.0,
            rng,
        }
    }

    /// Where it is at `time`, which is not before that of an earlier call.
    fn place_at(&mut self, time: f64, model: &RandomWaypoint) -> Place {
        loop {
            let lasts = distance(self.from, self.to) / model.speed;
            let walked = time - self.left;
            if walked < lasts {
                let share = walked / lasts;
                return [0, 1]
                    .map(|axis| self.from[axis] + share * (self.to[axis] - self.from[axis]));
            }
            let leaves = self.left + (lasts + model.pause);
            if time < leaves {
                return self.to;
            }
            self.left = leaves;
            self.from = self.to;
            self.to = place(&mut self.rng);
        }
    }
}

impl Walks {
    /// Where `nodes` nodes are at `time`.
    fn places(&self, nodes: usize, time: f64, model: &RandomWaypoint) -> Vec<Place> {
        let latest = || self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let before = {
            let mut latest = latest();
            let fits = |walkers: &Walkers| walkers.time <= time && walkers.nodes.len() == nodes;
            let nearest = latest
                .iter()
                .enumerate()
                .filter(|(_, walkers)| fits(walkers))
                .max_by(|(_, one), (_, other)| one.time.total_cmp(&other.time))
                .map(|(place, _)| place);
            nearest.map(|place| latest.swap_remove(place))
        };
        let new = || (0..nodes as u64).map(|node| Walker::new(self.seed, node));
        let mut walkers = before.map_or_else(|| new().collect(), |before| before.nodes);
        let places = walkers.iter_mut().map(|node| node.place_at(time, model));
        let places = places.collect();
        let mut latest = latest();
        if latest.len() == REMEMBERED {
            latest.remove(0);
        }
        latest.push(Walkers {
            time,
            nodes: walkers,
        });
        places
    }
}

impl RandomWaypoint {
    /// Nodes of this reach, speed and pause.
    #[must_use]
    pub fn new(radius: f64, speed: f64, pause: f64) -> Self {
        Self {
            radius,
            speed,
            pause,
            warm_up: 0.0,
            walks: None,
        }
    }

    /// Checks that `found` at the key `key` is a number of rounds.
    fn expect_rounds(key: &str, found: f64) -> Result<(), TopologyError> {
        match (0.0..=1e9).contains(&found) {
            true => Ok(()),
            false => {
                let needed = "a number of rounds, from 0 to 1e9";
                Err(TopologyError::setting(
                    format!("random_waypoint.{key}"),
                    found,
                    needed,
                ))
            }
        }
    }
}

impl OverlaySpec for RandomWaypoint {
    usual!(
        changing,
        undirected,
        ignores_labels,
        quick,
        values_alone,
        no_weights
    );

    fn label(&self) -> String {
        let beside = [("pause", self.pause), ("warm_up", self.warm_up)];
        let beside = beside.iter().filter(|(_, rounds)| *rounds > 0.0);
        let beside: String = beside
            .map(|(key, rounds)| format!(" {key}={rounds}"))
            .collect();
        format!(
            "random_waypoint radius={} speed={}{beside}",
            self.radius, self.speed
        )
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        OverlaySize::listed(nodes, mean_pairs(nodes, self.radius), Paths::Long)
    }

    fn prepare(&mut self, nodes: Nodes<'_>, rng: &mut ChaCha8Rng) -> Result<(), TopologyError> {
        self.check(nodes.count)?;
        self.walks = Some(Arc::new(Walks {
            seed: rng.random(),
            latest: Mutex::default(),
        }));
        Ok(())
    }
}

impl Schedule for RandomWaypoint {
    usual_schedule!(all_nodes, until_connected, no_lambda_of_draws);

    fn turns(&self, _nodes: usize) -> Turns {
        Turns::Every(1)
    }

    fn check(&self, _nodes: usize) -> Result<(), TopologyError> {
        expect_radius("random_waypoint.radius", self.radius)?;
        if !(self.speed > 0.0 && self.speed <= 1.0) {
            let needed = "the way of a round in a square with a side of 1: above 0, and at most 1";
            return Err(TopologyError::setting(
                "random_waypoint.speed",
                self.speed,
                needed,
            ));
        }
        Self::expect_rounds("pause", self.pause)?;
        Self::expect_rounds("warm_up", self.warm_up)
    }

    fn snapshot(
        &self,
        draw: usize,
        nodes: Nodes<'_>,
        _rng: &mut ChaCha8Rng,
    ) -> Result<Snapshot, TopologyError> {
        let walks = self.walks.as_ref().ok_or(TopologyError::Unprepared)?;
        let places = walks.places(nodes.count, self.warm_up + draw as f64, self);
        let overlay = Overlay::from_edges(nodes.count, near(&places, self.radius))?;
        Ok(Snapshot::of_all(overlay))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rng(seed: u64) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(seed)
    }

    /// Where node `node` is at each time.
    fn way(model: &RandomWaypoint, node: u64, times: &[f64]) -> Vec<Place> {
        let mut walker = Walker::new(1, node);
        let places = times.iter().map(|time| walker.place_at(*time, model));
        places.collect()
    }

    #[test]
    fn nodes_walk_straight_at_their_speed() {
        let model = RandomWaypoint::new(0.1, 0.01, 0.0);
        let times: Vec<f64> = (0..400).map(f64::from).collect();
        let mut turns = 0;
        for node in 0..20 {
            let places = way(&model, node, &times);
            for places in places.windows(3) {
                let [first, second] = [0, 1].map(|at| distance(places[at], places[at + 1]));
                assert!(first <= 0.01 + 1e-12 && second <= 0.01 + 1e-12);
                let whole = distance(places[0], places[2]);
                turns += usize::from(whole < 0.02 - 1e-9);
            }
            assert!(places.iter().flatten().all(|x| (0.0..1.0).contains(x)));
        }
        // The way between two random places of a square is .5214 long in the mean, and each turn shows in two of the windows at most.
        let expected = 20.0 * 400.0 * 0.01 / 0.5214;
        let per_turn = turns as f64 / expected;
        assert!((0.8..2.2).contains(&per_turn), "{turns} {expected}");
    }

    #[test]
    fn nodes_pause_where_they_have_walked_to() {
        let model = RandomWaypoint::new(0.1, 0.5, 1000.0);
        let [begins, there, still] = way(&model, 3, &[0.0, 3.0, 900.0])[..] else {
            unreachable!("as many as there are times");
        };
        let walker = Walker::new(1, 3);
        assert_eq!([begins, there, still], [walker.from, walker.to, walker.to]);
        let later = way(&model, 3, &[1010.0])[0];
        assert_ne!(later, there);
    }

    /// Whoever asks, in whatever order, hears the same.
    #[test]
    fn places_do_not_depend_on_what_was_asked_before() {
        let model = RandomWaypoint::new(0.1, 0.7, 0.3);
        let walks = || Walks {
            seed: 5,
            latest: Mutex::default(),
        };
        let shared = walks();
        let alone = |time| walks().places(40, time, &model);
        for time in [
            0.0, 30.0, 31.0, 7.0, 500.0, 31.0, 8.0, 0.0, 501.0, 32.0, 499.0,
        ] {
            assert_eq!(shared.places(40, time, &model), alone(time), "{time}");
            assert!(shared.latest.lock().unwrap().len() <= REMEMBERED);
        }
    }

    #[test]
    fn a_warm_up_comes_before_the_first_round() {
        let nodes = Nodes::from(50);
        let edges = |warm_up: f64, round: usize| {
            let mut model = RandomWaypoint {
                warm_up,
                ..RandomWaypoint::new(0.2, 0.1, 0.0)
            };
            model.prepare(nodes, &mut rng(4)).unwrap();
            let snapshot = model.snapshot(round, nodes, &mut rng(9)).unwrap();
            snapshot.overlay.edges().collect::<Vec<_>>()
        };
        assert_eq!(edges(20.0, 0), edges(0.0, 20));
        assert_ne!(edges(20.0, 0), edges(0.0, 0));
    }

    #[test]
    fn links_last_while_nodes_are_near() {
        let mut model = RandomWaypoint::new(0.2, 0.01, 0.0);
        let nodes = Nodes::from(100);
        let refused = model.snapshot(0, nodes, &mut rng(0));
        assert!(matches!(refused, Err(TopologyError::Unprepared)));
        model.prepare(nodes, &mut rng(4)).unwrap();
        let at = |round| {
            let snapshot = model.snapshot(round, nodes, &mut rng(9)).unwrap();
            snapshot.overlay.edges().collect::<Vec<_>>()
        };
        let kept = |later: usize| {
            let (now, then) = (at(0), at(later));
            then.iter().filter(|edge| now.contains(edge)).count() as f64 / now.len() as f64
        };
        assert_eq!(at(7), at(7));
        assert!(
            kept(1) > 0.9 && kept(200) < 0.4,
            "{} {}",
            kept(1),
            kept(200)
        );
    }

    #[test]
    fn parameters_that_do_not_fit_are_refused() {
        for (radius, speed, pause, path) in [
            (0.0, 0.1, 0.0, "random_waypoint.radius: found 0"),
            (0.1, 0.0, 0.0, "random_waypoint.speed: found 0"),
            (0.1, 1.5, 0.0, "random_waypoint.speed: found 1.5"),
            (0.1, 0.1, -1.0, "random_waypoint.pause: found -1"),
            (0.1, 0.1, f64::INFINITY, "random_waypoint.pause: found inf"),
            (0.1, 0.1, 2e9, "random_waypoint.pause: found 2000000000"),
        ] {
            let said = RandomWaypoint::new(radius, speed, pause).check(10);
            let said = said.unwrap_err().to_string();
            assert!(said.starts_with(path), "{said}");
        }
    }
}
