//! The overlay of a run with its weights, built once and shared by all runs that have the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use meshfold_engine::{Key, Purpose, stream};
use meshfold_topology::{MixingMatrix, Overlay, OverlaySummary, Spectrum, Topology, Weights};

use crate::edge_list;
use crate::error::ConfigError;
use crate::experiment::Resolved;
use crate::fault_path;
use crate::id::sha256;

/// The overlay of a run, its mixing weights and what is known of them.
#[derive(Clone, Debug)]
pub struct PlannedOverlay {
    /// Who exchanges with whom.
    pub overlay: Overlay,
    /// The mixing matrix `W` of the weights on it.
    pub matrix: MixingMatrix,
    /// Its figures, as `overlay.json` has them.
    pub summary: OverlaySummary,
    /// Its eigenvalues and what follows from them.
    pub spectrum: Spectrum,
}

/// The overlays built so far: spectra are costly, and the seeds of a sweep often share one overlay.
#[derive(Debug, Default)]
pub(crate) struct Overlays {
    /// By topology, weights and nodes, and by the seed where it matters.
    by_setting: BTreeMap<String, Arc<PlannedOverlay>>,
    /// By weights and edges.
    by_edges: BTreeMap<String, Arc<PlannedOverlay>>,
}

impl Overlays {
    /// The overlay that `run` asks for among `nodes` nodes; `None` if it asks for none.
    ///
    /// Fills the SHA-256 of an edge list into the configuration of `run`.
    ///
    /// # Errors
    /// [`ConfigError`] at `topology` or `weights` if the overlay cannot be built or does not mix.
    pub(crate) fn get(
        &mut self,
        run: &mut Resolved<'_>,
        nodes: usize,
    ) -> Result<Option<Arc<PlannedOverlay>>, ConfigError> {
        let (Some(topology), Some(weights)) =
            (run.config.topology.clone(), run.config.weights.clone())
        else {
            return Ok(None);
        };
        let topology = read_edges(topology, run, nodes)?;
        let setting =
            serde_json::to_string(&(&topology, &weights, nodes)).expect("settings have text keys");
        let seeded = format!("{setting} {}", run.config.seed);
        let known = self
            .by_setting
            .get(&setting)
            .or_else(|| self.by_setting.get(&seeded));
        if let Some(known) = known {
            return Ok(Some(Arc::clone(known)));
        }
        let mut rng = stream(run.config.seed, Purpose::Overlay, Key::default());
        let blame = |run: &Resolved<'_>, error| {
            let path = fault_path::of_topology(&error, run.choice("topology"));
            run.error(error, &path)
        };
        let overlay = topology
            .build(nodes, &mut rng)
            .map_err(|error| blame(run, error))?;
        let edges = serde_json::to_string(&(&weights, nodes, overlay.edges().collect::<Vec<_>>()));
        let edges = sha256(edges.expect("edges are numbers").as_bytes());
        let planned = match self.by_edges.get(&edges) {
            Some(known) => Arc::clone(known),
            None => {
                let weighed = weighed(overlay, &weights).map_err(|error| blame(run, error))?;
                Arc::clone(self.by_edges.entry(edges).or_insert(Arc::new(weighed)))
            }
        };
        // A topology that drew nothing is the same for every seed.
        let key = if rng.get_word_pos() == 0 {
            setting
        } else {
            seeded
        };
        self.by_setting.insert(key, Arc::clone(&planned));
        Ok(Some(planned))
    }
}

/// Fills the pairs of an edge list in; the configuration of `run` gets its SHA-256 alone.
fn read_edges(
    topology: Topology,
    run: &mut Resolved<'_>,
    nodes: usize,
) -> Result<Topology, ConfigError> {
    let Topology::Edges(edges) = topology else {
        return Ok(topology);
    };
    let read = edge_list::read(&edges, nodes, run.source)
        .map_err(|fault| run.error(fault, "topology.edges.file"))?;
    let kept = meshfold_topology::Edges {
        pairs: Vec::new(),
        ..read.clone()
    };
    run.config.topology = Some(Topology::Edges(kept));
    Ok(Topology::Edges(read))
}

fn weighed(
    overlay: Overlay,
    weights: &Weights,
) -> Result<PlannedOverlay, meshfold_topology::TopologyError> {
    let matrix = weights.matrix(&overlay)?;
    let (summary, spectrum) = OverlaySummary::new(&overlay, weights, &matrix)?;
    Ok(PlannedOverlay {
        overlay,
        matrix,
        summary,
        spectrum,
    })
}
