//! Rows that ranks of one machine read in place, in the memory of the rank that owns them.
//!
//! Each rank has its rows in an [`Arena`], which every other rank of the machine has mapped. In an exchange a rank
//! lends its rows: it says where they begin, and does not change them until all readers are done. Ranks signal both by
//! words in the headers of their arenas, which count exchanges. No message is sent.
//!
//! If several ranks read most rows, they divide the parameters among them instead of the rows, as threads of one
//! process do. Each rank takes a block of parameters, mixes it for all rows, writes the result to the memory of the
//! ranks that own the mixed rows, and takes the next free block. So each row is read from memory once, and slow ranks
//! take fewer blocks.
#![allow(unsafe_code)]

use super::placement::Placement;
use super::transport::Transport;
use crate::kernels::{Shared, mix_columns};
use crate::network::layout::ALIGNMENT;
use crate::processor::host_rows::HostRows;
use crate::processor::row_memory::RowMemory;
use crate::shared_memory::arena::Arena;
use crate::shared_memory::{HEADER, Mapping, memory_of_machine};
use crate::stack::mixing::HostMixing;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{process, thread};

// Words of the header. Words that are written at different times lie in different cache lines.

/// A number that this arena alone has, to tell it from other files.
const STAMP: usize = 0;
/// Whether the rank has left.
const GONE: usize = 1;
/// The exchange for which rows were lent last; the byte where they begin; their floats; and both for the room, where
/// other ranks write mixed rows.
const LENT: usize = 16;
const BEGIN: usize = 17;
const FLOATS: usize = 18;
const ROOM: usize = 19;
const ROOM_FLOATS: usize = 20;
/// The exchange for which this rank was last done with reading.
const READ: usize = 32;
/// Used on the first rank alone: in the lower bits, how many blocks of [`ALIGNMENT`] parameters have been taken for
/// mixing; in the upper bits, the exchange.
const TAKEN: usize = 48;
/// Bits of [`TAKEN`] that count blocks: enough for rows of 17 GB, and for one exchange in each microsecond of three days.
const BLOCK_BITS: u32 = 26;

/// The fewest blocks that a rank takes at once: a page or two of each row.
const LEAST: usize = 32;

/// The most bytes of address space for all arenas of a machine.
const MOST: usize = 1 << 46;

/// How often a waiting rank checks a word by spinning, and how often until it stops yielding and sleeps for [`PAUSE`].
const LOOKS: u32 = 200;
const YIELDS: u32 = 10_000;
const PAUSE: Duration = Duration::from_micros(50);

/// The ranks of this machine, as seen by one of them.
#[derive(Debug)]
pub(crate) struct Machine {
    arena: Arc<Arena>,
    /// The arena of each other rank of the machine.
    others: Vec<Option<Mapping>>,
    /// Exchanges so far.
    exchanges: AtomicU64,
}

/// This rank's rows, lent to the others, and access to theirs. Dropping it waits until all readers are done.
#[derive(Debug)]
pub(crate) struct Lent<'a> {
    machine: &'a Machine,
    exchange: u64,
    readers: Vec<usize>,
}

impl Machine {
    /// The ranks that share the memory of this machine. `None` if there is only one, if one cannot read the memory of
    /// another, or if one does not lend its rows (`lends`). Every rank calls it.
    pub(crate) fn join(transport: &dyn Transport, lends: bool) -> Option<Self> {
        let (rank, readers) = (transport.rank(), transport.readers());
        let beside = |other: usize| other != rank && readers[other] == readers[rank];
        let ranks = readers.iter().filter(|reader| **reader == readers[rank]);
        let arena = match ranks.count() {
            1 => None,
            _ if !lends => None,
            ranks => Arena::new(bytes_of_arena(ranks)).ok(),
        };
        let count = transport.count();
        let own = match &arena {
            None => [0; 4],
            Some(arena) => {
                let (mapping, stamp) =
                    (arena.mapping(), RandomState::new().build_hasher().finish());
                mapping.word(STAMP).store(stamp, Ordering::Release);
                let process = u64::from(process::id());
                [process, mapping.number(), mapping.bytes() as u64, stamp]
            }
        };
        let told = transport.all_gather(&own, &vec![own.len(); count]);
        let others = told
            .iter()
            .enumerate()
            .map(|(other, told)| beside(other).then(|| mapping_of(told)).transpose());
        let others: io::Result<Vec<Option<Mapping>>> = others.collect();
        let found = u64::from(arena.is_some() && others.is_ok());
        let all_found = transport.all_gather(&[found], &vec![1; count]);
        let lacks = |other: usize| beside(other) && all_found[other] == [0];
        if (0..count).any(lacks) {
            return None;
        }
        Some(Self {
            arena: arena?,
            others: others.ok()?,
            exchanges: AtomicU64::new(0),
        })
    }

