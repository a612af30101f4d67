//! `names.json`: what labels and clients are called.

use meshfold_data::{Partition, TrainingList};
use serde::{Deserialize, Serialize};

use crate::results::recorded_run::RecordedRun;
use crate::results::results_error::ResultsError;
use crate::results::run_text::{object, parsed};

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
    /// Those of `examples`, whose order is that of `partition`; `None` if there are none. Owners in a user's own files, as
    /// `are_own` says, are called by their numbers if they have no names, unless each is the number of the client.
    pub fn of(examples: &TrainingList<'_>, partition: &Partition, are_own: bool) -> Option<Self> {
        let labels = examples.label_names().unwrap_or_default().to_vec();
        let names = Self {
            labels,
            clients: clients(examples, partition, are_own).unwrap_or_default(),
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
fn clients(
    examples: &TrainingList<'_>,
    partition: &Partition,
    are_own: bool,
) -> Option<Vec<Option<String>>> {
    let (owners, names) = (examples.owners()?, examples.owner_names());
    if names.is_none() && !are_own {
        return None;
    }
    let owner = |client: usize| {
        let mut indices = partition.shard(client).iter();
        let owner_of = |index: &u32| owners.get(*index as usize).copied();
        let first = owner_of(indices.next()?)?;
        let is_only = indices.all(|index| owner_of(index) == Some(first));
        let name = match names {
            Some(names) => names.get(first as usize).cloned(),
            None => Some(first.to_string()),
        };
        name.filter(|_| is_only)
    };
    let clients: Vec<Option<String>> = (0..partition.clients()).map(owner).collect();
    let says_more = |(client, name): (usize, &Option<String>)| {
        let name = name.as_ref();
        name.is_some_and(|name| names.is_some() || *name != client.to_string())
    };
    let says_more = clients.iter().enumerate().any(says_more);
    says_more.then_some(clients)
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

#[cfg(test)]
mod tests {
    use super::*;
    use meshfold_data::{Examples, Scale, Shape};

    #[test]
    fn owners_in_files_of_a_user_are_called_by_their_numbers() {
        let clients = |owners: [u32; 3], are_own| {
            let examples = Examples::new(vec![0; 3], vec![0; 3], Shape::flat(1), 2, Scale::UNIT);
            let examples = examples.unwrap().with_owners(owners.to_vec());
            let partition = Partition::new(vec![vec![0, 2], vec![1]], 3).unwrap();
            let names = Names::of(&TrainingList::of(&examples), &partition, are_own);
            names.map(|names| names.clients)
        };
        let name = |owner: &str| Some(owner.to_owned());
        assert_eq!(
            clients([7, 100, 7], true),
            Some(vec![name("7"), name("100")])
        );
        assert_eq!(clients([7, 100, 8], true), Some(vec![None, name("100")]));
        assert_eq!(clients([0, 1, 0], true), None);
        assert_eq!(clients([7, 100, 7], false), None);
    }
}
