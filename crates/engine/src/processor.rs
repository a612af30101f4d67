//! The processor as a device.

pub(crate) mod host_rows;
mod rank_rows;
mod recycled;
pub(crate) mod row_memory;

use crate::backend::Backend;
use crate::backend::rows::Rows;
use crate::backend::trainer::Trainer;
use crate::batched::Batched;
use crate::blocked::{self, Blocked};
use crate::cpu::Cpu;
use crate::error::EngineError;
use crate::kernels::Instructions;
use crate::network::Network;
use crate::network::precision::Precision;
use crate::shared_memory::arena::Arena;
use crate::training::work::WorkloadSize;
use host_rows::HostRows;
use meshfold_data::{Partition, Splits};
use recycled::Recycled;
use row_memory::RowMemory;
use std::sync::Arc;

/// The processor: its threads, and memory of stacks that are gone. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Processor {
    cpu: Cpu,
    recycled: Arc<Recycled>,
}

impl Processor {
    /// Takes `threads` threads (all cores if `None`) and `instructions` (the widest that there are if `None`).
    ///
    /// # Errors
    /// [`EngineError::Device`] if the threads cannot be started.
    pub(crate) fn open(
        threads: Option<usize>,
        instructions: Option<Instructions>,
    ) -> Result<Self, EngineError> {
        Ok(Self {
            cpu: Cpu::new(threads, instructions)?,
            recycled: Arc::default(),
        })
    }

    /// The same with all its rows in `arena`.
    pub(crate) fn in_arena(self, arena: Arc<Arena>) -> Self {
        Self {
            recycled: Arc::new(Recycled::from_arena(arena)),
            ..self
        }
    }

    /// Its threads and instructions.
    pub(crate) fn cpu(&self) -> &Cpu {
        &self.cpu
    }

    /// The trainer of `network`'s rows, whose model does not compute rows itself.
    ///
    /// # Errors
    /// [`EngineError::Device`] if threads cannot be started.
    pub(crate) fn blocked(&self, network: &Network) -> Result<Blocked, EngineError> {
        Blocked::new(&self.cpu, network)
    }

    /// `values` as rows of `width` floats.
    pub(crate) fn rows(&self, values: RowMemory, width: usize) -> HostRows {
        HostRows::new(&self.cpu, &self.recycled, values, width)
    }

    /// Rows of zeros, `[rows, width]`.
    pub(crate) fn zero_rows(&self, rows: usize, width: usize) -> HostRows {
        HostRows::zeros(&self.cpu, &self.recycled, rows, width)
    }

    /// Memory for `size` floats, of any values.
    pub(crate) fn unwritten(&self, size: usize) -> RowMemory {
        self.recycled.unwritten(size)
    }
}

impl Backend for Processor {
    fn kind(&self, precision: Precision) -> String {
        self.cpu.instructions().kind(precision)
    }

    fn threads(&self) -> Option<usize> {
        Some(self.cpu.threads())
    }

    fn instructions(&self) -> Option<Instructions> {
        Some(self.cpu.instructions())
    }

    fn width(&self) -> usize {
        self.cpu.threads()
    }

    fn own_memory(&self) -> Option<u64> {
        None
    }

    fn working_bytes(&self, network: &Network, workload: &WorkloadSize<'_>) -> u64 {
        blocked::bytes(network, workload, self.cpu.threads())
    }

    fn renewed(&self) -> Arc<dyn Backend> {
        Arc::new(self.clone())
    }

    /// Nothing to wait for: verbs return when they are done.
    fn wait(&self) {}

    fn attempt(&self, work: &mut dyn FnMut()) -> Result<(), EngineError> {
        work();
        Ok(())
    }

    fn side_by_side(&self, most: usize, work: &(dyn Fn(Arc<dyn Backend>) + Sync)) {
        self.cpu.broadcast(|thread| {
            if thread.index() < most {
                work(Arc::new(self.clone()));
            }
        });
    }

    fn zeros(&self, rows: usize, width: usize) -> Box<dyn Rows> {
        Box::new(self.zero_rows(rows, width))
    }

    fn upload(&self, values: Vec<f32>, width: usize) -> Result<Box<dyn Rows>, EngineError> {
        Ok(Box::new(self.rows(values.into(), width)))
    }

    fn trainer(
        &self,
        network: &Network,
        _: &Splits,
        _: &Partition,
    ) -> Result<Box<dyn Trainer>, EngineError> {
        // What an earlier run held may be of other shapes.
        self.recycled.clear();
        match network.host_model() {
            Some(_) => Ok(Box::new(Batched::new(&self.cpu, network))),
            None => Ok(Box::new(self.blocked(network)?)),
        }
    }
}
