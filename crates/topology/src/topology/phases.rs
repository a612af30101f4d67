//! One overlay after another.

use super::listed::Listed;
use super::members::check_fixed;
use super::{Members, Outside, Schedule, Snapshot, Topology};
use crate::{Nodes, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Overlays that follow one another, each on all nodes or some; the last one stays to the end of the run.
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

impl Schedule for Phases {
    fn outside(&self) -> Outside {
        self.outside
    }

    fn repeats_after(&self, _nodes: usize) -> Option<usize> {
        None
    }

    /// Which phase a round is in.
    fn draw(&self, round: usize, _nodes: usize) -> usize {
        let mut end = 0_usize;
        let place = self.list.iter().position(|phase| {
            end = end.saturating_add(phase.rounds.unwrap_or(usize::MAX));
            round <= end
        });
        place.unwrap_or(self.list.len().saturating_sub(1))
    }

    /// The first round of each phase.
    fn change_rounds(&self, _nodes: usize) -> Box<dyn Iterator<Item = usize> + '_> {
        Box::new(self.list.iter().scan(1_usize, |next, phase| {
            let first = *next;
            *next = first.saturating_add(phase.rounds.unwrap_or(usize::MAX));
            Some(first)
        }))
    }

    /// Checks the rounds, nodes and overlays of all phases.
    ///
    /// # Errors
    /// [`TopologyError::Setting`].
    fn check(&self, nodes: usize) -> Result<(), TopologyError> {
        let wrong = |setting: String, found: &str, needed: &str| {
            Err(TopologyError::Setting {
                setting,
                found: found.to_owned(),
                needed: needed.to_owned(),
            })
        };
        if self.list.is_empty() {
            return wrong("phases".to_owned(), "none", "at least one phase");
        }
        for (index, phase) in self.list.iter().enumerate() {
            let last = index + 1 == self.list.len();
            match phase.rounds {
                Some(0) => {
                    let setting = format!("phases.{index}.rounds");
                    return wrong(setting, "0", "at least one round");
                }
                None if !last => {
                    let needed = "`rounds`, which only the last phase may leave out";
                    return wrong(format!("phases.{index}"), "no end", needed);
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
        let built = phase.nodes.build(&phase.of, nodes, rng);
        let (overlay, members) = built.map_err(|source| TopologyError::Within {
            setting: format!("phases.{index}.of"),
            source: Box::new(source),
        })?;
        Ok(Snapshot {
            overlay,
            members,
            outside: self.outside,
        })
    }
}

impl Phases {
    /// `phases` and what they consist of.
    pub(super) fn label(&self) -> String {
        let phases = self.list.iter().map(|phase| {
            let rounds = phase.rounds.map(|rounds| format!("{rounds} x "));
            let rounds = rounds.unwrap_or_default();
            format!("{rounds}{}{}", phase.of.label(), phase.nodes.label())
        });
        let phases: Vec<String> = phases.collect();
        format!("phases [{}]{}", phases.join("; "), self.outside.label())
    }
}
