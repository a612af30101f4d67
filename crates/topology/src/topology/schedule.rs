//! What an overlay that changes over time says of its rounds.

use super::{Outside, Snapshot};
use crate::{Nodes, TopologyError, Weights};
use rand_chacha::ChaCha8Rng;

/// What each overlay that changes over time provides. No function has a default.
pub(super) trait Schedule {
    /// What nodes outside its overlays do.
    fn outside(&self) -> Outside;

    /// Which rounds have the same overlay of `nodes` nodes.
    fn turns(&self, nodes: usize) -> Turns;

    /// Which overlays tell whether the nodes are connected.
    fn survey(&self) -> Survey;

    /// Checks that it makes sense for `nodes` nodes.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] with the path of the value at fault.
    fn check(&self, nodes: usize) -> Result<(), TopologyError>;

    /// The overlay of a draw, see [`Turns::draw`]; called after `check`.
    fn snapshot(
        &self,
        draw: usize,
        nodes: Nodes<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Snapshot, TopologyError>;

    /// See [`Topology::lambda_of_draws`](crate::Topology::lambda_of_draws).
    ///
    /// # Errors
    /// [`TopologyError::Eigenvalues`], and [`TopologyError::Unprepared`] before [`Topology::prepare`](crate::Topology::prepare).
    fn lambda_of_draws(
        &self,
        weights: &Weights,
        nodes: usize,
    ) -> Result<Option<f64>, TopologyError>;
}

/// The answers that most schedules have in common.
///
/// - `all_nodes`: no node is outside.
/// - `until_connected`: see [`Survey::UntilConnected`].
/// - `no_lambda_of_draws`: overlays are not drawn independently in each round, or no formula is known.
macro_rules! usual_schedule {
    (@ all_nodes) => {
        fn outside(&self) -> $crate::Outside {
            $crate::Outside::default()
        }
    };
    (@ until_connected) => {
        fn survey(&self) -> $crate::topology::schedule::Survey {
            $crate::topology::schedule::Survey::UntilConnected
        }
    };
    (@ no_lambda_of_draws) => {
        fn lambda_of_draws(
            &self,
            _: &$crate::Weights,
            _: usize,
        ) -> Result<Option<f64>, $crate::TopologyError> {
            Ok(None)
        }
    };
    ($($answer:ident),+) => {
        $($crate::topology::schedule::usual_schedule!(@ $answer);)+
    };
}
pub(super) use usual_schedule;

/// Which rounds have the same overlay. Overlays are counted from 0, in the order in which they appear.
pub(super) enum Turns {
    /// So many overlays take turns, one a round, over and over.
    Repeated(usize),
    /// A new overlay comes after so many rounds, and none comes back.
    Every(usize),
    /// Each overlay lasts so many rounds, and the last one stays.
    Lasting(Vec<usize>),
}

impl Turns {
    /// After how many rounds the overlays repeat, `None` if they never do.
    pub(super) fn period(&self) -> Option<usize> {
        match self {
            Self::Repeated(period) => Some(*period),
            Self::Every(_) | Self::Lasting(_) => None,
        }
    }

    /// The draw of a round, counted from 1: rounds of one draw have one overlay.
    pub(super) fn draw(&self, round: usize) -> usize {
        let before = round.saturating_sub(1);
        match self {
            Self::Repeated(period) => before % (*period).max(1),
            Self::Every(rounds) => before / (*rounds).max(1),
            Self::Lasting(rounds) => {
                let mut end = 0_usize;
                let place = rounds.iter().position(|rounds| {
                    end = end.saturating_add(*rounds);
                    round <= end
                });
                place.unwrap_or(rounds.len().saturating_sub(1))
            }
        }
    }

    /// The rounds in which a draw appears for the first time, ascending; they may go on for ever.
    pub(super) fn first_rounds(self) -> Box<dyn Iterator<Item = usize>> {
        match self {
            Self::Repeated(period) => Box::new(1..=period),
            Self::Every(rounds) => Box::new((1..).step_by(rounds.max(1))),
            Self::Lasting(rounds) => Box::new(rounds.into_iter().scan(1_usize, |next, rounds| {
                let first = *next;
                *next = first.saturating_add(rounds);
                Some(first)
            })),
        }
    }
}

/// Which overlays of a schedule tell whether they connect the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survey {
    /// The first: all of them connect the same nodes.
    First,
    /// As many as it takes to connect the nodes.
    UntilConnected,
    /// As many as it takes to connect the nodes. All others are built as well: they are entries of a list, each of which may
    /// be at fault.
    All,
}

