//! How large an overlay becomes, estimated before it is built.

use super::{Members, Topology};
use crate::Weights;
use crate::spectrum::{LANCZOS_STEPS, MOST_FACTORISED};

/// Bytes for each node: degrees, components, and the vectors that figures are computed with. Measured: up to 110.
const NODE_BYTES: f64 = 120.0;
/// Bytes for each arc that is listed: while the overlay is built, and then for W and the Laplacian. Measured: 30 to 52.
const ARC_BYTES: f64 = 52.0;
/// Bytes for each arc of an overlay that is read again, beside what the run still holds. Measured: 16 to 40.
const PAGE_ARC_BYTES: f64 = 26.0;
/// Bytes for each weight of a matrix over an overlay whose arcs are not listed. Measured: 25.
const WEIGHT_BYTES: f64 = 26.0;
/// Bytes for each weight that is drawn or that the overlay brings. Measured: 49 to 80.
const DRAWN_WEIGHT_BYTES: f64 = 80.0;
/// Most nodes of which all eigenvalues are computed, with matrices of so many bytes for each two nodes.
const DENSE: (f64, f64) = (crate::DENSE_NODES as f64, 24.0);
/// Most iterations for the eigenvalues of a slow overlay, with matrices of so many bytes for each two of them.
const ITERATIONS: (f64, f64) = (LANCZOS_STEPS as f64, 24.0);
/// Most nodes and edges of a slow overlay whose matrices are factorised, with so many bytes for each, and the most bytes of a
/// factor.
const FACTORISED: (f64, f64, f64) = (
    MOST_FACTORISED.0 as f64,
    100.0,
    (MOST_FACTORISED.1 * size_of::<f64>()) as f64,
);

/// How large an overlay becomes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverlaySize {
    /// Number of nodes.
    pub nodes: usize,
    /// Edges, or the mean number of edges where they are drawn; of a schedule, those of its largest overlay.
    pub edges: f64,
    /// Edges of all overlays that are held at once while a schedule is planned.
    pub edges_at_once: f64,
    /// Whether the edges are held in memory one by one.
    pub is_listed: bool,
    /// Whether every two nodes are linked.
    pub is_complete: bool,
    /// Whether the overlay may mix slowly, so that eigenvalues are hard to find.
    pub is_slow: bool,
}

/// Whether news may take many hops from one node to another, as on a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paths {
    /// It may: then eigenvalues are hard to find.
    Long,
    /// It takes few hops.
    Short,
}

/// How many pairs there are among `nodes` nodes.
pub(super) fn pairs(nodes: usize) -> f64 {
    let n = nodes as f64;
    n * (n - 1.0) / 2.0
}

impl Members {
    /// The size of an overlay of `nodes` nodes in which these are linked as `of` says.
    pub(super) fn size(&self, of: &Topology, nodes: usize) -> OverlaySize {
        let linked = self.count(nodes);
        let among = of.size(linked.min(nodes));
        OverlaySize {
            nodes,
            is_complete: among.is_complete && linked >= nodes,
            ..among
        }
    }
}

impl OverlaySize {
    /// The size of an overlay of about so many `edges`, which are held in memory one by one.
    pub(super) fn listed(nodes: usize, edges: f64, paths: Paths) -> Self {
        // Of no nodes some products are not a number, which `max` takes for 0.
        let edges = edges.max(0.0).min(pairs(nodes).max(0.0));
        Self {
            nodes,
            edges,
            edges_at_once: edges,
            is_listed: true,
            is_complete: false,
            is_slow: paths == Paths::Long,
        }
    }

    /// Estimate in bytes of the most memory that is held at once while the overlay is built, `weights` are put on it and
    /// their figures are computed.
    #[must_use]
    pub fn building_bytes(&self, weights: &Weights) -> u64 {
        let nodes = self.nodes as f64;
        let at_once = Self {
            edges: self.edges_at_once,
            ..*self
        };
        let (arcs, entries) = (at_once.arcs(), at_once.weights(weights));
        let weighing = match weights.are_drawn() || weights.are_prescribed() {
            true => DRAWN_WEIGHT_BYTES * entries,
            false => WEIGHT_BYTES * entries,
        };
        let all_eigenvalues = self.dense_bytes(entries);
        let most = (ARC_BYTES * arcs).max(weighing) + all_eigenvalues.max(self.searching_bytes());
        // A float beyond the range of the integer becomes its largest value.
        (NODE_BYTES * nodes + most) as u64
    }