    /// Where the rows of this rank lie.
    pub(crate) fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    /// Whether `rank` is another rank of this machine.
    pub(crate) fn has(&self, rank: usize) -> bool {
        self.others[rank].is_some()
    }

    /// The other ranks of this machine.
    pub(crate) fn others(&self) -> Vec<usize> {
        (0..self.others.len())
            .filter(|rank| self.has(*rank))
            .collect()
    }

    /// Lends `rows` to `readers`. Every rank of the machine calls it, and drops the result before the next call.
    ///
    /// # Panics
    /// If the rows are not in the arena.
    pub(crate) fn lend<'a>(&'a self, rows: &'a RowMemory, readers: Vec<usize>) -> Lent<'a> {
        self.lend_with(rows, [0, 0], readers)
    }

    /// As [`Machine::lend`], with room where others write: `room` is its first byte and its floats.
    fn lend_with<'a>(
        &'a self,
        rows: &'a RowMemory,
        room: [u64; 2],
        readers: Vec<usize>,
    ) -> Lent<'a> {
        let [begin, floats] = self.place_of(rows);
        let exchange = self.exchanges.fetch_add(1, Ordering::Relaxed) + 1;
        let own = self.arena.mapping();
        let words = [
            (BEGIN, begin),
            (FLOATS, floats),
            (ROOM, room[0]),
            (ROOM_FLOATS, room[1]),
        ];
        for (word, value) in words {
            own.word(word).store(value, Ordering::Relaxed);
        }
        own.word(LENT).store(exchange, Ordering::Release);
        Lent {
            machine: self,
            exchange,
            readers,
        }
    }

    /// Mixes the rows of all ranks, all of which are on this machine. `rows` are this rank's rows under the placement
    /// `from`; `mixed` becomes its mixed rows under `to`. Every rank calls it.
    ///
    /// # Panics
    /// If the matrix is not sparse, or rows lie elsewhere.
    pub(crate) fn mix_together(
        &self,
        mixing: &HostMixing,
        (rows, from): (&HostRows, &Placement),
        (mixed, to): (&mut RowMemory, &Placement),
    ) {
        let room = self.place_of(mixed);
        let lent = self.lend_with(rows.memory(), room, self.others());
        let (width, count) = (rows.width(), self.others.len());
        let rank = (0..count)
            .find(|rank| !self.has(*rank))
            .expect("one is this rank");
        let mappings: Vec<&Mapping> = (0..count)
            .map(|other| match other == rank {
                true => self.arena.mapping(),
                false => self.wait(other, LENT, lent.exchange),
            })
            .collect();
        let places = |first: usize, placement: &Placement| -> Vec<*mut f32> {
            let of_rank = |mapping: &&Mapping| {
                let word = |index| mapping.word(index).load(Ordering::Relaxed) as usize;
                (mapping.place(word(first), word(first + 1)), word(first + 1))
            };
            let ranks: Vec<(NonNull<f32>, usize)> = mappings.iter().map(of_rank).collect();
            let fits = |(all, rows): (&(_, usize), usize)| all.1 == rows * width;
            assert!(
                ranks.iter().zip(placement.counts()).all(fits),
                "rows lie as is known"
            );
            let row = |row: u32| {
                let (first, _) = ranks[placement.owner(row)];
                first.as_ptr().wrapping_add(placement.place(row) * width)
            };
            (0..placement.rows() as u32).map(row).collect()
        };
        let sources: Vec<&[f32]> = places(BEGIN, from)
            .into_iter()
            // SAFETY: the row is within the memory, as its rank has as many, and stays as it is until `lent` goes.
            .map(|row| unsafe { std::slice::from_raw_parts(row, width) })
            .collect();
        let targets: Vec<Shared> = places(ROOM, to).into_iter().map(Shared).collect();
        let (taken, blocks) = (mappings[0].word(TAKEN), width / ALIGNMENT);
        rows.cpu().install(|| {
            while let Some(part) = take_blocks(taken, lent.exchange, blocks, count) {
                let part = part.start * ALIGNMENT..part.end * ALIGNMENT;
                // SAFETY: the room of each rank has as many rows, and each rank writes parts that it alone takes before `lent` goes.
                unsafe { mix_columns(rows.cpu(), mixing, (&sources, &targets), width, part) };
            }
        });
    }

    /// The byte of the arena where `rows` begin, and their floats.
    ///
    /// # Panics
    /// If they are not in the arena.
    fn place_of(&self, rows: &RowMemory) -> [u64; 2] {
        let piece = rows
            .piece()
            .filter(|piece| Arc::ptr_eq(piece.arena(), &self.arena));
        let piece = piece.expect("rows of ranks lie where others can read them");
        [piece.at(), piece.len()].map(|word| word as u64)
    }

    /// Waits until the word `word` of `rank` is at least `exchange`.
    ///
    /// # Panics
    /// If that rank has left. If it is killed, MPI ends all others.
    fn wait(&self, rank: usize, word: usize, exchange: u64) -> &Mapping {
        let other = self.others[rank].as_ref();
        let other = other.expect("rows are read of ranks of this machine");
        let is_there = || other.word(word).load(Ordering::Acquire) >= exchange;
        let mut looks = 0;
        while !is_there() {
            assert!(
                other.word(GONE).load(Ordering::Acquire) == 0 || is_there(),
                "rank {rank} is gone"
            );
            match looks {
                0..LOOKS => std::hint::spin_loop(),
                LOOKS..YIELDS => thread::yield_now(),
                _ => thread::sleep(PAUSE),
            }
            looks = looks.saturating_add(1);
        }
        other
    }
}

