//! The overlay of a run with its weights, built once and shared by all runs that have the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use meshfold_engine::{Key, Purpose, stream};
use meshfold_topology::{
    MixingMatrix, Outside, Overlay, OverlaySummary, Snapshot, Spectrum, Topology, TopologyError,
    Weights, clique_skew,
};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::config::edge_list;
use crate::config::error::ConfigError;
use crate::config::experiment::Resolved;
use crate::config::fault_path;
use crate::files::sha256::{sha256, sha256_of_pairs};
use crate::plan::memory;
use crate::plan::population::Population;
use crate::plan::ramanujan::RamanujanBound;
use crate::plan::schedule_summary::ScheduleSummary;

/// The overlay of a run, its mixing weights and what is known of them.
///
/// Of an overlay that changes over time it is the first, and what is known of those that follow.
#[derive(Clone, Debug)]
pub struct PlannedOverlay {
    /// What it is built from, with the edges of files filled in, and [prepared](Topology::prepare).
    pub topology: Topology,
    /// Who exchanges with whom.
    pub overlay: Arc<Overlay>,
    /// The rule of its mixing weights.
    pub weights: Weights,
    /// The mixing matrix `W` of the weights on it.
    pub matrix: Arc<MixingMatrix>,
    /// Its figures, as `overlay.json` has them.
    pub summary: OverlaySummary,
    /// Its eigenvalues and what follows from them.
    pub spectrum: Spectrum,
    /// How the overlays of a schedule mix together, if they repeat.
    pub schedule: Option<ScheduleSummary>,
    /// See [`Topology::lambda_of_draws`].
    pub lambda_of_draws: Option<f64>,
    /// The cliques that it is made of, if it is.
    pub cliques: Option<CliqueSummary>,
}

/// The cliques of an overlay.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CliqueSummary {
    /// How many.
    pub count: usize,
    /// Nodes of the smallest and of the largest one.
    pub size: [usize; 2],
    /// Mean and largest skew, D-Cliques (3), of the true labels; absent if a node has none.
    pub skew: Option<[f64; 2]>,
    /// The nodes of each.
    pub members: Vec<Vec<u32>>,
}

impl CliqueSummary {
    pub(crate) fn of(overlay: &Overlay, population: &Population) -> Option<Self> {
        let members = overlay.groups()?.to_vec();
        let sizes = || members.iter().map(Vec::len);
        let skews = clique_skew(overlay, population.nodes().label_counts);
        let skew = skews.ok().flatten().filter(|skews| !skews.is_empty());
        Some(Self {
            count: members.len(),
            size: [sizes().min().unwrap_or(0), sizes().max().unwrap_or(0)],
            skew: skew.map(|skews| {
                let mean = skews.iter().sum::<f64>() / skews.len() as f64;
                [mean, skews.iter().copied().fold(0.0, f64::max)]
            }),
            members,
        })
    }
}

/// What `overlay.json` holds: the figures of the overlay, what its degree promises, and those of the schedule that it begins.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverlayFigures<'a> {
    #[serde(flatten)]
    summary: &'a OverlaySummary,
    /// Whether later rounds have other overlays: the figures above are then those of round 1.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    changes: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    ramanujan: Option<RamanujanBound>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<ScheduleSummary>,
    /// See [`Topology::lambda_of_draws`].
    #[serde(skip_serializing_if = "Option::is_none")]
    lambda_of_draws: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cliques: Option<&'a CliqueSummary>,
}

impl PlannedOverlay {
    /// The overlay of so many `nodes`, of which nothing else is known, as the first round of a run with this seed has it.
    ///
    /// # Errors
    /// [`TopologyError`] of the topology or the weights.
    pub fn of_nodes(
        mut topology: Topology,
        weights: Weights,
        nodes: usize,
        seed: u64,
    ) -> Result<Self, TopologyError> {
        let population = Population::of_nodes(nodes, seed);
        prepare(&mut topology, &population)?;
        let built = built(&topology, &weights, &population, 1)?;
        planned(topology, weights, built, &population)
    }

