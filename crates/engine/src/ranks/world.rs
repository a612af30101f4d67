//! What a rank needs for every verb: its processor, the other ranks, and where rows lie.

use super::Ranks;
use super::buffers::{Buffer, Buffers};
use super::placement::{Placement, share};
use crate::kernels::host;
use crate::network::layout::ALIGNMENT;
use crate::processor::Processor;
use crate::processor::host_rows::HostRows;
use meshfold_data::Partition;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// One rank of a run.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) ranks: Ranks,
    pub(crate) processor: Processor,
    /// Where the rows of a stack lie, by their number.
    placements: Mutex<HashMap<usize, Arc<Placement>>>,
    /// Memory for what goes from rank to rank.
    pub(crate) buffers: Buffers,
}

impl World {
    /// The rank of `ranks` that computes on `processor`.
    pub(crate) fn new(ranks: Ranks, processor: Processor) -> Self {
        Self {
            ranks,
            processor,
            placements: Mutex::default(),
            buffers: Buffers::default(),
        }
    }

    /// Which of the ranks this is.
    pub(crate) fn rank(&self) -> usize {
        self.ranks.rank()
    }

    /// From here on, each stack of as many rows as one of `owners` has items lies as that says of rank 0: row `i` on rank
    /// `owners[i]`. All others lie in blocks. Stacks that exist stay where they are.
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

    /// Where the rows of each stack of `rows` rows lie: in blocks, if nothing else was [said](World::place).
    pub(crate) fn placement(&self, rows: usize) -> Arc<Placement> {
        let placements = self.placements.lock();
        let mut placements = placements.unwrap_or_else(PoisonError::into_inner);
        let in_blocks = || Arc::new(Placement::in_blocks(rows, self.ranks.count()));
        placements.entry(rows).or_insert_with(in_blocks).clone()
    }

    /// What `rank` has of the examples that `partition` deals: those of its own clients, which lie as rows of as many do. See
    /// [`Partition::of_clients`].
    pub(crate) fn examples_of(&self, rank: usize, partition: &Partition) -> (Partition, Vec<u32>) {
        let homes = self.placement(partition.clients());
        partition.of_clients(|client| homes.owner(client as u32) == rank)
    }

    /// The rows that a call on all of them returns: `own` are the words of the own rows.
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

    /// Sends pieces of `packed` of the sizes `to` to the ranks, and fills `values` with their pieces, of the sizes `from`.
    pub(crate) fn exchange(
        &self,
        packed: &[f32],
        to: &[usize],
        values: &mut [f32],
        from: &[usize],
    ) {
        self.exchange_while((packed, to), (values, from), &mut || false);
    }

    /// The same, and calls `work` until it says that there is nothing left to do, while messages are on their way.
    pub(crate) fn exchange_while(
        &self,
        (packed, to): (&[f32], &[usize]),
        (values, from): (&mut [f32], &[usize]),
        work: &mut dyn FnMut() -> bool,
    ) {
        let (mut rest, mut sent) = (packed, Vec::new());
        for size in to {
            let (piece, others) = rest.split_at(*size);
            sent.push(piece);
            rest = others;
        }
        let (mut rest, mut received) = (values, Vec::new());
        for size in from {
            let (piece, others) = rest.split_at_mut(*size);
            received.push(piece);
            rest = others;
        }
        let transport = self.ranks.transport();
        transport.exchange_while(&sent, &mut received, work);
    }

