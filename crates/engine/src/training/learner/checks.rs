//! What a learner checks before it has a device work.

use super::Learner;
use crate::device::Device;
use crate::error::EngineError;
use crate::network::Network;
use crate::stack::Stack;
use crate::training::context::no_validation;
use crate::training::local_work::LocalWork;
use crate::training::score::Split;
use crate::training::work::{Amount, BatchSize, RowWork};
use meshfold_data::Splits;

impl Learner {
    /// Whether `work` fits the stack, whose rows must have the shape of those of `others`, and the clients.
    ///
    /// # Errors
    /// As [`Learner::train`].
    pub(super) fn check(
        &self,
        stack: &Stack,
        work: &LocalWork<'_>,
        others: &[Option<&Stack>],
    ) -> Result<(), EngineError> {
        self.check_models(stack)?;
        stack.expect_per_row("train", work.rows.len())?;
        for other in others.iter().flatten() {
            stack.expect_same("train", other)?;
        }
        self.check_work(work)
    }

    /// Whether `work` fits the clients.
    ///
    /// # Errors
    /// As [`Learner::train`].
    pub(super) fn check_work(&self, work: &LocalWork<'_>) -> Result<(), EngineError> {
        if let Some(scales) = work.rate_scales
            && scales.len() != work.rows.len()
        {
            return Err(EngineError::RowCount {
                verb: "train",
                found: scales.len(),
                rows: work.rows.len(),
            });
        }
        if work.round == 0 || work.sgd.batch_size == BatchSize::Size(0) {
            let (what, found) = if work.round == 0 {
                ("round", "0")
            } else {
                ("batch size", "0")
            };
            return Err(EngineError::Setting {
                what,
                found: found.to_owned(),
                needed: "at least 1",
            });
        }
        self.check_clients(work.rows.iter().map(|task| task.client))?;
        let is_empty = |task: &RowWork| {
            let shard = self.problem.partition.shard(task.client as usize);
            task.amount != Amount::Idle && shard.is_empty()
        };
        match work.rows.iter().position(is_empty) {
            None => Ok(()),
            Some(row) => Err(EngineError::Client {
                row,
                client: work.rows[row].client as usize,
                reason: "holds no examples",
            }),
        }
    }

    /// Whether the rows of `stack` are models of the network.
    ///
    /// # Errors
    /// [`EngineError::Setting`] if they are not.
    pub(super) fn check_models(&self, stack: &Stack) -> Result<(), EngineError> {
        let (found, needed) = (stack.layout(), self.problem.network.layout());
        if found.width() == needed.width() {
            return Ok(());
        }
        Err(EngineError::Setting {
            what: "models",
            found: format!(
                "rows of {} numbers where the network has {}",
                found.width(),
                needed.width()
            ),
            needed: "laid out as the network is",
        })
    }

    /// Whether the client of every row exists.
    ///
    /// # Errors
    /// [`EngineError::Client`] if one does not.
    pub(super) fn check_clients(
        &self,
        of_rows: impl Iterator<Item = u32>,
    ) -> Result<(), EngineError> {
        let count = self.problem.partition.clients();
        let mut clients = of_rows.map(|client| client as usize).enumerate();
        match clients.find(|(_, client)| *client >= count) {
            None => Ok(()),
            Some((row, client)) => Err(EngineError::Client {
                row,
                client,
                reason: "does not exist",
            }),
        }
    }

    /// Whether `split` has the examples `subset`.
    ///
    /// # Errors
    /// [`EngineError::Setting`] if it has not, or is of what clients hold, of which no part is judged.
    pub(super) fn check_subset(
        &self,
        split: Split<'_>,
        subset: Option<&[u32]>,
    ) -> Result<(), EngineError> {
        let Some(subset) = subset else { return Ok(()) };
        let splits = &self.problem.splits;
        let (found, needed) = match split {
            Split::Shards(_) => ("some of those of shards".to_owned(), "all of them"),
            Split::LocalTests(_) => ("some of local test sets".to_owned(), "all of them"),
            Split::Test | Split::Validation | Split::Train => {
                let examples = match split {
                    Split::Test => Some(&splits.test),
                    Split::Validation => splits.validation.as_ref(),
                    _ => Some(&splits.train),
                };
                let count = examples.ok_or_else(no_validation)?.len();
                let Some(beyond) = subset.iter().find(|index| **index as usize >= count) else {
                    return Ok(());
                };
                (
                    format!("number {beyond} of {count}, counted from 0"),
                    "there",
                )
            }
        };
        Err(EngineError::Setting {
            what: "examples to judge by",
            found,
            needed,
        })
    }
}

/// Whether `network` can read `splits`.
///
/// # Errors
/// [`EngineError::Setting`] if it cannot.
pub(super) fn check_examples(network: &Network, splits: &Splits) -> Result<(), EngineError> {
    let all = || {
        [&splits.train, &splits.test]
            .into_iter()
            .chain(&splits.validation)
    };
    let widths = all().map(|examples| (examples.width(), network.inputs()));
    let classes = all().map(|examples| (examples.classes(), network.classes()));
    for (found, needed) in widths.chain(classes) {
        if found != needed {
            return Err(EngineError::Setting {
                what: "examples",
                found: format!("{found} features or classes where the network has {needed}"),
                needed: "of the network's shape",
            });
        }
    }
    for examples in all() {
        if !network.reads(examples.input()) {
            return Err(EngineError::Setting {
                what: "examples",
                found: format!("{:?}", examples.input()),
                needed: "what the network was built for",
            });
        }
    }
    Ok(())
}

/// Whether `device` can train `network`.
///
/// # Errors
/// [`EngineError::Device`] or [`EngineError::Precision`] if it cannot.
pub(super) fn check_device(network: &Network, device: &Device) -> Result<(), EngineError> {
    match (network.host_model(), device.threads()) {
        (Some(_), None) => Err(EngineError::Device {
            device: device.kind(),
            reason: "the model computes in host memory: use the processor, `--device cpu`"
                .to_owned(),
        }),
        _ => device.expect(network.precision()),
    }
}
