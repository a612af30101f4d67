//! Overlays that a user's program adds.

use super::overlay_spec::{FixedOverlay, Kind, OverlaySpec, usual};
use super::schedule::{Schedule, Survey, Turns, usual_schedule};
use super::size::{OverlaySize, Paths};
use super::{Outside, Snapshot};
use crate::{Nodes, Overlay, TopologyError};
use meshfold_own::{OwnKind, OwnPart};
use rand_chacha::ChaCha8Rng;

/// An overlay that a user's program adds.
pub trait OwnOverlay: Send + Sync {
    /// The overlay of `nodes.count` nodes. If it [changes](OwnOverlay::change), `draw` counts its overlays from 0, and
    /// `rng` is a stream of the run for each. An overlay that does not change must be connected, a directed one both ways.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] with the setting `own.KEY`, or [`TopologyError::Own`].
    fn overlay(
        &self,
        draw: usize,
        nodes: Nodes<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Overlay, TopologyError>;

    /// Which rounds have an overlay of their own.
    fn change(&self) -> OverlayChange {
        OverlayChange::Never
    }

    /// Whether they are made by [`Overlay::directed`]. Methods then mix by `uniform` weights, if the configuration names none.
    fn is_directed(&self) -> bool {
        false
    }

    /// Whether all of them bring weights of their own, by [`Overlay::with_weights`].
    fn prescribes_weights(&self) -> bool {
        false
    }

    /// About how many edges an overlay of `nodes` nodes has. Memory is planned by it.
    fn edges(&self, nodes: usize) -> f64;

    /// A short name for tables and legends; the name in the configuration if there is none.
    fn label(&self) -> Option<String> {
        None
    }
}

impl OwnKind for dyn OwnOverlay {
    const KIND: &'static str = "own overlay";
}

/// Which rounds have an overlay of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverlayChange {
    /// All rounds have the same.
    Never,
    /// So many take turns, one a round.
    TakeTurns(usize),
    /// Every round has another.
    EachRound,
}

/// The overlay `draw` of `own`, of as many nodes as there are.
fn build(
    own: &OwnPart<dyn OwnOverlay>,
    draw: usize,
    nodes: Nodes<'_>,
    rng: &mut ChaCha8Rng,
) -> Result<Overlay, TopologyError> {
    let overlay = own.part().overlay(draw, nodes, rng)?;
    if overlay.nodes() != nodes.count {
        return Err(TopologyError::Own {
            setting: "topology",
            name: own.name().to_owned(),
            reason: format!(
                "its overlay has {} nodes, but {} are needed",
                overlay.nodes(),
                nodes.count
            ),
        });
    }
    if own.part().prescribes_weights() && overlay.weights().is_none() {
        return Err(TopologyError::Own {
            setting: "topology",
            name: own.name().to_owned(),
            reason: "it prescribes weights, but its overlay has none".to_owned(),
        });
    }
    Ok(overlay)
}

impl OverlaySpec for OwnPart<dyn OwnOverlay> {
    usual!(quick, values_alone, ready);

    fn label(&self) -> String {
        self.part()
            .label()
            .unwrap_or_else(|| self.name().to_owned())
    }

    fn kind(&self) -> Kind<'_> {
        match self.part().change() {
            OverlayChange::Never => Kind::Fixed(self),
            OverlayChange::TakeTurns(_) | OverlayChange::EachRound => Kind::Changing(self),
        }
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        let edges = self.part().edges(nodes);
        let size = OverlaySize::listed(nodes, edges, Paths::Long);
        OverlaySize {
            edges_at_once: match self.part().change() {
                // All overlays of the period, and then their union as well.
                OverlayChange::TakeTurns(count) => 2.0 * count as f64 * edges.max(0.0),
                OverlayChange::Never | OverlayChange::EachRound => size.edges_at_once,
            },
            ..size
        }
    }

    fn is_directed(&self) -> bool {
        self.part().is_directed()
    }

    fn prescribes_weights(&self) -> bool {
        self.part().prescribes_weights()
    }

    /// It may: it is given them.
    fn reads_labels(&self) -> bool {
        true
    }
}

impl FixedOverlay for OwnPart<dyn OwnOverlay> {
    fn build(&self, nodes: Nodes<'_>, rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        build(self, 0, nodes, rng)
    }
}

impl Schedule for OwnPart<dyn OwnOverlay> {
    usual_schedule!(no_lambda_of_draws);

    fn outside(&self) -> Outside {
        Outside::default()
    }

    fn turns(&self, _nodes: usize) -> Turns {
        match self.part().change() {
            OverlayChange::Never => Turns::Repeated(1),
            OverlayChange::TakeTurns(count) => Turns::Repeated(count),
            OverlayChange::EachRound => Turns::Every(1),
        }
    }

    fn survey(&self) -> Survey {
        match self.part().change() {
            OverlayChange::Never | OverlayChange::TakeTurns(_) => Survey::All,
            OverlayChange::EachRound => Survey::UntilConnected,
        }
    }

    fn check(&self, _nodes: usize) -> Result<(), TopologyError> {
        match self.part().change() {
            OverlayChange::TakeTurns(0) => Err(TopologyError::Own {
                setting: "topology",
                name: self.name().to_owned(),
                reason: "it has no overlays to take turns".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    fn snapshot(
        &self,
        draw: usize,
        nodes: Nodes<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Snapshot, TopologyError> {
        Ok(Snapshot::of_all(build(self, draw, nodes, rng)?))
    }
}
