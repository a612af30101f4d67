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

/// The dotted path of the setting of `topology` or `weights` that is at fault.
pub(crate) fn of_topology(error: &TopologyError) -> String {
    match error {
        TopologyError::Setting { setting, .. } => format!("topology.{setting}"),
        TopologyError::Within { setting, source } => {
            let inner = of_topology(source);
            match inner.strip_prefix("topology.") {
                Some(below) => format!("topology.{setting}.{below}"),
                None => format!("topology.{setting}"),
            }
        }
        TopologyError::Own { setting, .. } => format!("{setting}.own"),
        TopologyError::NoEdges { .. } | TopologyError::NodeOutOfRange { .. } => {
            "topology.edges.file".to_owned()
        }
        TopologyError::Disconnected { topology, .. } if topology.starts_with("edges") => {
            "topology.edges.file".to_owned()
        }
        TopologyError::Directed { .. }
        | TopologyError::NotPrescribed
        | TopologyError::FastestSize { .. }
        | TopologyError::FastestGap { .. }
        | TopologyError::UnknownExamples { .. }
        | TopologyError::NoExamples { .. } => "weights".to_owned(),
        TopologyError::MissingWeight { .. }
        | TopologyError::WeightOfNoEdge { .. }
        | TopologyError::AsymmetricWeights { .. }
        | TopologyError::OwnWeight { .. } => "weights.edges.file".to_owned(),
        TopologyError::Theta { .. } => "weights.laplacian.theta".to_owned(),
        _ => "topology".to_owned(),
    }
}
