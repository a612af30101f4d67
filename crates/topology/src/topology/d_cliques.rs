//! D-Cliques: sparsely joined cliques, each with labels distributed as over all nodes.

use super::overlay_spec::{FixedOverlay, OverlaySpec, SlowPart, usual};
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod greedy_swap;
mod histogram_noise;
mod inter_clique;
mod inter_clique_edges;
mod label_distributions;
mod leaders;
mod peer_sampling;
mod push_sum;
mod removed_edges;
mod skew;

pub use histogram_noise::{HistogramNoise, NoiseScale};
pub use inter_clique::{InterClique, SmallWorld};
use label_distributions::LabelDistributions;
pub use leaders::Leaders;
pub use skew::clique_skew;

/// Steps of Greedy-Swap in the paper's experiments.
const SWAPS: usize = 1000;

/// Cliques of at most M nodes, made by Greedy-Swap so that the labels in each are spread as they are over all nodes, and
/// joined by sparse edges between the least connected node of each clique.
///
/// The groups of the overlay are the cliques, each with its nodes ascending. 1,000 nodes in cliques of 10 have 9,450
/// edges fully connected, about 7,290 as a small world, 4,995 fractal and 4,600 on a ring.
///
/// # Source
/// D-Cliques (Bellet et al.), Fig. 4 and Section III; Section IV-F for removed edges.
///
/// # Interpretation
/// Cliques are cut from a random order of the nodes, so only the last is smaller if M does not divide their number. The
/// random cliques, the noise, the swaps, the edges between cliques and the removed edges take their draws in this order:
/// overlays that differ in `removed_edges` alone have the same cliques, joined by the same edges. A removed edge
/// leaves both its nodes in the clique.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DCliques {
    /// Most nodes per clique, M.
    pub max_clique_size: usize,
    /// Steps of Greedy-Swap, K, each of which swaps two nodes if that helps; 0 leaves the cliques random.
    #[serde(default = "swaps")]
    pub swaps: usize,
    /// Has the leaders of cliques swap by what they know; somebody who knows all nodes does it if absent, as in Fig. 4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaders: Option<Leaders>,
    /// How cliques are joined.
    #[serde(default)]
    pub inter: InterClique,
    /// Noise on the label histograms that Greedy-Swap sees, none by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<HistogramNoise>,
    /// Edges that each clique loses, uniformly at random; 1 and 5 in the paper, none by default.
    #[serde(default)]
    pub removed_edges: usize,
}

impl OverlaySpec for DCliques {
    usual!(fixed, undirected, values_alone, ready, no_weights);

    /// `d_cliques` with the size of the cliques and what is not the default.
    fn label(&self) -> String {
        let mut label = format!("d_cliques max_clique_size={}", self.max_clique_size);
        if self.inter != InterClique::default() {
            label += &format!(" inter={}", self.inter.label());
        }
        if self.swaps != SWAPS {
            label += &format!(" swaps={}", self.swaps);
        }
        if let Some(leaders) = &self.leaders {
            label += &format!(" {}", leaders.label());
        }
        if let Some(noise) = &self.noise {
            label += &format!(" {}", noise.label());
        }
        if self.removed_edges != 0 {
            label += &format!(" removed_edges={}", self.removed_edges);
        }
        label
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        OverlaySize::listed(nodes, self.expected_edges(nodes as f64), Paths::Long)
    }

    fn reads_labels(&self) -> bool {
        true
    }

    fn slow_part(&self, nodes: Nodes<'_>) -> Option<SlowPart> {
        let classes = nodes.label_counts.first().map_or(0, Vec::len);
        (self.max_clique_size < nodes.count).then(|| SlowPart {
            what: "the cliques",
            keys: "`swaps`, `averaging_rounds`",
            seconds: self.swapping_seconds(nodes.count, classes),
        })
    }
}

