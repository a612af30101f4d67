//! The clients of a run, and the nodes of its overlay, by what they hold.

use std::collections::HashMap;
use std::sync::Arc;

use meshfold_algorithms::{Method, Setting};
use meshfold_data::{DatasetSummary, Input, Partition};
use meshfold_engine::Layout;
use meshfold_topology::Nodes;

/// Who takes part in a run.
#[derive(Clone, Debug)]
pub struct Population {
    /// The clients, as methods are built for them.
    pub setting: Arc<Setting>,
    /// Servers, whose nodes of the network come after the clients.
    pub servers: usize,
    /// Seed of the overlay and of weights that are drawn.
    pub(crate) overlay_seed: u64,
    /// Training examples of each label that each node of the overlay holds, `[n][C]`; no labels if that is not known.
    label_counts: Arc<Vec<Vec<u64>>>,
}

/// The populations planned so far: runs of a sweep that share a partition share what it says of the clients.
#[derive(Debug, Default)]
pub(crate) struct Populations {
    /// By partition.
    label_counts: HashMap<usize, Arc<Vec<Vec<u64>>>>,
    /// By partition and model.
    settings: HashMap<(usize, Model), Arc<Setting>>,
}

impl Populations {
    /// The clients of `partition`, and the servers of `method` if it has an overlay of servers. The examples that are
    /// dealt are those of the outline, of which the partition may pool training and test examples.
    ///
    /// Partitions are told apart by where they lie, so whoever asks keeps all of them.
    ///
    /// Clients that hold a text are told apart by how much of it they hold: what follows a window is no label to count.
    pub(crate) fn get(
        &mut self,
        partition: &Arc<Partition>,
        outline: &DatasetSummary,
        pools: bool,
        method: &Method,
        model: Model,
    ) -> Population {
        let place = Arc::as_ptr(partition).addr();
        let overlay_seed = model.overlay_seed;
        let setting = self.settings.entry((place, model.clone()));
        let setting = setting.or_insert_with(|| Arc::new(setting_of(partition, outline, &model)));
        let of_clients = self.label_counts.entry(place).or_insert_with(|| {
            Arc::new(match outline.input() {
                Input::Numbers(_) => {
                    partition.label_counts(outline.labelled(pools).labels, outline.classes())
                }
                Input::Tokens { .. } => {
                    let sizes = partition.sizes().into_iter();
                    sizes.map(|size| vec![size as u64]).collect()
                }
            })
        });
        let label_counts = match method.overlay_groups(setting) {
            None => Arc::clone(of_clients),
            Some(groups) => Arc::new(groups.iter().map(|group| sum(group, of_clients)).collect()),
        };
        Population {
            servers: method.profile().servers.count(),
            overlay_seed,
            setting: Arc::clone(setting),
            label_counts,
        }
    }
}

/// The clients of `partition`, whose examples are those of `outline`.
fn setting_of(partition: &Partition, outline: &DatasetSummary, model: &Model) -> Setting {
    let first = |client| {
        let example = partition.first(client);
        example.map_or(0, |example| outline.label(example as usize))
    };
    Setting {
        clients: partition.clients(),
        shard_sizes: partition.sizes(),
        first_labels: (0..partition.clients()).map(first).collect(),
        seed: model.seed,
        rounds: model.rounds,
        layout: Arc::clone(&model.layout),
    }
}

impl Population {
    /// Nodes of an overlay of which nothing else is known.
    pub(crate) fn of_nodes(nodes: usize, seed: u64) -> Self {
        Self {
            setting: Arc::new(Setting {
                clients: nodes,
                shard_sizes: vec![0; nodes],
                first_labels: vec![0; nodes],
                seed,
                rounds: 0,
                layout: Arc::default(),
            }),
            servers: 0,
            overlay_seed: seed,
            label_counts: Arc::new(vec![Vec::new(); nodes]),
        }
    }

    /// The nodes of the overlay.
    pub(crate) fn nodes(&self) -> Nodes<'_> {
        let is_known = self
            .label_counts
            .first()
            .is_some_and(|counts| !counts.is_empty());
        Nodes {
            count: self.label_counts.len(),
            label_counts: if is_known { &self.label_counts } else { &[] },
        }
    }

    /// Examples of each node of the overlay, `[n]`, if they are known.
    pub(crate) fn examples(&self) -> Option<Vec<u64>> {
        let counts = self.nodes().label_counts.iter();
        let examples = counts.map(|counts| counts.iter().sum()).collect();
        Some(examples).filter(|examples: &Vec<u64>| !examples.is_empty())
    }
}

/// What a population needs to know of the model and the run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Model {
    /// Seed of what the method draws.
    pub(crate) seed: u64,
    /// Seed of the overlay and of weights that are drawn.
    pub(crate) overlay_seed: u64,
    /// Rounds that are planned.
    pub(crate) rounds: usize,
    /// How the parameters of a model lie in a row.
    pub(crate) layout: Arc<Layout>,
}

/// The label counts of some clients together.
fn sum(clients: &[u32], label_counts: &[Vec<u64>]) -> Vec<u64> {
    let classes = label_counts.first().map_or(0, Vec::len);
    let mut all = vec![0; classes];
    for client in clients {
        for (total, count) in all.iter_mut().zip(&label_counts[*client as usize]) {
            *total += count;
        }
    }
    all
}