    /// `Σ_i weights[i] · row_i` over all rows, on every rank: each rank sums its part of the parameters over all rows, in their
    /// order, so that the sum is that of one processor to the bit. Rows of weight zero stay where they are.
    pub(crate) fn mean(&self, own: &HostRows, placement: &Placement, weights: &[f64]) -> Vec<f32> {
        let (width, rank) = (own.width(), self.rank());
        let counts = |row: &&u32| weights[**row as usize] != 0.0;
        let parts: Vec<Range<usize>> = (0..self.ranks.count())
            .map(|part| {
                let blocks = share(width / ALIGNMENT, part, self.ranks.count());
                blocks.start * ALIGNMENT..blocks.end * ALIGNMENT
            })
            .collect();
        let part = parts[rank].len();
        let rows: Vec<Vec<u32>> = (0..parts.len())
            .map(|rank| placement.of(rank).iter().filter(counts).copied().collect())
            .collect();
        let packed = self.parts_of(own, placement, &rows[rank], &parts);
        let to = parts.iter().enumerate().map(|(to, part)| match to == rank {
            true => 0,
            false => part.len() * rows[rank].len(),
        });
        let from = rows
            .iter()
            .enumerate()
            .map(|(from, rows)| match from == rank {
                true => 0,
                false => part * rows.len(),
            });
        let (to, from): (Vec<usize>, Vec<usize>) = (to.collect(), from.collect());
        let mut foreign = self.buffers.take(from.iter().sum());
        self.exchange(&packed, &to, &mut foreign, &from);
        self.buffers.put(packed);
        let all = self.in_order(own, placement, &rows, &parts[rank], &foreign);
        self.buffers.put(foreign);
        let weights: Vec<f64> = weights
            .iter()
            .copied()
            .filter(|weight| *weight != 0.0)
            .collect();
        let mut sums = vec![0.0; part];
        if part > 0 {
            host::mean(self.processor.cpu(), &all, &weights, &mut sums);
        }
        self.buffers.put(all);
        self.whole(&sums, &parts, width)
    }

    /// For each other rank its part of the parameters of the own rows `rows`.
    fn parts_of(
        &self,
        own: &HostRows,
        placement: &Placement,
        rows: &[u32],
        parts: &[Range<usize>],
    ) -> Buffer {
        let (width, rank) = (own.width(), self.rank());
        let others = || parts.iter().enumerate().filter(|(to, _)| *to != rank);
        let size = others().map(|(_, part)| part.len() * rows.len()).sum();
        let mut packed = self.buffers.take(size);
        let mut end = 0;
        for (_, part) in others() {
            for row in rows {
                let row = &own.values()[placement.place(*row) * width..][..width];
                packed[end..end + part.len()].copy_from_slice(&row[part.clone()]);
                end += part.len();
            }
        }
        packed
    }

    /// The parameters `part` of `rows`, own and `foreign`, in the order of the rows.
    fn in_order(
        &self,
        own: &HostRows,
        placement: &Placement,
        rows: &[Vec<u32>],
        part: &Range<usize>,
        foreign: &[f32],
    ) -> Buffer {
        let (width, rank) = (own.width(), self.rank());
        let mut order: Vec<u32> = rows.iter().flatten().copied().collect();
        order.sort_unstable();
        let mut all = self.buffers.take(order.len() * part.len());
        let mut next: Vec<usize> = rows
            .iter()
            .enumerate()
            .scan(0, |end, (from, rows)| {
                let start = *end;
                *end += if from == rank { 0 } else { rows.len() };
                Some(start)
            })
            .collect();
        if part.is_empty() {
            return all;
        }
        for (to, row) in all.chunks_exact_mut(part.len()).zip(order) {
            let owner = placement.owner(row);
            if owner == rank {
                let row = &own.values()[placement.place(row) * width..][..width];
                to.copy_from_slice(&row[part.clone()]);
            } else {
                to.copy_from_slice(&foreign[next[owner] * part.len()..][..part.len()]);
                next[owner] += 1;
            }
        }
        all
    }

    /// A row of which each rank has a part, on every rank; `sums` is the own one.
    fn whole(&self, sums: &[f32], parts: &[Range<usize>], width: usize) -> Vec<f32> {
        let rank = self.rank();
        let sent: Vec<&[f32]> = parts.iter().map(|_| sums).collect();
        let mut row = vec![0.0; width];
        let mut pieces = Vec::new();
        let mut rest = row.as_mut_slice();
        for part in parts {
            let (piece, others) = rest.split_at_mut(part.len());
            pieces.push(piece);
            rest = others;
        }
        self.ranks.transport().exchange(&sent, &mut pieces);
        row[parts[rank].clone()].copy_from_slice(sums);
        row
    }
}
