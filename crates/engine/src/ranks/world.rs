//! What a rank needs for every verb: its device, the other ranks, and where rows lie.

use super::Ranks;
use super::buffers::ExchangeBuffers;
use super::inner::Inner;
use super::machine::Machine;
use super::placement::Placement;
use crate::error::EngineError;
use meshfold_data::Partition;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// One rank of a run.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) ranks: Ranks,
    /// The rank's own device: a GPU, or the processor, whose rows lie where the ranks of this machine can read them.
    pub(crate) inner: Arc<dyn Inner>,
    /// The ranks of this machine, if there are several and each can read the rows of the others.
    pub(crate) machine: Option<Machine>,
    /// The placement of the rows of a stack, by its number of rows.
    placements: Mutex<HashMap<usize, Arc<Placement>>>,
    /// Memory for messages between ranks.
    pub(crate) buffers: ExchangeBuffers,
}

impl World {
    /// The rank of `ranks` that computes on `inner`. Every rank calls it.
    pub(crate) fn new(ranks: Ranks, inner: Arc<dyn Inner>) -> Self {
        let machine = Machine::join(ranks.transport(), inner.lends());
        let inner = match &machine {
            Some(machine) => inner.of_machine(machine),
            None => inner,
        };
        Self {
            ranks,
            inner,
            machine,
            placements: Mutex::default(),
            buffers: ExchangeBuffers::default(),
        }
    }

    /// The machine, if all ranks are on it and read each other's rows in place.
    pub(crate) fn only_machine(&self) -> Option<&Machine> {
        let machine = self.machine.as_ref()?;
        let others = self.ranks.count() - 1;
        (machine.others().len() == others).then_some(machine)
    }

    /// Which of the ranks this is.
    pub(crate) fn rank(&self) -> usize {
        self.ranks.rank()
    }

    /// The value of `result`, which is that of this rank's part of a verb. If it is an error, all ranks end.
    pub(crate) fn expect<T>(&self, result: Result<T, EngineError>) -> T {
        result.unwrap_or_else(|error| self.ranks.abort(&error.to_string()))
    }

    /// Sets the placement of later stacks; rank 0 decides. In a stack with as many rows as `owners[k]` has items, row
    /// `i` lies on rank `owners[k][i]`. Rows of all other stacks lie in blocks. Existing stacks stay where they are.
    pub(crate) fn place(&self, owners: &[Vec<u32>]) {
        let placed = owners.iter().map(|owners| {
            let mut words: Vec<u64> = owners.iter().copied().map(u64::from).collect();
            self.ranks.transport().broadcast(&mut words);
            let owners = words.into_iter().map(|rank| rank as u32).collect();
            Arc::new(Placement::new(owners, self.ranks.count()))
        });
        let placed = placed.map(|placement| (placement.rows(), placement));
        let placements = self.placements.lock();
        *placements.unwrap_or_else(PoisonError::into_inner) = placed.collect();
    }

    /// The placement of stacks of `rows` rows: in blocks, unless [`World::place`] has set another.
    pub(crate) fn placement(&self, rows: usize) -> Arc<Placement> {
        let placements = self.placements.lock();
        let mut placements = placements.unwrap_or_else(PoisonError::into_inner);
        let in_blocks = || Arc::new(Placement::in_blocks(rows, self.ranks.count()));
        placements.entry(rows).or_insert_with(in_blocks).clone()
    }

    /// The examples that `rank` holds: those of its own clients. Clients lie on ranks as the rows of a stack with one
    /// row per client. See [`Partition::of_clients`].
    pub(crate) fn examples_of(&self, rank: usize, partition: &Partition) -> (Partition, Vec<u32>) {
        let homes = self.placement(partition.clients());
        partition.of_clients(|client| homes.owner(client as u32) == rank)
    }

    /// Gathers the words of all rows on every rank; `own` has those of this rank's rows.
    pub(crate) fn per_row<const W: usize>(
        &self,
        placement: &Placement,
        own: impl Iterator<Item = [u64; W]>,
    ) -> Vec<[u64; W]> {
        let own: Vec<u64> = own.flatten().collect();
        let lengths: Vec<usize> = placement.counts().map(|rows| rows * W).collect();
        let all = self.ranks.transport().all_gather(&own, &lengths);
        let mut words = vec![[0; W]; placement.rows()];
        for (rank, of_rank) in all.iter().enumerate() {
            for (row, of_row) in placement.of(rank).iter().zip(of_rank.as_chunks::<W>().0) {
                words[*row as usize] = *of_row;
            }
        }
        words
    }

    /// [`World::per_row`] of floats.
    pub(crate) fn floats_per_row(&self, placement: &Placement, own: &[f64]) -> Vec<f64> {
        let words = own.iter().map(|float| [float.to_bits()]);
        let all = self.per_row(placement, words).into_iter();
        all.map(|[bits]| f64::from_bits(bits)).collect()
    }
}
