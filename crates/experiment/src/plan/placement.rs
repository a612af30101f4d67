//! Where the rows of a run lie if it is dealt over ranks.

use std::sync::Arc;

use meshfold_algorithms::Setting;
use meshfold_topology::{DividedGraph, Division, Form, MixingMatrix};

use crate::config::run_config::RunConfig;
use crate::plan::planned_overlay::{PlannedOverlay, snapshot};
use crate::plan::population::Population;

/// Which of some ranks has which row of a run.
///
/// Nodes of an overlay, clients or servers, are dealt so that few of its edges lie between ranks, and ranks have about
/// equal numbers of nodes and equal local work. If the overlay changes, edges of all rounds count, as often as they
/// occur. Clients lie with their server. Complete overlays, and methods without an overlay, have their rows in blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// How many ranks.
    pub ranks: usize,
    /// The rank of each row, for stacks with as many rows as one of these has items. All other stacks lie in blocks.
    pub(crate) owners: Vec<Vec<u32>>,
    /// Edges of the overlay between ranks, and the same if rows lay in blocks; `None` where there is no overlay, or one whose
    /// exchange is a mean over all.
    pub(crate) cut: Option<[usize; 2]>,
}

/// Overlays of a schedule that are looked at, at most, and edges of them.
const MOST_OVERLAYS: usize = 64;
const MOST_EDGES: usize = 5_000_000;

impl Placement {
    /// All rows in blocks.
    pub fn in_blocks(ranks: usize) -> Self {
        Self {
            ranks,
            owners: Vec::new(),
            cut: None,
        }
    }

    /// In a stack with as many rows as `owners[k]` has items, row `i` lies on rank `owners[k][i]` of `ranks`. All other
    /// stacks lie in blocks.
    pub fn of_rows(ranks: usize, owners: Vec<Vec<u32>>) -> Self {
        Self {
            owners,
            ..Self::in_blocks(ranks)
        }
    }

    /// Deals a run over `ranks` ranks.
    pub(crate) fn new(
        config: &RunConfig,
        population: &Population,
        overlay: Option<&PlannedOverlay>,
        ranks: usize,
    ) -> Self {
        let Some(planned) = overlay.filter(|_| ranks > 1) else {
            return Self::in_blocks(ranks);
        };
        let edges = edges(planned, population, config.rounds);
        let nodes = planned.overlay.nodes();
        let Some(graph) = edges.and_then(|edges| DividedGraph::new(nodes, edges)) else {
            return Self::in_blocks(ranks);
        };
        let of_clients = work(config, &population.setting);
        let groups = config.algorithm.overlay_groups(&population.setting);
        let work = match &groups {
            None => of_clients,
            Some(groups) => groups.iter().map(|group| sum(group, &of_clients)).collect(),
        };
        let division = Division::new(&graph, &work, ranks);
        let mut owners = vec![division.part_of];
        if let Some(groups) = groups.filter(|_| nodes != population.setting.clients) {
            owners.push(with_their_servers(
                &groups,
                &owners[0],
                population.setting.clients,
            ));
        }
        Self {
            ranks,
            owners,
            cut: Some([division.cut, division.cut_in_blocks]),
        }
    }

    /// The rank of each row of a stack of `rows` rows.
    pub fn of(&self, rows: usize) -> Vec<u32> {
        let placed = self.owners.iter().find(|owners| owners.len() == rows);
        placed.map_or_else(|| Division::in_blocks(rows, self.ranks), Clone::clone)
    }

    /// How many of `rows` rows each rank has.
    pub(crate) fn counts(&self, rows: usize) -> Vec<usize> {
        let mut counts = vec![0; self.ranks];
        for rank in self.of(rows) {
            counts[rank as usize] += 1;
        }
        counts
    }

