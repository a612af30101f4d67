//! `iid`: every client gets a uniform sample.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::{PartitionError, Strategy, cut};

/// All examples, shuffled and cut into parts whose sizes differ by at most one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Iid {
    /// Number of clients `N`.
    pub clients: usize,
}

impl Strategy for Iid {
    fn clients(&self) -> usize {
        self.clients
    }

    fn label(&self) -> String {
        "iid".into()
    }

    fn check(&self, _examples: usize, _classes: usize) -> Result<(), PartitionError> {
        Ok(())
    }

    fn deal(
        &self,
        labels: &[u16],
        _classes: usize,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<Vec<u32>>, PartitionError> {
        let mut examples: Vec<u32> = (0..labels.len() as u32).collect();
        examples.shuffle(rng);
        Ok(cut::pieces(&examples, self.clients)
            .map(<[u32]>::to_vec)
            .collect())
    }
}
