//! Rows on their way from rank to rank.

use super::buffers::Buffer;
use super::placement::Placement;
use super::world::World;
use crate::processor::host_rows::HostRows;

/// Rows that ranks ask each other for, as one rank sees it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// Places of the own rows that each rank gets, in order.
    pub(crate) sent: Vec<Vec<u32>>,
    /// Rows that come from each rank, in order.
    pub(crate) received: Vec<Vec<u32>>,
}

impl Transfer {
    /// Rank `k` reads the rows `wanted(k)` of a stack, repeated or not; this is rank `own`. Each row is sent to a rank once, in
    /// ascending order.
    pub(crate) fn of<'a>(
        placement: &Placement,
        own: usize,
        ranks: usize,
        wanted: impl Fn(usize) -> Box<dyn Iterator<Item = u32> + 'a>,
    ) -> Self {
        let foreign = |rank: usize| {
            let mut rows: Vec<u32> = wanted(rank)
                .filter(|row| placement.owner(*row) != rank)
                .collect();
            rows.sort_unstable();
            rows.dedup();
            rows
        };
        let mut received = vec![Vec::new(); ranks];
        let mut sent = vec![Vec::new(); ranks];
        for (rank, sent) in sent.iter_mut().enumerate() {
            for row in foreign(rank) {
                let owner = placement.owner(row);
                if rank == own {
                    received[owner].push(row);
                } else if owner == own {
                    sent.push(placement.place(row) as u32);
                }
            }
        }
        Self { sent, received }
    }

    /// Rows that come from other ranks.
    pub(crate) fn incoming(&self) -> usize {
        self.received.iter().map(Vec::len).sum()
    }

    /// Where each row that comes lies among those that come: pairs of a row and its place, ascending by row.
    pub(crate) fn places(&self) -> Vec<(u32, u32)> {
        let rows = self.received.iter().flatten().copied();
        let mut places: Vec<(u32, u32)> = rows.zip(0..).collect();
        places.sort_unstable();
        places
    }

    /// Sends rows of `rows`, and returns those that came, `[H, width]`: those of rank 0 first.
    pub(crate) fn carry_out(&self, world: &World, rows: &HostRows) -> Buffer {
        self.carry_out_while(world, rows, &mut || false)
    }

    /// The same, and calls `work` until it says that there is nothing left to do, while messages are on their way.
    pub(crate) fn carry_out_while(
        &self,
        world: &World,
        rows: &HostRows,
        work: &mut dyn FnMut() -> bool,
    ) -> Buffer {
        let width = rows.width();
        let outgoing: usize = self.sent.iter().map(Vec::len).sum();
        let mut packed = world.buffers.take(outgoing * width);
        let places = self.sent.iter().flatten();
        for (to, place) in packed.chunks_exact_mut(width).zip(places) {
            to.copy_from_slice(&rows.values()[*place as usize * width..][..width]);
        }
        let mut values = world.buffers.take(self.incoming() * width);
        let sizes = |rows: &[Vec<u32>]| rows.iter().map(|rows| rows.len() * width).collect();
        let (to, from): (Vec<usize>, Vec<usize>) = (sizes(&self.sent), sizes(&self.received));
        world.exchange_while((&packed, &to), (&mut values, &from), work);
        world.buffers.put(packed);
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_rank_sends_another_one_expects() {
        let placement = Placement::new(vec![0, 1, 2, 1, 0, 2, 1], 3);
        let wanted = [vec![6, 1, 1, 0, 2], vec![0, 4, 1], vec![3, 3, 0]];
        let of = |own| {
            let wanted = wanted.clone();
            Transfer::of(&placement, own, 3, move |rank| {
                Box::new(wanted[rank].clone().into_iter())
            })
        };
        let all: Vec<Transfer> = (0..3).map(of).collect();
        assert_eq!(all[0].received, [vec![], vec![1, 6], vec![2]]);
        assert_eq!(all[0].places(), [(1, 0), (2, 2), (6, 1)]);
        for (from, sender) in all.iter().enumerate() {
            for (to, receiver) in all.iter().enumerate() {
                let rows = sender.sent[to]
                    .iter()
                    .map(|place| placement.of(from)[*place as usize]);
                assert_eq!(rows.collect::<Vec<_>>(), receiver.received[from]);
            }
        }
    }
}