#[cfg(test)]
mod tests {
    use crate::{Topology, Weights, largest_eigenvalue};
    use faer::Mat;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// Draws whose mean stands for the expected matrix.
    const DRAWS: usize = 20_000;

    /// `√‖E[WᵀW] − J‖` by the mean over [`DRAWS`] rounds.
    fn measured(topology: &Topology, weights: &Weights, nodes: usize) -> f64 {
        let mut mean = Mat::from_fn(nodes, nodes, |_, _| -1.0 / nodes as f64);
        for round in 1..=DRAWS {
            let mut rng = ChaCha8Rng::seed_from_u64(round as u64);
            let epoch = topology.epoch(round, nodes);
            let overlay = epoch.build(nodes, &mut rng).unwrap().overlay;
            let matrix = weights.matrix(&overlay).unwrap();
            for node in 0..nodes {
                let entries: Vec<(u32, f64)> = matrix.row(node).collect();
                for (i, a) in &entries {
                    for (j, b) in &entries {
                        mean[(*i as usize, *j as usize)] += a * b / DRAWS as f64;
                    }
                }
            }
        }
        largest_eigenvalue(mean.as_ref()).unwrap().max(0.0).sqrt()
    }

    #[test]
    fn lambda_of_draws_is_that_of_the_mean_over_many_rounds() {
        for (text, nodes) in [
            (r#"{"random_matching": {}}"#, 6),
            (r#"{"random_matching": {}}"#, 7),
            (r#"{"random_matching": {}}"#, 2),
            (r#"{"equi_dyn": {}}"#, 8),
            (r#"{"equi_dyn": {"eta": 0.3}}"#, 9),
            (r#"{"equi_dyn": {"directed": true}}"#, 8),
            (r#"{"equi_dyn": {"directed": true, "eta": 1.0}}"#, 5),
            (r#"{"matcha": {"of": {"ring": {}}}}"#, 7),
            (r#"{"matcha": {"of": {"star": {}}, "budget": 0.2}}"#, 5),
            (r#"{"matcha": {"of": {"ring": {}}, "budget": 1.0}}"#, 6),
        ] {
            let mut topology: Topology = serde_json::from_str(text).unwrap();
            let rng = &mut ChaCha8Rng::seed_from_u64(3);
            topology.prepare(nodes, rng).unwrap();
            let weights = Weights::suited_to(&topology);
            let lambda = topology.lambda_of_draws(&weights, nodes).unwrap().unwrap();
            // A weight deviates by less than .004 in its mean over the draws, which moves λ² by less than .03.
            let found = measured(&topology, &weights, nodes);
            let is_close = (found * found - lambda * lambda).abs() < 0.03;
            assert!(is_close, "{text} {nodes}: {found} {lambda}");
        }
    }

    #[test]
    fn other_overlays_and_weights_have_no_lambda_of_draws() {
        let of = |text: &str, weights: &str| {
            let mut topology: Topology = serde_json::from_str(text).unwrap();
            let weights: Weights = serde_json::from_str(weights).unwrap();
            topology
                .prepare(8, &mut ChaCha8Rng::seed_from_u64(3))
                .unwrap();
            topology.lambda_of_draws(&weights, 8).unwrap()
        };
        let usual = r#"{"metropolis_hastings": {}}"#;
        assert_eq!(of(r#"{"ring": {}}"#, usual), None);
        assert_eq!(
            of(r#"{"redraw": {"of": {"regular": {"degree": 3}}}}"#, usual),
            None
        );
        assert_eq!(of(r#"{"equi_dyn": {}}"#, usual), None);
        assert_eq!(of(r#"{"matcha": {"of": {"ring": {}}}}"#, usual), None);
        assert_eq!(
            of(r#"{"random_matching": {}}"#, r#"{"laplacian": {}}"#),
            None
        );
        let half = of(r#"{"random_matching": {}}"#, r#"{"uniform": {}}"#);
        assert!((half.unwrap().powi(2) - 6.0 / 14.0).abs() < 1e-15);
    }
}