    /// Rows that go between ranks when rows are mixed by `matrix`: each once to each rank that listens to it. `None` if
    /// the matrix is a mean.
    pub(crate) fn rows_sent(&self, matrix: &MixingMatrix) -> Option<usize> {
        let Form::Sparse {
            row_ptr, columns, ..
        } = matrix.form()
        else {
            return None;
        };
        let owners = self.of(matrix.rows());
        let mut sent: Vec<(u32, u32)> = Vec::new();
        for (row, owner) in owners.iter().enumerate() {
            let read = columns[row_ptr[row]..row_ptr[row + 1]].iter();
            let foreign = read.filter(|column| owners[**column as usize] != *owner);
            sent.extend(foreign.map(|column| (*owner, *column)));
        }
        sent.sort_unstable();
        sent.dedup();
        Some(sent.len())
    }
}

/// The placements planned so far: runs of a sweep that share overlay and work share where their rows lie.
#[derive(Debug, Default)]
pub(crate) struct Placements(Vec<(Shared, Arc<Placement>)>);

/// What decides where rows lie.
#[derive(Debug)]
struct Shared {
    overlay: Arc<PlannedOverlay>,
    rounds: usize,
    work: Vec<u64>,
    groups: Option<Vec<Vec<u32>>>,
}

impl Placements {
    /// Where the rows of a run over `ranks` ranks lie.
    pub(crate) fn get(
        &mut self,
        config: &RunConfig,
        population: &Population,
        overlay: Option<&Arc<PlannedOverlay>>,
        ranks: usize,
    ) -> Arc<Placement> {
        let Some(overlay) = overlay else {
            return Arc::new(Placement::in_blocks(ranks));
        };
        let setting = &population.setting;
        let shared = Shared {
            overlay: overlay.clone(),
            rounds: config.rounds,
            work: work(config, setting),
            groups: config.algorithm.overlay_groups(setting),
        };
        if let Some((_, placement)) = self.0.iter().find(|(known, _)| *known == shared) {
            return placement.clone();
        }
        let placement = Arc::new(Placement::new(config, population, Some(overlay), ranks));
        self.0.push((shared, placement.clone()));
        placement
    }
}

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.overlay, &other.overlay)
            && (self.rounds, &self.work, &self.groups) == (other.rounds, &other.work, &other.groups)
    }
}

/// Edges that rows are exchanged over, those of each round; `None` if all exchanges are means over all rows.
fn edges(
    planned: &PlannedOverlay,
    population: &Population,
    rounds: usize,
) -> Option<Vec<(u32, u32)>> {
    let topology = &planned.topology;
    let first: Vec<(u32, u32)> = match planned.matrix.form() {
        Form::Sparse { .. } => planned.overlay.edges().collect(),
        Form::Average(_) | Form::Among { .. } => Vec::new(),
    };
    let mut edges = first;
    let changes = topology.change_rounds(planned.overlay.nodes(), rounds);
    for round in changes.take(MOST_OVERLAYS).filter(|round| *round > 1) {
        // Whoever carries the run out tells of an overlay that cannot be made.
        let Ok((snapshot, _)) = snapshot(topology, population, round) else {
            break;
        };
        let overlay = snapshot.overlay;
        if edges.len().saturating_add(overlay.edge_count()) > MOST_EDGES {
            break;
        }
        if !overlay.is_complete() {
            edges.extend(overlay.edges());
        }
    }
    Some(edges).filter(|edges| !edges.is_empty())
}

/// What each client has to do in a round: examples that it trains on.
fn work(config: &RunConfig, setting: &Setting) -> Vec<u64> {
    let training = config.algorithm.training();
    let amount = training.local.amount();
    let of_client = |shard: &usize| {
        let steps = training.sgd.steps_on(amount, *shard) as u64;
        1 + steps.saturating_mul(training.sgd.batch_on(*shard) as u64)
    };
    setting.shard_sizes.iter().map(of_client).collect()
}

fn sum(clients: &[u32], work: &[u64]) -> u64 {
    let own = clients.iter().map(|client| work[*client as usize]);
    own.fold(0, u64::saturating_add)
}

/// The rank of each client: that of its server.
fn with_their_servers(groups: &[Vec<u32>], of_servers: &[u32], clients: usize) -> Vec<u32> {
    let mut owners = vec![0; clients];
    for (group, rank) in groups.iter().zip(of_servers) {
        for client in group {
            owners[*client as usize] = *rank;
        }
    }
    owners
}
