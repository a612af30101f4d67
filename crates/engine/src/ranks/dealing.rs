//! How the ranks of a machine get their examples. One rank reads the dataset piece by piece, and sends each other rank
//! its examples of a piece before it reads the next. So no rank holds more training examples than its own and one
//! piece.

use super::Ranks;
use super::transport::Transport;
use super::world::World;
use crate::backend::reading::Reading;
use meshfold_data::{Examples, ExamplesBuilder, Partition, Splits};
use std::sync::Arc;

/// Stands for a rank: the example is in the test set of the partition, which all ranks have.
const HELD_OUT: u32 = u32::MAX - 1;
/// Stands for a rank: no client has the example.
const NOBODYS: u32 = u32::MAX;

/// What the rank that reads sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// Training examples of the rank.
    Own,
    /// Examples of the test set of the partition.
    HeldOut,
    /// The splits without the examples already sent.
    Rest,
    /// Nothing: reading has failed.
    Nothing,
}

impl Next {
    const ALL: [Self; 4] = [Self::Own, Self::HeldOut, Self::Rest, Self::Nothing];

    fn byte(self) -> [u8; 1] {
        [self as u8]
    }

    fn received(transport: &dyn Transport, reader: usize) -> Self {
        let bytes = transport.receive(reader);
        let found = Self::ALL.into_iter().find(|next| next.byte() == bytes[..]);
        found.expect("the rank that reads says what it sends next")
    }
}

impl World {
    /// See [`Device::deal`](crate::Device::deal).
    pub(crate) fn deal(&self, partition: &Partition, read: &mut Reading<'_>) -> Option<Splits> {
        let transport = self.ranks.transport();
        let readers = transport.readers();
        let reader = readers[self.rank()];
        let held = Held::of(self, partition);
        if reader != self.rank() {
            return held.received(transport, reader, partition);
        }
        let homes = self.placement(partition.clients());
        let mut ranks = partition.per_example(NOBODYS, |client| homes.owner(client as u32) as u32);
        for example in partition.held_out().unwrap_or_default() {
            ranks[*example as usize] = HELD_OUT;
        }
        let is_other = |rank: &usize| *rank != reader && readers[*rank] == reader;
        let mut dealing = Dealing {
            transport,
            others: (0..readers.len()).filter(is_other).collect(),
            ranks,
            dealt: 0,
            held,
        };
        let rest = read(&mut |piece| dealing.hand_on(piece));
        dealing.finish(rest, partition)
    }
}

/// The state of the rank that reads, while it deals examples to the ranks of its machine.
struct Dealing<'a> {
    transport: &'a dyn Transport,
    /// The other ranks of the machine.
    others: Vec<usize>,
    /// The rank that each example belongs to, `[M]`.
    ranks: Vec<u32>,
    /// How many examples have been dealt.
    dealt: usize,
    held: Held,
}

impl Dealing<'_> {
    /// Deals the examples of the next piece.
    fn hand_on(&mut self, piece: &Examples) {
        let places = |rank: u32| {
            // Files that have changed since the run was planned may have more examples; these belong to no rank.
            let all = self.ranks.iter().skip(self.dealt);
            let own = (0_u32..).zip(all).take(piece.len());
            let own: Vec<u32> = own
                .filter_map(|(e, of)| (*of == rank).then_some(e))
                .collect();
            (!own.is_empty()).then_some(own)
        };
        for rank in &self.others {
            if let Some(own) = places(*rank as u32) {
                self.send(*rank, Next::Own, &piece.selected(&own));
            }
        }
        let own = places(self.transport.rank() as u32);
        let held_out = places(HELD_OUT).map(|places| piece.selected(&places));
        if let Some(held_out) = held_out {
            for rank in &self.others {
                self.send(*rank, Next::HeldOut, &held_out);
            }
            self.held.held_out.push(&held_out);
        }
        if let Some(own) = own {
            self.held.own.push(&piece.selected(&own));
        }
        self.dealt += piece.len();
    }

    fn send(&self, rank: usize, next: Next, examples: &Examples) {
        self.transport.send(rank, &next.byte());
        examples.to_pieces(|bytes| self.transport.send(rank, bytes));
    }

    /// Sends the `rest` of the splits, or says that reading failed if there is none.
    fn finish(mut self, rest: Option<Splits>, partition: &Partition) -> Option<Splits> {
        let Some(mut rest) = rest else {
            for rank in &self.others {
                self.transport.send(*rank, &Next::Nothing.byte());
            }
            return None;
        };
        if partition.held_out().is_some() {
            // Clients and the partition's test set may have examples of this test set.
            let test = rest.test.clone();
            test.each_piece(Ranks::PIECE, &mut |piece| self.hand_on(piece));
            rest.test = Arc::new(test.selected(&[]));
        }
        for rank in &self.others {
            self.transport.send(*rank, &Next::Rest.byte());
            rest.to_pieces(|bytes| self.transport.send(*rank, bytes));
        }
        Some(self.held.finish(rest, partition))
    }
}

/// The dealt examples that a rank holds.
struct Held {
    own: ExamplesBuilder,
    held_out: ExamplesBuilder,
}

impl Held {
    /// Nothing yet, with room for what this rank is to hold.
    fn of(world: &World, partition: &Partition) -> Self {
        let homes = world.placement(partition.clients());
        let is_own = |(client, _): &(u32, usize)| homes.owner(*client) == world.rank();
        let sizes = (0..).zip(partition.sizes()).filter(is_own);
        Self {
            own: ExamplesBuilder::of(sizes.map(|(_, size)| size).sum()),
            held_out: ExamplesBuilder::of(partition.held_out().map_or(0, <[u32]>::len)),
        }
    }

    /// Receives all that `reader` sends; `None` if reading failed.
    fn received(
        mut self,
        transport: &dyn Transport,
        reader: usize,
        partition: &Partition,
    ) -> Option<Splits> {
        let receive = || transport.receive(reader);
        loop {
            match Next::received(transport, reader) {
                Next::Own => self.own.push(&Examples::from_pieces(receive)),
                Next::HeldOut => self.held_out.push(&Examples::from_pieces(receive)),
                Next::Rest => return Some(self.finish(Splits::from_pieces(receive), partition)),
                Next::Nothing => return None,
            }
        }
    }

    fn finish(self, rest: Splits, partition: &Partition) -> Splits {
        let like = &rest.train;
        let test = partition.held_out().map(|held_out| {
            let ascending = self.held_out.finish(like);
            Arc::new(in_order(ascending, held_out))
        });
        Splits {
            train: Arc::new(self.own.finish(like)),
            test: test.unwrap_or(rest.test),
            validation: rest.validation,
        }
    }
}

/// The examples `order`, in that order; `ascending` has them in ascending order.
fn in_order(ascending: Examples, order: &[u32]) -> Examples {
    if order.is_sorted() {
        return ascending;
    }
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    let place = |example: &u32| sorted.binary_search(example).expect("it is one of them") as u32;
    ascending.selected(&order.iter().map(place).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests;
