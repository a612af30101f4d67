//! A fresh overlay every so many rounds.

use super::members::check_fixed;
use super::overlay_spec::{Contents, OverlaySpec, usual};
use super::schedule::{Schedule, Survey, Turns, usual_schedule};
use super::size::OverlaySize;
use super::{Members, Outside, Snapshot, Topology};
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

impl OverlaySpec for Redraw {
    usual!(changing, as_its_parts, ready);

    /// `redraw`, what is drawn, and what is not the default.
    fn label(&self) -> String {
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

    fn size(&self, nodes: usize) -> OverlaySize {
        self.nodes.size(&self.of, nodes)
    }

    fn contents(&mut self) -> Contents<'_> {
        Contents::Topologies(vec![("redraw.of".to_owned(), &mut *self.of)])
    }
}

impl Redraw {
    fn parts(&self) -> impl Iterator<Item = &Topology> {
        std::iter::once(&*self.of)
    }
}

impl Schedule for Redraw {
    usual_schedule!(no_lambda_of_draws);

    fn outside(&self) -> Outside {
        self.outside
    }

    fn turns(&self, _nodes: usize) -> Turns {
        Turns::Every(self.every)
    }

    fn survey(&self) -> Survey {
        match self.nodes {
            Members::All | Members::First(_) | Members::List(_) => Survey::First,
            Members::Share(_) => Survey::UntilConnected,
        }
    }

    /// Checks that a draw lasts at least one round, links nodes that exist, and does not itself change.
    ///
    /// # Errors
    /// [`TopologyError::Setting`].
    fn check(&self, nodes: usize) -> Result<(), TopologyError> {
        if self.every == 0 {
            let needed = "at least one round";
            return Err(TopologyError::setting("redraw.every", 0, needed));
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
        let (overlay, members) = built.map_err(TopologyError::within("redraw.of"))?;
        Ok(Snapshot {
            overlay,
            members,
            outside: self.outside,
        })
    }
}
