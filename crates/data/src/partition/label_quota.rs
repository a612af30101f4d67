//! `label_quota`: clients of equal size whose examples come from few labels in uneven numbers.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::label_groups::by_label;
use super::{Labelled, PartitionError, Shard, Strategy, cut};

/// Every client has the same budget, `M / N` examples, and fills it label by label from a random one on, with at most
/// `max_per_label` examples of each.
///
/// # Source
/// DFedRW, section VI-B, "u = 0 & nonbalance": "We randomly select a label and allocate data to each device, up to a
/// maximum of 1500 samples per label. Then, we switch to the next label and continue this allocation until data budget
/// of the device is reached."
///
/// # Interpretation
/// Clients are served one after another. Each begins with a label drawn uniformly among those with examples left and
/// goes on with the next label in order, the first after the last; labels that are used up are passed over. Where so
/// few labels are left that their quotas do not fill the budget, the client goes round again with the same quota, since
/// the budgets are what the paper keeps equal: the last clients may therefore hold more than `max_per_label` of a label.
/// Budgets differ by at most one, all examples are dealt, and which example of a label is dealt when is drawn at random.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelQuota {
    /// Number of clients `N`.
    pub clients: usize,
    /// The most examples of a label that a client is given before it goes on to the next.
    #[serde(default = "fifteen_hundred")]
    pub max_per_label: usize,
}

fn fifteen_hundred() -> usize {
    1500
}

impl Strategy for LabelQuota {
    fn clients(&self) -> Option<usize> {
        Some(self.clients)
    }

    fn label(&self) -> String {
        format!("at most {} of a label", self.max_per_label)
    }

    fn check(&self, examples: usize, classes: usize) -> Result<(), PartitionError> {
        let budget = examples.div_ceil(self.clients);
        let least = budget.div_ceil(classes);
        if self.max_per_label < least {
            let setting = "label_quota.max_per_label";
            let found = self.max_per_label as f64;
            let needed =
                format!("at least {least} (to have {budget} examples of {classes} labels)");
            return Err(PartitionError::setting(setting, found, needed));
        }
        Ok(())
    }

    fn deal(
        &self,
        examples: Labelled<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<Shard>, PartitionError> {
        let mut groups = by_label(examples.labels, examples.classes);
        groups.iter_mut().for_each(|group| group.shuffle(rng));
        let budget = |client| cut::range(examples.labels.len(), self.clients, client).len();
        Ok((0..self.clients)
            .map(|client| Shard::from(self.fill(budget(client), &mut groups, rng)))
            .collect())
    }
}

impl LabelQuota {
    /// Takes `budget` examples out of `groups`, which have as many left.
    fn fill(&self, budget: usize, groups: &mut [Vec<u32>], rng: &mut ChaCha8Rng) -> Vec<u32> {
        let left: Vec<usize> = (0..groups.len())
            .filter(|&label| !groups[label].is_empty())
            .collect();
        let first = rng.random_range(0..left.len());
        let mut shard = Vec::with_capacity(budget);
        for &label in left.iter().cycle().skip(first) {
            let group = &mut groups[label];
            let taken = self
                .max_per_label
                .min(group.len())
                .min(budget - shard.len());
            shard.extend(group.drain(group.len() - taken..));
            if shard.len() == budget {
                break;
            }
        }
        shard
    }
}
