//! The batches of some steps of all rows, on the device.

use super::batch_schedule::BatchSchedule;
use crate::stacked::device::memory::Memory;
use crate::stacked::layers::dropout::DropoutMasks;
use burn_cubecl::tensor::CubeTensor;

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
    /// Keys of what a step leaves out, `[steps, R, 2]`; nothing if the network leaves out none.
    left_out: Option<CubeTensor>,
}

impl DeviceBatchSchedule {
    /// Copies `schedule` to the device.
    pub(crate) fn upload(memory: &Memory, schedule: &BatchSchedule) -> Self {
        Self {
            steps: schedule.steps,
            rows: schedule.rows,
            width: schedule.width,
            indices: memory.upload_words(&schedule.indices),
            counts: memory.upload_words(&schedule.counts),
            scalars: memory.upload_floats(&schedule.scalars),
            left_out: schedule
                .left_out
                .as_ref()
                .map(|keys| memory.upload_words(keys)),
        }
    }

    /// What the steps leave out.
    pub(crate) fn masks(&self) -> Option<DropoutMasks<'_>> {
        self.left_out.as_ref().map(|keys| DropoutMasks { keys })
    }
}
