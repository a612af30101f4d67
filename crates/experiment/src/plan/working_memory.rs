//! What training and judging take besides models and examples: in one process that has all rows, and in a rank that has some.

use meshfold_data::{DatasetSummary, Partition};
use meshfold_engine::{Device, Network, Sgd, WorkloadSize};

use crate::config::run_config::RunConfig;
use crate::plan::effort;
use crate::plan::memory::RankShare;

/// A run's training and judging on a device.
pub(crate) struct WorkingMemory<'a> {
    /// The processor with all its cores if absent.
    device: Option<&'a Device>,
    network: &'a Network,
    sgd: Sgd,
    /// Rows that train at once.
    rows: usize,
    /// Examples of the largest batch, and those that a model is judged on.
    batch: usize,
    tests: usize,
    /// Bytes of all examples' features.
    stored: usize,
    /// Whether the method adds to gradients.
    adds: bool,
}

impl<'a> WorkingMemory<'a> {
    /// The working memory of the run of `config`, whose models are judged on up to `tests` test examples.
    pub(crate) fn of(
        device: Option<&'a Device>,
        config: &RunConfig,
        network: &'a Network,
        partition: &Partition,
        (outline, tests): (&DatasetSummary, usize),
    ) -> Self {
        let (method, clients) = (&config.algorithm, partition.clients());
        let sgd = method.training().sgd;
        let largest = partition.sizes().into_iter().max().unwrap_or(0);
        let tuning = config.evaluate.fine_tune.as_ref();
        let tuned = tuning.map_or(0, |tuning| tuning.training().sgd.batch_on(largest));
        Self {
            device,
            network,
            // Where few rows stand for many clients, those that train are among the working rows.
            rows: method
                .rows(clients)
                .count
                .max(method.working_rows(clients).min(clients)),
            batch: sgd.batch_on(largest).max(tuned),
            tests: config.evaluate.most_examples(tests)
                + config.evaluate.most_validation(outline.validation()),
            stored: outline.feature_bytes(),
            adds: method.profile().adds_to_gradients,
            sgd,
        }
    }

    /// Whether it is a GPU that trains.
    pub(crate) fn on_gpu(&self) -> bool {
        self.device.is_some_and(|device| device.threads().is_none())
    }

    /// Estimate in bytes for all rows.
    pub(crate) fn bytes(&self) -> u64 {
        self.of_rows(self.rows, self.stored)
    }

    /// Estimate in bytes for a rank that has `share` of the run and so many bytes of features. On the processor it is that of all rows:
    /// threads work on a row each.
    pub(crate) fn of_a_rank(&self, share: &RankShare, stored: usize) -> u64 {
        match self.on_gpu() {
            true => self.of_rows(share.part(self.rows), stored),
            false => self.bytes(),
        }
    }

    fn of_rows(&self, rows: usize, stored: usize) -> u64 {
        let workload = WorkloadSize {
            rows,
            batch: self.batch,
            tests: self.tests,
            stored,
            adds: self.adds,
            sgd: &self.sgd,
        };
        match self.device {
            Some(device) => device.working_bytes(self.network, &workload),
            None => self.network.working_bytes(&workload, effort::threads(None)),
        }
    }
}
