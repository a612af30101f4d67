//! Rows that ranks of one machine read in place, where the rank that owns them has them.
//!
//! Each rank has its rows in an [`Arena`], of which every other rank there has a mapping to read. In an exchange a rank lends its
//! rows: it says where they begin, and leaves them as they are until all who read them are done. Both are words in the header
//! of its arena, which count exchanges; nobody sends a message.
#![allow(unsafe_code)]

use super::transport::Transport;
use crate::processor::row_memory::RowMemory;
use crate::shared_memory::arena::Arena;
use crate::shared_memory::{HEADER, Mapping, memory_of_machine};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{process, thread};

/// Words of the header. What is written at different times lies in different lines of the caches.
///
/// A number that this arena alone has, to tell it from other files.
const STAMP: usize = 0;
/// Whether the rank has left.
const GONE: usize = 1;
/// The exchange for which rows were lent last; the byte where they begin; how many floats they are.
const LENT: usize = 16;
const BEGIN: usize = 17;
const FLOATS: usize = 18;
/// The exchange for which this rank was last done with reading.
const READ: usize = 32;

/// Bytes of address space that the arenas of a machine take together, at most.
const MOST: usize = 1 << 46;

/// Looks after another rank without a pause, then with the processor left to others, and then with pauses.
const LOOKS: u32 = 200;
const YIELDS: u32 = 10_000;
const PAUSE: Duration = Duration::from_micros(50);

/// The ranks of this machine, as one of them.
#[derive(Debug)]
pub(crate) struct Machine {
    arena: Arc<Arena>,
    /// The arena of each other rank of the machine.
    others: Vec<Option<Mapping>>,
    /// Exchanges so far.
    exchanges: AtomicU64,
}

/// Rows of this rank, lent to the others, and theirs. When it goes it waits until all readers are done.
#[derive(Debug)]
pub(crate) struct Lent<'a> {
    machine: &'a Machine,
    exchange: u64,
    readers: Vec<usize>,
}

impl Machine {
    /// The ranks that share the memory of this machine; `None` if this one is alone, or if one of them cannot read the memory of
    /// another one. Every rank calls it.
    pub(crate) fn join(transport: &dyn Transport) -> Option<Self> {
        let (rank, readers) = (transport.rank(), transport.readers());
        let beside = |other: usize| other != rank && readers[other] == readers[rank];
        let ranks = readers.iter().filter(|reader| **reader == readers[rank]);
        let arena = match ranks.count() {
            1 => None,
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

    /// Lends `rows` to `readers`. Every rank of the machine calls it, and lets go of what it returns before the next call.
    ///
    /// # Panics
    /// If the rows are not in the arena.
    pub(crate) fn lend<'a>(&'a self, rows: &'a RowMemory, readers: Vec<usize>) -> Lent<'a> {
        let piece = rows
            .piece()
            .filter(|piece| Arc::ptr_eq(piece.arena(), &self.arena));
        let piece = piece.expect("rows of ranks lie where others can read them");
        let exchange = self.exchanges.fetch_add(1, Ordering::Relaxed) + 1;
        let own = self.arena.mapping();
        own.word(BEGIN).store(piece.at() as u64, Ordering::Relaxed);
        own.word(FLOATS)
            .store(piece.len() as u64, Ordering::Relaxed);
        own.word(LENT).store(exchange, Ordering::Release);
        Lent {
            machine: self,
            exchange,
            readers,
        }
    }

    /// Waits until the word `word` of `rank` counts to `exchange`.
    ///
    /// # Panics
    /// If that rank has left. One that is killed is the business of MPI, which ends all others.
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
        // SAFETY: that rank leaves them as they are until this one has read them, which it says when `self` goes.
        Some(unsafe { other.floats(word(BEGIN), word(FLOATS)) })
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let own = self.machine.arena.mapping();
        own.word(READ).store(self.exchange, Ordering::Release);
        // A rank that fails waits for nobody: it changes no rows any more.
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

/// Several times the memory of the machine: what is not written to costs nothing, and there is room for pieces of all sizes.
fn bytes_of_arena(ranks: usize) -> usize {
    let bytes = memory_of_machine().saturating_mul(4).min(MOST / ranks);
    bytes.next_multiple_of(HEADER)
}

/// The arena of which another rank told process, number, bytes and stamp.
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
