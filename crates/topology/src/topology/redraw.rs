//! A fresh overlay every so many rounds.

use super::members::check_fixed;
use super::{Members, Outside, Schedule, Snapshot, Topology};
use crate::{Nodes, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An overlay that is drawn anew every so many rounds, and with it the nodes that it links.
///
/// # Source
/// DeceFL (Yuan et al.), SI 5.2.3: each round half of the nodes on a random graph, the others by themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Redraw {
    /// Rounds that a draw lasts.
    #[serde(default = "each_round")]
    pub every: usize,
    /// The nodes that are linked.
    #[serde(default)]
    pub nodes: Members,
    /// The overlay among them.
    pub of: Box<Topology>,
    /// What the other nodes do.
    #[serde(default)]
    pub outside: Outside,
}

fn each_round() -> usize {
    1
}

impl Schedule for Redraw {
    fn outside(&self) -> Outside {
        self.outside
    }

    fn repeats_after(&self, _nodes: usize) -> Option<usize> {
        None
    }

    /// Which draw a round has, from 0.
    fn draw(&self, round: usize, _nodes: usize) -> usize {
        round.saturating_sub(1) / self.every.max(1)
    }

    fn change_rounds(&self, _nodes: usize) -> Box<dyn Iterator<Item = usize> + '_> {
        Box::new((1..).step_by(self.every.max(1)))
    }

    /// Checks that a draw lasts at least one round, links nodes that exist, and does not itself change.
    ///
    /// # Errors
    /// [`TopologyError::Setting`].
    fn check(&self, nodes: usize) -> Result<(), TopologyError> {
        if self.every == 0 {
            return Err(TopologyError::Setting {
                setting: "redraw.every".to_owned(),
                found: "0".to_owned(),
                needed: "at least one round".to_owned(),
            });
        }
        self.nodes.check(nodes, "redraw.nodes")?;
        check_fixed(&self.of, "redraw.of".to_owned())
    }

    /// One draw.
    fn snapshot(
        &self,
        _draw: usize,
        nodes: Nodes<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Snapshot, TopologyError> {
        let built = self.nodes.build(&self.of, nodes, rng);
        let (overlay, members) = built.map_err(|source| TopologyError::Within {
            setting: "redraw.of".to_owned(),
            source: Box::new(source),
        })?;
        Ok(Snapshot {
            overlay,
            members,
            outside: self.outside,
        })
    }
}

impl Redraw {
    /// `redraw`, what is drawn, and what is not the default.
    pub(super) fn label(&self) -> String {
        let every = match self.every {
            1 => String::new(),
            every => format!(" every={every}"),
        };
        format!(
            "redraw {}{}{every}{}",
            self.of.label(),
            self.nodes.label(),
            self.outside.label()
        )
    }
}
