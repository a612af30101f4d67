//! One overlay after another.

use super::listed::Listed;
use super::members::{check_fixed, have_edges};
use super::overlay_spec::{Contents, FixedOverlay, OverlaySpec, usual};
use super::schedule::{Schedule, Survey, Turns, usual_schedule};
use super::size::{OverlaySize, Paths};
use super::{Members, Outside, Snapshot, Topology};
use crate::{Nodes, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Overlays that follow one another, each on all nodes or some; the last one stays to the end of the run.
///
/// The edges of a file need not connect all nodes, if those of several phases together do; nodes without any are outside that phase.
///
/// Written as a list, or as `{list: [..], outside: frozen}`.
///
/// # Source
/// DeceFL (Yuan et al.), SI 5.2.4: random graphs of 6, then 8, then 6 nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Listed<Phase>")]
pub struct Phases {
    /// The phases, in order.
    pub list: Vec<Phase>,
    /// What nodes outside a phase's overlay do.
    pub outside: Outside,
}

/// An overlay for some rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// For how many rounds; only the last phase may leave it out. It stays to the end of the run, whatever its rounds are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<usize>,
    /// The nodes that are linked.
    #[serde(default)]
    pub nodes: Members,
    /// The overlay among them, drawn anew for each phase.
    pub of: Topology,
}

impl From<Listed<Phase>> for Phases {
    fn from(Listed { list, outside }: Listed<Phase>) -> Self {
        Self { list, outside }
    }
}

impl OverlaySpec for Phases {
    usual!(changing, as_its_parts, ready);

    /// `phases` and what they consist of.
    fn label(&self) -> String {
        let phases = self.list.iter().map(|phase| {
            let rounds = phase.rounds.map(|rounds| format!("{rounds} x "));
            let rounds = rounds.unwrap_or_default();
            format!("{rounds}{}{}", phase.of.label(), phase.nodes.label())
        });
        let phases: Vec<String> = phases.collect();
        format!("phases [{}]{}", phases.join("; "), self.outside.label())
    }

    /// The size of the largest phase.
    fn size(&self, nodes: usize) -> OverlaySize {
        let sizes = self.list.iter();
        let sizes = sizes.map(|phase| phase.nodes.size(&phase.of, nodes));
        sizes
            .max_by(|a, b| a.edges.total_cmp(&b.edges))
            .unwrap_or(OverlaySize::listed(nodes, 0.0, Paths::Long))
    }

    fn contents(&mut self) -> Contents<'_> {
        let list = self.list.iter_mut().enumerate();
        let list = list.map(|(index, phase)| (format!("phases.{index}.of"), &mut phase.of));
        Contents::Topologies(list.collect())
    }
}

impl Phases {
    fn parts(&self) -> impl Iterator<Item = &Topology> {
        self.list.iter().map(|phase| &phase.of)
    }
}

impl Schedule for Phases {
    usual_schedule!(no_lambda_of_draws);

    fn outside(&self) -> Outside {
        self.outside
    }

    fn turns(&self, _nodes: usize) -> Turns {
        let rounds = self.list.iter().map(|phase| phase.rounds);
        Turns::Lasting(rounds.map(|rounds| rounds.unwrap_or(usize::MAX)).collect())
    }

    fn survey(&self) -> Survey {
        Survey::All
    }

    /// Checks the rounds, nodes and overlays of all phases.
    ///
    /// # Errors
    /// [`TopologyError::Setting`].
    fn check(&self, nodes: usize) -> Result<(), TopologyError> {
        if self.list.is_empty() {
            let needed = "at least one phase";
            return Err(TopologyError::setting("phases", "none", needed));
        }
        for (index, phase) in self.list.iter().enumerate() {
            let last = index + 1 == self.list.len();
            match phase.rounds {
                Some(0) => {
                    let setting = format!("phases.{index}.rounds");
                    return Err(TopologyError::setting(setting, 0, "at least one round"));
                }
                None if !last => {
                    let needed = "`rounds`, which only the last phase may leave out";
                    let setting = format!("phases.{index}");
                    return Err(TopologyError::setting(setting, "no end", needed));
                }
                _ => {}
            }
            phase.nodes.check(nodes, &format!("phases.{index}.nodes"))?;
            check_fixed(&phase.of, format!("phases.{index}.of"))?;
        }
        Ok(())
    }

    /// The overlay of phase `index` of a list that was checked.
    fn snapshot(
        &self,
        index: usize,
        nodes: Nodes<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Snapshot, TopologyError> {
        let phase = &self.list[index];
        let built = match (&phase.nodes, &phase.of) {
            // Those of a file need not be connected, as in `periodic`.
            (Members::All, Topology::Edges(edges)) => edges.build(nodes, rng).map(|overlay| {
                let members = have_edges(&overlay);
                (overlay, members)
            }),
            (members, of) => members.build(of, nodes, rng),
        };
        let of = format!("phases.{index}.of");
        let (overlay, members) = built.map_err(TopologyError::within(of))?;
        Ok(Snapshot {
            overlay,
            members,
            outside: self.outside,
        })
    }
}
