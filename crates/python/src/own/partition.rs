//! Partitions that Python has made.

use meshfold_data::{Labelled, OwnPartition, PartitionError};
use numpy::PyArray1;
use pyo3::prelude::*;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::gate;

use super::traceback::raised;

/// The examples of each client.
pub(super) struct Lists(pub(super) Vec<Vec<u32>>);

impl OwnPartition for Lists {
    fn deal(
        &self,
        _examples: Labelled<'_>,
        _rng: &mut ChaCha8Rng,
    ) -> Result<Vec<Vec<u32>>, PartitionError> {
        Ok(self.0.clone())
    }

    fn clients(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// A function that deals the examples.
pub(super) struct Dealt {
    pub(super) deal: Py<PyAny>,
    pub(super) clients: Option<usize>,
}

impl OwnPartition for Dealt {
    fn deal(
        &self,
        examples: Labelled<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<Vec<u32>>, PartitionError> {
        let seed = rng.next_u64();
        let dealt = gate::attach(|py| -> PyResult<Vec<Vec<u32>>> {
            let labels = examples.labels.iter();
            let labels = PyArray1::from_iter(py, labels.map(|label| i64::from(*label)));
            let dealt = self.deal.bind(py).call1((labels, examples.classes, seed))?;
            dealt.extract()
        });
        dealt.map_err(|error| PartitionError::Own {
            reason: raised(&error),
        })
    }

    fn clients(&self) -> Option<usize> {
        self.clients
    }
}
