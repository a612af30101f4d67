//! The backend of one rank: a processor or a GPU, which works with those of other ranks.

use super::Ranks;
use super::inner::Inner;
use super::rows::RankedRows;
use super::trainer::RankedTrainer;
use super::world::World;
use crate::backend::Backend;
use crate::backend::reading::Reading;
use crate::backend::rows::Rows;
use crate::backend::trainer::Trainer;
use crate::error::EngineError;
use crate::kernels::Instructions;
use crate::network::Network;
use crate::network::precision::Precision;
use crate::training::work::WorkloadSize;
use meshfold_data::{Partition, Splits};
use std::sync::Arc;

/// This rank's own device, and the ranks. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Ranked {
    world: Arc<World>,
}

impl Ranked {
    /// The rank of `ranks` that computes on `inner`. Every rank calls it.
    pub(crate) fn new(ranks: Ranks, inner: Arc<dyn Inner>) -> Self {
        Self {
            world: Arc::new(World::new(ranks, inner)),
        }
    }

    fn inner(&self) -> &dyn Inner {
        self.world.inner.as_ref()
    }
}

impl Backend for Ranked {
    /// The kind of each rank's device: results have the same bits as on one such device.
    fn kind(&self, precision: Precision) -> String {
        self.inner().kind(precision)
    }

    fn threads(&self) -> Option<usize> {
        self.inner().threads()
    }

    fn instructions(&self) -> Option<Instructions> {
        self.inner().instructions()
    }

    /// Runs go one after another: ranks must carry out verbs in the same order.
    fn width(&self) -> usize {
        1
    }

    fn own_memory(&self) -> Option<u64> {
        self.inner().own_memory()
    }

    fn ranks(&self) -> Option<&Ranks> {
        Some(&self.world.ranks)
    }

    fn place(&self, owners: &[Vec<u32>]) {
        self.world.place(owners);
    }

    fn working_bytes(&self, network: &Network, workload: &WorkloadSize<'_>) -> u64 {
        self.inner().working_bytes(network, workload)
    }

    /// The same device: a rank that loses its GPU ends all ranks.
    fn renewed(&self) -> Arc<dyn Backend> {
        Arc::new(self.clone())
    }

    fn wait(&self) {
        self.inner().wait();
    }

    /// If the device fails, this rank ends all ranks, as the others would wait for it.
    fn attempt(&self, work: &mut dyn FnMut()) -> Result<(), EngineError> {
        self.world.expect(self.inner().attempt(work));
        Ok(())
    }

    fn side_by_side(&self, most: usize, work: &(dyn Fn(Arc<dyn Backend>) + Sync)) {
        let once = most.min(self.width());
        self.inner()
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
        let mut inner = None;
        let made = self
            .inner()
            .attempt(&mut || inner = Some(self.inner().trainer(network, splits, partition)));
        let made = made.and_then(|()| inner.expect("a backend calls the work once"));
        // Ranks hold different examples: one rank may run out of memory when others do not.
        let inner = self.world.ranks.expect_success_on_all(made)?;
        Ok(Box::new(RankedTrainer::new(
            &self.world,
            inner,
            partition,
            splits.train.len(),
        )))
    }
}
