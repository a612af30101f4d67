//! A processor that is one rank of several, as a device.

use super::Ranks;
use super::dealing::Reading;
use super::rows::RankedRows;
use super::trainer::RankedTrainer;
use super::world::World;
use crate::backend::Backend;
use crate::backend::rows::Rows;
use crate::backend::trainer::Trainer;
use crate::error::EngineError;
use crate::kernels::Instructions;
use crate::network::Network;
use crate::processor::Processor;
use crate::training::work::WorkloadSize;
use meshfold_data::{Partition, Splits};
use std::sync::Arc;

/// This rank's processor, and the ranks. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Ranked {
    world: Arc<World>,
}

impl Ranked {
    /// The rank of `ranks` that computes on `processor`. Every rank calls it.
    pub(crate) fn new(ranks: Ranks, processor: Processor) -> Self {
        Self {
            world: Arc::new(World::new(ranks, processor)),
        }
    }

    fn processor(&self) -> &Processor {
        &self.world.processor
    }
}

impl Backend for Ranked {
    /// That of each rank: results have the same bits as on one of them.
    fn kind(&self) -> String {
        self.processor().kind()
    }

    fn threads(&self) -> Option<usize> {
        self.processor().threads()
    }

    fn instructions(&self) -> Option<Instructions> {
        self.processor().instructions()
    }

    /// Runs go one after another: ranks must carry out verbs in the same order.
    fn width(&self) -> usize {
        1
    }

    fn own_memory(&self) -> Option<u64> {
        None
    }

    fn ranks(&self) -> Option<&Ranks> {
        Some(&self.world.ranks)
    }

    fn place(&self, owners: &[Vec<u32>]) {
        self.world.place(owners);
    }

    fn working_bytes(&self, network: &Network, workload: &WorkloadSize<'_>) -> u64 {
        self.processor().working_bytes(network, workload)
    }

    fn renewed(&self) -> Arc<dyn Backend> {
        Arc::new(self.clone())
    }

    fn wait(&self) {}

    fn attempt(&self, work: &mut dyn FnMut()) -> Result<(), EngineError> {
        work();
        Ok(())
    }

    fn side_by_side(&self, most: usize, work: &(dyn Fn(Arc<dyn Backend>) + Sync)) {
        let once = most.min(self.width());
        self.processor()
            .side_by_side(once, &|_| work(Arc::new(self.clone())));
    }

    fn zeros(&self, rows: usize, width: usize) -> Box<dyn Rows> {
        Box::new(RankedRows::zeros(&self.world, rows, width))
    }

    fn upload(&self, values: Vec<f32>, width: usize) -> Result<Box<dyn Rows>, EngineError> {
        Ok(Box::new(RankedRows::of_all(&self.world, &values, width)))
    }

    fn deal(&self, partition: &Partition, read: &mut Reading<'_>) -> Option<Splits> {
        self.world.deal(partition, read)
    }

    fn trainer(
        &self,
        network: &Network,
        splits: &Splits,
        partition: &Partition,
    ) -> Result<Box<dyn Trainer>, EngineError> {
        let inner = self.processor().trainer(network, splits, partition)?;
        Ok(Box::new(RankedTrainer::new(
            &self.world,
            inner,
            partition,
            splits.train.len(),
        )))
    }
}
