//! What an overlay that changes over time says of its rounds.

use super::{Outside, Snapshot};
use crate::{Nodes, TopologyError};
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
}

/// The answers that most schedules have in common.
///
/// - `all_nodes`: no node is outside.
/// - `until_connected`: see [`Survey::UntilConnected`].
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