    /// Estimate in bytes of what a page about a run takes for its overlay: the arcs, which are read again, and all eigenvalues
    /// of the matrix of `weights`.
    #[must_use]
    pub fn page_bytes(&self, weights: &Weights) -> u64 {
        if weights.are_drawn() {
            return 0;
        }
        let arcs = PAGE_ARC_BYTES * self.arcs();
        (arcs + self.dense_bytes(self.weights(weights))) as u64
    }

    /// What all eigenvalues of a matrix take that has `entries` weights one by one.
    fn dense_bytes(&self, entries: f64) -> f64 {
        let nodes = self.nodes as f64;
        match nodes <= DENSE.0 && entries > 0.0 {
            true => DENSE.1 * nodes * nodes,
            false => 0.0,
        }
    }

    /// What the eigenvalues of a slow overlay take.
    fn searching_bytes(&self) -> f64 {
        let nodes = self.nodes as f64;
        if !self.is_slow {
            return 0.0;
        }
        let iterations = nodes.min(ITERATIONS.0);
        let iterating = ITERATIONS.1 * iterations * iterations;
        let entries = nodes + self.edges;
        if entries > FACTORISED.0 {
            return iterating;
        }
        // The factor of a grid has about 6 n log n values; those of rings and trees have fewer.
        let factor = 8.0 * 6.0 * nodes * nodes.max(1.0).log2();
        iterating + FACTORISED.1 * entries + factor.min(FACTORISED.2)
    }

    /// Arcs of an overlay of a round that are held one by one, an edge being two.
    #[must_use]
    pub fn arcs(&self) -> f64 {
        match self.is_listed {
            true => 2.0 * self.edges,
            false => 0.0,
        }
    }

