//! The batches of some steps of all rows, on the device.

use super::batch_schedule::BatchSchedule;
use crate::stacked::device::memory::Memory;
use crate::stacked::layers::dropout::DropoutMasks;
use burn::tensor::DType;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::CubeElement;

/// A [`BatchSchedule`] on the device; entry `step · R + row`.
#[derive(Debug)]
pub(crate) struct DeviceBatchSchedule {
    pub(crate) steps: usize,
    pub(crate) rows: usize,
    /// Indices per entry.
    pub(crate) width: usize,
    /// Examples, `[steps, R, width]`.
    pub(crate) indices: CubeTensor,
    /// Examples per batch, `[steps, R]`; zero where a row has no step to do.
    pub(crate) counts: CubeTensor,
    /// Rate and whether there is a step to do, `[steps, R, 2]`.
    pub(crate) scalars: CubeTensor,
    /// The current communication round of each run with rows here.
    pub(crate) rounds: CubeTensor,
    /// Dropout keys, `[steps, R, 2]`; `None` if the network has no dropout.
    left_out: Option<CubeTensor>,
}

impl DeviceBatchSchedule {
    /// Copies `schedule` to the device, with the `rounds` of the runs whose losses are tallied.
    pub(crate) fn upload(memory: &Memory, schedule: &BatchSchedule, rounds: &[u32]) -> Self {
        let keys = schedule.left_out.as_deref();
        let words = |words| (u32::as_bytes(words), DType::U32);
        let scalars = (f32::as_bytes(&schedule.scalars), DType::F32);
        let [indices, counts] = [&schedule.indices, &schedule.counts].map(|all| words(all));
        let arrays = [indices, counts, scalars, words(rounds)];
        let arrays: Vec<_> = arrays.into_iter().chain(keys.map(words)).collect();
        let mut uploaded = memory.upload_together(&arrays).into_iter();
        let mut next = || uploaded.next().expect("every array is uploaded");
        Self {
            steps: schedule.steps,
            rows: schedule.rows,
            width: schedule.width,
            indices: next(),
            counts: next(),
            scalars: next(),
            rounds: next(),
            left_out: keys.map(|_| next()),
        }
    }

    /// The dropout masks of the steps.
    pub(crate) fn masks(&self) -> Option<DropoutMasks<'_>> {
        self.left_out.as_ref().map(|keys| DropoutMasks { keys })
    }
}
