//! `names.json`: what labels and clients are called.

use meshfold_data::{Partition, TrainingList};
use serde::{Deserialize, Serialize};

use crate::results::recorded_run::RecordedRun;
use crate::results::results_error::ResultsError;
use crate::results::run_file::{object, parsed};

/// The file.
pub(crate) const NAMES: &str = "names.json";

/// What labels and clients are called, where the dataset says it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    /// The name of each label, `[C]`; empty if labels are numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The owner of each client's examples, `[N]`: `None` for a client that holds those of several. Empty if no client has the examples
    /// of one owner with a name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<Option<String>>,
}

impl Names {
    /// Those of `examples`, whose order is that of `partition`; `None` if there are none.
    pub fn of(examples: &TrainingList<'_>, partition: &Partition) -> Option<Self> {
        let labels = examples.label_names().unwrap_or_default().to_vec();
        let names = Self {
            labels,
            clients: clients(examples, partition).unwrap_or_default(),
        };
        (names != Self::default()).then_some(names)
    }

    /// The name of a label: its number if it has no other.
    pub fn label(&self, label: usize) -> String {
        let name = self.labels.get(label).cloned();
        name.unwrap_or_else(|| label.to_string())
    }
}

/// The owner of each client's examples; `None` if there is none with a name.
fn clients(examples: &TrainingList<'_>, partition: &Partition) -> Option<Vec<Option<String>>> {
    let (owners, names) = (examples.owners()?, examples.owner_names()?);
    let owner = |client: usize| {
        let mut indices = partition.shard(client).iter();
        let owner_of = |index: &u32| owners.get(*index as usize).copied();
        let first = owner_of(indices.next()?)?;
        let is_only = indices.all(|index| owner_of(index) == Some(first));
        names.get(first as usize).filter(|_| is_only).cloned()
    };
    let clients: Vec<Option<String>> = (0..partition.clients()).map(owner).collect();
    clients.iter().any(Option::is_some).then_some(clients)
}

impl RecordedRun {
    /// What labels and clients are called; nothing where the dataset does not say it.
    ///
    /// # Errors
    /// As [`RecordedRun::read`].
    pub fn names(&self) -> Result<Names, ResultsError> {
        let names = parsed(&self.folder.join(NAMES), object)?;
        Ok(names.unwrap_or_default())
    }
}