    /// Weights of an overlay of a round that are held one by one: none where all rows of the matrix are one mean.
    #[must_use]
    pub fn weights(&self, weights: &Weights) -> f64 {
        match self.is_complete && weights.is_mean_when_complete() {
            true => 0.0,
            false => 2.0 * self.edges + self.nodes as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Laplacian, MixingMatrix, Nodes, Overlay, OwnWeights, Random, TopologyError};
    use meshfold_own::OwnPart;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use std::sync::Arc;

    fn topology(text: &str) -> Topology {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_size_is_that_of_what_is_built() {
        let labels: Vec<Vec<u64>> = (0..210).map(|node| vec![1 + node % 7, 3]).collect();
        for text in [
            r#"{"path": {}}"#,
            r#"{"ring": {"hops": 3}}"#,
            r#"{"grid": {}}"#,
            r#"{"torus": {}}"#,
            r#"{"complete": {}}"#,
            r#"{"star": {}}"#,
            r#"{"balanced_tree": {"branching": 3}}"#,
            r#"{"barbell": {"m1": 100, "m2": 10}}"#,
            r#"{"erdos_renyi": {"p": 0.3}}"#,
            r#"{"regular": {"degree": 9}}"#,
            r#"{"ring_plus_matching": {}}"#,
            r#"{"virtual_rings": {"spaces": 4}}"#,
            r#"{"exponential": {}}"#,
            r#"{"watts_strogatz": {"neighbours": 6, "rewire": 0.2}}"#,
            r#"{"barabasi_albert": {"links": 3}}"#,
            r#"{"stochastic_block": {"blocks": 4, "within": 0.3, "between": 0.02}}"#,
            r#"{"random_geometric": {"radius": 0.15}}"#,
            r#"{"random_waypoint": {"radius": 0.15, "speed": 0.1}}"#,
            r#"{"d_cliques": {"max_clique_size": 10}}"#,
            r#"{"d_cliques": {"max_clique_size": 10, "inter": "ring"}}"#,
            r#"{"d_cliques": {"max_clique_size": 5, "inter": "fractal", "removed_edges": 2}}"#,
            r#"{"d_cliques": {"max_clique_size": 3, "inter": "small_world"}}"#,
            r#"{"redraw": {"nodes": {"share": 0.5}, "of": {"complete": {}}}}"#,
            r#"{"phases": [{"rounds": 1, "nodes": {"first": 90}, "of": {"complete": {}}}, {"of": {"ring": {}}}]}"#,
            r#"{"one_peer": {}}"#,
            r#"{"random_matching": {}}"#,
            r#"{"base_graph": {}}"#,
            r#"{"base_graph": {"degree": 4}}"#,
            r#"{"equi_static": {"links": 5}}"#,
            r#"{"equi_static": {"links": 3, "directed": true}}"#,
            r#"{"equi_dyn": {"directed": true}}"#,
            r#"{"matcha": {"of": {"regular": {"degree": 9}}, "budget": 1.0}}"#,
        ] {
            let topology = topology(text);
            let mut rng = ChaCha8Rng::seed_from_u64(3);
            let nodes = Nodes {
                count: 210,
                label_counts: &labels,
            };
            let overlay = topology.build(nodes, &mut rng).unwrap();
            let size = topology.size(210);
            let (found, expected) = (overlay.edge_count() as f64, size.edges);
            assert!(
                expected >= 0.9 * found,
                "{text}: {found}, expected {expected}"
            );
            assert!(
                expected <= 1.3 * found + 15.0,
                "{text}: {found}, expected {expected}"
            );
            assert_eq!(size.is_complete, overlay.is_complete(), "{text}");
            assert_eq!(topology.is_directed(), overlay.is_directed(), "{text}");
            let brings = overlay.weights().is_some();
            assert_eq!(topology.prescribes_weights(), brings, "{text}");
            // What is listed is never taken for a group.
            assert!(size.is_listed || overlay.listed_arcs() == 0, "{text}");
        }
    }

    /// Weights of a program's own: whatever they are, each of them is held.
    struct Halves;

    impl OwnWeights for Halves {
        fn matrix(
            &self,
            overlay: &Overlay,
            _rng: &mut ChaCha8Rng,
        ) -> Result<MixingMatrix, TopologyError> {
            Weights::Laplacian(Laplacian { theta: Some(0.5) }).matrix(overlay)
        }
    }

    #[test]
    fn a_hypercube_has_as_many_edges_as_its_size_says() {
        let hypercube = topology(r#"{"hypercube": {}}"#);
        let built = hypercube.build(256, &mut ChaCha8Rng::seed_from_u64(1));
        assert_eq!(
            built.unwrap().edge_count() as f64,
            hypercube.size(256).edges
        );
    }

    #[test]
    fn a_share_of_few_nodes_is_one_of_them() {
        let redraw = r#"{"redraw": {"nodes": {"share": 0.01}, "of": {"complete": {}}}}"#;
        let Topology::Redraw(redraw) = topology(redraw) else {
            unreachable!("it is a redraw");
        };
        assert_eq!([9, 1000].map(|nodes| redraw.nodes.count(nodes)), [1, 10]);
    }

    #[test]
    fn a_complete_overlay_takes_memory_for_its_nodes_alone() {
        let size = topology(r#"{"complete": {}}"#).size(60_000);
        assert_eq!(size.edges, 1_799_970_000.0);
        assert!(size.building_bytes(&Weights::default()) < 10_000_000);
        let each = [
            Weights::Random(Random {}),
            Weights::Laplacian(Laplacian { theta: Some(0.5) }),
            Weights::Own(OwnPart::new("halves", "", Arc::new(()), Arc::new(Halves))),
        ];
        for weights in each {
            assert!(
                size.building_bytes(&weights) > 80_000_000_000,
                "{weights:?}"
            );
        }
    }

    #[test]
    fn the_largest_of_overlays_have_a_size() {
        for text in [
            r#"{"ring": {"hops": 18446744073709551615}}"#,
            r#"{"complete": {}}"#,
            r#"{"erdos_renyi": {"p": "log"}}"#,
            r#"{"d_cliques": {"max_clique_size": 0}}"#,
            r#"{"barabasi_albert": {"links": 18446744073709551615}}"#,
            r#"{"stochastic_block": {"blocks": 0, "within": 0.5, "between": 0.5}}"#,
            r#"{"random_geometric": {"radius": 1e300}}"#,
            r#"{"periodic": [{"complete": {}}, {"star": {}}]}"#,
        ] {
            let size = topology(text).size(usize::MAX);
            let bytes = size.building_bytes(&Weights::Random(Random {}));
            assert!(bytes > 1 << 60, "{text}: {bytes}");
            for few in [0, 1] {
                assert!(topology(text).size(few).edges <= 1.0, "{text}");
            }
        }
    }
}