    /// `λ` of an exchange: of overlays that repeat the root of [`lambda_of_period`](Self::lambda_of_period), if it was found; of those
    /// that are drawn in each round [that of the draws](Topology::lambda_of_draws), if it is known; otherwise that of the overlay in
    /// round 1.
    pub fn lambda(&self) -> Option<f64> {
        self.lambda_of_rounds().or(self.summary.lambda)
    }

    /// `λ` of an exchange that goes by more than the overlay in round 1.
    fn lambda_of_rounds(&self) -> Option<f64> {
        let repeated = self.schedule.and_then(|schedule| schedule.lambda);
        repeated.or(self.lambda_of_draws)
    }

    /// Whether [`lambda`](Self::lambda) is that of the overlay in round 1 alone, though later rounds have others.
    pub fn lambda_is_of_round_1(&self) -> bool {
        self.topology.varies() && self.lambda_of_rounds().is_none()
    }

    /// `λ` of the overlays of a period together, if they change, repeat, and are small enough to find it.
    pub fn lambda_of_period(&self) -> Option<f64> {
        self.schedule.and_then(|schedule| schedule.joint_lambda)
    }

    /// What `overlay.json` holds.
    pub fn figures(&self) -> OverlayFigures<'_> {
        OverlayFigures {
            summary: &self.summary,
            changes: self.topology.varies(),
            ramanujan: RamanujanBound::of(&self.summary),
            schedule: self.schedule,
            lambda_of_draws: self.lambda_of_draws,
            cliques: self.cliques.as_ref(),
        }
    }
}

/// The longest period whose overlays are analysed together.
const LONGEST_PERIOD: usize = 64;

/// The overlay of a round with its weights.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) overlay: Overlay,
    pub(crate) matrix: MixingMatrix,
    /// Whether each node is in the overlay.
    pub(crate) members: Vec<bool>,
    /// What the others do.
    pub(crate) outside: Outside,
    /// Whether edges were drawn.
    drew_edges: bool,
    /// Whether weights were drawn.
    drew_weights: bool,
}

/// Builds the overlay of `round` before failures, with its weights.
///
/// # Errors
/// [`TopologyError`] of the topology or the weights.
pub(crate) fn built(
    topology: &Topology,
    weights: &Weights,
    population: &Population,
    round: usize,
) -> Result<Built, TopologyError> {
    let (snapshot, edges) = snapshot(topology, population, round)?;
    let overlay = match population.examples() {
        Some(examples) => snapshot.overlay.with_examples(examples)?,
        None => snapshot.overlay,
    };
    let mut shares = OverlayDraws::of(topology, population, round).weights();
    let matrix = weights.draw(&overlay, &mut shares)?;
    let drew_edges = edges.get_word_pos() > 0;
    Ok(Built {
        drew_edges,
        // Other weights may be prescribed for the same edges.
        drew_weights: shares.get_word_pos() > 0 || (weights.are_prescribed() && drew_edges),
        overlay: overlay.without_weights(),
        matrix,
        members: snapshot.members,
        outside: snapshot.outside,
    })
}

/// Decides what all rounds of `topology` have in common.
///
/// # Errors
/// [`TopologyError`] of the topology.
fn prepare(topology: &mut Topology, population: &Population) -> Result<(), TopologyError> {
    let key = Key {
        // No round has this layer.
        layer: 1,
        ..Key::default()
    };
    let mut draws = stream(population.overlay_seed, Purpose::Overlay, key);
    topology.prepare(population.nodes(), &mut draws)
}

/// What links the nodes in `round` before failures, and the stream that it was drawn from.
///
/// # Errors
/// [`TopologyError`] of the topology.
pub(crate) fn snapshot(
    topology: &Topology,
    population: &Population,
    round: usize,
) -> Result<(Snapshot, ChaCha8Rng), TopologyError> {
    let nodes = population.nodes();
    let mut edges = OverlayDraws::of(topology, population, round).edges();
    let snapshot = topology
        .epoch(round, nodes.count)
        .build(nodes, &mut edges)?;
    Ok((snapshot, edges))
}

