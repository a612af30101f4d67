//! The steps of one table of batches, up to the gradients.

use super::flow::Flow;
use super::own::own_of;
use super::tallies::{RowTallies, tally};
use super::workspace::Workspace;
use crate::error::EngineError;
use crate::network::Network;
use crate::stacked::batches::batch_schedule::BatchSchedule;
use crate::stacked::batches::block_shape::BlockShape;
use crate::stacked::batches::device_batch_schedule::DeviceBatchSchedule;
use crate::stacked::batches::examples::DeviceExamples;
use crate::stacked::batches::gather::gather;
use crate::stacked::batches::part::Part;
use crate::stacked::device::memory::Memory;
use crate::stacked::gradients::sink::{GradientAction, GradientSink};
use crate::stacked::losses::loss_kernels::LossKernels;
use burn_cubecl::tensor::CubeTensor;

/// The sizes of a schedule that its memory depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScheduleSize {
    pub(crate) rows: usize,
    /// Examples of the largest batch.
    pub(crate) table: usize,
    pub(crate) steps: usize,
}

impl ScheduleSize {
    /// The size of `schedule`.
    pub(crate) fn of(schedule: &BatchSchedule) -> Self {
        Self {
            rows: schedule.rows,
            table: schedule.width,
            steps: schedule.steps,
        }
    }
}

/// Memory of one call, kept for the next.
#[derive(Debug)]
pub(crate) struct PassScratch {
    size: ScheduleSize,
    pub(crate) workspace: Workspace,
    /// `[steps, rows, table, positions]`.
    pub(crate) losses: CubeTensor,
    /// Hits, which training does not use.
    pub(crate) hits: CubeTensor,
    /// `[R, P_pad]`, allocated when first needed; padding stays zero.
    pub(crate) gradients: Option<CubeTensor>,
    /// `[R, P_pad]`, allocated when momentum first starts from zero.
    pub(crate) velocities: Option<CubeTensor>,
    /// Placeholder vectors for gradients and velocities that a kernel does not use.
    pub(crate) nothing: [CubeTensor; 2],
}

impl PassScratch {
    /// `old` if it has enough room and the same number of rows, else new memory.
    pub(crate) fn fitting(
        old: Option<Self>,
        memory: &Memory,
        network: &Network,
        size: ScheduleSize,
        shape: BlockShape,
    ) -> Self {
        let fits = |old: &Self| {
            old.size.rows == size.rows
                && old.size.table >= size.table
                && old.size.steps >= size.steps
                && old.workspace.fits(shape)
        };
        old.filter(fits)
            .unwrap_or_else(|| Self::new(memory, network, size, shape))
    }

    /// Memory for schedules of `size`, in blocks of `shape`.
    pub(crate) fn new(
        memory: &Memory,
        network: &Network,
        size: ScheduleSize,
        shape: BlockShape,
    ) -> Self {
        let ScheduleSize { rows, table, steps } = size;
        Self {
            size,
            workspace: Workspace::new(memory, network, shape, false, true),
            losses: memory.floats(&[steps, rows, table, network.positions()]),
            hits: memory.words(&[1]),
            gradients: None,
            velocities: None,
            nothing: [0; 2].map(|_| memory.floats(&[4])),
        }
    }
}

/// What the steps of one table have in common.
pub(crate) struct Steps<'a> {
    pub(crate) network: &'a Network,
    pub(crate) examples: &'a DeviceExamples,
    pub(crate) schedule: &'a BatchSchedule,
    pub(crate) table: &'a DeviceBatchSchedule,
    pub(crate) models: &'a CubeTensor,
    pub(crate) scratch: &'a PassScratch,
    /// Where the losses go; nowhere if no step is made.
    pub(crate) tallies: &'a [RowTallies<'a>],
    /// Rows of a block, and examples of a piece of their batches.
    pub(crate) block: BlockShape,
}

impl Steps<'_> {
    /// Runs `work` on every block of rows and step in which a row of the block has something to do; then tallies all
    /// their losses.
    ///
    /// # Errors
    /// Errors of `work`.
    pub(crate) fn each(
        &self,
        mut work: impl FnMut(&Part<'_>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let all = self.table.rows;
        for first_row in (0..all).step_by(self.block.rows) {
            let rows = self.block.rows.min(all - first_row);
            for step in 0..self.table.steps {
                if self.schedule.counts_of(step)[first_row..][..rows]
                    .iter()
                    .any(|count| *count > 0)
                {
                    work(&Part {
                        first_row,
                        rows,
                        entry: step * all + first_row,
                        own: true,
                        counts: &self.table.counts,
                        table: self.table.width,
                        first_example: 0,
                        examples: self.block.examples,
                        losses: step * all + first_row,
                    })?;
                }
            }
        }
        let positions = self.network.positions();
        tally(&self.scratch.losses, positions, self.table, self.tallies);
        Ok(())
    }

    /// Writes the mean gradient of each row's batch to `sink`, piece by piece.
    ///
    /// # Errors
    /// Errors of a user's own model.
    pub(crate) fn gradient(&self, part: &Part<'_>, sink: &GradientSink) -> Result<(), EngineError> {
        let (table, scratch, workspace) = (self.table, self.scratch, &self.scratch.workspace);
        for first_example in (0..table.width).step_by(self.block.examples) {
            let piece = Part {
                first_example,
                ..*part
            };
            let augmented = self.schedule.augmented;
            gather(
                self.examples,
                &table.indices,
                augmented,
                &workspace.input,
                &piece,
            );
            let flow = Flow {
                network: self.network,
                models: self.models,
                masks: table.masks(),
                part: &piece,
            };
            let kernels = LossKernels {
                labels: &self.examples.labels,
                indices: &table.indices,
                positions: self.network.positions(),
                losses: &scratch.losses,
                hits: &scratch.hits,
                backward: true,
            };
            let (width, sink) = (self.network.outputs(), sink.piece(first_example == 0));
            match own_of(self.network) {
                Some(own) => {
                    let pass = workspace.pass(own, &flow, true)?;
                    kernels.launch(self.network.loss(), &pass.outputs, width, &piece);
                    pass.back(&flow, &sink.gradients, sink.action == GradientAction::Add);
                }
                None => {
                    workspace.forward(&flow);
                    kernels.launch(self.network.loss(), workspace.last(), width, &piece);
                    workspace.backward(&flow, &sink);
                }
            }
        }
        Ok(())
    }
}
