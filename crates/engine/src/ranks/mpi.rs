//! Ranks that `mpirun` or `srun` started: processes that MPI connects.

use super::Ranks;
use super::transport::{Counter, Transport};
use crate::error::EngineError;
use mpi::datatype::PartitionMut;
use mpi::environment::{Threading, Universe, initialize_with_threading};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Root, Source};
use std::io::Write;
use std::sync::Arc;
use std::{env, fmt, io};

/// Environment variables that launchers of MPI processes set.
const SIGNS: [&str; 4] = [
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "PMIX_RANK",
    "MPI_LOCALNRANKS",
];

/// The most floats or bytes in a message: MPI counts in 32 bits.
const MOST: usize = 1 << 28;

/// The tag of a message with parameters.
const TAG: i32 = 24;

/// The tag of a message with bytes.
const BYTES: i32 = 25;

impl Ranks {
    /// The ranks that this process was started with; `None` if it was started alone.
    ///
    /// # Errors
    /// [`EngineError::Device`] if MPI cannot be used.
    pub fn of_mpi() -> Result<Option<Self>, EngineError> {
        if SIGNS.iter().all(|sign| env::var_os(sign).is_none()) {
            return Ok(None);
        }
        let failed = |reason: &str| EngineError::Device {
            device: "mpi".to_owned(),
            reason: reason.to_owned(),
        };
        let started = initialize_with_threading(Threading::Serialized);
        let (universe, threading) =
            started.ok_or_else(|| failed("it has been started before in this process"))?;
        if threading < Threading::Serialized {
            return Err(failed(
                "this library of MPI allows calls from one thread alone; use one that has MPI_THREAD_SERIALIZED",
            ));
        }
        let world = universe.world();
        let mpi = Mpi {
            rank: world.rank() as usize,
            count: world.size() as usize,
            readers: readers(&world),
            counter: Counter::default(),
            _universe: universe,
        };
        Ok((mpi.count > 1).then(|| Self::of(Arc::new(mpi))))
    }
}

/// For each rank, the first rank of those that share memory with it.
fn readers(world: &SimpleCommunicator) -> Vec<usize> {
    let mut first = world.rank();
    let machine = world.split_shared(first);
    machine.process_at_rank(0).broadcast_into(&mut first);
    let mut readers = vec![0; world.size() as usize];
    world.all_gather_into(&first, &mut readers[..]);
    readers.into_iter().map(|rank: i32| rank as usize).collect()
}

/// This process as a rank of MPI; it leaves MPI when this is dropped.
struct Mpi {
    rank: usize,
    count: usize,
    readers: Vec<usize>,
    counter: Counter,
    _universe: Universe,
}

impl Mpi {
    fn world(&self) -> SimpleCommunicator {
        SimpleCommunicator::world()
    }
}

impl Transport for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.count
    }

    fn exchange(&self, to: &[&[f32]], from: &mut [&mut [f32]], work: &mut dyn FnMut() -> bool) {
        let world = self.world();
        mpi::request::scope(|scope| {
            let mut receipts = Vec::new();
            for (rank, floats) in from.iter_mut().enumerate() {
                if rank == self.rank {
                    continue;
                }
                let process = world.process_at_rank(rank as i32);
                for piece in floats.chunks_mut(MOST) {
                    receipts.push(process.immediate_receive_into_with_tag(scope, piece, TAG));
                }
            }
            let mut sendings = Vec::new();
            for (rank, floats) in to.iter().enumerate() {
                if rank == self.rank || floats.is_empty() {
                    continue;
                }
                self.counter.add(floats);
                let process = world.process_at_rank(rank as i32);
                for piece in floats.chunks(MOST) {
                    sendings.push(process.immediate_send_with_tag(scope, piece, TAG));
                }
            }
            let mut pending = receipts;
            pending.append(&mut sendings);
            while work() {
                // Long messages make progress only while MPI is called.
                let tested = pending.into_iter().map(|request| request.test());
                pending = tested.filter_map(Result::err).collect();
            }
            for request in pending {
                request.wait_without_status();
            }
        });
    }

    fn all_gather(&self, own: &[u64], lengths: &[usize]) -> Vec<Vec<u64>> {
        let counts: Vec<i32> = lengths.iter().map(|length| *length as i32).collect();
        let starts = counts.iter().scan(0, |end, count| {
            let start = *end;
            *end += count;
            Some(start)
        });
        let starts: Vec<i32> = starts.collect();
        let mut all = vec![0; lengths.iter().sum()];
        let mut parts = PartitionMut::new(&mut all[..], &counts[..], &starts[..]);
        self.world().all_gather_varcount_into(own, &mut parts);
        let mut rest = all.as_slice();
        let of_rank = |length: &usize| {
            let (words, others) = rest.split_at(*length);
            rest = others;
            words.to_vec()
        };
        lengths.iter().map(of_rank).collect()
    }

    fn broadcast(&self, words: &mut [u64]) {
        self.world().process_at_rank(0).broadcast_into(words);
    }

    fn send(&self, rank: usize, bytes: &[u8]) {
        let world = self.world();
        let process = world.process_at_rank(rank as i32);
        process.send_with_tag(&(bytes.len() as u64), BYTES);
        for piece in bytes.chunks(MOST) {
            process.send_with_tag(piece, BYTES);
        }
    }

    fn receive(&self, rank: usize) -> Vec<u8> {
        let world = self.world();
        let process = world.process_at_rank(rank as i32);
        let mut length = 0_u64;
        process.receive_into_with_tag(&mut length, BYTES);
        let mut bytes = vec![0; length as usize];
        for piece in bytes.chunks_mut(MOST) {
            process.receive_into_with_tag(piece, BYTES);
        }
        bytes
    }

    fn readers(&self) -> Vec<usize> {
        self.readers.clone()
    }

    fn abort(&self, reason: &str) -> ! {
        let told = format!("meshfold: rank {} cannot go on: {reason}\n", self.rank);
        io::stderr().lock().write_all(told.as_bytes()).ok();
        self.world().abort(1)
    }

    fn counter(&self) -> &Counter {
        &self.counter
    }
}

impl fmt::Debug for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mpi({} of {})", self.rank, self.count)
    }
}
