//! What a learner checks before it has a device work.

use super::Learner;
use crate::device::Device;
use crate::error::EngineError;
use crate::network::Network;
use crate::stack::Stack;
use crate::training::local_work::LocalWork;
use crate::training::work::{Amount, BatchSize};
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
        if work.rows.len() != stack.rows() {
            return Err(EngineError::RowCount {
                verb: "train",
                found: work.rows.len(),
                rows: stack.rows(),
            });
        }
        if let Some(scales) = work.rate_scales {
            stack.expect_per_row("train", scales.len())?;
        }
        for other in others.iter().flatten() {
            stack.expect_same("train", other)?;
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
        self.check_clients(work)
    }

    /// Whether every row that is not idle works for a client with examples.
    fn check_clients(&self, work: &LocalWork<'_>) -> Result<(), EngineError> {
        for (row, task) in work
            .rows
            .iter()
            .enumerate()
            .filter(|(_, task)| task.amount != Amount::Idle)
        {
            let client = task.client as usize;
            let reason = if client >= self.problem.partition.clients() {
                "does not exist"
            } else if self.problem.partition.shard(client).is_empty() {
                "holds no examples"
            } else {
                continue;
            };
            return Err(EngineError::Client {
                row,
                client,
                reason,
            });
        }
        Ok(())
    }
}

/// Whether `network` can read `splits`.
///
/// # Errors
/// [`EngineError::Setting`] if it cannot.
pub(super) fn check_examples(network: &Network, splits: &Splits) -> Result<(), EngineError> {
    for (found, needed) in [
        (splits.train.width(), network.inputs()),
        (splits.test.width(), network.inputs()),
        (splits.train.classes(), network.classes()),
        (splits.test.classes(), network.classes()),
    ] {
        if found != needed {
            return Err(EngineError::Setting {
                what: "examples",
                found: format!("{found} features or classes where the network has {needed}"),
                needed: "of the network's shape",
            });
        }
    }
    for examples in [&splits.train, &splits.test] {
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