/// The edges of the overlay of the first round among so many `nodes`, of which nothing else is known.
///
/// # Errors
/// [`TopologyError`] of the topology.
pub fn first_overlay(
    topology: &Topology,
    nodes: usize,
    seed: u64,
) -> Result<Overlay, TopologyError> {
    let population = Population::of_nodes(nodes, seed);
    let mut topology = topology.clone();
    prepare(&mut topology, &population)?;
    Ok(snapshot(&topology, &population, 1)?.0.overlay)
}

/// All that is drawn for the overlay of a round.
pub(crate) struct OverlayDraws {
    seed: u64,
    key: Key,
}

impl OverlayDraws {
    pub(crate) fn of(topology: &Topology, population: &Population, round: usize) -> Self {
        let round = topology.epoch(round, population.nodes().count).draw;
        Self {
            seed: population.overlay_seed,
            key: Key {
                round,
                ..Key::default()
            },
        }
    }

    /// The stream of its edges.
    pub(crate) fn edges(&self) -> ChaCha8Rng {
        stream(self.seed, Purpose::Overlay, self.key)
    }

    /// The stream of its weights.
    pub(crate) fn weights(&self) -> ChaCha8Rng {
        stream(self.seed, Purpose::Weights, self.key)
    }
}

/// The overlays built so far: spectra are costly, and the seeds of a sweep often share one overlay.
#[derive(Debug, Default)]
pub(crate) struct Overlays {
    /// Those that are the same for every seed and partition, by topology, weights and nodes.
    by_setting: BTreeMap<String, Arc<PlannedOverlay>>,
    /// By edges, groups, weights and whatever else the weights go by.
    by_edges: BTreeMap<String, Arc<PlannedOverlay>>,
    /// Bytes that the machine has left.
    available: Option<u64>,
}

impl Overlays {
    /// None yet, on a machine with `available` bytes of memory left.
    pub(crate) fn within(available: Option<u64>) -> Self {
        Self {
            available,
            ..Self::default()
        }
    }

    /// The overlay that `run` asks for among the nodes of `population`; `None` if it asks for none.
    ///
    /// Fills the SHA-256 of edge lists into the configuration of `run`.
    ///
    /// # Errors
    /// [`ConfigError`] at `topology` or `weights` if the overlay cannot be built, is larger than the machine's memory or does
    /// not mix.
    pub(crate) fn get(
        &mut self,
        run: &mut Resolved<'_>,
        population: &Population,
    ) -> Result<Option<Arc<PlannedOverlay>>, ConfigError> {
        let (Some(topology), Some(weights)) =
            (run.config.topology.clone(), run.config.weights.clone())
        else {
            return Ok(None);
        };
        let mut topology = read_edges(topology, run, population.nodes().count)?;
        let weights = read_weights(weights, &topology, run)?;
        let setting = serde_json::to_string(&(&topology, &weights, population.nodes().count));
        let setting = setting.expect("settings have text keys");
        if let Some(known) = self.by_setting.get(&setting) {
            return Ok(Some(Arc::clone(known)));
        }
        let blame = |run: &Resolved<'_>, error| {
            let path = fault_path::of_topology(&error);
            run.error(error, &path)
        };
        topology
            .check(population.nodes().count)
            .map_err(|error| blame(run, error))?;
        let size = topology.size(population.nodes().count);
        memory::overlay::check(size, &weights, self.available)
            .map_err(|fault| run.error(fault, "topology"))?;
        prepare(&mut topology, population).map_err(|error| blame(run, error))?;
        let built = built(&topology, &weights, population, 1).map_err(|error| blame(run, error))?;
        let of_shards = topology.reads_labels() || weights.read_examples();
        let fixed = !(built.drew_edges || built.drew_weights || of_shards || topology.varies());
        let key = fingerprint(&topology, &weights, &built, population);
        if let Some(known) = self.by_edges.get(&key) {
            return Ok(Some(Arc::clone(known)));
        }
        let planned = planned(topology, weights, built, population);
        let planned = Arc::new(planned.map_err(|error| blame(run, error))?);
        self.by_edges.insert(key, Arc::clone(&planned));
        if fixed {
            self.by_setting.insert(setting, Arc::clone(&planned));
        }
        Ok(Some(planned))
    }
}

