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

/// Mobile nodes: each walks straight to a uniformly random place in the unit square, pauses, and walks on to another one. In each round two
/// nodes are linked if they are at most `radius` apart at that time.
///
/// Many rounds are not connected; several together are.
///
/// # Source
/// The random waypoint model of Johnson and Maltz, *Dynamic source routing in ad hoc wireless networks* (1996).
///
/// # Interpretation
/// All nodes walk at the same speed, so that none slows down for ever. At the start they are at uniformly random places; later they are more often
/// in the middle of the square, as it is known of the model. In round t they are where they are after t − 1 units of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomWaypoint {
    /// How far a node reaches, where the square has a side of 1.
    pub radius: f64,
    /// How far a node walks in a round: above 0, and at most 1.
    pub speed: f64,
    /// Rounds that a node stays where it has walked to.
    #[serde(default)]
    #[schemars(extend("unit" = "rounds"))]
    pub pause: f64,
    /// The seed of all walks, filled in by [`Topology::prepare`](crate::Topology::prepare).
    #[serde(skip)]
    walks: Option<u64>,
}

impl RandomWaypoint {
    /// Nodes of this reach, speed and pause.
    #[must_use]
    pub fn new(radius: f64, speed: f64, pause: f64) -> Self {
        Self {
            radius,
            speed,
            pause,
            walks: None,
        }
    }

    /// Where the node whose walk has the random numbers `rng` is at `time`, in rounds.
    fn place_at(&self, time: f64, mut rng: ChaCha8Rng) -> Place {
        let (mut from, mut left) = (place(&mut rng), time);
        loop {
            let to = place(&mut rng);
            let lasts = distance(from, to) / self.speed;
            if left < lasts {
                let share = left / lasts;
                return [0, 1].map(|axis| from[axis] + share * (to[axis] - from[axis]));
            }
            left -= lasts + self.pause;
            if left <= 0.0 {
                return to;
            }
            from = to;
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
        let pause = match self.pause > 0.0 {
            true => format!(" pause={}", self.pause),
            false => String::new(),
        };
        format!(
            "random_waypoint radius={} speed={}{pause}",
            self.radius, self.speed
        )
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        OverlaySize::listed(nodes, mean_pairs(nodes, self.radius), Paths::Long)
    }

    fn prepare(&mut self, nodes: Nodes<'_>, rng: &mut ChaCha8Rng) -> Result<(), TopologyError> {
        self.check(nodes.count)?;
        self.walks = Some(rng.random());
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
        if !(self.pause >= 0.0 && self.pause.is_finite()) {
            let needed = "a number of rounds, 0 or more";
            return Err(TopologyError::setting(
                "random_waypoint.pause",
                self.pause,
                needed,
            ));
        }
        Ok(())
    }

    fn snapshot(
        &self,
        draw: usize,
        nodes: Nodes<'_>,
        _rng: &mut ChaCha8Rng,
    ) -> Result<Snapshot, TopologyError> {
        let walks = self.walks.ok_or(TopologyError::Unprepared)?;
        let places = (0..nodes.count as u64).map(|node| {
            let mut rng = ChaCha8Rng::seed_from_u64(walks);
            rng.set_stream(node);
            self.place_at(draw as f64, rng)
        });
        let places: Vec<Place> = places.collect();
        let overlay = Overlay::from_edges(nodes.count, near(&places, self.radius))?;
        Ok(Snapshot::of_all(overlay))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(seed: u64) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(seed)
    }

    #[test]
    fn nodes_walk_straight_at_their_speed() {
        let model = RandomWaypoint::new(0.1, 0.01, 0.0);
        let mut turns = 0;
        for node in 0..20 {
            let places: Vec<Place> = (0..400)
                .map(|round| model.place_at(f64::from(round), walk(node)))
                .collect();
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
        let there = model.place_at(3.0, walk(1));
        assert_eq!(there, model.place_at(900.0, walk(1)));
        let mut rng = walk(1);
        let ends = [place(&mut rng), place(&mut rng)];
        assert_eq!(there, ends[1]);
        assert_eq!(model.place_at(0.0, walk(1)), ends[0]);
    }

    #[test]
    fn links_last_while_nodes_are_near() {
        let mut model = RandomWaypoint::new(0.2, 0.01, 0.0);
        let nodes = Nodes::from(100);
        let refused = model.snapshot(0, nodes, &mut walk(0));
        assert!(matches!(refused, Err(TopologyError::Unprepared)));
        model.prepare(nodes, &mut walk(4)).unwrap();
        let at = |round| {
            let snapshot = model.snapshot(round, nodes, &mut walk(9)).unwrap();
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
        ] {
            let said = RandomWaypoint::new(radius, speed, pause).check(10);
            let said = said.unwrap_err().to_string();
            assert!(said.starts_with(path), "{said}");
        }
    }
}
