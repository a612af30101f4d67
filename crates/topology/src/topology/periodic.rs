//! Overlays that take turns.

use super::listed::Listed;
use super::members::{check_fixed, have_edges};
use super::overlay_spec::{Contents, FixedOverlay, OverlaySpec, usual};
use super::schedule::{Schedule, Survey, Turns, usual_schedule};
use super::size::{OverlaySize, Paths};
use super::{Outside, Snapshot, Topology};
use crate::{Nodes, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Overlays of one round each, over and over: round t has entry `(t - 1) mod B` of the list of B.
///
/// Written as a list, or as `{list: [..], outside: frozen}`. Each entry is drawn once. Edge lists need not be
/// connected, and whether their union is shows [`rounds_to_connect`](crate::rounds_to_connect); nodes without an edge in a
/// round are outside.
///
/// # Source
/// DeceFL (Yuan et al.), SI 5.2.3: five graphs of four nodes each whose union connects eight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Listed<Topology>")]
pub struct Periodic {
    /// The overlays, in order.
    pub list: Vec<Topology>,
    /// What nodes without an edge in a round do.
    pub outside: Outside,
}

impl From<Listed<Topology>> for Periodic {
    fn from(Listed { list, outside }: Listed<Topology>) -> Self {
        Self { list, outside }
    }
}

impl OverlaySpec for Periodic {
    usual!(changing, as_its_parts, ready);

    /// `periodic` and what takes turns.
    fn label(&self) -> String {
        let list: Vec<String> = self.list.iter().map(Topology::label).collect();
        format!("periodic [{}]{}", list.join("; "), self.outside.label())
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        let edges = || self.parts().map(|of| of.size(nodes).edges);
        OverlaySize {
            // All overlays of the period, and then their union as well.
            edges_at_once: 2.0 * edges().sum::<f64>(),
            ..OverlaySize::listed(nodes, edges().fold(0.0, f64::max), Paths::Long)
        }
    }

    fn contents(&mut self) -> Contents<'_> {
        let list = self.list.iter_mut().enumerate();
        let list = list.map(|(index, of)| (format!("periodic.{index}"), of));
        Contents::Topologies(list.collect())
    }
}

impl Periodic {
    fn parts(&self) -> impl Iterator<Item = &Topology> {
        self.list.iter()
    }
}

impl Schedule for Periodic {
    usual_schedule!(no_lambda_of_draws);

    fn outside(&self) -> Outside {
        self.outside
    }

    fn turns(&self, _nodes: usize) -> Turns {
        Turns::Repeated(self.list.len().max(1))
    }

    fn survey(&self) -> Survey {
        Survey::All
    }

    /// Checks that there is at least one overlay, and that none of them changes over time.
    ///
    /// # Errors
    /// [`TopologyError::Setting`].
    fn check(&self, _nodes: usize) -> Result<(), TopologyError> {
        if self.list.is_empty() {
            let needed = "at least one overlay";
            return Err(TopologyError::setting("periodic", "none", needed));
        }
        let mut list = self.list.iter().enumerate();
        list.try_for_each(|(index, of)| check_fixed(of, format!("periodic.{index}")))
    }

    /// The overlay at place `index` of a list that was checked.
    fn snapshot(
        &self,
        index: usize,
        nodes: Nodes<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Snapshot, TopologyError> {
        let overlay = match &self.list[index] {
            Topology::Edges(edges) => edges.build(nodes, rng),
            of => of.build(nodes, rng),
        };
        let overlay = overlay.map_err(TopologyError::within(format!("periodic.{index}")))?;
        Ok(Snapshot {
            members: have_edges(&overlay),
            overlay,
            outside: self.outside,
        })
    }
}