/// What tells overlays with different figures apart.
fn fingerprint(
    topology: &Topology,
    weights: &Weights,
    built: &Built,
    population: &Population,
) -> String {
    let seed = (topology.varies() || built.drew_weights).then_some(population.overlay_seed);
    let examples = weights.read_examples().then(|| population.examples());
    let nodes = built.overlay.nodes();
    let groups = built.overlay.groups();
    let by_labels = groups.is_some() || (topology.varies() && topology.reads_labels());
    let labels = by_labels.then(|| population.nodes().label_counts);
    let parts = (topology, weights, nodes, seed, examples, (groups, labels));
    let parts = serde_json::to_vec(&parts).expect("groups and settings are numbers and text");
    let edges = match built.overlay.is_complete() {
        true => "complete".to_owned(),
        false => sha256_of_pairs(built.overlay.edges()),
    };
    format!("{} {edges}", sha256(&parts))
}

/// Fills the pairs of edge lists in; the configuration of `run` gets their SHA-256 alone.
fn read_edges(
    mut topology: Topology,
    run: &mut Resolved<'_>,
    nodes: usize,
) -> Result<Topology, ConfigError> {
    let mut kept = topology.clone();
    for ((path, edges), (_, kept)) in topology
        .edge_lists_mut()
        .into_iter()
        .zip(kept.edge_lists_mut())
    {
        let read = edge_list::read(edges, nodes, run.source)
            .map_err(|fault| run.error(fault, &format!("topology.{path}.file")))?;
        kept.sha256.clone_from(&read.sha256);
        *edges = read;
    }
    run.config.topology = Some(kept);
    Ok(topology)
}

/// Fills in the weights that a file gives; the configuration of `run` gets their SHA-256 alone.
fn read_weights(
    mut weights: Weights,
    topology: &Topology,
    run: &mut Resolved<'_>,
) -> Result<Weights, ConfigError> {
    let mut kept = weights.clone();
    let (Some((path, list)), Some((_, kept_list))) = (weights.list_mut(), kept.list_mut()) else {
        return Ok(weights);
    };
    if topology.varies() {
        let needed = "an overlay that stays the same, as the file gives the weights of its edges";
        return Err(run.wrong("topology", topology.label(), needed));
    }
    let read = edge_list::read_weights(list, run.source)
        .map_err(|fault| run.error(fault, &format!("weights.{path}.file")))?;
    kept_list.sha256.clone_from(&read.sha256);
    *list = read;
    run.config.weights = Some(kept);
    Ok(weights)
}

fn planned(
    topology: Topology,
    weights: Weights,
    built: Built,
    population: &Population,
) -> Result<PlannedOverlay, TopologyError> {
    let (summary, spectrum) = OverlaySummary::new(&built.overlay, &weights, &built.matrix)?;
    Ok(PlannedOverlay {
        schedule: schedule(&topology, &weights, population)?,
        lambda_of_draws: topology.lambda_of_draws(&weights, population.nodes().count)?,
        cliques: CliqueSummary::of(&built.overlay, population),
        topology,
        weights,
        overlay: Arc::new(built.overlay),
        matrix: Arc::new(built.matrix),
        summary,
        spectrum,
    })
}

/// How the overlays of a period mix together; `None` for one that does not change or does not repeat soon.
fn schedule(
    topology: &Topology,
    weights: &Weights,
    population: &Population,
) -> Result<Option<ScheduleSummary>, TopologyError> {
    let nodes = population.nodes().count;
    let period = topology
        .period(nodes)
        .filter(|period| *period <= LONGEST_PERIOD);
    let Some(period) = period.filter(|_| topology.varies()) else {
        return Ok(None);
    };
    let all = (1..=period)
        .map(|round| built(topology, weights, population, round))
        .collect::<Result<Vec<_>, _>>()?;
    ScheduleSummary::of(&all, nodes).map(Some)
}