impl FixedOverlay for DCliques {
    /// Forms the cliques, joins them and takes the removed edges away.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] for parameters that do not fit; [`TopologyError::LabelsUnknown`] or another error of [`clique_skew`] for
    /// labels that do not.
    fn build(&self, nodes: Nodes<'_>, rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        self.check(nodes.count)?;
        let mut labels = LabelDistributions::new(nodes)?;
        let mut cliques = random_cliques(nodes.count, self.max_clique_size, rng); // Fig. 4, lines 2-5
        if let Some(noise) = &self.noise {
            noise.add_to(&mut labels, rng); // Remark 2
        }
        match &self.leaders {
            Some(leaders) => leaders.improve(&mut cliques, &labels, self.swaps, rng), // Section III-B
            None => greedy_swap::improve(&mut cliques, &labels, self.swaps, rng),     // lines 6-16
        }
        let between = self.inter.edges(&cliques, self.max_clique_size, rng);
        let within = removed_edges::kept(&cliques, self.removed_edges, rng);
        cliques.iter_mut().for_each(|clique| clique.sort_unstable());
        Overlay::from_edges(nodes.count, within.into_iter().chain(between))?.with_groups(cliques) // line 17
    }
}

impl DCliques {
    /// Cliques of at most `max_clique_size` nodes, all else being the default.
    #[must_use]
    pub fn new(max_clique_size: usize) -> Self {
        Self {
            max_clique_size,
            swaps: swaps(),
            leaders: None,
            inter: InterClique::default(),
            noise: None,
            removed_edges: 0,
        }
    }

    fn check(&self, nodes: usize) -> Result<(), TopologyError> {
        let size = self.max_clique_size;
        if size == 0 || size > nodes {
            let needed = format!("a number from 1 to {nodes}, the nodes");
            return Err(TopologyError::setting(
                "d_cliques.max_clique_size",
                size,
                needed,
            ));
        }
        self.inter.check(nodes)?;
        if let Some(noise) = &self.noise {
            noise.check()?;
        }
        if let Some(leaders) = &self.leaders {
            leaders.check()?;
        }
        let smallest = match nodes % size {
            0 => size,
            rest => rest,
        };
        removed_edges::check(self.removed_edges, smallest)
    }

    /// Edges among `nodes` nodes, about.
    fn expected_edges(&self, nodes: f64) -> f64 {
        let size = (self.max_clique_size as f64).max(1.0);
        let cliques = (nodes / size).ceil();
        let within = nodes * (size - 1.0) / 2.0 - cliques * self.removed_edges as f64;
        let between = match self.inter {
            InterClique::Ring => cliques,
            // Each level joins every two of M groups, and has a group for M of the level before.
            InterClique::Fractal => cliques * size.max(2.0) / 2.0,
            InterClique::SmallWorld(small_world) => {
                2.0 * small_world.c as f64 * cliques * (cliques.log2() + 1.0)
            }
            InterClique::FullyConnected => cliques * (cliques - 1.0) / 2.0,
        };
        within.max(0.0) + between
    }

    /// Seconds that the swaps take among nodes with labels of so many classes.
    fn swapping_seconds(&self, nodes: usize, classes: usize) -> f64 {
        let size = self.max_clique_size as f64;
        // A swap compares every node of one clique with every node of another, label by label.
        let swapping = self.swaps as f64 * (1e-7 + 1e-9 * size * size * classes as f64);
        swapping + averaging_seconds(self.leaders.as_ref(), nodes, classes)
    }
}

fn swaps() -> usize {
    SWAPS
}

/// Seconds that nodes take to average their label distributions for the leaders of cliques.
fn averaging_seconds(leaders: Option<&Leaders>, nodes: usize, classes: usize) -> f64 {
    let rounds = leaders.map_or(0, |leaders| leaders.averaging_rounds);
    rounds as f64 * nodes as f64 * (1e-8 + 1e-9 * classes as f64)
}

/// All nodes in random order, cut into cliques of `size` nodes and a last one of what is left.
fn random_cliques(nodes: usize, size: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<u32>> {
    let mut order: Vec<u32> = (0..nodes as u32).collect();
    order.shuffle(rng);
    order.chunks(size).map(<[u32]>::to_vec).collect()
}
