//! Workloads over the ranks that `mpirun` started.

use crate::BenchError;
#[cfg(feature = "mpi")]
use meshfold_engine::Ranks;
use meshfold_engine::{Device, DeviceRequest, Instructions, Sent};
use serde_json::Value;

/// The device over the ranks that this process was started with; none if it was started alone.
#[cfg(feature = "mpi")]
pub(crate) fn device(
    request: DeviceRequest,
    threads: Option<usize>,
    instructions: Option<Instructions>,
) -> Result<Option<Device>, BenchError> {
    let over = |ranks| Device::over_ranks(ranks, request, threads, instructions);
    Ok(Ranks::of_mpi()?.map(over).transpose()?)
}

/// No device: this program knows nothing of MPI.
#[cfg(not(feature = "mpi"))]
pub(crate) fn device(
    _: DeviceRequest,
    _: Option<usize>,
    _: Option<Instructions>,
) -> Result<Option<Device>, BenchError> {
    Ok(None)
}

/// Counts what the ranks of a device have of each other. Where there is one process, nothing happens.
pub(crate) struct Count<'a> {
    device: &'a Device,
    before: Sent,
}

impl<'a> Count<'a> {
    /// Counts from here on.
    pub(crate) fn begin(device: &'a Device) -> Self {
        Self {
            device,
            before: device.ranks().map(|ranks| ranks.sent()).unwrap_or_default(),
        }
    }

    /// Adds to `record` what went between them in each of the `rounds` since, by all ranks and by the one that sent most.
    pub(crate) fn end(self, record: &mut Value, rounds: usize) {
        let Some(ranks) = self.device.ranks() else {
            return;
        };
        let sent = ranks.sent();
        let messages = sent.messages - self.before.messages;
        let bytes = sent.bytes - self.before.bytes;
        let in_place = sent.bytes_in_place - self.before.bytes_in_place;
        let held = record["peak_rss_mib"].as_u64().unwrap_or(0);
        let all = ranks.gather([messages, bytes, held, in_place]);
        let sum = |of: usize| all.iter().map(|rank| rank[of]).sum::<u64>();
        let most = |of: usize| all.iter().map(|rank| rank[of]).max().unwrap_or(0);
        let a_round = |count: u64| count as f64 / rounds.max(1) as f64;
        record["ranks"] = ranks.count().into();
        record["messages_per_round"] = a_round(sum(0)).into();
        record["bytes_per_round"] = a_round(sum(1)).into();
        record["bytes_in_place_per_round"] = a_round(sum(3)).into();
        record["messages_per_round_of_a_rank"] = a_round(most(0)).into();
        record["bytes_per_round_of_a_rank"] = a_round(most(1)).into();
        record["peak_rss_mib"] = most(2).into();
        // Rank 0 knows its own processor time alone.
        if let Some(figures) = record.as_object_mut() {
            figures.remove("cpu_s");
            figures.remove("client_steps_per_cpu_s");
        }
    }
}
