//! Which value of an experiment is to blame for what a lower crate refuses.

use meshfold_data::{DataError, PartitionError};
use meshfold_engine::EngineError;
use meshfold_topology::TopologyError;

/// The dotted path of the setting of `dataset` that is at fault; `choice` is the dataset's name.
pub(crate) fn of_dataset(error: &DataError, choice: &str) -> String {
    match error {
        DataError::ExampleCount { .. } if choice == "consensus" => {
            "dataset.consensus.examples".to_owned()
        }
        DataError::ExampleCount { split, .. } => format!("dataset.{choice}.{split}"),
        DataError::Validation { .. } => format!("dataset.{choice}.validation"),
        DataError::Setting { setting, .. } | DataError::NoTable { setting, .. } => {
            format!("dataset.{choice}.{setting}")
        }
        DataError::BalancedTest { .. } => format!("dataset.{choice}.balanced_test"),
        _ => "dataset".to_owned(),
    }
}

/// The dotted path of the setting of `model` that is at fault; `choice` is the model's name.
pub(crate) fn of_model(error: &EngineError, choice: &str) -> String {
    match error {
        EngineError::ModelSetting { path, .. } if !path.is_empty() => {
            format!("model.{choice}.{path}")
        }
        _ => format!("model.{choice}"),
    }
}

/// The dotted path of the setting of `partition` that is at fault; `choice` is the partition's name.
pub(crate) fn of_partition(error: &PartitionError, choice: &str) -> String {
    let setting = match error {
        PartitionError::Setting { setting, .. } => return format!("partition.{setting}"),
        PartitionError::TooManyShards { .. } => "per_client",
        PartitionError::Dirichlet { .. } => "alpha",
        PartitionError::ExplicitRows { table, .. } => table,
        PartitionError::ExplicitColumns { table, client, .. }
        | PartitionError::ExplicitSum { table, client, .. } => {
            return format!("partition.{choice}.{table}.{client}");
        }
        PartitionError::NoClients { setting }
        | PartitionError::TooManyClients { setting, .. }
        | PartitionError::NotEnough { setting, .. } => setting,
        PartitionError::LabelTooSmall { .. } | PartitionError::TooFewOwners { .. } => "clients",
        _ => return format!("partition.{choice}"),
    };
    format!("partition.{choice}.{setting}")
}

/// The dotted path of the setting of `topology` or `weights` that is at fault; `choice` is the topology's name.
pub(crate) fn of_topology(error: &TopologyError, choice: &str) -> String {
    let setting = match error {
        TopologyError::RingHops { .. } => "hops",
        TopologyError::Rows { .. } => "rows",
        TopologyError::Branching => "branching",
        TopologyError::BarbellNodes { .. } => "m1",
        TopologyError::Probability { field, .. } => field,
        TopologyError::ErdosRenyiNeverConnected { .. } => "p",
        TopologyError::OddRegular { .. } | TopologyError::RegularDegree { .. } => "degree",
        TopologyError::Spaces { .. } => "spaces",
        TopologyError::LatticeNeighbours { .. } => "neighbours",
        TopologyError::NoEdges { .. } | TopologyError::NodeOutOfRange { .. } => "file",
        TopologyError::Disconnected { .. } if choice == "edges" => "file",
        TopologyError::CliqueSize { .. } => "max_clique_size",
        TopologyError::SmallWorldReach { .. } => "inter",
        TopologyError::Epsilon { .. } => "noise.epsilon",
        TopologyError::LeaderView { .. } => "leaders.view",
        TopologyError::RemovedEdges { .. } => "removed_edges",
        TopologyError::Setting { setting, .. } => return format!("topology.{setting}"),
        TopologyError::Within { setting, source } => {
            let inner = setting.rsplit('.').next().unwrap_or_default();
            let below = of_topology(source, inner);
            let below = below.strip_prefix("topology.").unwrap_or_default();
            let below = below.strip_prefix(inner).unwrap_or(below);
            return format!("topology.{setting}{below}");
        }
        TopologyError::EquiLinks { .. } => "links",
        TopologyError::Directed { .. }
        | TopologyError::NotPrescribed
        | TopologyError::FastestSize { .. }
        | TopologyError::FastestGap { .. }
        | TopologyError::UnknownExamples { .. }
        | TopologyError::NoExamples { .. } => return "weights".to_owned(),
        TopologyError::MissingWeight { .. }
        | TopologyError::WeightOfNoEdge { .. }
        | TopologyError::AsymmetricWeights { .. }
        | TopologyError::OwnWeight { .. } => return "weights.edges.file".to_owned(),
        TopologyError::Own { setting, .. } => return format!("{setting}.own"),
        TopologyError::Theta { .. } => return "weights.laplacian.theta".to_owned(),
        _ => return "topology".to_owned(),
    };
    format!("topology.{choice}.{setting}")
}