impl Lent<'_> {
    /// Whether `rank`, of this machine, has lent its rows.
    pub(crate) fn is_there(&self, rank: usize) -> bool {
        let other = self.machine.others[rank].as_ref();
        other.is_some_and(|other| other.word(LENT).load(Ordering::Acquire) >= self.exchange)
    }

    /// The rows of `rank`, once it has lent them to this one; `None` if it is not of this machine.
    ///
    /// # Panics
    /// If that rank has left.
    pub(crate) fn of(&self, rank: usize) -> Option<&[f32]> {
        self.machine.others[rank].as_ref()?;
        let other = self.machine.wait(rank, LENT, self.exchange);
        let word = |index| other.word(index).load(Ordering::Relaxed) as usize;
        // SAFETY: that rank does not change them until this one has read them, which it signals when `self` is dropped.
        Some(unsafe { other.floats(word(BEGIN), word(FLOATS)) })
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let own = self.machine.arena.mapping();
        own.word(READ).store(self.exchange, Ordering::Release);
        // A rank that panics need not wait, as it changes no rows any more.
        if !thread::panicking() {
            for reader in &self.readers {
                self.machine.wait(*reader, READ, self.exchange);
            }
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.arena.mapping().word(GONE).store(1, Ordering::Release);
    }
}

/// Takes the next free blocks of `blocks` in `exchange`, and counts them in `taken`; `None` if none is free. Ranks take
/// many at first and few in the end, so that all finish at about the same time. All ranks are in the same exchange
/// while any block is free.
///
/// # Panics
/// If `blocks` are more than the word can count.
fn take_blocks(
    taken: &AtomicU64,
    exchange: u64,
    blocks: usize,
    ranks: usize,
) -> Option<Range<usize>> {
    assert!(
        blocks < 1 << BLOCK_BITS,
        "rows of {blocks} blocks are too long"
    );
    let begun = exchange << BLOCK_BITS;
    let part = |word: u64| {
        // Until the first block is taken, the word is that of an earlier exchange.
        let gone = word.saturating_sub(begun) as usize;
        let size = ((blocks - gone) / (2 * ranks)).max(LEAST);
        (gone < blocks).then(|| gone..(gone + size).min(blocks))
    };
    let take = |word| part(word).map(|part| begun + part.end as u64);
    let before = taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
    part(before.ok()?)
}

