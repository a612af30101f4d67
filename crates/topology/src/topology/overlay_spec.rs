//! What the settings of an overlay say of it.

use super::{Edges, OverlaySize, Schedule, Topology};
use crate::{Nodes, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;

/// What the settings of an overlay say of it.
///
/// No function has a default: an overlay that leaves one out does not compile. [`usual!`] gives the answers that most
/// overlays have in common, each by its name.
pub(super) trait OverlaySpec {
    /// A short name for tables and legends, with the parameters that are not the default.
    fn label(&self) -> String;

    /// Whether the overlay changes over time, and what builds it.
    fn kind(&self) -> Kind<'_>;

    /// How large an overlay of `nodes` nodes becomes. Neither 0 nodes nor parameters that do not fit are refused here.
    fn size(&self, nodes: usize) -> OverlaySize;

    /// Whether a node may send to another one without hearing it. Most weights are not defined then.
    fn is_directed(&self) -> bool;

    /// Whether edges go by the labels that nodes hold.
    fn reads_labels(&self) -> bool;

    /// What may take long before the edges are known, if anything does.
    fn slow_part(&self, nodes: Nodes<'_>) -> Option<SlowPart>;

    /// The edge list or the topologies in the settings.
    fn contents(&mut self) -> Contents<'_>;

    /// Decides what all rounds have in common, see [`Topology::prepare`].
    ///
    /// # Errors
    /// Parameters that do not fit the nodes.
    fn prepare(&mut self, nodes: Nodes<'_>, rng: &mut ChaCha8Rng) -> Result<(), TopologyError>;

    /// Whether its overlays bring weights of their own, see [`Overlay::with_weights`].
    fn prescribes_weights(&self) -> bool;
}

/// Whether an overlay changes over time.
pub(super) enum Kind<'a> {
    /// All rounds have the same overlay.
    Fixed(&'a dyn FixedOverlay),
    /// Some rounds have another overlay.
    Changing(&'a dyn Schedule),
}

/// An overlay that all rounds have.
pub(super) trait FixedOverlay {
    /// Builds the overlay. Only random overlays draw from `rng`. [`Topology::build`] refuses what is not connected.
    ///
    /// # Errors
    /// Parameters that do not fit the nodes.
    fn build(&self, nodes: Nodes<'_>, rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError>;
}

/// Draws after which a connected overlay is taken to be out of reach.
pub(super) const DRAWS: usize = 1000;

/// The first connected overlay of `nodes` nodes among [`DRAWS`] draws of edges; `None` if none is.
///
/// # Errors
/// Those of [`Overlay::from_edges`].
pub(super) fn first_connected<E: IntoIterator<Item = (u32, u32)>>(
    nodes: usize,
    mut draw: impl FnMut() -> E,
) -> Result<Option<Overlay>, TopologyError> {
    for _ in 0..DRAWS {
        let overlay = Overlay::from_edges(nodes, draw())?;
        if overlay.is_connected() {
            return Ok(Some(overlay));
        }
    }
    Ok(None)
}

/// What the settings of an overlay hold, with its dotted path below `topology`.
pub(super) enum Contents<'a> {
    /// Values alone.
    Values,
    /// An edge list, which is read from a file.
    EdgeList(&'static str, &'a mut Edges),
    /// Other topologies.
    Topologies(Vec<(String, &'a mut Topology)>),
}

/// Work that may take long before the edges of an overlay are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowPart {
    /// What takes the time, in the plural: "the cliques".
    pub what: &'static str,
    /// The keys that the time goes by, each between backquotes.
    pub keys: &'static str,
    /// Rough estimate of the time, in seconds.
    pub seconds: f64,
}

impl SlowPart {
    /// The slow parts of several overlays together, under the name of the first.
    pub(super) fn of_all(parts: impl Iterator<Item = Self>) -> Option<Self> {
        parts.reduce(|all, part| Self {
            seconds: all.seconds + part.seconds,
            ..all
        })
    }
}

/// The answers that most overlays have in common.
///
/// - `fixed`: all rounds have the same overlay, see [`FixedOverlay`]; `changing`: see [`Schedule`].
/// - `undirected`: whoever sends to a node hears it as well.
/// - `ignores_labels`: edges do not go by labels.
/// - `quick`: nothing takes long before the edges are known.
/// - `values_alone`: the settings name no file and hold no topology.
/// - `ready`: nothing is decided before the first round.
/// - `no_weights`: the overlays bring no weights of their own.
/// - `plain`: all from `undirected` to `no_weights`.
/// - `as_its_parts`: the overlay is directed, reads labels, takes long and brings weights as the topologies of `self.parts()`
///   do.
macro_rules! usual {
    (@ fixed) => {
        fn kind(&self) -> $crate::topology::overlay_spec::Kind<'_> {
            $crate::topology::overlay_spec::Kind::Fixed(self)
        }
    };
    (@ changing) => {
        fn kind(&self) -> $crate::topology::overlay_spec::Kind<'_> {
            $crate::topology::overlay_spec::Kind::Changing(self)
        }
    };
    (@ undirected) => {
        fn is_directed(&self) -> bool {
            false
        }
    };
    (@ ignores_labels) => {
        fn reads_labels(&self) -> bool {
            false
        }
    };
    (@ quick) => {
        fn slow_part(&self, _: $crate::Nodes<'_>) -> Option<$crate::SlowPart> {
            None
        }
    };
    (@ as_its_parts) => {
        fn is_directed(&self) -> bool {
            self.parts().any($crate::Topology::is_directed)
        }

        fn reads_labels(&self) -> bool {
            self.parts().any($crate::Topology::reads_labels)
        }

        fn slow_part(&self, nodes: $crate::Nodes<'_>) -> Option<$crate::SlowPart> {
            let parts = self.parts().filter_map(|of| of.slow_part(nodes));
            $crate::SlowPart::of_all(parts)
        }

        fn prescribes_weights(&self) -> bool {
            self.parts().any($crate::Topology::prescribes_weights)
        }
    };
    (@ ready) => {
        fn prepare(
            &mut self,
            _: $crate::Nodes<'_>,
            _: &mut rand_chacha::ChaCha8Rng,
        ) -> Result<(), $crate::TopologyError> {
            Ok(())
        }
    };
    (@ no_weights) => {
        fn prescribes_weights(&self) -> bool {
            false
        }
    };
    (@ values_alone) => {
        fn contents(&mut self) -> $crate::topology::overlay_spec::Contents<'_> {
            $crate::topology::overlay_spec::Contents::Values
        }
    };
    (@ plain) => {
        $crate::topology::overlay_spec::usual!(
            undirected,
            ignores_labels,
            quick,
            values_alone,
            ready,
            no_weights
        );
    };
    ($($answer:ident),+) => {
        $($crate::topology::overlay_spec::usual!(@ $answer);)+
    };
}
pub(super) use usual;

/// The overlay of `nodes` nodes of which nothing is known, for tests.
#[cfg(test)]
pub(super) fn built(overlay: &impl FixedOverlay, nodes: usize) -> Result<Overlay, TopologyError> {
    use rand::SeedableRng;
    overlay.build(nodes.into(), &mut ChaCha8Rng::seed_from_u64(1))
}
