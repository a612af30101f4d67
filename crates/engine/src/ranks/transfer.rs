//! Transfers of rows between ranks.

use super::exchange::{Incoming, Outgoing, pack};
use super::inner::OwnRows;
use super::placement::Placement;
use super::world::World;

/// The rows that ranks read of each other, from the view of one rank.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// For each rank, the places of the own rows that it gets, in order.
    pub(crate) sent: Vec<Vec<u32>>,
    /// For each rank, the rows that come from it, in order.
    pub(crate) received: Vec<Vec<u32>>,
    /// The number of rows that ranks receive, summed over all ranks.
    pub(crate) of_all: usize,
    /// The places of the `received` rows on the ranks that they come from.
    places_there: Vec<Vec<u32>>,
}

impl Transfer {
    /// Rank `k` reads the rows `wanted(k)` of a stack, which may repeat; this is rank `own`. Each row is sent to a rank
    /// once, in ascending order.
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
        let mut of_all = 0;
        let mut places_there = vec![Vec::new(); ranks];
        let mut sent = vec![Vec::new(); ranks];
        for (rank, sent) in sent.iter_mut().enumerate() {
            let rows = foreign(rank);
            of_all += rows.len();
            for row in rows {
                let owner = placement.owner(row);
                if rank == own {
                    received[owner].push(row);
                    places_there[owner].push(placement.place(row) as u32);
                } else if owner == own {
                    sent.push(placement.place(row) as u32);
                }
            }
        }
        Self {
            sent,
            received,
            of_all,
            places_there,
        }
    }

    /// The number of rows that come from other ranks.
    pub(crate) fn incoming(&self) -> usize {
        self.received.iter().map(Vec::len).sum()
    }

    /// The place of each received row among all received rows: pairs of row and place, ascending by row.
    fn places(&self) -> Vec<(u32, u32)> {
        let rows = self.received.iter().flatten().copied();
        let mut places: Vec<(u32, u32)> = rows.zip(0..).collect();
        places.sort_unstable();
        places
    }

    /// A function from a row to its place among the own rows of `rank`, followed by the received rows.
    pub(crate) fn finder<'a>(
        &self,
        placement: &'a Placement,
        rank: usize,
    ) -> impl Fn(u32) -> u32 + use<'a> {
        let (places, own) = (self.places(), placement.of(rank).len() as u32);
        move |row| match placement.owner(row) == rank {
            true => placement.place(row) as u32,
            false => {
                let found = places.binary_search_by_key(&row, |(row, _)| *row);
                own + places[found.expect("what is read is sent")].1
            }
        }
    }

    /// Sends rows of `rows` to other ranks, and receives theirs. For `work` see [`World::exchange`].
    pub(crate) fn carry_out<'a>(
        &'a self,
        world: &'a World,
        rows: &'a dyn OwnRows,
        work: &mut dyn FnMut(bool) -> bool,
    ) -> ArrivedRows<'a> {
        let width = rows.width();
        let in_message = |to: &usize| !world.reads_in_place(*to);
        let outgoing = (0..self.sent.len()).filter(in_message);
        let mut sent = outgoing.flat_map(|to| self.sent[to].iter().copied());
        let readable = rows.readable(&mut sent);
        let sizes = |rows: &[Vec<u32>]| rows.iter().map(|rows| rows.len() * width).collect();
        let (outgoing, taken): (Vec<usize>, Vec<usize>) =
            (sizes(&self.sent), sizes(&self.received));
        let lengths = world.in_messages(&outgoing);
        let mut packed = world.buffers.take(lengths.iter().sum());
        let messages = pack(&mut packed, &lengths, |to, message| {
            let pieces = message.chunks_exact_mut(width.max(1));
            for (piece, place) in pieces.zip(&self.sent[to]) {
                piece.copy_from_slice(readable.row(*place as usize, width));
            }
        });
        let outgoing = Outgoing {
            rows: readable.memory(),
            sizes: outgoing,
            messages,
        };
        let incoming = world.exchange(outgoing, &taken, work);
        world.buffers.put(packed);
        ArrivedRows {
            transfer: self,
            incoming,
            width,
        }
    }
}

/// Received rows of other ranks, which do not change them while this lives.
#[derive(Debug)]
pub(crate) struct ArrivedRows<'a> {
    transfer: &'a Transfer,
    incoming: Incoming<'a>,
    width: usize,
}

impl ArrivedRows<'_> {
    /// The rows, `[H]` of `[width]`: those of rank 0 first.
    pub(crate) fn rows(&self) -> Vec<&[f32]> {
        let width = self.width;
        let mut rows = Vec::with_capacity(self.transfer.incoming());
        for (rank, places) in self.transfer.places_there.iter().enumerate() {
            if places.is_empty() {
                continue;
            }
            match self.incoming.in_place(rank) {
                Some(all) => {
                    let row = |place: &u32| &all[*place as usize * width..][..width];
                    rows.extend(places.iter().map(row));
                }
                None => rows.extend(self.incoming.message(rank).chunks_exact(width.max(1))),
            }
        }
        rows
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
                assert_eq!(sender.sent[to], receiver.places_there[from]);
            }
        }
    }
}