/// Several times the memory of the machine, so that pieces of all sizes fit; pages that are not written cost nothing.
fn bytes_of_arena(ranks: usize) -> usize {
    let bytes = memory_of_machine().saturating_mul(4).min(MOST / ranks);
    bytes.next_multiple_of(HEADER)
}

/// Maps the arena of another rank, given its process, number, bytes and stamp.
fn mapping_of(told: &[u64]) -> io::Result<Mapping> {
    let [process, number, bytes, stamp] = *told else {
        return Err(io::Error::other("an arena has four words"));
    };
    if bytes == 0 {
        return Err(io::Error::other("that rank has no arena"));
    }
    let mapping = Mapping::of(process as u32, number, bytes as usize)?;
    match mapping.word(STAMP).load(Ordering::Acquire) == stamp {
        true => Ok(mapping),
        false => Err(io::Error::other("this is memory of another process")),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::ranks::in_process::{InProcess, connected};

    /// What `work` returns on each rank, rank `i` being on machine `machines[i]`.
    fn on_each<T: Send>(
        machines: &[usize],
        work: impl Fn(&InProcess, Option<Machine>) -> T + Sync,
    ) -> Vec<thread::Result<T>> {
        thread::scope(|scope| {
            let ranks = connected(machines).into_iter();
            let work = &work;
            let start = |rank: InProcess| {
                scope.spawn(move || {
                    let machine = Machine::join(&rank, true);
                    work(&rank, machine)
                })
            };
            let threads: Vec<_> = ranks.map(start).collect();
            threads.into_iter().map(|thread| thread.join()).collect()
        })
    }

    #[test]
    fn ranks_of_a_machine_see_what_each_lends_in_each_exchange() {
        let exchanges = 500;
        let found = on_each(&[0, 1, 0, 0], |rank, machine| {
            let Some(machine) = machine else {
                return rank.rank() == 1;
            };
            let others: Vec<usize> = (0..4).filter(|other| machine.has(*other)).collect();
            let mut rows: RowMemory = machine.arena().take(3000).into();
            (0..exchanges).all(|exchange| {
                let value = |rank: usize| (10 * exchange + rank) as f32;
                rows.fill(value(rank.rank()));
                let lent = machine.lend(&rows, others.clone());
                assert!(lent.of(1).is_none());
                others.iter().all(|other| {
                    let read = lent.of(*other).unwrap();
                    read.len() == 3000 && read.iter().all(|found| *found == value(*other))
                })
            })
        });
        assert_eq!(
            found.into_iter().map(Result::unwrap).collect::<Vec<_>>(),
            [true; 4]
        );
    }

    #[test]
    fn every_block_is_taken_once_in_each_exchange() {
        let (taken, blocks) = (AtomicU64::new(0), 1000);
        for exchange in 1..100 {
            let take = || {
                let next = || take_blocks(&taken, exchange, blocks, 3);
                std::iter::from_fn(next).collect::<Vec<_>>()
            };
            let mut parts = thread::scope(|scope| {
                let threads = [(); 3].map(|()| scope.spawn(take));
                threads.map(|thread| thread.join().unwrap()).concat()
            });
            parts.sort_unstable_by_key(|part| part.start);
            let in_turn = parts.windows(2).all(|pair| pair[0].end == pair[1].start);
            assert!(in_turn && parts[0].start == 0 && parts[parts.len() - 1].end == blocks);
            assert_eq!((parts[0].len(), parts.len()), (blocks / 6, 16));
        }
    }

    #[test]
    fn who_waits_for_a_rank_that_has_left_fails() {
        let ends = on_each(&[0, 0], |rank, machine| {
            let machine = machine.unwrap();
            let rows: RowMemory = machine.arena().take(1).into();
            match rank.rank() {
                0 => drop(machine.lend(&rows, vec![1])),
                _ => drop(machine),
            }
        });
        let failed = ends[0].as_ref().unwrap_err();
        assert_eq!(failed.downcast_ref::<String>().unwrap(), "rank 1 is gone");
        assert!(ends[1].is_ok());
    }
}
