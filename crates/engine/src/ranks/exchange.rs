//! Exchanges between ranks: by messages to other machines, by reads in place on the same one.

use super::buffers::Buffer;
use super::machine::Lent;
use super::world::World;
use crate::processor::row_memory::RowMemory;

/// What a rank gives the others in an exchange.
#[derive(Debug)]
pub(crate) struct Outgoing<'a, 'm> {
    /// This rank's rows, if the ranks of this machine can read them in place.
    pub(crate) rows: Option<&'a RowMemory>,
    /// Floats that each rank gets.
    pub(crate) sizes: Vec<usize>,
    /// The message to each rank; empty for ranks of this machine.
    pub(crate) messages: Vec<&'m [f32]>,
}

/// What a rank receives in an exchange. While this lives, ranks of this machine do not change their rows.
#[derive(Debug)]
pub(crate) struct Incoming<'a> {
    world: &'a World,
    lent: Option<Lent<'a>>,
    /// All received messages, one after another.
    received: Option<Buffer>,
    /// Where the message of each rank ends.
    ends: Vec<usize>,
}

/// Cuts `memory` into consecutive pieces of `lengths` floats.
fn cut<'m>(memory: &'m mut [f32], lengths: &[usize]) -> Vec<&'m mut [f32]> {
    let mut rest = memory;
    let piece = |length: &usize| {
        rest.split_off_mut(..*length)
            .expect("memory for all of them")
    };
    lengths.iter().map(piece).collect()
}

/// Cuts `memory` into messages of `lengths` floats, one per rank. `write` fills each in.
pub(super) fn pack<'m>(
    memory: &'m mut [f32],
    lengths: &[usize],
    write: impl Fn(usize, &mut [f32]),
) -> Vec<&'m [f32]> {
    let written = cut(memory, lengths).into_iter().enumerate();
    let written = written.map(|(to, message)| {
        write(to, message);
        &*message
    });
    written.collect()
}

impl World {
    /// Whether this rank reads the rows of `rank` in place.
    pub(crate) fn reads_in_place(&self, rank: usize) -> bool {
        self.machine
            .as_ref()
            .is_some_and(|machine| machine.has(rank))
    }

    /// For each rank, how many of the `sizes` floats go in a message: none if they are read in place.
    pub(crate) fn in_messages(&self, sizes: &[usize]) -> Vec<usize> {
        let in_message = |(rank, size): (usize, &usize)| match self.reads_in_place(rank) {
            true => 0,
            false => *size,
        };
        sizes.iter().enumerate().map(in_message).collect()
    }

    /// Sends `outgoing` to the other ranks, and receives `sizes[k]` floats from rank `k`. Meanwhile it calls `work`
    /// until that returns false. The argument of `work` says whether all rows to be read in place are ready.
    pub(crate) fn exchange<'a>(
        &'a self,
        outgoing: Outgoing<'a, '_>,
        sizes: &[usize],
        work: &mut dyn FnMut(bool) -> bool,
    ) -> Incoming<'a> {
        let lent = self.machine.as_ref().zip(outgoing.rows);
        let lent = lent.map(|(machine, rows)| {
            let reads = |rank: &usize| machine.has(*rank) && outgoing.sizes[*rank] > 0;
            let readers: Vec<usize> = (0..outgoing.sizes.len()).filter(reads).collect();
            let counter = self.ranks.transport().counter();
            readers
                .iter()
                .for_each(|rank| counter.add_in_place(outgoing.sizes[*rank]));
            machine.lend(rows, readers)
        });
        let lengths = self.in_messages(sizes);
        let mut received = self.buffers.take(lengths.iter().sum());
        let has_come = || {
            let ranks = sizes.iter().enumerate().filter(|(_, size)| **size > 0);
            let mut near = ranks
                .map(|(rank, _)| rank)
                .filter(|rank| self.reads_in_place(*rank));
            near.all(|rank| lent.as_ref().is_some_and(|lent| lent.is_there(rank)))
        };
        let mut pieces = cut(&mut received, &lengths);
        let transport = self.ranks.transport();
        transport.exchange(&outgoing.messages, &mut pieces, &mut || work(has_come()));
        let ends = lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        Incoming {
            world: self,
            ends: ends.collect(),
            lent,
            received: Some(received),
        }
    }

    /// Gathers the floats `own` of all ranks, in the order of the ranks; rank `k` has `sizes[k]`.
    pub(crate) fn of_all_ranks(&self, own: &RowMemory, sizes: &[usize]) -> Vec<f32> {
        let rank = self.rank();
        let message = |to: usize| match to == rank || self.reads_in_place(to) {
            true => &own[..0],
            false => own,
        };
        let outgoing = Outgoing {
            rows: Some(own),
            sizes: vec![own.len(); sizes.len()],
            messages: (0..sizes.len()).map(message).collect(),
        };
        let mut wanted = sizes.to_vec();
        wanted[rank] = 0;
        let incoming = self.exchange(outgoing, &wanted, &mut |_| false);
        let mut all = Vec::with_capacity(sizes.iter().sum());
        for (from, size) in sizes.iter().enumerate() {
            let of_rank = match (from == rank, *size) {
                (true, _) => &own[..],
                (false, 0) => &[],
                _ => incoming
                    .in_place(from)
                    .unwrap_or_else(|| incoming.message(from)),
            };
            all.extend_from_slice(of_rank);
        }
        all
    }
}

impl Incoming<'_> {
    /// All rows of `rank`, if they are read in place. Waits until they are ready.
    pub(crate) fn in_place(&self, rank: usize) -> Option<&[f32]> {
        self.lent.as_ref()?.of(rank)
    }

    /// The message of `rank`.
    pub(crate) fn message(&self, rank: usize) -> &[f32] {
        let first = rank.checked_sub(1).map_or(0, |before| self.ends[before]);
        let received = self.received.as_ref();
        received.map_or(&[], |received| &received[first..self.ends[rank]])
    }
}

impl Drop for Incoming<'_> {
    fn drop(&mut self) {
        if let Some(received) = self.received.take() {
            self.world.buffers.put(received);
        }
    }
}
